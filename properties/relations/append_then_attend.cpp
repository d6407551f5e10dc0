#include <fmt/format.h>

#include <cmath>

#include "oracle/decode.hpp"
#include "properties/case/number.hpp"
#include "properties/case/slots.hpp"
#include "properties/data/difference.hpp"
#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

/// A case that attends causally to the pool that `c` appends to: row i of a sequence sees all keys up to its own new
/// key. Keys behind the new ones are dead.
attention_case attending(const attention_case& c, const std::string& kernel) {
  attention_case a = c;
  a.kernel = kernel;
  a.rotary = rotary_kind::none;
  a.causal = true;
  a.o_type = c.q_type;
  a.scale = 1.0F / std::sqrt(static_cast<float>(c.head_dim_qk));
  return a;
}

/// The first kernel of the library that attends to such a case; empty if none does.
std::string attending_kernel(const library& lib, const attention_case& c) {
  for (const std::string& name : lib.kernels()) {
    if (describe(name).kind != operation_kind::attention) continue;
    problem planned;
    const attention_case a = attending(c, name);
    if (plan_problem(*lib.find(name), to_problem(a), a.workspace_budget_bytes, &planned).code == ASSAY_OK) return name;
  }
  return {};
}

/// Gives the elements of `to` those of the pool of the same name in `pools`; both lie alike.
void take_pool(buffer& to, const buffer& pool) {
  for (const index_range& r : to.accessible()) std::ranges::copy(pool.bytes(r), to.bytes(r).begin());
}

/// The expected pools: each element outside its enclosure is replaced by the nearest value inside.
void correct(buffer& pool, const oracle::enclosed_tensor& bounds) {
  const tensor& t = pool.view();
  std::size_t flat = 0;
  for (const std::int64_t page : bounds.indices.value_or(std::vector<std::int64_t>{}))
    for (std::int64_t slot = 0; slot < t.shape[1]; ++slot)
      for (std::int64_t h = 0; h < t.shape[2]; ++h)
        for (std::int64_t d = 0; d < t.shape[3]; ++d, ++flat) {
          const std::int64_t at = t.offset(page, slot, h, d);
          if (bounds.rule(static_cast<std::int64_t>(flat)) != oracle::element_rule::enclosed) {
            set_bits(t, at, bounds.held[flat]);
            continue;
          }
          const oracle::interval& e = bounds.elements[flat];
          const double lo = oracle::decode(t.type, round_to_bits(t.type, e.lo));
          const double hi = oracle::decode(t.type, round_to_bits(t.type, e.hi)), is = value_at(t, at);
          if (!(is >= lo && is <= hi)) set_bits(t, at, round_to_bits(t.type, e.lo));
        }
}

verdict check(const library& lib, const attention_case& c) {
  relation r(append_then_attend, lib, c);
  if (r.decided()) return r.conclude();
  const std::string kernel = attending_kernel(lib, c);
  if (kernel.empty()) r.discard("the library has no attention kernel for this pool");
  if (r.decided()) return r.conclude();

  oracle::enclosure bounds;
  judge_execution(r.given(), r.base(), &bounds);
  const attention_case a = attending(c, kernel);
  inputs appended = fill(a);
  for (const char* name : {"k", "v"})
    take_pool(*find_buffer(appended.buffers, name), *find_buffer(r.base().written.buffers, name));
  inputs meant = clone(appended);
  for (const oracle::enclosed_tensor& t : bounds.tensors)
    if (t.name == "k" || t.name == "v") correct(*find_buffer(meant.buffers, t.name), t);

  const execution on_appended = execute(lib, a, appended), on_meant = execute(lib, a, meant);
  for (const execution* ran : {&on_appended, &on_meant})
    if (const auto decided = verdict_of(*ran)) r.fail(kernel + " on the pool: " + decided->what);
  if (r.decided()) return r.conclude();
  r.compare(on_meant.written, on_appended.written,
            "appending, " + kernel + " differs from attention on the expected pool:");
  if (const verdict judged = judge_execution(meant, on_appended); judged.result == outcome::fail)
    r.fail(kernel + " on the appended pool: " + judged.what);
  return r.conclude();
}

/// No descales per page, which no kernel for such a pool and queries in f16 or bf16 takes, and no keys that overflow
/// when they are rotated: attention to infinite keys is not defined.
void adapt(attention_case& c) {
  if (c.data.fill == fill_kind::largest) c.data.fill = fill_kind::normal;
  if (c.kv_descale == descale_kind::per_tensor) return;
  c.kv_descale = descale_kind::per_tensor;
  c.data.descale_ratio = 1.0F;
}

}  // namespace

const property append_then_attend{"append_then_attend",
                                  "attention on the appended pool equals attention on the rows as given", check, adapt,
                                  has_slots};

}  // namespace assay::relations
