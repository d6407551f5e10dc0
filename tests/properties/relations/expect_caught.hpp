/// What a property says of a library that has a fault made for it.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>

#include "properties/relations/property.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::relations {

inline attention_case adapted(const property& p, attention_case c = testing::small_case()) {
  if (p.adapt != nullptr) p.adapt(c, {});
  validate(c);
  return c;
}

/// Whether the fault shows without the property: a flipped bit may or may not leave the enclosure.
enum class enclosure_sees { nothing, maybe };

/// The property sees the fault, and the enclosure does not.
inline void expect_caught(const property& p, const std::shared_ptr<library>& faulty, const std::string& part,
                          attention_case c = testing::small_case(), enclosure_sees sees = enclosure_sees::nothing) {
  c = adapted(p, c);
  const verdict v = p.check(*faulty, c);
  CAPTURE(p.name, v.what);
  CHECK(v.result == outcome::fail);
  CHECK(v.origin == p.name);
  CHECK(v.what.find(part) != std::string::npos);
  if (sees == enclosure_sees::nothing) CHECK(run_case(*faulty, c).result == outcome::pass);
}

}  // namespace assay::relations
