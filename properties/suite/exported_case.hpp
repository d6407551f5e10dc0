/// Cases as files of arrays, for test suites that link nothing of ours: inputs, exact values and enclosures go out as
/// .npy, outputs come in.
///
///   DIR/manifest.json             {"version": 1, "cases": [...]}: of each case its name, its JSON, the problem's
///   numbers,
///                                 and the files of its tensors, with types and shapes
///   DIR/NAME/inputs/q.npy         bf16 as "<u2", FP8 as "|u1": the manifest has the type
///   DIR/NAME/exact/o.npy          f64; NaN where NaN is due, and where nothing may be written
///   DIR/NAME/enclosure/o.lo.npy   f64, and o.hi.npy; where not all rules are 0 o.rules.npy (oracle::element_rule)
///   DIR/NAME/initial/o.npy        before a run: in-out tensors their input, others 0xFF in each byte, which an element
///                                 that may not be written keeps
///   DIR/NAME/outputs/o.npy        for others to write, of the type and shape that the manifest says
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/run/verdict.hpp"

namespace assay {

/// A case and the folder that it gets.
struct exported_case {
  std::string name;  ///< one part of a path
  attention_case stated;
};

/// A tensor of more bytes is not written.
inline constexpr std::int64_t most_exported_bytes = std::int64_t{32} << 20;

/// Why a case is not written: "k has 68719476736 bytes, more than the 33554432 that are written to one file". Else
/// empty.
std::string too_large_to_export(const attention_case& c);

/// Writes the files of all cases to a new folder, whole or not at all, and shows progress on a terminal. Enclosures are
/// by what the types allow. Throws
/// case_error where a case has a tensor that is too large, environment_error, std::filesystem::filesystem_error.
void export_cases(const std::vector<exported_case>& cases, const std::filesystem::path& folder);

/// The verdict on the outputs of a case.
struct checked_case {
  std::string name;
  std::vector<std::string> judged;   ///< outputs whose file is there
  std::vector<std::string> missing;  ///< the others; they are not judged
  verdict result;                    ///< a discard where nothing is there, or not all that is changed in place
};

/// Judges the outputs in a folder that export_cases() made. Inputs are made anew: what is in their files does not
/// count. An output of another type or shape is a failure. Throws case_error that names the file.
std::vector<checked_case> check_exported(const std::filesystem::path& folder);

}  // namespace assay
