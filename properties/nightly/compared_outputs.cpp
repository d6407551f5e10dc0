#include "properties/nightly/compared_outputs.hpp"

#include <cmath>
#include <stdexcept>

#include "oracle/decode.hpp"
#include "oracle/enclosure.hpp"
#include "oracle/interval.hpp"
#include "properties/nightly/plain_attention.hpp"

namespace assay {
namespace {

/// Calls visit(flat, offset) for each covered element, row major.
template <class Visit>
void for_each_covered(const oracle::enclosed_tensor& covered, const tensor& t, Visit visit) {
  const std::int64_t first_axis = t.rank > 0 ? t.shape[0] : 1;
  const std::int64_t count = covered.indices ? static_cast<std::int64_t>(covered.indices->size()) : first_axis;
  std::int64_t slice = 1;
  for (int d = 1; d < t.rank; ++d) slice *= t.shape[d];
  for (std::int64_t nth = 0, flat = 0; nth < count; ++nth) {
    std::int64_t index[max_rank] = {covered.indices ? (*covered.indices)[static_cast<std::size_t>(nth)] : nth};
    for (std::int64_t i = 0; i < slice; ++i, ++flat) {
      visit(flat, t.offset(index[0], index[1], index[2], index[3]));
      for (int d = t.rank - 1; d > 0 && ++index[d] == t.shape[d]; --d) index[d] = 0;
    }
  }
}

double middle(const oracle::interval& e) {
  return e.lo == e.hi ? e.lo : e.lo / 2 + e.hi / 2;
}

/// The reference of one element; nothing where tests of other projects have none.
std::optional<double> reference_of(const oracle::enclosed_tensor& exact, std::int64_t flat) {
  const auto at = static_cast<std::size_t>(flat);
  if (exact.rule(flat) != oracle::element_rule::enclosed) {
    if (exact.held.empty()) return std::nullopt;
    const double held = oracle::decode(exact.type, exact.held[at]);
    return std::isnan(held) ? std::nullopt : std::optional(held);
  }
  if (oracle::is_everything(exact.elements[at])) return std::nullopt;
  return oracle::round_to_nearest(exact.type, oracle::round_to_nearest(dtype::f32, middle(exact.elements[at])));
}

compared_tensor compare(const oracle::enclosed_tensor& exact, const tensor& written,
                        const std::vector<double>& same_precision) {
  compared_tensor compared{exact.name, exact.type, {}, {}, {}};
  for_each_covered(exact, written, [&](std::int64_t flat, std::int64_t offset) {
    const std::optional<double> reference = reference_of(exact, flat);
    if (!reference) return;
    compared.output.push_back(oracle::load(written, offset));
    compared.reference.push_back(*reference);
    if (!same_precision.empty()) compared.same_precision.push_back(same_precision[static_cast<std::size_t>(flat)]);
  });
  return compared;
}

bool has_eight_bits(dtype type) {
  return size_bytes(type) == 1;
}

}  // namespace

compared_outputs compare_outputs(const inputs& given, const execution& ran) {
  const problem& p = ran.planned;
  compared_outputs all;
  all.is_quantised = has_eight_bits(p.q_type) || has_eight_bits(p.k_type);
  all.is_soft_capped = p.soft_cap > 0;
  all.keys = p.max_k;
  const std::vector<double> plain =
      p.operation == operation_kind::attention ? plain_attention(given) : std::vector<double>{};
  for (const oracle::enclosed_tensor& exact : oracle::evaluate_in_binary64(p, given.tensors()).tensors) {
    const buffer* written = find_buffer(ran.written.buffers, exact.name);
    if (written == nullptr) throw std::invalid_argument("output " + exact.name + " is missing");
    compared_tensor compared = compare(exact, written->view(), exact.name == "o" ? plain : std::vector<double>{});
    if (exact.name == "lse")
      all.lse = std::move(compared);
    else
      all.results.push_back(std::move(compared));
  }
  return all;
}

}  // namespace assay
