/// What relations share: a base run, further runs of edited inputs, and the comparison of their outputs.
#pragma once

#include <optional>
#include <string>

#include "properties/data/edit.hpp"
#include "properties/relations/property.hpp"
#include "properties/run/execute.hpp"

namespace assay::relations {

/// One check in progress. What conclude() gives is what the check returns; the first failure stays.
class relation {
 public:
  /// Fills and runs the case. When that alone decides (a rejection, a defect), `decided()` is true.
  relation(const property& p, const library& lib, const attention_case& c);

  bool decided() const { return result_.result != outcome::pass; }
  /// What decided. Where nothing did, the relation holds, and the base's outputs must lie in their enclosure as well: a
  /// fault that moves all runs alike breaks no relation. The relation comes first, as it says more. Elements about
  /// which the contract says nothing are left to output_enclosed.
  verdict conclude() const;
  const inputs& given() const { return given_; }
  const execution& base() const { return base_; }

  /// Runs edited inputs under the base's number of splits. Whatever keeps it from running is a failure, as the base
  /// ran. `change` completes the sentence "after ...". Nothing when the check is decided.
  std::optional<execution> run(inputs& edited, const attention_case& how, const std::string& change, int workers = 1);

  /// As run(), and then the outputs must have the base's bits.
  void expect_same_bits(inputs& edited, const attention_case& how, const std::string& change, int workers = 1);

  /// These two must have the same bits.
  void compare(const outputs& before, const outputs& after, const std::string& change);

  void fail(const std::string& what);
  void discard(const std::string& reason);

 private:
  /// What the check costs stays counted.
  void become(verdict decided);

  const property& property_;
  const library& lib_;
  inputs given_;
  execution base_;
  verdict result_;
};

}  // namespace assay::relations
