/// The features of a case: what it exercises that other cases may not.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "properties/case/case.hpp"
#include "properties/run/kernel_library.hpp"

namespace assay::corpus {

/// Names of features and their numbers.
class feature_names {
 public:
  std::uint32_t number_of(const std::string& name);
  const std::string& name_of(std::uint32_t number) const { return names_.at(number); }
  std::size_t count() const { return names_.size(); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
};

/// Runs the case and names its features, each beginning with the kernel, sorted, each once: the verdict; the fields
/// (values of enumerations and switches, numbers by bucket_of()); what features.hpp counts, by bucket; and the edges of
/// the kernels' code, if the library counts them.
std::vector<std::string> features_of(const library& lib, const attention_case& c);

/// The same for many cases, in `jobs` processes, as numbers. A case that ends its process has that as a feature, beside
/// its fields. Failures of kernels never throw.
std::vector<std::vector<std::uint32_t>> features_of(const library& lib, std::span<const attention_case> cases, int jobs,
                                                    double limit_seconds, feature_names& names);

}  // namespace assay::corpus
