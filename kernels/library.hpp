/// The C ABI of a kernel library. The built-in kernels of one platform are one such library; a patched, faulty copy is
/// another; a user's own is a third. The suite does not know the difference.
///
/// A library is a shared object that exports `assay_library_v1`. Tensors cross as DLPack's DLTensor under the names
/// of problem.hpp; FP8 types, which DLPack 0.6 lacks, cross as 1-byte unsigned elements with their `dtype` beside.
///
/// The suite calls plan(), then declare() and run() with the planned problem. It allocates every tensor, the partials
/// of the splits too, as host memory (kDLCPU); inputs must not be written, and every element of every output must be,
/// whatever it held (but for columns of logits that problem.hpp leaves alone). Checks of bad problems pass broken
/// scalars and tensors to plan() and run(): both must refuse them with ASSAY_REJECTED or ASSAY_UNSUPPORTED and a
/// message.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

#include "kernels/contract.hpp"
#include "kernels/problem.hpp"

extern "C" {

enum assay_tensor_role : std::int32_t {
  ASSAY_INPUT = 0,   ///< must not be written
  ASSAY_OUTPUT = 1,  ///< outputs and workspaces: hold nothing that may be read before it was written
  ASSAY_IN_OUT = 2,  ///< holds data that the kernel may read, and changes in part: the pools of append_kv
};

/// A tensor of a call. `strides` is never null here.
struct assay_tensor {
  const char* name;
  std::int32_t type;  ///< assay::dtype
  DLTensor view;
  std::int32_t role;  ///< assay_tensor_role
};

enum assay_status_code : std::int32_t {
  ASSAY_OK = 0,
  ASSAY_REJECTED = 1,     ///< the problem is not one; nothing was launched
  ASSAY_UNSUPPORTED = 2,  ///< a legal problem that this library does not do (or whose workspace is over budget)
  ASSAY_FAILED = 3,       ///< the launch failed
};

/// Outcome of a call. `message` says what and where, in one line, when code is not ASSAY_OK.
struct assay_status {
  std::int32_t code;
  char message[252];
};

/// What the host planner chose.
struct assay_plan {
  std::int32_t num_splits;       ///< at least 1; what the problem asks for, where it asks for a number
  std::int64_t workspace_bytes;  ///< of o_partial and lse_partial; the suite sizes them by problem.hpp, not by this
};

enum assay_defect_kind : std::int32_t {
  ASSAY_DIVERGENT_BARRIER = 1,     ///< threads of a block wait at different barriers, or one left before it
  ASSAY_DIVERGENT_COLLECTIVE = 2,  ///< lanes of a wave wait at different collectives
  ASSAY_EXITED_LANE = 3,           ///< a shuffle reads from a lane that left the kernel
  ASSAY_DEADLOCK = 4,              ///< no thread can go on
  ASSAY_LDS_OVERRUN = 5,           ///< bytes around the block's dynamic LDS changed
  // Of checked launches, of single loads and stores:
  ASSAY_OUT_OF_BOUNDS = 6,   ///< outside of a tensor's rows and columns (gaps between rows too), or of the LDS
  ASSAY_WILD_ACCESS = 7,     ///< to memory that is no tensor, LDS, argument or global of the kernel, or the own stack
  ASSAY_UNWRITTEN_READ = 8,  ///< of LDS that nobody wrote in this block, or of an output that nobody wrote in this run
  ASSAY_DATA_RACE = 9,       ///< with an unordered access of another thread; storing the same value is one too
  ASSAY_INPUT_STORE = 10,    ///< a store to an input or to the kernel's arguments
  ASSAY_MISALIGNED = 11,     ///< the address is no multiple of the size of the load or store
};

/// Something the platform saw while the kernel ran. Reported through assay_launch::on_defect; strings live for the
/// call.
struct assay_defect {
  std::int32_t kind;
  const char* kernel;
  const char* message;  ///< one line: what, where (source line), who
  std::int32_t block[3];
  std::int32_t wave;  ///< -1 where the thread is not known
  std::int32_t lane;
};

enum assay_schedule_kind : std::int32_t {
  ASSAY_ROUND_ROBIN = 0,
  ASSAY_REVERSE = 1,
  ASSAY_RANDOM = 2,
  ASSAY_PCT = 3,  ///< random wave priorities with `depth` change points (Burckhardt et al., ASPLOS 2010)
};

/// How to run. Only the cpu platform reads the schedule; every platform must give the same bits for all of them.
struct assay_launch {
  std::int32_t wave_size;  ///< 32 or 64; cpu only
  std::int32_t schedule;   ///< assay_schedule_kind
  std::uint64_t seed;
  std::int32_t depth;
  std::int32_t workers;  ///< OS threads over which the blocks of a launch may be spread; cpu only
  void* context;
  void (*on_defect)(void* context, const assay_defect* defect);  ///< may be null
  /// cpu only. Not 0: loads and stores of kernels that were compiled for it (README) are checked, and what is wrong
  /// with them is reported as defects. Lanes of a wave are taken to be ordered by collectives of the whole wave only,
  /// unless `lockstep_waves` is not 0: then by every instruction, as on GPUs without independent thread scheduling.
  std::int32_t checked;
  std::int32_t lockstep_waves;
  std::int64_t* accesses_checked;  ///< their number is added, if not null: 0 from a library not compiled for it
};

struct assay_kernel {
  const char* name;  ///< "split_kv": the kernel that generated cases and the corpus name
  /// Checks the problem on the host and chooses splits and workspace. `workspace_budget_bytes` 0: the library's own.
  assay_status (*plan)(const assay::problem* problem, std::int64_t workspace_budget_bytes, assay_plan* plan);
  /// The contract under which run() computes this problem with this launch. Every field is to be set: the defaults of
  /// contract.hpp are no statement about your kernel. A contract too coarse to say anything is a failure.
  assay_status (*declare)(const assay::problem* problem, const assay_launch* launch, assay::contract* contract);
  /// Runs to completion. Given, in any order, are the tensors of problem.hpp that the problem has: its inputs, of which
  /// optional ones may be absent; o and lse; with num_splits > 1 also o_partial, each split normalised by its own sum,
  /// and lse_partial.
  assay_status (*run)(const assay::problem* problem, const assay_tensor* tensors, std::int32_t num_tensors,
                      const assay_launch* launch);
};

struct assay_library {
  std::int32_t abi;             ///< 1
  const char* platform;         ///< "cpu", "nvidia", "amd"
  std::int32_t problem_bytes;   ///< sizeof(assay::problem) as compiled: a guard against stale headers
  std::int32_t contract_bytes;  ///< sizeof(assay::contract)
  std::int32_t num_kernels;
  const assay_kernel* kernels;
};

const assay_library* assay_library_v1(void);

/// Which edges of the kernels' code ran: bytes that kernels set to 1 and never to 0. The suite clears and reads them
/// between runs, to tell what a case reaches that others do not.
struct assay_edge_flags {
  std::uint8_t* flags;
  std::int64_t count;
};

/// Optional export of a shared object. A flag, not a counter: a counter that wraps at 256 says of a block of 256
/// threads that nothing ran.
const assay_edge_flags* assay_edge_flags_v1(void);

/// Optional export of a shared object: those of its edge flags that tell not which edges ran, but which places of
/// kernel code touched one address of LDS one after the other with a barrier between them.
const assay_edge_flags* assay_conflict_flags_v1(void);
}
