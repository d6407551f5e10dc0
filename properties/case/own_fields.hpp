/// Helpers for an operation's own fields.
#pragma once

#include <boost/mp11.hpp>
#include <cstdint>
#include <iterator>
#include <limits>

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

/// How many values an enumeration of problem.hpp has.
template <class Enum>
inline constexpr std::int32_t count_of =
    static_cast<std::int32_t>(boost::mp11::mp_size<boost::describe::describe_enumerators<Enum>>::value);
template <>
inline constexpr std::int32_t count_of<operation_kind> = static_cast<std::int32_t>(std::size(operation_names));

}  // namespace assay

/// Wrong values of a problem's enumeration, as elements of a list of {name, function}: just past the last one and far
/// past it, on both sides. A host that takes one for an index reads memory near its table, or far from it.
#define ASSAY_UNKNOWN_VALUES(field)                                                                   \
  {#field " just past the last", set_field<&problem::field, count_of<decltype(problem{}.field)>>},    \
      {#field " -1", set_field<&problem::field, -1>}, {#field " 99", set_field<&problem::field, 99>}, \
      {#field " 2^31 - 1", set_field<&problem::field, std::numeric_limits<std::int32_t>::max()>}, {   \
    #field " -2^31", set_field<&problem::field, std::numeric_limits<std::int32_t>::min()>             \
  }
