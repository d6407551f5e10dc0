#include "properties/probe/probe.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>

namespace assay::probe {
namespace {

std::string message_of(const assay_status& status) {
  return {status.message, strnlen(status.message, sizeof status.message)};
}

constexpr std::int64_t every = std::numeric_limits<std::int64_t>::max();

atom_report probe_integers(const assay_matrix_unit& unit, std::int32_t number, const assay_unit_atom& atom,
                           std::int64_t count, std::uint64_t seed) {
  atom_report r;
  r.name = atom.name;
  r.is_declared = true;
  std::mt19937_64 random(seed);
  const auto depth = static_cast<std::size_t>(atom.depth), tiles = static_cast<std::size_t>(count);
  std::vector<std::int8_t> a(tiles * 16 * depth), b(a.size());
  std::vector<std::int32_t> c(tiles * 256), d(c.size());
  for (auto* v : {&a, &b})
    for (std::int8_t& x : *v) x = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
  for (std::int32_t& x : c) x = static_cast<std::int32_t>(random() % (1U << 30)) - (1 << 29);
  const assay_status status =
      unit.multiply(number, static_cast<std::int32_t>(count), a.data(), b.data(), c.data(), d.data());
  if (status.code != ASSAY_OK) r.failure = message_of(status);
  for (std::size_t i = 0; i < d.size() && r.failure.empty(); ++i) {
    const std::size_t tile = i / 256, row = i / 16 % 16, column = i % 16;
    std::int32_t sum = c[i];
    for (std::size_t k = 0; k < depth; ++k)
      sum += a[(tile * 16 + row) * depth + k] * b[(tile * 16 + column) * depth + k];
    ++r.declared.compared;
    r.declared.misses += sum == d[i] ? 0 : 1;
  }
  return r;
}

/// What one function must give, and which x count.
struct function_of {
  const char* name;
  double (*exact)(double x);
  float least, most;
  double relative, absolute;
};

float float_of(std::uint32_t bits) {
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

void measure(const function_of& f, std::span<const float> x, std::span<const float> y, function_report& r) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = f.exact(static_cast<double>(x[i]));
    if (std::fabs(exact) < 0x1p-126) continue;  // of subnormal results the contract says something else
    ++r.compared;
    const double error = std::max(0.0, std::fabs(static_cast<double>(y[i]) - exact) - f.absolute) / std::fabs(exact);
    if (error > r.worst || std::isnan(error)) r.worst = std::isnan(error) ? 1 : error, r.at = x[i];
  }
}

}  // namespace

atom_report probe_atom(const assay_matrix_unit& unit, std::int32_t number, std::int64_t count, std::uint64_t seed) {
  const assay_unit_atom atom = atom_of(unit, number);
  const auto type = static_cast<dtype>(atom.type);
  if (type == dtype::i8) return probe_integers(unit, number, atom, count, seed);
  atom_report r;
  r.name = atom.name;
  r.is_declared = atom.declared.sum != atom_sum::undeclared;
  tiles t = craft(type, atom.depth, count, seed);
  const assay_status status =
      unit.multiply(number, static_cast<std::int32_t>(count), t.a.data(), t.b.data(), t.c.data(), t.d.data());
  if (status.code != ASSAY_OK) {
    r.failure = message_of(status);
    return r;
  }
  if (r.is_declared) r.declared = compare(t, atom.declared, every);
  if (!r.is_declared || r.declared.misses > 0) r.found = search(t);
  return r;
}

function_report probe_function(const assay_matrix_unit& unit, assay_unit_function function, std::uint32_t stride) {
  // Where the contract uses them: exp2 of what is at most 0 and of what p_shift adds, log of sums, tanh of anything.
  const function_of functions[] = {
      {"exp2", [](double x) { return std::exp2(x); }, -126, 127, static_cast<double>(unit.exp2_relative_error), 0},
      {"log", [](double x) { return std::log(x); }, 1, 0x1p31F, static_cast<double>(unit.log_relative_error),
       static_cast<double>(unit.log_absolute_error)},
      {"tanh", [](double x) { return std::tanh(x); }, -0x1p127F, 0x1p127F,
       static_cast<double>(unit.tanh_relative_error), 0}};
  constexpr std::size_t together = 1 << 22;
  const function_of& f = functions[function];
  function_report r;
  r.name = f.name;
  r.declared = f.relative;
  std::vector<float> x, y;
  const auto flush = [&] {
    y.assign(x.size(), std::numeric_limits<float>::quiet_NaN());  // what the library leaves out is wrong
    const assay_status status = unit.evaluate(function, std::ssize(x), x.data(), y.data());
    if (status.code != ASSAY_OK) r.failure = message_of(status);
    measure(f, x, y, r);
    x.clear();
  };
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32 && r.failure.empty(); bits += stride) {
    const float value = float_of(static_cast<std::uint32_t>(bits));
    if (value >= f.least && value <= f.most) x.push_back(value);
    if (x.size() == together) flush();
  }
  if (!x.empty() && r.failure.empty()) flush();
  return r;
}

}  // namespace assay::probe
