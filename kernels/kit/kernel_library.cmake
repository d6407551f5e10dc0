# How kernel libraries are compiled: Assay's own, and those of others, for which it is installed.

# Of all code: both the kernels' contract and the oracle's outward rounding state every rounding.
set(rounding_flags -ffp-contract=off -fno-omit-frame-pointer)

# Kernels call the checker back (kernels/platform/cpu/checker/callbacks.cpp), and name lines. The calls are those of two
# sanitizers, without their runtimes: AddressSanitizer's reports for loads and stores of any width, all of which are to
# be reported but for those to the thread's own stack (base/own_stack.hpp), and ThreadSanitizer's for atomics, fences,
# memcpy and memset. The driver refuses to combine them, the compiler does not. Neither may leave out what it thinks
# safe: a store after a load of the same place, or a scalar global. It leaves out accesses to locals that it proves in
# bounds, which no other thread sees. UBSan's handlers tell of indices past an array of known extent, and of misaligned
# vectors.
# Edges are flags, set once: 8-bit counters of what 256 GPU threads run are 0 again (kernels/platform/cpu/checker/edge_flags.cpp).
set(checked_kernel_flags -fsanitize-coverage=edge,inline-bool-flag -gline-tables-only -fno-vectorize -fno-slp-vectorize)
if(ASSAY_FUZZ)
  list(PREPEND checked_kernel_flags -fno-sanitize=fuzzer-no-link)
endif()
if(ASSAY_SANITIZE STREQUAL thread)
  set(checked_kernel_flags "")  # it takes the calls that the checker needs
elseif(ASSAY_SANITIZE)
  # AddressSanitizer keeps its own calls. The checker gets those of coverage: accesses of at most 16 bytes, no atomics.
  # Locals stay on the thread's own stack.
  list(APPEND checked_kernel_flags -fsanitize-coverage=trace-loads,trace-stores
    -fsanitize-address-use-after-return=never)
else()
  set(of_address instrumentation-with-call-threshold=-1 force-dynamic-shadow=1 mapping-scale=18 constructor-kind=none
    opt-globals=0 opt-same-temp=0 globals=0 stack=0 use-after-scope=0 instrument-dynamic-allocas=0
    instrument-atomics=0)
  set(of_thread instrument-memory-accesses=0 instrument-func-entry-exit=0)
  list(TRANSFORM of_address PREPEND -mllvm=-asan-)
  list(TRANSFORM of_thread PREPEND -mllvm=-tsan-)
  list(APPEND checked_kernel_flags -DASSAY_ASAN=0 -fsanitize=alignment,array-bounds,thread
    -Xclang=-fsanitize=address -Xclang=-fsanitize-recover=address ${of_address} ${of_thread})
endif()
set(inlining_of_kernels -mllvm=-inline-threshold=5000)
set_property(GLOBAL PROPERTY ASSAY_KERNEL_FLAGS -xc++ ${checked_kernel_flags} ${inlining_of_kernels})

# assay_add_kernel_library(NAME SOURCE...): the kernel library NAME.so, target NAME_so. The .hip and .cu files are kernels,
# whose loads and stores are checked; the others are host code. All are compiled through assay_hip (the global property
# ASSAY_HIP has its path), which knows <<<>>> and extern __shared__.
function(assay_add_kernel_library name)
  set(kernels ${ARGN})
  list(FILTER kernels INCLUDE REGEX "\\.(hip|cu)$")
  if(NOT ARGN)
    message(FATAL_ERROR "assay_add_kernel_library(${name}): there are no sources")
  endif()
  get_property(flags GLOBAL PROPERTY ASSAY_KERNEL_FLAGS)
  get_property(hip GLOBAL PROPERTY ASSAY_HIP)
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${flags}")
  set_source_files_properties(${ARGN} PROPERTIES OBJECT_DEPENDS "${hip}"
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name}_so MODULE ${ARGN})
  target_link_libraries(${name}_so PRIVATE Assay::kernel)
  set_target_properties(${name}_so PROPERTIES OUTPUT_NAME ${name} PREFIX "" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden)
  set(launchers ${hip} ${CMAKE_CXX_COMPILER_LAUNCHER})  # a cache of the user's comes second
  set_target_properties(${name}_so PROPERTIES CXX_COMPILER_LAUNCHER "${launchers}")
endfunction()
