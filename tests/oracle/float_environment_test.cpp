/// A library that changes the thread's arithmetic does not change what the oracle says.
#include "oracle/float_environment.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "oracle/enclosure.hpp"
#include "tests/oracle/mqa_scalar_kernel.hpp"

namespace assay::oracle {
namespace {

/// Rounds upward and, where that is known how to, flushes subnormal numbers, as long as it lives.
class bent_arithmetic {
 public:
  bent_arithmetic() {
    std::fegetenv(&before_);
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);  // FTZ and DAZ
#endif
  }
  ~bent_arithmetic() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

/// Weights so small that terms and logits are subnormal.
testing::setting tiny_weights() {
  testing::mqa_options o;
  o.contexts = {20};
  o.heads = 20;
  o.draw = [](char which, std::int64_t, std::mt19937_64& random) {
    return testing::normal(random) * (which == 'w' ? 0x1p-135 : 1.0);
  };
  return testing::make_mqa_setting(o);
}

bool same(const enclosure& a, const enclosure& b) {
  const auto equal = [](const interval& x, const interval& y) { return x.lo == y.lo && x.hi == y.hi; };
  return std::ranges::equal(a.tensors[0].elements, b.tensors[0].elements, equal);
}

}  // namespace

TEST_CASE("enclosures and verdicts are the same in a thread whose arithmetic was changed", "[oracle]") {
  const testing::setting s = tiny_weights();
  contract c;
  c.qk = {32, 48, 1.0F, 0x1p-24F, 0.0F};
  c.fuses_logits = 1;
  c.head_rows = 2;
  c.head_tree[0] = 1;
  const enclosure bounds = enclose(s.stated, s.tensors(), c), exact = evaluate_exactly(s.stated, s.tensors()),
                  fast = evaluate_in_binary64(s.stated, s.tensors());
  const testing::memory logits = testing::mqa_scalar_kernel(s, c, {}, 1).run();
  const named_tensor output{"logits", logits.view};
  CHECK(judge(bounds, {&output, 1})[0].outside == 0);

  const bent_arithmetic bent;
  const volatile double one = 1, three = 3;
  REQUIRE(one / three > 1.0 / 3);  // the compiler rounded the right side to nearest, which is downward
  CHECK(same(enclose(s.stated, s.tensors(), c), bounds));
  CHECK(same(evaluate_exactly(s.stated, s.tensors()), exact));
  CHECK(same(evaluate_in_binary64(s.stated, s.tensors()), fast));
  CHECK(judge(bounds, {&output, 1})[0].outside == 0);
  CHECK(std::fegetround() == FE_UPWARD);
}

}  // namespace assay::oracle
