/* Attention over a paged KV cache in plain C99, as one writes it to check a faster one. Nothing of Assay is linked, and
   no rounding is declared: the library says only which problems it takes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/library.h"

#define EXPORT __attribute__((visibility("default")))

static const assay_support takes = {
    .size_bytes = sizeof(assay_support),
    .types = {{ASSAY_TYPE_BF16, ASSAY_TYPE_BF16, ASSAY_TYPE_BF16}},
    .no_window = 1, .no_prefix_offset = 1, .no_soft_cap = 1, .no_sinks = 1,
    .no_bias_f32 = 1, .no_bias_f16 = 1, .no_bias_bf16 = 1,
    .no_q_transposed = 1, .no_page_list = 1, .no_batch = 1,
    .no_split_count = 1, .no_partials = 1, .no_workspace_budget = 1,
    .no_live_nan = 1, .no_live_infinity = 1, .no_refusals = 1,
};

EXPORT const assay_support* assay_support_v1(const char* kernel) {
  return strcmp(kernel, "split_kv") == 0 ? &takes : NULL;
}

static const DLTensor* find(const assay_tensor* tensors, int32_t count, const char* name) {
  for (int32_t i = 0; i < count; ++i)
    if (strcmp(tensors[i].name, name) == 0) return &tensors[i].view;
  return NULL;
}

/* Of the element at that index; without a last one for tensors of fewer dimensions. */
static void* at(const DLTensor* t, int64_t i, int64_t j, int64_t k, int64_t l, size_t bytes) {
  const int64_t index[] = {i, j, k, l};
  int64_t offset = 0;
  for (int32_t d = 0; d < t->ndim; ++d) offset += index[d] * t->strides[d];
  return (char*)t->data + t->byte_offset + offset * (int64_t)bytes;
}
static int32_t integer(const DLTensor* t, int64_t i, int64_t j) {
  return *(const int32_t*)at(t, i, j, 0, 0, sizeof(int32_t));
}
static float number(const DLTensor* t, int64_t i, int64_t j, int64_t k, int64_t l) {
  const uint32_t bits = (uint32_t)*(const uint16_t*)at(t, i, j, k, l, sizeof(uint16_t)) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
/* Rounds to nearest, ties to even. */
static void store(const DLTensor* t, int64_t i, int64_t j, int64_t k, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  *(uint16_t*)at(t, i, j, k, 0, sizeof(uint16_t)) = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static assay_status plan(const assay_problem* problem, int64_t budget_bytes, assay_plan* plan) {
  (void)problem, (void)budget_bytes;
  *plan = (assay_plan){1, 0};
  return (assay_status){ASSAY_OK, ""};
}

static assay_status run(const assay_problem* p, const assay_tensor* tensors, int32_t count, const assay_launch* launch) {
  (void)launch;
  const DLTensor *q = find(tensors, count, "q"), *k = find(tensors, count, "k"), *v = find(tensors, count, "v");
  const DLTensor *rows = find(tensors, count, "cu_seqlens_q"), *keys = find(tensors, count, "seqlens_k");
  const DLTensor *table = find(tensors, count, "block_table");
  const DLTensor *o = find(tensors, count, "o"), *lse = find(tensors, count, "lse");
  float* x = malloc(((size_t)p->max_k + 1) * sizeof(float));
  if (x == NULL) return (assay_status){ASSAY_FAILED, "no memory for the logits of a row"};
  for (int32_t s = 0; s < p->num_seqs; ++s) {
    const int32_t first = integer(rows, s, 0), num_rows = integer(rows, s + 1, 0) - first, num_keys = integer(keys, s, 0);
    for (int32_t i = 0; i < num_rows; ++i)
      for (int32_t h = 0; h < p->heads_q; ++h) {
        const int32_t g = h / (p->heads_q / p->heads_kv);
        const int32_t end = p->causal ? num_keys - num_rows + i + 1 : num_keys;
        float most = -INFINITY, sum = 0;
        for (int32_t j = 0; j < end; ++j) {
          const int32_t page = integer(table, s, j / p->page_size);
          float dot = 0;
          for (int32_t d = 0; d < p->head_dim_qk; ++d)
            dot += number(q, first + i, h, d, 0) * number(k, page, j % p->page_size, g, d);
          x[j] = dot * p->scale * p->q_scale * p->k_scale;
          most = fmaxf(most, x[j]);
        }
        for (int32_t j = 0; j < end; ++j) sum += x[j] = expf(x[j] - most);
        for (int32_t d = 0; d < p->head_dim_v; ++d) {
          float value = 0;
          for (int32_t j = 0; j < end; ++j)
            value += x[j] * number(v, integer(table, s, j / p->page_size), j % p->page_size, g, d);
          store(o, first + i, h, d, sum > 0 ? value / sum * p->v_scale : 0);
        }
        *(float*)at(lse, first + i, h, 0, 0, sizeof(float)) = sum > 0 ? most + logf(sum) : -INFINITY;
      }
  }
  free(x);
  return (assay_status){ASSAY_OK, ""};
}

EXPORT const assay_library* assay_library_v1(void) {
  static const assay_kernel kernel = {"split_kv", plan, NULL, run, NULL};
  static const assay_library library = ASSAY_LIBRARY("cpu", &kernel, 1);
  return &library;
}
