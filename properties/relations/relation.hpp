/// Shared by relations: a base run, more runs with edited inputs, and the comparison of their outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "properties/data/edit.hpp"
#include "properties/relations/property.hpp"
#include "properties/run/execute.hpp"

namespace assay::relations {

/// Whether loads and stores are checked in the runs after the base run, too. They need not be where the edited inputs
/// differ from the base's in data or in which page is which only: a kernel that does not choose addresses by its data
/// makes the same accesses then.
enum class other_runs : std::uint8_t { checked, unchecked };

/// One check in progress. The check returns the result of conclude(). The first failure decides.
class relation {
 public:
  /// Fills and runs the case. If that already decides the verdict (a rejection, a defect), `decided()` is true.
  relation(const property& p, const library& lib, const attention_case& c, other_runs others = other_runs::checked);

  bool decided() const { return result_.result != outcome::pass; }
  /// The verdict that was decided, if there is one. Else the relation holds, and conclude() also checks that the base's
  /// outputs lie in their enclosure: a fault that changes all runs alike breaks no relation. The relation is checked
  /// first because its message is more specific. If the contract does not bound the base's outputs, the check is
  /// undecided: two wrong runs can agree.
  verdict conclude() const;
  const inputs& given() const { return given_; }
  /// The support of the case's kernel.
  const assay_support& takes() const { return lib_.support_of(case_.kernel); }
  /// Outputs for the planned problem of the base run, unwritten. `given` has the in-out tensors.
  outputs unwritten(const inputs& given) const {
    return make_outputs(base_.planned, layout_of(case_), given, left_out_);
  }
  const execution& base() const { return base_; }

  /// Runs edited inputs with the base's number of splits. The base ran, so it is a failure if this run does not.
  /// But what the library's predicate refuses discards the check. `change` completes the sentence "after ...". Accesses
  /// are checked if the relation's other runs are and `manner`
  /// says so, too. Returns nothing if the check is decided.
  std::optional<execution> run(inputs& edited, const attention_case& how, const std::string& change,
                               run_manner manner = {});

  /// Like run(), but into outputs of the caller's, and with another description of the tensors.
  std::optional<execution> run_into(outputs written, inputs& edited, const attention_case& how,
                                    const std::string& change, const redescription& redescribe = {});

  /// Like run(), but the outputs must also have the same bits as the base's.
  void expect_same_bits(inputs& edited, const attention_case& how, const std::string& change,
                        const run_manner& manner = {});

  /// These two, of which the last run is one, must have the same bits. Unless the kernel declares that its runs may
  /// differ in them (no_same_bits), or it chose another number of splits: then the run was judged by its enclosure.
  void compare(const outputs& before, const outputs& after, const std::string& change);

  /// Whether the last run must have the bits of the base: see compare().
  bool compares_bits() const { return !has_other_bits_; }

  void fail(const std::string& what);
  void discard(const std::string& reason);

 private:
  /// Counts the run; nothing if it decides the verdict. `given`: the inputs of the run.
  std::optional<execution> taken(execution ran, const inputs& given, const std::string& change);

  /// What the check costs stays counted.
  void become(verdict decided);

  const property& property_;
  const library& lib_;
  const bool checks_others_;
  const attention_case case_;
  const std::vector<std::string> left_out_;  ///< outputs that the kernel does not write
  inputs given_;
  execution base_;
  bool has_other_bits_ = false;  ///< the last run may have others than the base
  verdict result_;
};

}  // namespace assay::relations
