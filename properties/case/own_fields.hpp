/// Helpers for an operation's own fields.
#pragma once

#include "properties/case/case.hpp"
#include "properties/case/operation.hpp"

namespace assay {

/// The own field at `Field`, whose plain value is that of a new case.
template <auto Field>
constexpr own_field own(const char* name, const char* refusal) {
  return {name, refusal, [](const attention_case& c) { return c.*Field == attention_case{}.*Field; },
          [](attention_case& c) { c.*Field = attention_case{}.*Field; }};
}

/// Sets a problem's field. Enumerations get invalid values, as a broken caller may pass them.
template <auto Field, auto Value>
bool set_field(problem& p) {
  using field = std::remove_reference_t<decltype(p.*Field)>;
  p.*Field = static_cast<field>(Value);  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange)
  return true;
}

}  // namespace assay
