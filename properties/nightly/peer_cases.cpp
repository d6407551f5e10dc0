#include "properties/nightly/peer_cases.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "properties/case/tensor_plan.hpp"
#include "properties/case/types.hpp"
#include "properties/data/difference.hpp"
#include "properties/data/recipe.hpp"
#include "properties/generate/kernel_space.hpp"

namespace assay {
namespace {

/// Numbers of a case. Standard distributions differ between libraries.
class draws {
 public:
  draws(std::uint64_t seed, std::int64_t index)
      : random_(seed * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(index)) {}
  std::int32_t between(std::int32_t lo, std::int32_t hi) {
    return lo + static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool coin() { return between(0, 1) == 1; }
  template <std::size_t n>
  std::int32_t one_of(const std::int32_t (&values)[n]) {
    return values[between(0, static_cast<std::int32_t>(n) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

void set_types(attention_case& c, const std::string& types) {
  for (const type_choice& t : find_kernel_space(c.kernel)->types) {
    c.q_type = t.q;
    c.kv_type = t.kv;
    c.o_type = t.o;
    if (types_of(c) == types) return;
  }
  throw case_error(fmt::format("{} has no types '{}'", c.kernel, types));
}

void set_heads(attention_case& c, std::int32_t heads_q, std::int32_t heads_kv, std::int32_t dim) {
  c.heads_q = heads_q;
  c.heads_kv = heads_kv;
  c.head_dim_qk = c.head_dim_v = dim;
}

/// Undoes the fills' amplitude, and scales logits as models do.
void set_scales(attention_case& c) {
  c.q_scale = static_cast<float>(1 / amplitude(c.q_type));
  c.k_scale = static_cast<float>(1 / amplitude(c.kv_type));
  c.v_scale = static_cast<float>(1 / amplitude(v_type(c)));
  c.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.head_dim_qk)));
}

/// Decoding with splits, as FlashInfer, CK and rocMLIR test it.
void draw_decode(attention_case& c, draws& d) {
  const std::int32_t group = d.one_of({1, 2, 4});
  set_heads(c, 4, 4 / group, d.one_of({64, 128}));
  set_scales(c);
  c.page_size = 16;
  c.causal = true;
  c.num_splits = d.one_of({1, 2, 4, 8});
  c.sequences.resize(static_cast<std::size_t>(d.between(1, 4)));
  for (sequence& s : c.sequences) s.k = d.between(1, 1024);
}

/// aiter's test_batch_prefill: equal numbers of rows and keys or more keys; one descale for all pages, or equal ones.
void draw_prefill(attention_case& c, draws& d) {
  set_heads(c, 2, 1, 128);
  set_scales(c);
  c.kv_descale = d.coin() && is_fp8(c.kv_type) ? descale_kind::per_page : descale_kind::per_tensor;
  c.page_size = c.kv_descale == descale_kind::per_page ? 1024 : d.one_of({16, 1024});
  c.causal = d.coin();
  c.num_splits = 1;
  c.data.fill = fill_kind::uniform;
  c.sequences.resize(static_cast<std::size_t>(d.between(1, 2)));
  for (sequence& s : c.sequences) {
    s.k = d.between(1, 384);
    s.q = d.between(1, std::min(s.k, 64));
  }
}

/// DeepGEMM's paged MQA logits: contexts of 0.7 to 1.3 times their average.
void draw_logits(attention_case& c, draws& d) {
  constexpr std::int32_t average = 256;
  set_heads(c, 32, 1, 128);
  c.head_dim_v = 64;
  c.batching = q_batching::batch;
  c.k_order = d.coin() ? key_order::preshuffled : key_order::plain;
  c.split_contexts = d.coin() ? context_split::variable : context_split::fixed;
  c.page_size = 64;
  c.max_model_len = 2 * average;
  c.sequences.resize(static_cast<std::size_t>(d.between(1, 2)));
  const std::int32_t next_n = d.between(1, 2);
  for (sequence& s : c.sequences) {
    s.q = next_n;
    s.k = d.between(average * 7 / 10, average * 13 / 10);
  }
}

/// vLLM's reshape_and_cache: a prompt, or a token of each sequence.
void draw_append(attention_case& c, draws& d) {
  const std::int32_t heads = d.one_of({1, 2, 8});
  set_heads(c, heads, heads, d.one_of({64, 128}));
  const bool has_codes = size_bytes(c.kv_type) == 1;
  if (has_codes && d.coin()) c.kv_descale = descale_kind::per_page;
  const bool is_scaled = has_codes && c.kv_descale == descale_kind::per_tensor;
  c.k_scale = c.v_scale = is_scaled ? static_cast<float>(1 / amplitude(c.kv_type)) : 1.0F;
  c.page_size = 16;
  const bool is_prompt = d.coin();
  c.sequences.resize(static_cast<std::size_t>(is_prompt ? 1 : d.between(1, 4)));
  for (sequence& s : c.sequences) {
    s.q = is_prompt ? d.between(1, 64) : 1;
    s.k = s.q + d.between(0, 200);
  }
}

}  // namespace

attention_case peer_case(const std::string& kernel, const std::string& types, std::uint64_t seed, std::int64_t index) {
  if (find_kernel_space(kernel) == nullptr) throw case_error(fmt::format("there are no cases for '{}'", kernel));
  draws d(seed, index);
  attention_case c;
  c.kernel = kernel;
  set_types(c, types);
  c.data.poison = poison_kind::zero;
  c.data.seed = seed * 1'000'003 + static_cast<std::uint64_t>(index);
  if (kernel == "batch_prefill")
    draw_prefill(c, d);
  else if (kernel == "mqa_logits")
    draw_logits(c, d);
  else if (kernel == "append_kv")
    draw_append(c, d);
  else
    draw_decode(c, d);
  for (sequence& s : c.sequences)
    for (std::int64_t page = 0; page < pages_for(s.k, c.page_size); ++page) s.pages.push_back(c.pool_pages++);
  validate(c);
  return c;
}

inputs peer_inputs(const attention_case& c) {
  inputs in = fill(c);
  if (c.data.fill != fill_kind::uniform) return in;
  for (const char* name : {"q", "k", "v"})
    if (buffer* b = find_buffer(in.buffers, name); b != nullptr)
      for_each_index(*b, [&](const std::vector<std::int64_t>& index) {
        const tensor& t = b->view();
        const std::int64_t at = offset_of(t, index);
        const std::uint32_t sign = 1U << (8 * static_cast<std::uint32_t>(size_bytes(t.type)) - 1);
        set_bits(t, at, bits_at(t, at) & ~sign);
      });
  return in;
}

}  // namespace assay
