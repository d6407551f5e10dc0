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

/// While it lives, others may change this thread's arithmetic, as a library's code does: afterwards it is as before.
class kept_arithmetic {
 public:
  kept_arithmetic() { std::fegetenv(&before_); }
  ~kept_arithmetic() { std::fesetenv(&before_); }
  kept_arithmetic(const kept_arithmetic&) = delete;
  kept_arithmetic& operator=(const kept_arithmetic&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace assay::oracle
