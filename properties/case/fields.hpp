/// Iteration over described structs, shared by both directions of the JSON form. The lists of fields are the
/// BOOST_DESCRIBE lists of case.hpp and nothing else.
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>

namespace assay::fields {

template <typename T>
constexpr bool is_struct = boost::describe::has_describe_members<T>::value && std::is_class_v<T>;

template <typename T>
constexpr bool is_vector = false;
template <typename T>
constexpr bool is_vector<std::vector<T>> = true;

template <typename T>
constexpr bool is_optional = false;
template <typename T>
constexpr bool is_optional<std::optional<T>> = true;

/// Calls visit(name, pointer to member) for each field in order.
template <typename T, typename Visit>
void for_each(Visit&& visit) {
  using members = boost::describe::describe_members<T, boost::describe::mod_public>;
  boost::mp11::mp_for_each<members>([&](auto d) { visit(d.name, d.pointer); });
}

}  // namespace assay::fields
