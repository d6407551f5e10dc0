#include "properties/campaign/triage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/campaign/judges.hpp"
#include "properties/campaign/kinds.hpp"
#include "properties/system/interrupts.hpp"
#include "properties/system/write_file.hpp"

namespace assay::campaign {
namespace {

namespace fs = std::filesystem;

/// How often an input is tried before it counts as not failing, and a finding before it counts as confirmed.
constexpr int tries = 3;

/// Inputs of a flaky kind that are looked into, in the hope for one that fails always.
constexpr std::int64_t flaky_chances = 5;

/// Inputs of a vague kind that are kept beside its finding: they may have defects of their own.
constexpr std::ptrdiff_t vague_kept = 4;

constexpr std::string_view flaky_prefix = "flaky-";

/// Ends the names of findings of which no input is left: what the inputs of the kind say is another thing.
constexpr std::string_view lost_suffix = "-lost";
constexpr std::string_view lost_shape = "no input is left; what the process said is in the file\n";

constexpr std::string_view found_by = "; found by ";
constexpr std::string_view flaky_words = "; FLAKY: it does not fail always";

/// The check that a campaign's cases are put to.
const property& checked() {
  return properties().front();
}

std::string file_stem(const finding& f) {
  return (f.flaky ? std::string(flaky_prefix) : "") + f.name;
}

/// What stands between the check and the end of a finding's reason, see write_case.
complaint complaint_of(const std::string& why) {
  const std::string head = std::string(checked().name) + ": ";
  const std::size_t begin = why.starts_with(head) ? head.size() : 0;
  return split(why.substr(begin, std::min(why.rfind(found_by), why.rfind(flaky_words)) - begin));
}

}  // namespace

/// A failure that came again, and who saw it.
struct triage::repeated {
  verdict seen;
  bool by_library;  ///< judged by the library under test; else only the target's binary sees it
  /// A judge in a fresh process.
  std::function<judge_function()> judge;
};

triage::triage(const options& given, const library& lib, result& into)
    : given_(given), folders_(given.folder), lib_(lib), result_(into), start_(std::chrono::steady_clock::now()) {
  load_old();
}

finding* triage::known(const std::string& name) {
  const auto at = std::ranges::find(result_.findings, name, &finding::name);
  return at == result_.findings.end() ? nullptr : &*at;
}

std::optional<triage::repeated> triage::repeat(const std::optional<attention_case>& c, const fs::path& artifact) const {
  // Minimizing is not slowed down by a hang more than the suite's is.
  const auto by_library = [this] { return isolated_judge(lib_, checked(), std::min(given_.limit_seconds, 10.0)); };
  const auto by_target = [this] { return target_judge(given_); };
  for (int i = 0; i < tries && !interrupts::came(); ++i) {
    if (c)
      if (verdict v = by_library()(*c); v.result == outcome::fail) return repeated{std::move(v), true, by_library};
    if (verdict v = run_target(given_, artifact); v.result == outcome::fail)
      return repeated{std::move(v), false, by_target};
  }
  return std::nullopt;
}

finding triage::minimized_case(const attention_case& c, const repeated& again) const {
  const complaint first{again.seen.origin, again.seen.what};
  const auto judge = [&] { return only_of_kind(again.judge(), kind_of(first)); };
  const minimized smallest = minimize(c, judge(), given_.budget);
  finding f;
  f.name = name_of_kind(first);
  f.is = smallest.reproduced ? complaint{smallest.result.origin, smallest.result.what} : first;
  f.steps = smallest.steps;
  f.flaky = !smallest.reproduced;
  for (int i = 1; i < tries; ++i) f.flaky = judge()(smallest.smallest).result != outcome::fail || f.flaky;
  if (interrupts::came()) return f;
  if (again.by_library) {
    write_case(f, smallest.smallest);
  } else {
    f.shape = to_json(smallest.smallest);
    const auto bytes = bytes_of(given_.fuzzed, smallest.smallest);
    write_bytes(f, std::string(bytes->begin(), bytes->end()));
  }
  return f;
}

finding triage::unrepeated(const std::optional<attention_case>& c, const std::string& bytes,
                           const std::optional<complaint>& said) const {
  finding f;
  // Without a word of what was wrong, each is of its own kind.
  f.is = said.value_or(complaint{"unknown", fmt::format("ended a process once (input x{:08x})", fingerprint(bytes))});
  f.name = name_of_kind(f.is);
  f.flaky = true;
  if (c)
    write_case(f, *c);
  else
    write_bytes(f, bytes);
  return f;
}

void triage::write_case(finding& f, const attention_case& smallest) const {
  attention_case c = smallest;
  c.why = fmt::format("{}: {}: {}{}{}{} of seed {}", checked().name, f.is.origin, f.is.what, f.flaky ? flaky_words : "",
                      found_by, given_.fuzzed.name, given_.seed);
  f.shape = to_json(c);
  f.file = folders_.findings / (file_stem(f) + ".json");
  f.replay = replay_of_case(f.file);
  write_by_rename(f.file, f.shape);
}

void triage::write_bytes(finding& f, const std::string& bytes) const {
  if (f.shape.empty()) f.shape = fmt::format("{} bytes", bytes.size());
  f.file = folders_.findings / (file_stem(f) + ".bytes");
  f.replay = replay_of_bytes(f.file);
  // First what it is: the bytes are what makes it a finding.
  write_by_rename(fs::path(f.file).replace_extension(".txt"),
                  fmt::format("{}: {}\n{}{}{}\n", f.is.origin, f.is.what, f.flaky ? flaky_words.substr(2) : "",
                              f.flaky ? "\n" : "", f.shape));
  write_by_rename(f.file, bytes);
}

std::string triage::replay_of_case(const fs::path& file) const {
  return fmt::format("./assay replay{} {}", given_.library_arguments, file.string());
}

std::string triage::replay_of_bytes(const fs::path& file) const {
  std::string line;
  for (const std::string& setting : target_environment(given_)) line += setting + " ";
  return line + fmt::format("{} -timeout={:.0f} -rss_limit_mb={} {}", given_.fuzzed.binary.string(),
                            std::ceil(given_.limit_seconds), given_.rss_limit_mib, file.string());
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
    f.is = split(text.substr(0, text.find('\n')));
    f.shape = lost_shape;
    return f;
  }
  std::function<verdict()> judge_again;
  if (file.extension() == ".json") {
    f.shape = read_file(file);
    const attention_case c = from_json(f.shape, file.string());
    f.is = complaint_of(c.why);
    f.replay = replay_of_case(file);
    judge_again = [this, c] { return isolated_judge(lib_, checked(), given_.limit_seconds)(c); };
  } else {
    f.shape = read_file(fs::path(file).replace_extension(".txt"));
    f.is = split(f.shape.substr(0, f.shape.find('\n')));
    f.replay = replay_of_bytes(file);
    judge_again = [this, file] { return run_target(given_, file); };
  }
  // No number of tries says that what fails now and then does not any more. A discard is no pass, either.
  f.passes = !f.flaky;
  for (int i = 0; i < tries && f.passes; ++i) f.passes = judge_again().result == outcome::pass;
  return f;
}

void triage::load_old() {
  for (const auto& entry : fs::directory_iterator(folders_.findings)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".json" && file.extension() != ".bytes" && file.extension() != ".log") continue;
    finding f = read_old(file);
    // Of two files of a kind, one that fails stands for both, and rather one that fails always.
    const auto rank = [](const finding& one) { return std::pair(one.passes, one.flaky); };
    if (const finding* same = known(f.name); same != nullptr && rank(*same) <= rank(f)) continue;
    std::erase_if(result_.findings, [&](const finding& other) { return other.name == f.name; });
    result_.findings.push_back(std::move(f));
  }
  std::ranges::sort(result_.findings, {}, &finding::name);
}

const finding* triage::take_lost(const complaint& is, const fs::path& log) {
  const std::string name = name_of_kind(is) + std::string(lost_suffix);
  if (finding* before = known(name)) {
    ++before->alike;
    return nullptr;
  }
  finding f;
  f.is = is;
  f.name = name;
  f.flaky = true;
  f.shape = lost_shape;
  f.file = folders_.findings / (file_stem(f) + ".log");
  f.after_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  write_by_rename(f.file, fmt::format("{}: {}\n{}", is.origin, is.what, read_file(log)));
  return &result_.findings.emplace_back(std::move(f));
}

void triage::note_said(const finding& f, const std::optional<complaint>& said) {
  if (said && said->origin == f.is.origin) names_[kind_of(*said)] = f.name;
}

void triage::add_alike(finding& f, const fs::path& artifact, const std::optional<complaint>& said) {
  ++f.alike;
  note_said(f, said);
  const fs::path more = folders_.findings / (f.name + ".more");
  if (is_vague(f.is)) fs::create_directories(more);
  if (is_vague(f.is) && std::distance(fs::directory_iterator(more), {}) < vague_kept) {
    // Campaigns number their jobs alike.
    fs::rename(artifact, more / fmt::format("{:08x}", fingerprint(read_file(artifact))));
  } else {
    fs::remove(artifact);
  }
}

finding* triage::settled(const std::string& name) {
  finding* f = known(name);
  if (f == nullptr || f->passes) return nullptr;
  if (f->flaky && (f->is_old || f->alike < flaky_chances || is_vague(f->is))) return nullptr;
  return f;
}

finding triage::repeated_bytes(const std::string& bytes, const repeated& again, const fs::path& artifact) const {
  finding f;
  f.is = {again.seen.origin, again.seen.what};
  f.name = name_of_kind(f.is);
  for (int i = 1; i < tries; ++i) f.flaky = run_target(given_, artifact, &f.shape).result != outcome::fail || f.flaky;
  if (!interrupts::came()) write_bytes(f, bytes);
  return f;
}

const finding* triage::look_into(const fs::path& artifact, const std::optional<complaint>& said) {
  if (said)
    if (const auto at = names_.find(kind_of(*said)); at != names_.end())
      if (finding* f = settled(at->second)) {
        add_alike(*f, artifact, said);
        return nullptr;
      }
  const std::string bytes = read_file(artifact);
  const auto c = case_of(given_.fuzzed, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  const auto again = repeat(c, artifact);
  if (interrupts::came()) return nullptr;  // it stays where it is, for the next campaign
  if (again || said) {
    const complaint is = again ? complaint{again->seen.origin, again->seen.what} : *said;
    if (finding* f = settled(name_of_kind(is))) {
      add_alike(*f, artifact, said);
      return nullptr;
    }
  }
  finding f = !again                                                    ? unrepeated(c, bytes, said)
              : c && (again->by_library || bytes_of(given_.fuzzed, *c)) ? minimized_case(*c, *again)
                                                                        : repeated_bytes(bytes, *again, artifact);
  if (interrupts::came()) return nullptr;
  f.after_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return take_in(std::move(f), artifact, said);
}

const finding* triage::take_in(finding f, const fs::path& artifact, const std::optional<complaint>& said) {
  finding* before = known(f.name);
  const bool is_more = before != nullptr && !before->passes && f.flaky;
  const bool is_news = before == nullptr || before->passes || !f.flaky;
  f.alike = before == nullptr ? 0 : before->alike;
  if (before == nullptr) {
    before = &result_.findings.emplace_back(std::move(f));
  } else {
    if (!f.flaky && before->file != f.file) {  // what was flaky has become certain
      fs::remove(before->file);
      fs::remove(fs::path(before->file).replace_extension(".txt"));
    }
    *before = std::move(f);
  }
  if (is_more) {
    add_alike(*before, artifact, said);
  } else {
    ++before->alike;
    note_said(*before, said);
    fs::remove(artifact);
  }
  return is_news ? before : nullptr;
}

}  // namespace assay::campaign
