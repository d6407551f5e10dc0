#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <sstream>

#include "properties/cli/cli.hpp"
#include "properties/corpus/corpus_plan.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/system/write_file.hpp"
#include "tests/properties/faulty_library.hpp"
#include "tests/properties/scratch.hpp"

namespace assay::corpus {
namespace {

namespace fs = std::filesystem;

/// A corpus in a folder that is gone afterwards.
class scratch_corpus {
 public:
  scratch_corpus() { fs::create_directories(folder_.path() / "split_kv"); }
  std::string root() const { return folder_.path().string(); }
  void add(const std::string& name, attention_case c, const std::string& why) const {
    c.why = why;
    folder_.write("split_kv/" + name, to_json(c));
  }
  bool has(const std::string& name) const { return fs::exists(folder_.path() / "split_kv" / name); }

 private:
  testing::scratch folder_;
};

struct answer {
  int status;
  std::string out;
};

answer run(std::vector<std::string> arguments, std::shared_ptr<library> lib = nullptr) {
  std::ostringstream out;
  std::ostringstream err;
  arguments.insert(arguments.begin(), "corpus");
  const int status = run_program(arguments, {out, err, std::move(lib)});
  return {status, out.str() + err.str()};
}

attention_case with_seed(std::uint64_t seed) {
  attention_case c = testing::small_case();
  c.data.seed = seed;
  return c;
}

TEST_CASE("minimize removes only cases without a reason, says so, and does it only with --write") {
  const scratch_corpus corpus;
  corpus.add("a_reason.json", with_seed(1), "a bug of theirs");
  corpus.add("b_reason.json", with_seed(1), "another bug of theirs");
  corpus.add("c_tool.json", with_seed(1), "covers 3 features that no other case has: x");
  corpus.add("d_none.json", with_seed(1), "");
  attention_case other = testing::small_case();
  other.causal = false;
  corpus.add("e_tool.json", other, "covers 1 feature that no other case has: y");

  const answer said = run({"minimize", corpus.root()});
  CAPTURE(said.out);
  CHECK(said.status == 0);
  CHECK(said.out.find("c_tool.json: others have all its features; it was there for: covers 3") != std::string::npos);
  CHECK(said.out.find("remove " + corpus.root() + "/split_kv/d_none.json") != std::string::npos);
  CHECK(said.out.find("keep " + corpus.root() + "/split_kv/b_reason.json: others have") != std::string::npos);
  CHECK(said.out.find("nothing was written") != std::string::npos);
  CHECK(corpus.has("c_tool.json"));

  CHECK(run({"minimize", corpus.root(), "--write"}).status == 0);
  CHECK(corpus.has("a_reason.json"));
  CHECK(corpus.has("b_reason.json"));
  CHECK_FALSE(corpus.has("c_tool.json"));
  CHECK_FALSE(corpus.has("d_none.json"));
  CHECK(corpus.has("e_tool.json"));

  CHECK(run({"minimize", corpus.root(), "--write", "--all"}).status == 0);
  CHECK(corpus.has("a_reason.json") != corpus.has("b_reason.json"));
}

TEST_CASE("merge adds what reaches something new, with a reason, from case files and from a campaign's inputs") {
  const scratch_corpus corpus;
  corpus.add("a.json", testing::small_case(), "a reason");
  const fs::path inputs = fs::path(corpus.root()).parent_path() / ("assay_corpus_inputs." + std::to_string(getpid()));
  attention_case other = testing::small_case();
  other.causal = false;
  const std::vector<std::string> kernels{"split_kv"};
  for (const auto& [name, c] : {std::pair{"same", testing::small_case()}, std::pair{"new", other}}) {
    const auto bytes = encode_case(c, kernels);
    write_by_rename(inputs / name, std::string(bytes.begin(), bytes.end()));
  }
  const answer said = run({"merge", corpus.root(), inputs.string(), "--target", "fuzz_split_kv", "--write"});
  fs::remove_all(inputs);
  CAPTURE(said.out);
  CHECK(said.status == 0);
  CHECK(said.out.find("2 cases kept, 1 added") != std::string::npos);
  const auto cases = read_cases({corpus.root()}, {});
  REQUIRE(cases.size() == 2);
  CHECK(cases[1].c.why.starts_with("covers "));
  CHECK(cases[1].c.why.find("split_kv: causal false") != std::string::npos);
  CHECK_FALSE(cases[1].c.causal);
  CHECK_FALSE(has_own_reason(cases[1].c));
}

TEST_CASE("merge overwrites no case: a name that is taken has what is in the case added to it") {
  const scratch_corpus corpus;
  corpus.add("enclosure.json", testing::small_case(), "a bug of last year");
  const fs::path found = corpus.root() + ".found";
  attention_case some = testing::small_case();
  some.causal = false;
  attention_case others = testing::small_case();
  others.window = 9;
  write_by_rename(found / "a" / "enclosure.json", to_json(some));
  write_by_rename(found / "b" / "enclosure.json", to_json(others));
  const answer said = run({"merge", corpus.root(), found.string()});
  const answer done = run({"merge", corpus.root(), found.string(), "--write"});
  fs::remove_all(found);
  CAPTURE(said.out, done.out);
  CHECK(done.status == 0);
  CHECK(done.out.find("3 cases kept, 2 added") != std::string::npos);
  const auto cases = read_cases({corpus.root()}, {});
  REQUIRE(cases.size() == 3);
  CHECK(from_json(read_file(fs::path(corpus.root()) / "split_kv" / "enclosure.json"), "x").why == "a bug of last year");
  for (const stored_case& s : cases)  // what would be done is what is done
    CHECK((s.c.why == "a bug of last year" || said.out.find("add " + s.file.string() + ": ") != std::string::npos));
}

TEST_CASE("a case that fails is reported and not added") {
  const auto odd = testing::corrupting_library([](testing::call& c) {
    if (c.stated.causal != 0) return;
    const tensor lse = c.view("lse");
    for (std::int64_t i = 0; i < lse.size(); ++i) static_cast<float*>(lse.data)[i] += 1;
  });
  const scratch_corpus corpus;
  corpus.add("a.json", testing::small_case(), "a reason");
  const std::string candidate = corpus.root() + ".candidate.json";
  attention_case other = testing::small_case();
  other.causal = false;
  write_by_rename(candidate, to_json(other));
  const answer said = run({"merge", corpus.root(), candidate, "--write"}, odd);
  fs::remove(candidate);
  CAPTURE(said.out);
  CHECK(said.status == 1);
  CHECK(said.out.find("FAIL " + candidate) != std::string::npos);
  CHECK(read_cases({corpus.root()}, {}).size() == 1);
}

TEST_CASE("a case without a verdict is reported and not added, and stays where it has a reason") {
  const auto refusing = testing::faulty_library([](testing::call& c) -> assay_status {
    if (c.stated.causal == 0) return {ASSAY_UNSUPPORTED, "no mask"};
    return c.run();
  });
  attention_case other = testing::small_case();
  other.causal = false;
  const scratch_corpus corpus;
  corpus.add("a.json", testing::small_case(), "a reason");
  const std::string candidate = corpus.root() + ".candidate.json";
  write_by_rename(candidate, to_json(other));
  const answer said = run({"merge", corpus.root(), candidate, "--write"}, refusing);
  CAPTURE(said.out);
  CHECK(said.status == 0);
  CHECK(said.out.find("skip " + candidate + ": its verdict is discard, ") != std::string::npos);
  CHECK(read_cases({corpus.root()}, {}).size() == 1);

  other.data.overrides = {{"q", {0, 0, 0}, 0x7c00}};  // logits of +infinity may be anything
  write_by_rename(candidate, to_json(other));
  const answer open = run({"merge", corpus.root(), candidate, "--write"});
  fs::remove(candidate);
  CAPTURE(open.out);
  CHECK(open.out.find("skip " + candidate + ": its verdict is undecided, ") != std::string::npos);
  CHECK(read_cases({corpus.root()}, {}).size() == 1);

  other.data.overrides.clear();
  corpus.add("b.json", other, "a refusal of theirs");
  corpus.add("c.json", other, "covers 1 feature that no other case has: y");
  const answer left = run({"minimize", corpus.root(), "--write"}, refusing);
  CAPTURE(left.out);
  CHECK(left.status == 0);
  CHECK(left.out.find("skip " + corpus.root() + "/split_kv/c.json: its verdict is discard, ") != std::string::npos);
  CHECK(corpus.has("b.json"));
  CHECK(corpus.has("c.json"));
}

TEST_CASE("files that are no case are bad input") {
  CHECK(run({"merge", "/nonexistent", "/nonexistent"}).status == 2);
  CHECK(run({"minimize", "/nonexistent"}).status == 2);
  CHECK(run({"merge", "corpus", "x", "--target", "fuzz_nothing"}).status == 2);
  CHECK(run({}).status == 2);
}

}  // namespace
}  // namespace assay::corpus
