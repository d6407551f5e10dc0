#include "properties/campaign/triage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/campaign/judges.hpp"
#include "properties/campaign/kinds.hpp"
#include "properties/run/by_platform.hpp"
#include "properties/system/interrupts.hpp"
#include "properties/system/write_file.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;

/// How often an input is tried before it counts as passing, and a finding before it counts as confirmed.
constexpr int tries = 3;

/// How many inputs of a flaky kind are examined: one of them may fail every time.
constexpr std::int64_t flaky_chances = 5;

/// How many inputs of a vague kind are kept beside its finding: they may show other defects.
constexpr std::ptrdiff_t vague_kept = 4;

constexpr std::string_view flaky_prefix = "flaky-";

/// Ends the names of findings that left no input.
constexpr std::string_view lost_suffix = "-lost";
constexpr std::string_view lost_shape = "the process left no input; the file holds its log\n";

constexpr std::string_view found_by = "; found by ";
constexpr std::string_view flaky_mark = "; FLAKY";
constexpr std::string_view flaky_words = "; FLAKY: does not fail every time";

std::string file_stem(const finding& f) {
  return (f.flaky ? std::string(flaky_prefix) : "") + f.name;
}

/// The complaint in a finding's `why`, see write_case.
complaint complaint_of(const std::string& why) {
  const std::string head = std::string(enclosure_property().name) + ": ";
  const std::size_t begin = why.starts_with(head) ? head.size() : 0;
  return split(why.substr(begin, std::min(why.rfind(found_by), why.rfind(flaky_mark)) - begin));
}

}  // namespace

/// A failure that came again, and the judge that saw it.
struct triage::repeated {
  verdict seen;
  bool by_library;  ///< running the library shows it; else only the target's binary does
  /// A judge in a fresh process.
  std::function<judge_function()> judge;
};

triage::triage(const options& given, const library& lib, result& into)
    : options_(given), folders_(given.folder), lib_(lib), result_(into), start_(std::chrono::steady_clock::now()) {
  load_old();
}

finding* triage::known(const std::string& name) {
  const auto at = std::ranges::find(result_.findings, name, &finding::name);
  return at == result_.findings.end() ? nullptr : &*at;
}

std::optional<triage::repeated> triage::repeat(const std::optional<attention_case>& c, const fs::path& artifact) const {
  // A hang slows minimizing down no more than in the suite.
  const auto by_library = [this] { return library_judge(options_, lib_, std::min(options_.limit_seconds, 10.0)); };
  const auto by_target = [this] { return target_judge(options_); };
  for (int i = 0; i < tries && !interrupts::seen(); ++i) {
    if (c)
      if (verdict v = by_library()(*c); v.result == outcome::fail) return repeated{std::move(v), true, by_library};
    if (verdict v = run_target(options_, artifact); v.result == outcome::fail)
      return repeated{std::move(v), false, by_target};
  }
  return std::nullopt;
}

finding triage::minimized_case(const attention_case& c, const repeated& again) const {
  const complaint first{again.seen.origin, again.seen.what};
  const auto judge = [&] { return only_of_kind(again.judge(), kind_of(first)); };
  const minimized smallest = minimize(c, judge(), options_.budget);
  finding f;
  f.name = name_of_kind(first);
  f.complaint = smallest.reproduced ? complaint{smallest.result.origin, smallest.result.what} : first;
  f.steps = smallest.steps;
  f.flaky = !smallest.reproduced;
  for (int i = 1; i < tries; ++i) f.flaky = judge()(smallest.smallest).result != outcome::fail || f.flaky;
  if (interrupts::seen()) return f;
  if (again.by_library) {
    write_case(f, smallest.smallest);
  } else {
    f.shape = to_json(smallest.smallest);
    const auto bytes = bytes_of(options_.fuzzed, smallest.smallest);
    write_bytes(f, std::string(bytes->begin(), bytes->end()));
  }
  return f;
}

finding triage::unrepeated(const std::optional<attention_case>& c, const std::string& bytes,
                           const std::optional<complaint>& reported) const {
  finding f;
  // Without a complaint, each input is a kind of its own.
  f.complaint =
      reported.value_or(complaint{"unknown", fmt::format("ended a process once (input x{:08x})", fingerprint(bytes))});
  f.name = name_of_kind(f.complaint);
  f.flaky = true;
  if (c)
    write_case(f, *c);
  else
    write_bytes(f, bytes);
  return f;
}

void triage::write_case(finding& f, const attention_case& smallest) const {
  attention_case c = smallest;
  c.why = fmt::format("{}: {}: {}{}{}{} of seed {}", enclosure_property().name, f.complaint.origin, f.complaint.what,
                      f.flaky ? flaky_words : "", found_by, options_.fuzzed.name, options_.seed);
  f.shape = to_json(c);
  f.file = folders_.findings / (file_stem(f) + ".json");
  f.replay = replay_of_case(f);
  write_by_rename(f.file, f.shape);
}

void triage::write_bytes(finding& f, const std::string& bytes) const {
  if (f.shape.empty()) f.shape = fmt::format("{} bytes", bytes.size());
  f.file = folders_.findings / (file_stem(f) + ".bytes");
  f.replay = replay_of_bytes(f.file);
  // The bytes make it a finding, so they are written last.
  write_by_rename(fs::path(f.file).replace_extension(".txt"),
                  fmt::format("{}: {}\n{}{}{}\n", f.complaint.origin, f.complaint.what,
                              f.flaky ? flaky_words.substr(2) : "", f.flaky ? "\n" : "", f.shape));
  write_by_rename(f.file, bytes);
}

std::string triage::replay_of_case(const finding& f) const {
  const bool is_besides = options_.beside && is_by_platform(*options_.beside, f.complaint.what);
  return fmt::format("./assay replay{} {}", is_besides ? options_.beside_arguments : options_.library_arguments,
                     f.file.string());
}

std::string triage::replay_of_bytes(const fs::path& file) const {
  std::string line;
  for (const std::string& setting : target_environment(options_)) line += setting + " ";
  return line + fmt::format("{} -timeout={:.0f} -rss_limit_mb={} {}", options_.fuzzed.binary.string(),
                            std::ceil(options_.limit_seconds), options_.rss_limit_mib, file.string());
}

finding triage::read_old(const fs::path& file) const {
  finding f;
  f.file = file;
  f.name = file.stem().string();
  f.flaky = f.name.starts_with(flaky_prefix);
  if (f.flaky) f.name.erase(0, flaky_prefix.size());
  f.is_old = true;
  f.alike = 0;
  if (file.extension() == ".log") {
    const std::string text = read_file(file);
    f.complaint = split(text.substr(0, text.find('\n')));
    f.shape = lost_shape;
    return f;
  }
  std::function<verdict()> judge_again;
  if (file.extension() == ".json") {
    f.shape = read_file(file);
    const attention_case c = from_json(f.shape, file.string());
    f.complaint = complaint_of(c.why);
    f.replay = replay_of_case(f);
    judge_again = [this, c] { return library_judge(options_, lib_, options_.limit_seconds)(c); };
  } else {
    f.shape = read_file(fs::path(file).replace_extension(".txt"));
    f.complaint = split(f.shape.substr(0, f.shape.find('\n')));
    f.replay = replay_of_bytes(file);
    judge_again = [this, file] { return run_target(options_, file); };
  }
  // No number of tries shows that a flaky failure is gone. A discard does not count as a pass.
  f.passes = !f.flaky;
  for (int i = 0; i < tries && f.passes; ++i) f.passes = judge_again().result == outcome::pass;
  return f;
}

void triage::load_old() {
  for (const auto& entry : fs::directory_iterator(folders_.findings)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".json" && file.extension() != ".bytes" && file.extension() != ".log") continue;
    finding f = read_old(file);
    // Of two files of a kind, one is kept: rather one that fails, rather one that fails every time.
    const auto rank = [](const finding& one) { return std::pair(one.passes, one.flaky); };
    if (const finding* same = known(f.name); same != nullptr && rank(*same) <= rank(f)) continue;
    std::erase_if(result_.findings, [&](const finding& other) { return other.name == f.name; });
    result_.findings.push_back(std::move(f));
  }
  std::ranges::sort(result_.findings, {}, &finding::name);
}

const finding* triage::take_lost(const complaint& reported, const fs::path& log) {
  const std::string name = name_of_kind(reported) + std::string(lost_suffix);
  if (finding* before = known(name)) {
    ++before->alike;
    return nullptr;
  }
  finding f;
  f.complaint = reported;
  f.name = name;
  f.flaky = true;
  f.shape = lost_shape;
  f.file = folders_.findings / (file_stem(f) + ".log");
  f.after_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  write_by_rename(f.file, fmt::format("{}: {}\n{}", reported.origin, reported.what, read_file(log)));
  return &result_.findings.emplace_back(std::move(f));
}

void triage::note_reported(const finding& f, const std::optional<complaint>& reported) {
  if (reported && reported->origin == f.complaint.origin) names_[kind_of(*reported)] = f.name;
}

void triage::add_alike(finding& f, const fs::path& artifact, const std::optional<complaint>& reported) {
  ++f.alike;
  note_reported(f, reported);
  const fs::path more = folders_.findings / (f.name + ".more");
  if (is_vague(f.complaint)) fs::create_directories(more);
  if (is_vague(f.complaint) && std::distance(fs::directory_iterator(more), {}) < vague_kept) {
    // By content: every campaign numbers its artifacts from 0.
    fs::rename(artifact, more / fmt::format("{:08x}", fingerprint(read_file(artifact))));
  } else {
    fs::remove(artifact);
  }
}

finding* triage::settled(const std::string& name) {
  finding* f = known(name);
  if (f == nullptr || f->passes) return nullptr;
  if (f->flaky && (f->is_old || f->alike < flaky_chances || is_vague(f->complaint))) return nullptr;
  return f;
}

finding triage::repeated_bytes(const std::string& bytes, const repeated& again, const fs::path& artifact) const {
  finding f;
  f.complaint = {again.seen.origin, again.seen.what};
  f.name = name_of_kind(f.complaint);
  for (int i = 1; i < tries; ++i) f.flaky = run_target(options_, artifact, &f.shape).result != outcome::fail || f.flaky;
  if (!interrupts::seen()) write_bytes(f, bytes);
  return f;
}

const finding* triage::examine(const fs::path& artifact, const std::optional<complaint>& reported) {
  if (reported)
    if (const auto at = names_.find(kind_of(*reported)); at != names_.end())
      if (finding* f = settled(at->second)) {
        add_alike(*f, artifact, reported);
        return nullptr;
      }
  const std::string bytes = read_file(artifact);
  const auto c = case_of(options_.fuzzed, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  const auto again = repeat(c, artifact);
  if (interrupts::seen()) return nullptr;  // the next campaign examines the artifact
  if (again || reported) {
    const complaint failure = again ? complaint{again->seen.origin, again->seen.what} : *reported;
    if (finding* f = settled(name_of_kind(failure))) {
      add_alike(*f, artifact, reported);
      return nullptr;
    }
  }
  finding f = !again                                                      ? unrepeated(c, bytes, reported)
              : c && (again->by_library || bytes_of(options_.fuzzed, *c)) ? minimized_case(*c, *again)
                                                                          : repeated_bytes(bytes, *again, artifact);
  if (interrupts::seen()) return nullptr;
  f.after_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return take_in(std::move(f), artifact, reported);
}

const finding* triage::take_in(finding f, const fs::path& artifact, const std::optional<complaint>& reported) {
  finding* before = known(f.name);
  const bool is_more = before != nullptr && !before->passes && f.flaky;
  const bool is_news = before == nullptr || before->passes || !f.flaky;
  f.alike = before == nullptr ? 0 : before->alike;
  if (before == nullptr) {
    before = &result_.findings.emplace_back(std::move(f));
  } else {
    if (!f.flaky && before->file != f.file) {  // a flaky kind is confirmed
      fs::remove(before->file);
      fs::remove(fs::path(before->file).replace_extension(".txt"));
    }
    *before = std::move(f);
  }
  if (is_more) {
    add_alike(*before, artifact, reported);
  } else {
    ++before->alike;
    note_reported(*before, reported);
    fs::remove(artifact);
  }
  return is_news ? before : nullptr;
}

}  // namespace assay::campaign
