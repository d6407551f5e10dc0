/// The dictionary of fuzz_case holds the words of a case's JSON form, all of them and no others.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>
#include <string>

#include "properties/case/case.hpp"
#include "properties/case/fields.hpp"

using namespace assay;

namespace {

/// What a line of the file stands for: `"\"k\": "` for the key k, `"\"nan\""` for a name.
std::string unquoted(const std::string& line) {
  std::string text;
  for (std::size_t i = 1; i + 1 < line.size(); ++i)
    if (line[i] != '\\') text += line[i];
  return text;
}

/// The names of an enumeration; nothing of other types.
template <typename T>
void add_names(std::set<std::string>& words) {
  if constexpr (boost::describe::has_describe_enumerators<T>::value)
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
        [&](auto d) { words.insert('"' + std::string(d.name) + '"'); });
}

/// The keys of a struct's fields, and the names of those that are enumerations.
template <typename T>
void add_words(std::set<std::string>& words) {
  fields::for_each<T>([&](const char* name, auto member) {
    words.insert('"' + std::string(name) + "\": ");
    add_names<std::remove_cvref_t<decltype(std::declval<T>().*member)>>(words);
  });
}

}  // namespace

TEST_CASE("the dictionary of fuzz_case knows each key and name of a case, and no other", "[fuzz]") {
  std::set<std::string> known, listed;
  add_words<attention_case>(known);
  add_words<sequence>(known);
  add_words<data_recipe>(known);
  add_words<override_bits>(known);
  add_words<schedule_recipe>(known);
  std::ifstream file(ASSAY_SOURCE_DIR "/fuzz/fuzz_case.dict");
  REQUIRE(file.is_open());
  for (std::string line; std::getline(file, line);)
    if (line.starts_with('"')) CHECK(listed.insert(unquoted(line)).second);
  CHECK(listed == known);
}
