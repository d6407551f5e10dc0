#include "properties/run/fitting_contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "kernels/contract_recipes.hpp"
#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"
#include "properties/run/contract_fault.hpp"
#include "properties/run/execute.hpp"

namespace assay {
namespace {

/// A change of one part of a contract, and what it is called.
struct part {
  std::string name;
  std::function<void(contract&)> change;
};

constexpr const char* order_names[] = {"ascending", "descending", "any"};

template <class T>
void add(std::vector<part>& all, const char* name, T contract::* field, const contract& declared,
         std::initializer_list<T> values, const std::function<std::string(T)>& text) {
  for (const T value : values)
    if (value != declared.*field)
      all.push_back({fmt::format("{} {} (not {})", name, text(value), text(declared.*field)),
                     [field, value](contract& c) { c.*field = value; }});
}

/// What no enclosure leaves open: each choice is a number of its own.
std::vector<part> conventions_of(const contract& c) {
  std::vector<part> all;
  const std::function<std::string(lse_base)> base = [](lse_base x) {
    return std::string(x == lse_base::natural ? "natural" : "two");
  };
  const std::function<std::string(empty_lse)> empty = [](empty_lse x) {
    return std::string(x == empty_lse::minus_infinity ? "minus_infinity" : "plus_infinity");
  };
  add(all, "base_of_lse", &contract::base_of_lse, c, {lse_base::natural, lse_base::two}, base);
  add(all, "lse_without_keys", &contract::lse_without_keys, c, {empty_lse::minus_infinity, empty_lse::plus_infinity},
      empty);
  return all;
}

/// Of a contract without an order the conventions alone: the rest is open.
std::vector<part> parts_of(const contract& c) {
  std::vector<part> all = conventions_of(c);
  if (c.order == tile_order::any) return all;
  const std::function<std::string(std::int32_t)> number = [](std::int32_t x) { return fmt::format("{}", x); };
  const std::function<std::string(dtype)> type = [](dtype x) { return std::string(name_of(x)); };
  const std::function<std::string(tile_order)> order = [](tile_order x) {
    return std::string(order_names[static_cast<int>(x)]);
  };
  const std::function<std::string(split_rule)> rule = [](split_rule x) {
    return std::string(x == split_rule::of_sequence ? "of_sequence" : "of_longest");
  };
  add(all, "tile_keys", &contract::tile_keys, c, {16, 32, 64, 128, 256, 8}, number);
  for (const std::int32_t states : {1, 2, 4, 8})
    if (states != std::max(1, c.states))
      all.push_back({fmt::format("states {} (not {})", states, std::max(1, c.states)), [states](contract& changed) {
                       changed.states = states;
                       changed.state_roundings = std::max(changed.state_roundings, states);
                     }});
  add(all, "p_type", &contract::p_type, c,
      {dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3fn, dtype::e4m3fnuz, dtype::e5m2, dtype::e5m2fnuz}, type);
  add(all, "order", &contract::order, c, {tile_order::ascending, tile_order::descending}, order);
  add(all, "splits", &contract::splits, c, {split_rule::of_longest, split_rule::of_sequence}, rule);
  add(all, "p_shift", &contract::p_shift, c, {0, 4, 7, 8}, number);
  add(all, "fuses_logits", &contract::fuses_logits, c, {0, 1}, number);
  add(all, "constant_roundings", &contract::constant_roundings, c, {2, 4}, number);
  const auto matrix = [&](const char* name, accumulation model) {
    all.push_back(
        {fmt::format("qk and pv as {}", name), [model](contract& changed) { changed.qk = changed.pv = model; }});
  };
  matrix("one fused multiply-add an element", {1, 48, 1.0F, 0x1p-24F, 0.0F});
  matrix("16 products a join, truncated (mma.sync)", {8, 24, 10.0F, 0x1p-23F, 0x1p-126F});
  all.push_back({"p_flush 2^-14, as of matrix units that flush subnormals",
                 [](contract& changed) { changed.p_flush = 0x1p-14F; }});
  return all;
}

class search {
 public:
  search(const inputs& given, const execution& ran) : given_(given), ran_(ran) {}

  bool fits(const contract& c) const {
    if (!contract_fault(c, ran_.planned).empty()) return false;
    const oracle::enclosure bounds = oracle::enclose(ran_.planned, given_.tensors(), c);
    return std::ranges::all_of(judge_written(bounds, ran_.written),
                               [](const oracle::judgement& j) { return j.outside == 0 && j.unbounded == 0; });
  }

  /// Whether the search took so long that it should try no more pairs.
  bool is_late() const { return std::chrono::steady_clock::now() - start_ > std::chrono::seconds(5); }

 private:
  const inputs& given_;
  const execution& ran_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Whether every element outside of its enclosure is nearer to the exact value than the enclosure's near end.
bool is_nearer_than_declared(const inputs& given, const execution& ran) {
  const oracle::enclosure bounds = oracle::enclose(ran.planned, given.tensors(), ran.declared);
  const oracle::enclosure exact = oracle::evaluate_in_binary64(ran.planned, given.tensors());
  const std::vector<named_tensor> written = ran.written.tensors();
  bool any = false;
  for (const oracle::enclosed_tensor& truth : exact.tensors) {
    const auto declared = std::ranges::find(bounds.tensors, truth.name, &oracle::enclosed_tensor::name);
    const tensor* const held = find(written, truth.name.c_str());
    if (held == nullptr) continue;  // it does not write that one
    if (declared == bounds.tensors.end() || held->rank < 2) return false;
    for (std::size_t at = 0; at < truth.elements.size(); ++at) {
      if (!declared->is_enclosed(static_cast<std::int64_t>(at))) continue;
      std::int64_t flat = static_cast<std::int64_t>(at), offset = 0;
      for (int d = held->rank - 1; d >= 0; flat /= held->shape[d], --d)
        offset += flat % held->shape[d] * held->stride[d];
      const double value = oracle::load(*held, offset), middle = (truth.elements[at].lo + truth.elements[at].hi) / 2;
      const oracle::interval& e = declared->elements[at];
      const double lo = oracle::round_to_nearest(truth.type, e.lo), hi = oracle::round_to_nearest(truth.type, e.hi);
      if (value >= lo && value <= hi) continue;
      // Also false for a NaN.
      if (!(std::fabs(value - middle) < std::min(std::fabs(lo - middle), std::fabs(hi - middle)))) return false;
      any = true;
    }
  }
  return any;
}

}  // namespace

std::string fitting_contract(const inputs& given, const execution& ran) {
  if (ran.planned.operation != operation_kind::attention) return {};
  const search among(given, ran);
  const contract& declared = ran.declared;
  const auto fit = [](const std::string& name) { return "the outputs fit another contract: " + name; };
  const std::vector<part> parts = parts_of(declared);
  for (const part& p : parts) {
    contract changed = declared;
    p.change(changed);
    if (among.fits(changed)) return fit(p.name);
  }
  for (std::size_t one = 0; one < parts.size() && !among.is_late(); ++one)
    for (std::size_t other = one + 1; other < parts.size() && !among.is_late(); ++other) {
      contract changed = declared;
      parts[one].change(changed);
      parts[other].change(changed);
      if (among.fits(changed)) return fit(parts[one].name + ", " + parts[other].name);
    }
  const auto open = [&](contract c) {
    c.base_of_lse = declared.base_of_lse;
    c.lse_without_keys = declared.lse_without_keys;
    return c;
  };
  contract same_types = open(in_any_order(ran.planned));
  same_types.p_type = declared.p_type;
  if (among.fits(same_types)) return fit("order any, one multiply-add at a time, P as declared");
  if (among.fits(open(of_types(ran.planned))))
    return "the outputs lie within what the types allow in any order: the declared contract does not describe this "
           "kernel, or a fault is smaller than that";
  if (is_nearer_than_declared(given, ran))
    return "the outputs are nearer to the exact result than the declared contract allows: it does not describe this "
           "kernel";
  return {};
}

}  // namespace assay
