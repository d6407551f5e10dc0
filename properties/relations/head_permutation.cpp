#include "properties/relations/relation.hpp"
#include "properties/relations/relations.hpp"

namespace assay::relations {
namespace {

verdict check(const library& lib, const attention_case& c) {
  relation r(head_permutation, lib, c, other_runs::unchecked);
  if (c.heads_q < 2) r.discard("there is only one head");
  if (r.decided()) return r.conclude();

  // kv heads with their groups, and the heads of each group among themselves.
  const std::int64_t group = c.heads_q / c.heads_kv;
  const std::vector<std::int64_t> kv_heads = permutation(c.heads_kv, c.data.seed);
  const std::vector<std::int64_t> members = permutation(group, c.data.seed + 1);
  std::vector<std::int64_t> q_heads;
  for (const std::int64_t kv : kv_heads)
    for (const std::int64_t member : members) q_heads.push_back(kv * group + member);

  inputs permuted = clone(r.given());
  gather_input(permuted, "k", 2, kv_heads);
  gather_input(permuted, "v", 2, kv_heads);
  gather_input(permuted, "k_descale", 1, kv_heads);
  gather_input(permuted, "v_descale", 1, kv_heads);
  gather_input(permuted, "q", 1, q_heads);
  gather_input(permuted, "bias", 0, q_heads);
  gather_input(permuted, "sinks", 0, q_heads);
  const std::string change = "permuting the heads";
  if (const auto ran = r.run(permuted, c, change))
    r.compare(gather_outputs(r.base().written, output_axis::heads, q_heads), ran->written, change);
  return r.conclude();
}

void adapt(attention_case& c, const assay_support& takes) {
  if (c.heads_q >= 2) return;
  if (!holds(takes.group_sizes, 2)) c.heads_kv = 2;
  c.heads_q = 2;
}

}  // namespace

// Not for mqa_logits: it sums over the heads, and the order changes the rounding.
const property head_permutation{"head_permutation", "permuting heads permutes the output", check, adapt,
                                has_softmax | has_several_heads};

}  // namespace assay::relations
