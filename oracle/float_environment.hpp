/// The arithmetic that the oracle's proofs are about.
#pragma once

#include <cfenv>

namespace assay::oracle {

/// While it lives, this thread rounds to nearest and keeps subnormal numbers, for any settings of the library under
/// test. Start-up code of -ffast-math flushes subnormals: that would change the oracle's results too.
class ieee_arithmetic {
 public:
  ieee_arithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~ieee_arithmetic() { std::fesetenv(&before_); }
  ieee_arithmetic(const ieee_arithmetic&) = delete;
  ieee_arithmetic& operator=(const ieee_arithmetic&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace assay::oracle
