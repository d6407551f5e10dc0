/// From an input that ended a process to a finding: judged again, of a known kind or minimized, confirmed, written.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "properties/campaign/options.hpp"

namespace assay::campaign {

class triage {
 public:
  /// Begins with the findings of campaigns before, which lie in the folder: do they fail still?
  triage(const options& given, const library& lib, result& into);

  /// Looks into one artifact; `said` is what the process that it ended complained of, if that is known. The artifact
  /// is removed when its finding is on disk and not before. Returns a finding that is new, or confirmed only now.
  const finding* look_into(const std::filesystem::path& artifact, const std::optional<complaint>& said);

  /// Takes in what a process complained of that left no input; its `log` is kept beside the findings. Nobody can try it
  /// again: it counts as flaky, until its file is removed. Returns it if it is new.
  const finding* take_lost(const complaint& is, const std::filesystem::path& log);

 private:
  struct repeated;
  std::optional<repeated> repeat(const std::optional<attention_case>& c, const std::filesystem::path& artifact) const;
  finding minimized_case(const attention_case& c, const repeated& again) const;
  finding unrepeated(const std::optional<attention_case>& c, const std::string& bytes,
                     const std::optional<complaint>& said) const;
  finding repeated_bytes(const std::string& bytes, const repeated& again, const std::filesystem::path& artifact) const;
  void write_case(finding& f, const attention_case& smallest) const;
  void write_bytes(finding& f, const std::string& bytes) const;
  finding read_old(const std::filesystem::path& file) const;
  void load_old();
  std::string replay_of_case(const std::filesystem::path& file) const;
  std::string replay_of_bytes(const std::filesystem::path& file) const;
  finding* known(const std::string& name);
  /// The finding of that name, if inputs of its kind need no more looking into.
  finding* settled(const std::string& name);
  /// Counts an input for a finding that it is not the input of, and lets go of it, but for a few of a vague kind.
  void add_alike(finding& f, const std::filesystem::path& artifact, const std::optional<complaint>& said);
  /// From now on, inputs of processes that say so are of this finding, if it is what they say.
  void note_said(const finding& f, const std::optional<complaint>& said);
  const finding* take_in(finding f, const std::filesystem::path& artifact, const std::optional<complaint>& said);

  options given_;
  folders folders_;
  const library& lib_;
  result& result_;
  std::map<std::string, std::string> names_;  ///< of findings, by the kind of what a process said
  std::chrono::steady_clock::time_point start_;
};

}  // namespace assay::campaign
