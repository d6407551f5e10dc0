/*
 * What a kernel takes. Plain C99, self-contained.
 *
 * A library may state it for each of its kernels, by an optional export:
 *
 *     const assay_support* assay_support_v1(const char* kernel);
 *
 * The suite then makes only cases within it, leaves out the properties that need more, says so, and ends its verdict
 * with what it verified the kernel for. A refusal of such a case is a failure. Where the export is missing, or returns
 * NULL for a kernel, the kernel takes all of problem.hpp, and ASSAY_UNSUPPORTED is a discard.
 *
 * A field that is 0 restricts nothing: state only what the kernel lacks. `memset` or an initialiser sets all others.
 *
 *     static const assay_support decode = {
 *         .size_bytes = sizeof(assay_support),
 *         .types = {{ASSAY_TYPE_F16, ASSAY_TYPE_F16, ASSAY_TYPE_F16}},
 *         .head_dims = {.values = {128}},
 *         .page_sizes = {.values = {16}},
 *         .most_rows = 1,
 *         .no_lse = 1,
 *     };
 */
#ifndef ASSAY_KERNELS_SUPPORT_H
#define ASSAY_KERNELS_SUPPORT_H

#include <stdint.h> /* NOLINT(modernize-deprecated-headers): a C header */

#ifdef __cplusplus
extern "C" {
#endif

/* Element types; the numbers are those of assay::dtype. */
enum assay_element_type {
  ASSAY_TYPE_NONE = 0,
  ASSAY_TYPE_F32 = 1,
  ASSAY_TYPE_F16 = 2,
  ASSAY_TYPE_BF16 = 3,
  ASSAY_TYPE_E4M3FN = 4,
  ASSAY_TYPE_E4M3FNUZ = 5,
  ASSAY_TYPE_I8 = 6,
  ASSAY_TYPE_TF32 = 9, /* of a contract's roundings alone */
  ASSAY_TYPE_E5M2 = 10,
  ASSAY_TYPE_E5M2FNUZ = 11
};

/* A combination of types. `kv` is that of K; V has it too, but with int8 K it has f16. */
typedef struct assay_types {
  int32_t q;
  int32_t kv;
  int32_t o;
} assay_types;

#define ASSAY_MOST_TYPES 32
#define ASSAY_MOST_SIZES 16

/* Which sizes are taken: those of the list, which ends at its first 0; or, if it is empty, the multiples of
   `multiple_of` from `least` to `most`. 0 in these restricts nothing. */
typedef struct assay_sizes {
  int32_t values[ASSAY_MOST_SIZES];
  int32_t least;
  int32_t most;
  int32_t multiple_of;
} assay_sizes;

typedef struct assay_support {
  int64_t size_bytes; /* sizeof(assay_support). Fields behind it count as 0: later versions add fields at the end */

  assay_types types[ASSAY_MOST_TYPES]; /* ends at the first of all zeros; empty: all */
  assay_sizes head_dims;               /* head_dim_qk, and head_dim_v where the next field is empty */
  assay_sizes head_dims_v;             /* head_dim_v */
  assay_sizes page_sizes;              /* keys of a page */
  assay_sizes group_sizes;             /* heads_q / heads_kv */

  int64_t most_sequences;  /* num_seqs */
  int64_t most_rows;       /* query rows of a sequence; 1: decoding only */
  int64_t most_total_rows; /* total_q */
  int64_t most_keys;       /* of a sequence */
  int64_t most_pages;      /* num_pages */
  int64_t most_pool_bytes; /* of K and of V, each. 2^31 - 1 of a kernel whose offsets have 32 bits */
  int64_t most_heads_q;
  int64_t most_heads_kv;
  int64_t most_splits;
  int64_t most_columns; /* max_model_len */

  /* In elements: 0, or a power of two up to 16. Rows are the runs of head_dim elements of q, k, v, k_new and v_new; and
     of o and o_partial. Their distances are multiples of so many elements. The first one lies at an address that is a
     multiple of so many elements, or of 16 bytes if that is less. */
  int32_t input_alignment;
  int32_t output_alignment;

  /* Each is 1 of a kernel that does not take, or not write, what it names. */
  int32_t no_causal;
  int32_t no_noncausal; /* rows that see keys behind their position: the kernel is always causal */
  int32_t no_window;
  int32_t no_prefix_offset;
  int32_t no_soft_cap;
  int32_t no_sinks;
  int32_t no_bias_f32;
  int32_t no_bias_f16;
  int32_t no_bias_bf16;
  int32_t no_shared_bias;   /* a stride of 0 along heads or rows */
  int32_t no_infinite_bias; /* -inf in a bias */
  int32_t no_page_descales;
  int32_t no_tensor_descales; /* 8-bit K and V without descales per page */
  int32_t no_q_scale;         /* other than 1 */
  int32_t no_k_scale;
  int32_t no_v_scale;
  int32_t no_other_scale;       /* a softmax scale other than 1 / sqrt(head_dim_qk) in f32 */
  int32_t no_nonpositive_scale; /* scale or v_scale of 0 or below */
  int32_t no_extreme_scale;     /* scale, q_scale, k_scale, v_scale or descales beyond 2^-30 to 2^30 in size */
  int32_t no_unequal_head_dims;
  int32_t no_block_table;
  int32_t no_page_list;
  int32_t no_spare_table_entries; /* table entries behind a sequence's last page */
  int32_t no_group;               /* group mode (cu_seqlens_q) */
  int32_t no_batch;               /* batch mode, of attention */
  int32_t no_nhd;                 /* K and V as [page, slot, head, dim] */
  int32_t no_hnd;                 /* K and V as [page, head, slot, dim] */
  int32_t no_unequal_layouts;     /* K's and V's slots and heads in different orders */
  int32_t no_packing;             /* pages of K and V, or rows of Q, with those of other tensors between them */
  int32_t no_q_heads_outermost;   /* Q, or new rows, as [head, row, dim] */
  int32_t no_q_transposed;        /* Q as [dim, row, head], and Q, a bias or descales in any order */
  int32_t no_input_margins;       /* gaps between the rows of inputs: all are dense */
  int32_t no_output_margins;      /* the same of outputs */
  int32_t no_far_strides;         /* strides that 32 bits do not hold; so too without margins */
  int32_t no_split_count;         /* a num_splits that the caller asks for: the planner alone chooses */
  int32_t no_workspace_budget;    /* a bound on the workspace that the caller gives: plan() may ignore it */
  int32_t no_lse;                 /* lse is no output */
  int32_t no_partials;            /* o_partial and lse_partial are no outputs: workspaces are the kernel's own */
  int32_t no_padding_rows;        /* rows behind the last sequence's */
  int32_t no_empty_batch;         /* no sequence, or no query row in any */
  int32_t no_sequences_without_rows;
  int32_t no_sequences_without_keys;
  int32_t no_rows_without_keys; /* rows that see no key, whether or not their sequence has keys */
  int32_t no_live_nan;          /* NaN among live data: outputs that they reach are undefined */
  int32_t no_live_infinity;     /* infinities among live data, the same */
  int32_t no_wave_32;           /* waves of 32 lanes; cpu platform */
  int32_t no_wave_64;
  /* mqa_logits: */
  int32_t no_plain_keys;
  int32_t no_preshuffled_keys;
  int32_t no_filled_columns; /* hidden columns that become -inf */
  int32_t no_kept_columns;   /* hidden columns that keep their bits */
  int32_t no_fixed_contexts;
  int32_t no_variable_contexts;
  /* append_kv: */
  int32_t no_plain_rows; /* new keys that are not rotated */
  int32_t no_rotary_half;
  int32_t no_rotary_interleaved;
  /* All: runs of one problem may differ in bits, as with sums by atomics in any order. Relations then want each run
     within its enclosure, not the bits of the first one. */
  int32_t no_same_bits;
  /* All: nothing checks what the kernel is called with, so that bad problems and tensors are not tried. */
  int32_t no_refusals;
  /* All: NaN and infinities in dead memory; hidden keys, and slots without a key, then hold other numbers. Of a kernel
     that multiplies them by a probability of 0. */
  int32_t no_dead_nan;
} assay_support;

#ifdef __cplusplus
}
#endif

#endif
