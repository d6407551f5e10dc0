#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "oracle/decode.hpp"
#include "properties/case/number.hpp"
#include "properties/case/operation.hpp"
#include "properties/data/bits.hpp"
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
  a.data.specials = special_kind::none;  // take_old_keys() brings those of the pool; new rows are finite
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

/// Gives the keys and values that were there before the call to a pool that is filled whole; both lie alike.
void take_old_keys(inputs& whole, const inputs& given, const attention_case& c) {
  for (const char* name : {"k", "v"}) {
    const tensor& to = find_buffer(whole.buffers, name)->view();
    const tensor& from = find_buffer(given.buffers, name)->view();
    for (const sequence& s : c.sequences)
      for (std::int64_t key = 0; key < describe(c).live_keys(c, s).end; ++key)
        for (std::int64_t h = 0; h < to.shape[2]; ++h)
          for (std::int64_t d = 0; d < to.shape[3]; ++d) {
            const std::int64_t page = s.pages[static_cast<std::size_t>(key / c.page_size)];
            const std::int64_t at = to.offset(page, key % c.page_size, h, d);
            set_bits(to, at, bits_at(from, from.offset(page, key % c.page_size, h, d)));
          }
  }
}

/// New rows that the kernel must store as the elements of `pool`, filled whole, at their slots: their values times the
/// scale of the tensor. False if the rows' type does not hold such a value well enough to give the same code.
bool take_rows(inputs& in, const char* rows, const buffer& pool, float scale) {
  const tensor& to = find_buffer(in.buffers, rows)->view();
  const tensor& from = pool.view();
  const auto* const slots = static_cast<const std::int64_t*>(find_buffer(in.buffers, "slots")->view().data);
  bool is_exact = true;
  for (std::int64_t row = 0; row < to.shape[0]; ++row)
    for (std::int64_t h = 0; slots[row] >= 0 && h < to.shape[1]; ++h)
      for (std::int64_t d = 0; d < to.shape[2]; ++d) {
        const std::int64_t page_size = from.shape[1];
        const std::uint32_t code = bits_at(from, from.offset(slots[row] / page_size, slots[row] % page_size, h, d));
        const std::uint32_t bits = round_to_bits(to.type, oracle::decode(from.type, code) * scale);
        set_bits(to, to.offset(row, h, d), bits);
        is_exact = is_exact && round_to_bits(from.type, oracle::decode(to.type, bits) / scale) == code;
      }
  return is_exact;
}

/// The same keys and values twice: in a pool that is filled whole, and in one that has the last of them appended.
/// Neither the oracle's enclosure nor the appending kernel says what attention must see.
verdict check(const library& lib, const attention_case& c) {
  relation r(append_then_attend, lib, c);
  if (r.decided()) return r.conclude();
  const std::string kernel = attending_kernel(lib, c);
  if (kernel.empty()) r.discard("the library has no attention kernel for this pool");
  if (c.rotary != rotary_kind::none) r.discard("rotated rows are not those of the fill");
  if (r.decided()) return r.conclude();

  const attention_case a = attending(c, kernel);
  inputs whole = fill(a);
  take_old_keys(whole, r.given(), c);
  inputs rows = clone(r.given());
  for (const auto& [name, pool, scale] : {std::tuple{"k_new", "k", c.k_scale}, {"v_new", "v", c.v_scale}})
    if (!take_rows(rows, name, *find_buffer(whole.buffers, pool), scale))
      r.discard("the type of the new rows does not hold the pool's values");
  if (r.decided()) return r.conclude();
  const auto ran = r.run(rows, c, "giving the rows of the fill");
  if (!ran) return r.conclude();

  inputs appended = clone(whole);
  for (const char* name : {"k", "v"})
    take_pool(*find_buffer(appended.buffers, name), *find_buffer(ran->written.buffers, name));
  inputs expected = clone(whole);
  const run_manner unchecked{1, false};  // the attention kernel has cases of its own
  const execution on_appended = execute(lib, a, appended, unchecked), on_whole = execute(lib, a, expected, unchecked);
  for (const execution* attended : {&on_appended, &on_whole})
    if (const auto decided = verdict_of(*attended)) r.fail(kernel + " on the pool: " + decided->what);
  if (r.decided()) return r.conclude();
  r.compare(on_whole.written, on_appended.written,
            "appending, " + kernel + " differs from attention on the expected pool:");
  return r.conclude();
}

/// No descales per page, which no kernel for such a pool and queries in f16 or bf16 takes, and no rotation.
void adapt(attention_case& c, const assay_support& /*takes*/) {
  c.rotary = rotary_kind::none;
  if (c.kv_descale == descale_kind::per_tensor) return;
  c.kv_descale = descale_kind::per_tensor;
  c.data.descale_ratio = 1.0F;
}

}  // namespace

const property append_then_attend{"append_then_attend",
                                  "attention on a pool with rows appended equals attention on the pool filled whole",
                                  check, adapt, has_slots | has_attention_too};

}  // namespace assay::relations
