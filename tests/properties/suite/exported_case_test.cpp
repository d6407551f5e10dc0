#include "properties/suite/exported_case.hpp"

#include <unistd.h>

#include <algorithm>

#include <boost/json.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>

#include "properties/data/dense.hpp"
#include "properties/run/execute.hpp"
#include "properties/system/npy.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// A folder with the small case, exported. It is gone at the end.
struct exported {
  exported() : folder(fs::temp_directory_path() / ("assay-exported-" + std::to_string(getpid()))) {
    fs::remove_all(folder);
    export_cases({{"small", stated}}, folder);
    manifest = json::parse(read_file(folder / "manifest.json"));
  }
  ~exported() { fs::remove_all(folder); }
  exported(const exported&) = delete;
  exported& operator=(const exported&) = delete;

  /// Writes the outputs that the built-in kernel computes.
  void write(const std::string& descr_of_o = "<f2") {
    inputs given = fill(stated);
    const execution ran = execute(*library::built_in(), stated, given);
    for (const buffer& b : ran.written.buffers) {
      const tensor& t = b.view();
      write_by_rename(output(b.name()),
                      to_npy({b.name() == "o" ? descr_of_o : "<f4", {t.shape, t.shape + t.rank}, dense_bytes(t)}));
    }
  }
  fs::path output(const std::string& name) const { return folder / "small" / "outputs" / (name + ".npy"); }
  npy_array array(const json::value& file) const {
    return from_npy(read_file(folder / std::string(file.as_string())), "file");
  }
  const json::object& part(const char* kind) const { return manifest.at("cases").at(0).at(kind).as_object(); }
  checked_case checked() const { return check_exported(folder).at(0); }

  attention_case stated = testing::small_case();
  fs::path folder;
  json::value manifest;
};

}  // namespace

TEST_CASE("a case's arrays are written under the names of the manifest") {
  const exported e;
  const inputs given = fill(e.stated);
  REQUIRE(e.part("inputs").size() == given.buffers.size());
  for (const buffer& b : given.buffers) {
    const json::value& of = e.part("inputs").at(b.name());
    const npy_array a = e.array(of.at("file"));
    CHECK(a.bytes == dense_bytes(b.view()));
    CHECK(json::value_to<std::vector<std::int64_t>>(of.at("shape")) == a.shape);
    CHECK(of.at("descr").as_string() == a.descr);
  }
  const auto is_below = [](const npy_array& a, const npy_array& b) {
    bool all = !a.bytes.empty() && a.shape == b.shape;
    for (std::size_t at = 0; at < a.bytes.size(); at += sizeof(double)) {
      double x = 0, y = 0;
      std::memcpy(&x, a.bytes.data() + at, sizeof x);
      std::memcpy(&y, b.bytes.data() + at, sizeof y);
      all = all && x <= y;
    }
    return all;
  };
  for (const char* name : {"o", "lse"}) {
    const json::value& of = e.part("outputs").at(name);
    CHECK(is_below(e.array(of.at("lo")), e.array(of.at("exact"))));
    CHECK(is_below(e.array(of.at("exact")), e.array(of.at("hi"))));
    CHECK_FALSE(fs::exists(e.output(name)));
    const std::string initial = e.array(of.at("initial")).bytes;
    CHECK(std::ranges::count(initial, '\xFF') == std::ssize(initial));
  }
  CHECK(e.part("problem").at("page_size") == 16);
  CHECK(e.part("problem").at("causal") == true);
}

TEST_CASE("outputs that others wrote are judged, those that are missing are not") {
  exported e;
  CHECK(e.checked().result.result == outcome::discard);
  e.write();
  CHECK(e.checked().result.result == outcome::pass);
  CHECK(e.checked().missing.empty());
  fs::remove(e.output("lse"));
  CHECK(e.checked().result.result == outcome::pass);
  CHECK(e.checked().missing == std::vector<std::string>{"lse"});
}

TEST_CASE("a wrong output is a failure, and so is one of another type or shape") {
  exported e;
  e.write();
  npy_array lse = from_npy(read_file(e.output("lse")), "lse");
  lse.bytes[3] = static_cast<char>(lse.bytes[3] ^ 0x40);  // the exponent of the first element
  write_by_rename(e.output("lse"), to_npy(lse));
  CHECK(e.checked().result.origin == "enclosure");
  CHECK(e.checked().result.what.starts_with("lse[0, 0] = "));
  lse.shape = {lse.shape[0] * lse.shape[1]};
  write_by_rename(e.output("lse"), to_npy(lse));
  CHECK(e.checked().result.what.find("lse.npy has the shape (16), and (4, 4) is due") != std::string::npos);
  e.write("<u2");
  CHECK(e.checked().result.result == outcome::fail);
  CHECK(e.checked().result.what.find("o.npy holds elements of <u2, and <f2 is due") != std::string::npos);
}

TEST_CASE("of what is changed in place all must be there") {
  attention_case append;
  append.kernel = "append_kv";
  append.pool_pages = 1;
  append.sequences = {{1, 2, std::nullopt, {0}}};
  const fs::path folder = fs::temp_directory_path() / ("assay-append-" + std::to_string(getpid()));
  export_cases({{"append", append}}, folder);
  const auto copy = [&](const char* name) {
    const fs::path file = std::string(name) + ".npy";
    fs::copy(folder / "append" / "initial" / file, folder / "append" / "outputs" / file);
    return check_exported(folder).at(0).result;
  };
  CHECK(copy("k").result == outcome::discard);
  CHECK(copy("v").result == outcome::fail);  // no row was appended
  fs::remove_all(folder);
}

TEST_CASE("inputs are made anew, so that what stands in their files does not count") {
  exported e;
  e.write();
  const fs::path q = e.folder / "small" / "inputs" / "q.npy";
  npy_array a = from_npy(read_file(q), "q");
  std::ranges::fill(a.bytes, '\0');
  write_by_rename(q, to_npy(a));
  CHECK(e.checked().result.result == outcome::pass);
}

TEST_CASE("a broken manifest or file is refused, and names itself") {
  const auto refusal = [](const exported& e) -> std::string {
    try {
      static_cast<void>(check_exported(e.folder));
      return {};
    } catch (const case_error& error) {
      return error.what();
    }
  };
  exported e;
  write_by_rename(e.output("o"), "nothing");
  CHECK(refusal(e).find("o.npy: it is no .npy file") != std::string::npos);
  for (const auto& [text, what] :
       {std::pair{"{", "manifest.json:1:"},
        {R"({"version": 2, "cases": []})", "no manifest of version 1"},
        {R"({"version": 1, "cases": [{"name": "small"}]})", "no name or no case"},
        {R"({"version": 1, "cases": [{"name": "../x", "case": {}}]})", "'../x' is not the name of a folder"},
        {R"({"version": 1, "cases": [{"name": "small", "case": {}}]})", "small: version"}}) {
    write_by_rename(e.folder / "manifest.json", text);
    INFO(refusal(e));
    CHECK(refusal(e).find(what) != std::string::npos);
  }
}

TEST_CASE("a case with a tensor that is too large is refused, and nothing is left") {
  attention_case large = testing::small_case();
  large.pool_pages = 1 << 22;
  const fs::path folder = fs::temp_directory_path() / ("assay-large-" + std::to_string(getpid()));
  CHECK_THROWS_AS(export_cases({{"large", large}}, folder), case_error);
  CHECK_FALSE(fs::exists(folder));
}

}  // namespace assay
