#include "python/module/python_contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <utility>

#include "kernels/contract_recipes.hpp"
#include "kernels/matrix_atoms.hpp"
#include "properties/case/case.hpp"
#include "properties/suite/problem_json.hpp"

namespace assay {
BOOST_DESCRIBE_ENUM(tile_order, ascending, descending, any)
BOOST_DESCRIBE_ENUM(split_rule, of_sequence, of_longest)
BOOST_DESCRIBE_ENUM(lse_base, natural, two)
BOOST_DESCRIBE_ENUM(empty_lse, minus_infinity, plus_infinity)
}  // namespace assay

namespace assay::python {
namespace {

namespace py = pybind11;

[[noreturn]] void refuse(const std::string& field, const py::handle& value, const std::string& wanted) {
  throw py::value_error(fmt::format("declares: {}: {} is not {}", field, py::repr(value).cast<std::string>(), wanted));
}

template <class Number>
Number number_of(const std::string& field, const py::handle& value) {
  try {
    return value.cast<Number>();
  } catch (const py::cast_error&) {
    refuse(field, value, std::is_integral_v<Number> ? "a whole number" : "a number");
  }
}

template <class Enum>
Enum enumerator_of(const std::string& field, const py::handle& value) {
  std::vector<std::string> names;
  std::optional<Enum> found;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Enum>>([&](auto e) {
    names.emplace_back(e.name);
    if (py::isinstance<py::str>(value) && value.cast<std::string>() == e.name) found = e.value;
  });
  if (!found) refuse(field, value, fmt::format("one of {}", fmt::join(names, ", ")));
  return *found;
}

dtype type_of(const std::string& field, const py::handle& value) {
  if (py::isinstance<py::str>(value) && value.cast<std::string>() == "tf32") return dtype::tf32;
  return enumerator_of<dtype>(field, value);
}

void set_accumulation(accumulation& a, const std::string& field, const py::handle& value) {
  if (!py::isinstance<py::dict>(value)) refuse(field, value, "a dict of an accumulation's fields");
  for (const auto& [key, v] : value.cast<py::dict>()) {
    const auto name = py::str(key).cast<std::string>();
    std::string path = field;
    path.append(".").append(name);
    if (name == "products")
      a.products = number_of<std::int32_t>(path, v);
    else if (name == "alignment_bits")
      a.alignment_bits = number_of<std::int32_t>(path, v);
    else if (name == "alignment_terms")
      a.alignment_terms = number_of<float>(path, v);
    else if (name == "result_roundoff")
      a.result_roundoff = number_of<float>(path, v);
    else if (name == "flush")
      a.flush = number_of<float>(path, v);
    else
      refuse(field, key, "one of products, alignment_bits, alignment_terms, result_roundoff, flush");
  }
}

matrix_atom atom_of(const std::string& field, const py::handle& value, dtype type) {
  const named_atoms* const known =
      py::isinstance<py::str>(value) ? find_atoms(value.cast<std::string>().c_str()) : nullptr;
  std::vector<std::string> names;
  for (const named_atoms& n : known_atoms) names.emplace_back(n.name);
  if (known == nullptr) refuse(field, value, fmt::format("one of {}", fmt::join(names, ", ")));
  return is_fp8(type) && known->of_fp8 != nullptr ? known->of_fp8(type) : known->of(type);
}

void set_head_tree(contract& c, const std::string& field, const py::handle& value) {
  if (!py::isinstance<py::sequence>(value) || py::len(value) > std::size(c.head_tree))
    refuse(field, value, fmt::format("a list of at most {} strides", std::size(c.head_tree)));
  std::ranges::fill(c.head_tree, 0);
  std::size_t at = 0;
  for (const py::handle& stride : value.cast<py::sequence>())
    c.head_tree[at++] = number_of<std::int32_t>(field, stride);
}

using setter = std::function<void(contract&, const std::string&, const py::handle&, const problem&)>;

template <class Field>
setter set(Field contract::* at) {
  return [at](contract& c, const std::string& field, const py::handle& value, const problem&) {
    if constexpr (std::is_same_v<Field, accumulation>)
      set_accumulation(c.*at, field, value);
    else if constexpr (std::is_same_v<Field, dtype>)
      c.*at = type_of(field, value);
    else if constexpr (std::is_enum_v<Field>)
      c.*at = enumerator_of<Field>(field, value);
    else
      c.*at = number_of<Field>(field, value);
  };
}

const std::map<std::string, setter>& setters() {
#define ASSAY_FIELD(name) {#name, set(&contract::name)}
  static const std::map<std::string, setter> all{
      ASSAY_FIELD(tile_keys),
      ASSAY_FIELD(qk),
      ASSAY_FIELD(pv),
      ASSAY_FIELD(p_type),
      ASSAY_FIELD(p_flush),
      ASSAY_FIELD(p_shift),
      ASSAY_FIELD(fuses_logits),
      ASSAY_FIELD(tile_rows),
      ASSAY_FIELD(merge_roundings),
      ASSAY_FIELD(head_rows),
      {"head_tree",
       [](contract& c, const std::string& f, const py::handle& v, const problem&) { set_head_tree(c, f, v); }},
      ASSAY_FIELD(constant_roundings),
      ASSAY_FIELD(sum_roundings),
      ASSAY_FIELD(normalise_roundings),
      ASSAY_FIELD(exp2_relative_error),
      ASSAY_FIELD(exp2_flush),
      ASSAY_FIELD(log_absolute_error),
      ASSAY_FIELD(log_relative_error),
      ASSAY_FIELD(tanh_relative_error),
      ASSAY_FIELD(rotary_roundings),
      ASSAY_FIELD(scale_roundings),
      ASSAY_FIELD(quantise_roundings),
      ASSAY_FIELD(rescale_roundings),
      ASSAY_FIELD(order),
      ASSAY_FIELD(splits),
      ASSAY_FIELD(base_of_lse),
      ASSAY_FIELD(lse_without_keys),
      ASSAY_FIELD(query_type),
      ASSAY_FIELD(cache_type),
      ASSAY_FIELD(product_type),
      ASSAY_FIELD(partial_type),
      ASSAY_FIELD(product_roundings),
      ASSAY_FIELD(rescale_slack),
      ASSAY_FIELD(normalises_p),
      ASSAY_FIELD(sum_epsilon),
      ASSAY_FIELD(states),
      ASSAY_FIELD(state_roundings),
      ASSAY_FIELD(sum_join_roundings),
      ASSAY_FIELD(least_rounded_maximum),
      {"qk_atom", [](contract& c, const std::string& f, const py::handle& v,
                     const problem& p) { c.qk_atom = atom_of(f, v, p.k_type); }},
      {"pv_atom", [](contract& c, const std::string& f, const py::handle& v,
                     const problem& p) { c.pv_atom = atom_of(f, v, p.v_type); }},
  };
#undef ASSAY_FIELD
  return all;
}

contract recipe_of(const py::dict& fields, const problem& stated) {
  const bool has_order = fields.contains("order") && py::str(fields["order"]).cast<std::string>() != "any";
  if (!fields.contains("recipe")) return has_order ? contract{} : of_types(stated);
  const py::object given = fields["recipe"];
  const auto name = py::str(given).cast<std::string>();
  if (name == "defaults") return {};
  if (name == "of_types") return of_types(stated);
  if (name == "in_any_order") return in_any_order(stated);
  if (name == "vllm_paged_attention") return vllm_paged_attention(stated);
  if (name == "flash_attention_2") {
    if (!fields.contains("tile_keys"))
      throw py::value_error("declares: recipe: flash_attention_2 needs tile_keys, the keys of a tile");
    return flash_attention_2(stated, number_of<std::int32_t>("tile_keys", fields["tile_keys"]));
  }
  refuse("recipe", given, "one of of_types, in_any_order, flash_attention_2, vllm_paged_attention, defaults");
}

/// Of a scalar.
py::object object_of(const boost::json::value& v) {
  if (v.is_bool()) return py::bool_(v.as_bool());
  if (v.is_int64()) return py::int_(v.as_int64());
  if (v.is_double()) return py::float_(v.as_double());
  return py::str(std::string(v.as_string()));
}

}  // namespace

contract contract_of(const py::dict& fields, const problem& stated) {
  contract c = recipe_of(fields, stated);
  for (const auto& [key, value] : fields) {
    const auto name = py::str(key).cast<std::string>();
    if (name == "recipe") continue;
    const auto found = setters().find(name);
    if (found == setters().end())
      throw py::value_error(
          fmt::format("declares: a contract has no '{}'; it has {}", name, fmt::join(contract_fields(), ", ")));
    found->second(c, name, value, stated);
  }
  return c;
}

std::vector<std::string> contract_fields() {
  std::vector<std::string> names{"recipe"};
  for (const auto& [name, set] : setters()) names.push_back(name);
  return names;
}

py::dict dict_of(const problem& p) {
  py::dict d;
  for (const auto& field : problem_to_json(p)) d[py::str(std::string(field.key()))] = object_of(field.value());
  return d;
}

}  // namespace assay::python
