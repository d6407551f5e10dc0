// hidden_keys where a library does not take all that it likes to write: see relations_test.cpp for the rest.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "properties/data/difference.hpp"
#include "properties/relations/relations.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::relations {

TEST_CASE("hidden_keys changes the bias of hidden keys also where a library takes no NaN there") {
  attention_case c = testing::small_case();
  c.window = 4;
  c.bias_type = dtype::f32;
  c.data.poison = poison_kind::huge;
  bool saw_nan = false;
  const auto faulty = testing::corrupting_library([&](testing::call& one) {
    const tensor bias = one.view("bias");  // no row of sequence 0 sees its first key
    const double hidden = value_at(bias, bias.offset(0, 0, 0));
    saw_nan = saw_nan || std::isnan(hidden);
    if (hidden < 0) one.flip_o();
  });
  assay_support takes{};
  takes.size_bytes = sizeof takes;
  takes.no_dead_nan = 1;
  faulty->supports["split_kv"] = takes;
  const verdict v = hidden_keys.check(*faulty, c);
  CAPTURE(v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.what.find("replacing the keys that no row sees") != std::string::npos);
  CHECK(run_case(*faulty, c).result == outcome::pass);
  CHECK_FALSE(saw_nan);
}

}  // namespace assay::relations
