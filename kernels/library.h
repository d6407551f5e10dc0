/*
 * The C ABI of a kernel library. Plain C99, self-contained but for support.h and DLPack's header. The built-in kernels
 * of one platform form a library. A patched, faulty copy of them is a library too, and so are a user's own kernels. The
 * suite treats them all alike.
 *
 * A library is a shared object that exports `assay_library_v1`. Tensors cross the ABI as DLPack's DLTensor under the
 * names of problem.hpp. DLPack 0.6 has no FP8 types: they cross as 1-byte unsigned elements, and `type` says which.
 *
 * The suite calls plan(), then declare() and run() with the planned problem. It allocates every tensor, also the
 * partials of the splits, in host memory (kDLCPU). The kernel must not write inputs. It must write every element of
 * every output, except for the columns of logits that problem.hpp excludes. Some properties pass broken scalars and
 * tensors to plan() and run(): both must refuse them with ASSAY_REJECTED or ASSAY_UNSUPPORTED and a message. What only
 * the data of tensors can tell, as a slot that two rows name, outcome() may refuse in place of run().
 *
 * Versions: structs only grow, at their ends. A library says in assay_library how large it knows them. A suite that
 * knows more takes what the library does not know as neutral; one that knows less refuses the library.
 */
#ifndef ASSAY_KERNELS_LIBRARY_H
#define ASSAY_KERNELS_LIBRARY_H

#include <dlpack/dlpack.h>
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): a C header */

#include "kernels/support.h"

#ifdef __cplusplus
#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

typedef assay::problem assay_problem;
typedef assay::contract assay_contract;
typedef assay::matrix_atom assay_matrix_atom;
extern "C" {
#else

/* Scalars of a problem. problem.hpp says what they mean; its struct has the same layout. Types are numbers of
   assay_element_type; the other enumerations begin at 0, in the order of the comment. */
typedef struct assay_problem {
  int32_t operation; /* attention, mqa_logits, append_kv */
  int32_t q_type;
  int32_t k_type;
  int32_t v_type;
  int32_t o_type;
  int32_t bias_type;
  int32_t page_table; /* block_table, page_list */
  int32_t batching;   /* group, batch */
  int32_t kv_descale; /* per_tensor, per_page */
  int32_t num_seqs;
  int32_t total_q;
  int32_t max_q;
  int32_t max_k;
  int32_t heads_q;
  int32_t heads_kv;
  int32_t head_dim_qk;
  int32_t head_dim_v;
  int32_t page_size;
  int64_t num_pages;
  int32_t causal;
  int32_t window;
  int32_t num_splits;
  int32_t k_order;        /* plain, preshuffled */
  int32_t split_contexts; /* fixed, variable */
  int32_t max_model_len;
  int32_t fills_hidden;
  int32_t rotary; /* none, half, interleaved */
  float scale;
  float q_scale;
  float k_scale;
  float v_scale;
  float soft_cap;
} assay_problem;

/* The error model of a matrix unit, and the numeric contract of a kernel. contract.hpp says what they mean, and in
   which values a kernel starts; its structs have the same layout. */
typedef struct assay_accumulation {
  int32_t products;
  int32_t alignment_bits;
  float alignment_terms;
  float result_roundoff;
  float flush;
} assay_accumulation;

/* What a matrix unit computes exactly; matrix_atom.hpp has the same layout. All zeros: not declared. */
typedef struct assay_matrix_atom {
  int32_t sum; /* undeclared, aligned, fused, pairwise */
  int32_t products;
  int32_t group;
  int32_t run;
  int32_t parts;
  int32_t least_exponent;
  int32_t exponent; /* of_factors, of_product */
  int32_t fraction_bits;
  int32_t alignment; /* toward_zero, down, nearest_even */
  int32_t joins_c_later;
  int32_t sum_bits;
  int32_t c_reach;
  int32_t result; /* as alignment */
  int32_t result_bits;
  int32_t flushes_inputs;
  int32_t flushes_results;
  int32_t adds_c_last;
} assay_matrix_atom;

typedef struct assay_contract {
  int32_t tile_keys;
  assay_accumulation qk;
  assay_accumulation pv;
  int32_t p_type;
  float p_flush;
  int32_t p_shift;
  int32_t fuses_logits;
  int32_t tile_rows;
  int32_t merge_roundings;
  int32_t head_rows;
  int32_t head_tree[6];
  int32_t constant_roundings;
  int32_t sum_roundings;
  int32_t normalise_roundings;
  float exp2_relative_error;
  float exp2_flush;
  float log_absolute_error;
  float log_relative_error;
  float tanh_relative_error;
  int32_t rotary_roundings;
  int32_t scale_roundings;
  int32_t quantise_roundings;
  int32_t rescale_roundings;
  int32_t order;            /* ascending, descending, any */
  int32_t splits;           /* of_sequence, of_longest */
  int32_t base_of_lse;      /* natural, two */
  int32_t lse_without_keys; /* minus_infinity, plus_infinity */
  int32_t query_type;
  int32_t cache_type;
  int32_t product_type;
  int32_t partial_type;
  int32_t product_roundings;
  int32_t rescale_slack;
  int32_t normalises_p;
  float sum_epsilon;
  assay_matrix_atom qk_atom;
  assay_matrix_atom pv_atom;
  int32_t states;
  int32_t state_roundings;
  int32_t sum_join_roundings;
  float least_rounded_maximum;
} assay_contract;
#endif

enum assay_tensor_role {
  ASSAY_INPUT = 0,  /* must not be written */
  ASSAY_OUTPUT = 1, /* outputs and workspaces: an element may be read only after it was written */
  ASSAY_IN_OUT = 2  /* the kernel may read it and changes part of it, as of a pool */
};

/* A tensor of a call. Of a good one neither `shape` nor `strides` is null: DLPack's short form of a dense tensor is not
   used. The address of the first element is `data` plus `byte_offset`. */
typedef struct assay_tensor {
  const char* name;
  int32_t type; /* assay_element_type */
  DLTensor view;
  int32_t role; /* assay_tensor_role */
} assay_tensor;

enum assay_status_code {
  ASSAY_OK = 0,
  ASSAY_REJECTED = 1,    /* the problem is invalid; nothing was written. Of a valid problem this is a failure */
  ASSAY_UNSUPPORTED = 2, /* a legal problem that this library does not support, or whose workspace exceeds the budget */
  ASSAY_FAILED = 3       /* the launch failed */
};

/* Outcome of a call. `message` says what and where, in one line, when code is not ASSAY_OK. */
typedef struct assay_status {
  int32_t code; /* assay_status_code */
  char message[252];
} assay_status;

/* What the host planner chose. */
typedef struct assay_plan {
  int32_t num_splits; /* at least 1; equals the number that the problem asks for, if it asks for one */
  /* At least that of o_partial and lse_partial, and within the budget. The suite sizes them by problem.hpp, but a
     caller allocates what the plan says: too little is a failure. What is more is assay_launch's workspace. */
  int64_t workspace_bytes;
} assay_plan;

enum assay_defect_kind {
  ASSAY_DIVERGENT_BARRIER = 1,    /* threads of a block wait at different barriers, or one left before it */
  ASSAY_DIVERGENT_COLLECTIVE = 2, /* lanes of a wave wait at different collectives */
  ASSAY_EXITED_LANE = 3,          /* a shuffle reads from a lane that left the kernel */
  ASSAY_DEADLOCK = 4,             /* no thread can go on */
  ASSAY_LDS_OVERRUN = 5,          /* bytes around the block's dynamic LDS changed */
  /* Of checked launches, of single loads and stores: */
  ASSAY_OUT_OF_BOUNDS = 6,  /* outside of a tensor's rows and columns (gaps between rows too), or of the LDS */
  ASSAY_WILD_ACCESS = 7,    /* outside all tensors, LDS, arguments and globals of the kernel, and its own stack */
  ASSAY_UNWRITTEN_READ = 8, /* of LDS that this block did not write, or of an output that this run did not write */
  ASSAY_DATA_RACE = 9,      /* with an unordered access of another thread; storing the same value is one too */
  ASSAY_INPUT_STORE = 10,   /* a store to an input or to the kernel's arguments */
  ASSAY_MISALIGNED = 11     /* the address is not a multiple of the size of the load or store */
};

/* Something the platform saw while the kernel ran. Reported through assay_launch's on_defect; strings live for the
   call. */
typedef struct assay_defect {
  int32_t kind; /* assay_defect_kind */
  const char* kernel;
  const char* message; /* one line: what, where (source line), who */
  int32_t block[3];
  int32_t wave; /* -1 where the thread is not known */
  int32_t lane;
} assay_defect;

enum assay_schedule_kind {
  ASSAY_ROUND_ROBIN = 0,
  ASSAY_REVERSE = 1,
  ASSAY_RANDOM = 2,
  ASSAY_PCT = 3 /* random wave priorities with `depth` change points (Burckhardt et al., ASPLOS 2010) */
};

/* How to run. Only the cpu platform reads the schedule; every platform must give the same bits for all of them. */
typedef struct assay_launch {
  int32_t wave_size; /* 32 or 64; cpu only */
  int32_t schedule;  /* assay_schedule_kind */
  uint64_t seed;
  int32_t depth;
  int32_t workers; /* OS threads over which the blocks of a launch may be spread; cpu only */
  void* context;
  void (*on_defect)(void* context, const assay_defect* defect); /* may be null */
  /* cpu only. If not 0, the platform checks loads and stores of kernels that were compiled for it (README), and reports
     wrong ones as defects. By default only collectives of the whole wave order the lanes of a wave. If `lockstep_waves`
     is not 0, every instruction orders them, as on GPUs without independent thread scheduling. */
  int32_t checked;
  int32_t lockstep_waves;
  int64_t* accesses_checked; /* may be null; run() adds the number of checked accesses, 0 if not compiled for it */
  /* cpu only, may be null. Asked, with `context`, of each defect of a checked launch after which the kernel went on.
     Not 0 accepts it: then it is not reported, and the launch does not fail for it. */
  int32_t (*accepts)(void* context, const assay_defect* defect);
  /* Of a library with device tensors: the stream (cudaStream_t, hipStream_t) on which run() works. */
  void* stream;
  /* Memory where the tensors live, for run() and its outcome(): so much as the plan's `workspace_bytes` is more than
     o_partial and lse_partial have. It starts at a multiple of 256 bytes and may hold anything; it is the call's until
     its work is done. Null and 0 where the plan asks for no more. run() refuses one that is null, or smaller or less
     aligned than it needs. */
  void* workspace;
  int64_t workspace_bytes;
} assay_launch;

typedef struct assay_kernel {
  /* "split_kv": the kernel that generated cases and the corpus name. 1 to 64 letters, digits, '_', '-', '.' or ':'. */
  const char* name;
  /* Checks the problem on the host and chooses splits and workspace. `workspace_budget_bytes` 0: the library's own. */
  assay_status (*plan)(const assay_problem* problem, int64_t workspace_budget_bytes, assay_plan* plan);
  /* The contract under which run() computes this problem with this launch. Set every field, those of other operations
     too: the contract comes with values that none may have (-1, NaN), and the suite fails one in which any is left. It
     also fails a contract that is too coarse to bound the outputs. Null: nothing is declared, and the outputs are
     judged by what their types allow in any order (contract_recipes.hpp). kernels/README.md says what that costs. */
  assay_status (*declare)(const assay_problem* problem, const assay_launch* launch, assay_contract* contract);
  /* Runs to completion; with device tensors it enqueues its work on the launch's stream, and the caller waits. The
     tensors come in any order. They are those of problem.hpp that the problem has: inputs
     (optional ones may be absent) and outputs. With num_splits > 1 attention also has o_partial, where each split is
     normalised by its own sum, and lse_partial. */
  assay_status (*run)(const assay_problem* problem, const assay_tensor* tensors, int32_t num_tensors,
                      const assay_launch* launch);
  /* Null where there is nothing to tell. Else what only the tensors' data can tell of a run(): with the arguments of
     the run() before it, which said ASSAY_OK, it waits for the launch's stream and says ASSAY_OK, or ASSAY_REJECTED and
     why, or ASSAY_FAILED. A call that it rejects has written nothing but its workspace. What scalars and descriptions
     of tensors tell, run() refuses. */
  assay_status (*outcome)(const assay_problem* problem, const assay_tensor* tensors, int32_t num_tensors,
                          const assay_launch* launch);
} assay_kernel;

/* Sizes are those of the library, as compiled. */
typedef struct assay_library {
  int32_t size_bytes; /* sizeof(assay_library) */
  int32_t problem_bytes;
  int32_t contract_bytes;
  int32_t tensor_bytes;
  int32_t launch_bytes;
  int32_t kernel_bytes; /* the distance of two kernels of the table, too */
  int32_t num_kernels;
  const assay_kernel* kernels;
  const char* platform; /* "cpu", "nvidia", "amd"; such a name as a kernel's */
  /* DLDeviceType of the memory that tensors lie in: 0 or kDLCPU (host tensors), kDLCUDA, kDLROCM. Of device tensors the
     suite takes care: it copies, checks what surrounds them, and waits. What assay_supports_case_v1 gets is on the
     host. */
  int32_t device_type;
} assay_library;

/* static const assay_kernel kernels[] = {...};
   static const assay_library library = ASSAY_LIBRARY("cpu", kernels, 1); */
#define ASSAY_LIBRARY(platform, kernels, num_kernels) ASSAY_DEVICE_LIBRARY(platform, kernels, num_kernels, kDLCPU)
#define ASSAY_DEVICE_LIBRARY(platform, kernels, num_kernels, device_type) \
  {(int32_t)sizeof(assay_library),                                        \
   (int32_t)sizeof(assay_problem),                                        \
   (int32_t)sizeof(assay_contract),                                       \
   (int32_t)sizeof(assay_tensor),                                         \
   (int32_t)sizeof(assay_launch),                                         \
   (int32_t)sizeof(assay_kernel),                                         \
   (num_kernels),                                                         \
   (kernels),                                                             \
   (platform),                                                            \
   (int32_t)(device_type)}

const assay_library* assay_library_v1(void);

/* Optional export of a shared object: what the kernel of that name takes (support.h), or null where it takes all of
   problem.hpp. Generated cases stay within it, and of these a refused one is a failure. Properties that need more are
   left out, and outputs that the kernel does not write are neither passed nor judged. kernels/unsupported.hpp checks a
   problem against it, for plan(). */
const assay_support* assay_support_v1(const char* kernel);

/* Optional export, for what assay_support cannot say: ASSAY_OK, or ASSAY_UNSUPPORTED with a reason. `problem` is
   planned, and the tensors are those of the call; they hold the data. A case for which it says so is drawn anew, a
   bounded number of times, then discarded. It is asked only of cases within what assay_support_v1 says, if that is
   exported, too. */
assay_status assay_supports_case_v1(const char* kernel, const assay_problem* problem, const assay_tensor* tensors,
                                    int32_t num_tensors);

/* Optional export of a shared object: 1 if its kernels support every case that the suite generates for kernels of their
   names. Then the suite counts a refused one as a failure. Without this export ASSAY_UNSUPPORTED is a discard, but
   within what assay_support_v1 says. */
int32_t assay_supports_generated_v1(void);

/* Which edges of the kernels' code ran: kernels set bytes to 1 and never to 0. The suite clears and reads them between
   runs. So it knows which edges only this case reaches. */
typedef struct assay_edge_flags {
  uint8_t* flags;
  int64_t count;
} assay_edge_flags;

/* Optional export of a shared object. These are flags, not counters: a byte counter wraps to 0 when 256 threads of a
   block pass an edge, as if the edge had not run. */
const assay_edge_flags* assay_edge_flags_v1(void);

/* Optional export of a shared object: the edge flags that do not stand for edges. Each stands for two places of kernel
   code that touched the same LDS address one after the other, with a barrier between them. They are set in runs after
   the first call of assay_edge_flags_v1. */
const assay_edge_flags* assay_conflict_flags_v1(void);

/* A matrix atom that a library can run by itself: D = A B + C, 16 rows by 16 columns. */
typedef struct assay_unit_atom {
  const char* name;           /* for people: "f16", "wgmma e4m3fn" */
  int32_t type;               /* assay_element_type of A and B. C and D are f32; of int8 they are int32 */
  int32_t depth;              /* k of A and B, at most 64; a multiple of the declared atom's products */
  assay_matrix_atom declared; /* what it computes; all zeros: not declared */
} assay_unit_atom;

enum assay_unit_function { ASSAY_EXP2 = 0, ASSAY_LOG = 1, ASSAY_TANH = 2 };

/* The matrix unit and the elementary functions of a library's device, for `assay probe`. Memory is the host's. Structs
   grow at their ends; both sizes are those of the library. */
typedef struct assay_matrix_unit {
  int32_t size_bytes; /* sizeof(assay_matrix_unit) */
  int32_t atom_bytes; /* sizeof(assay_unit_atom): the distance of two atoms, too */
  int32_t num_atoms;
  const assay_unit_atom* atoms;
  /* Runs atom number `atom` on `count` tiles: A[tile][row][k], B[tile][column][k], C and D[tile][row][column], dense.
   */
  assay_status (*multiply)(int32_t atom, int32_t count, const void* a, const void* b, const void* c, void* d);
  /* y[i] = function(x[i]), an assay_unit_function. */
  assay_status (*evaluate)(int32_t function, int64_t count, const float* x, float* y);
  /* The errors that contracts declare of them; contract.hpp says what they mean. */
  float exp2_relative_error;
  float exp2_flush;
  float log_absolute_error;
  float log_relative_error;
  float tanh_relative_error;
} assay_matrix_unit;

/* Optional export of a shared object. */
const assay_matrix_unit* assay_matrix_unit_v1(void);

#ifdef __cplusplus
}
#endif

#endif
