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

template <typename T>
void add_keys(std::set<std::string>& words) {
  fields::for_each<T>([&](const char* name, auto) { words.insert('"' + std::string(name) + "\": "); });
}

template <typename... Enums>
void add_names(std::set<std::string>& words) {
  (boost::mp11::mp_for_each<boost::describe::describe_enumerators<Enums>>(
       [&](auto d) { words.insert('"' + std::string(d.name) + '"'); }),
   ...);
}

}  // namespace

TEST_CASE("the dictionary of fuzz_case knows each key and name of a case, and no other", "[fuzz]") {
  std::set<std::string> known, listed;
  add_keys<attention_case>(known);
  add_keys<sequence>(known);
  add_keys<data_recipe>(known);
  add_keys<override_bits>(known);
  add_keys<schedule_recipe>(known);
  add_names<dtype, page_table_kind, q_batching, descale_kind, key_order, context_split, rotary_kind, pool_layout,
            q_layout, fill_kind, poison_kind, schedule_kind>(known);
  std::ifstream file(ASSAY_SOURCE_DIR "/fuzz/fuzz_case.dict");
  REQUIRE(file.is_open());
  for (std::string line; std::getline(file, line);)
    if (line.starts_with('"')) CHECK(listed.insert(unquoted(line)).second);
  CHECK(listed == known);
}
