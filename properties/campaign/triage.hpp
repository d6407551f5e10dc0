/// From an input that ended a process to a finding: judge it again, compare it with known kinds, minimize, confirm,
/// write.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "properties/campaign/options.hpp"

namespace assay::campaign {

class triage {
 public:
  /// Loads the findings of earlier campaigns from the folder, and tries whether they still fail.
  triage(const options& given, const library& lib, result& into);

  /// Examines one artifact. `reported` is the complaint of the process that it ended, if known. Removes the artifact
  /// only after its finding is on disk. Returns a finding that is new or newly confirmed.
  const finding* examine(const std::filesystem::path& artifact, const std::optional<complaint>& reported);

  /// Takes in the complaint of a process that left no input. Keeps its `log` beside the findings. It cannot be
  /// repeated, so it counts as flaky until its file is removed. Returns it if it is new.
  const finding* take_lost(const complaint& reported, const std::filesystem::path& log);

 private:
  struct repeated;
  std::optional<repeated> repeat(const std::optional<attention_case>& c, const std::filesystem::path& artifact) const;
  finding minimized_case(const attention_case& c, const repeated& again) const;
  finding unrepeated(const std::optional<attention_case>& c, const std::string& bytes,
                     const std::optional<complaint>& reported) const;
  finding repeated_bytes(const std::string& bytes, const repeated& again, const std::filesystem::path& artifact) const;
  void write_case(finding& f, const attention_case& smallest) const;
  void write_bytes(finding& f, const std::string& bytes) const;
  finding read_old(const std::filesystem::path& file) const;
  void load_old();
  std::string replay_of_case(const finding& f) const;
  std::string replay_of_bytes(const std::filesystem::path& file) const;
  finding* known(const std::string& name);
  /// The finding of that name, if further inputs of its kind need not be examined.
  finding* settled(const std::string& name);
  /// Counts one more input of a finding's kind, and removes it; keeps the first few of a vague kind.
  void add_alike(finding& f, const std::filesystem::path& artifact, const std::optional<complaint>& reported);
  /// Remembers that processes with this complaint show this finding, if both are of one check.
  void note_reported(const finding& f, const std::optional<complaint>& reported);
  const finding* take_in(finding f, const std::filesystem::path& artifact, const std::optional<complaint>& reported);

  options options_;
  folders folders_;
  const library& lib_;
  result& result_;
  std::map<std::string, std::string> names_;  ///< of findings, by the kind of the reported complaint
  std::chrono::steady_clock::time_point start_;
};

}  // namespace assay::campaign
