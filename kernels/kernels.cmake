# The cpu platform, and the kernels as libraries for it. Paths are of the top folder, as in all files of this build.

# The cpu platform: a SIMT executor with a fiber per GPU thread.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS kernels/platform/cpu/*.cpp)
list(FILTER sources EXCLUDE REGEX "/source_pass/")
add_library(assay_platform_cpu STATIC ${sources})
target_precompile_headers(assay_platform_cpu PRIVATE ${headers_of_standard})
target_include_directories(assay_platform_cpu PUBLIC kernels/platform/cpu kernels/platform/cpu/cuda)
target_link_libraries(assay_platform_cpu PUBLIC assay_flags Boost::context ${DW} ${ELF} PRIVATE Threads::Threads)

# HIP's <<<>>> and extern __shared__, for sources that have them: assay_hip stands before the compiler of a target
# (set_target_properties(NAME PROPERTIES CXX_COMPILER_LAUNCHER $<TARGET_FILE:assay_hip>)).
add_library(assay_source_pass STATIC kernels/platform/cpu/source_pass/tokens.cpp
  kernels/platform/cpu/source_pass/source_pass.cpp)
target_link_libraries(assay_source_pass PUBLIC assay_flags)
add_executable(assay_hip kernels/platform/cpu/source_pass/assay_hip.cpp)
target_link_libraries(assay_hip PRIVATE assay_source_pass)

# A library of kernels for the cpu platform is objects, and a shared object of them: NAME is the host code, NAME_device
# the kernels. The flags are of the kernels only. Each has precompiled headers, or those of a part with the same flags.
function(add_kernel_part name source_dir flags headers)
  add_library(${name} OBJECT)
  target_compile_options(${name} PRIVATE ${flags} -xc++)
  target_precompile_headers(${name} ${headers})
  if(NOT flags)  # fuzzers watch no kernel that is checked
    set_target_properties(${name} PROPERTIES SHOWS_EDGES ON)
  endif()
  target_include_directories(${name} BEFORE PUBLIC ${source_dir})
  target_link_libraries(${name} PUBLIC assay_platform_cpu)
endfunction()
function(add_kernel_sources name sources)
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "\\.hip$")
  list(FILTER sources EXCLUDE REGEX "\\.hip$")
  if(kernels)
    set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "${inlining_of_kernels}")
    target_sources(${name}_device PRIVATE ${kernels})
  endif()
  if(sources)
    target_sources(${name} PRIVATE ${sources})
  endif()
endfunction()
function(add_kernel_module name)
  add_library(${name}_so MODULE ${ARGN})
  target_link_libraries(${name}_so PRIVATE assay_platform_cpu)
  set_target_properties(${name}_so PROPERTIES OUTPUT_NAME ${name} PREFIX "")
endfunction()

# The kernels with their checks, and without (`--unchecked`): add_kernel adds each to both.
file(GLOB sources CONFIGURE_DEPENDS kernels/*.cpp kernels/host/*.cpp)
set(compiled_headers PRIVATE ${headers_of_standard})
add_kernel_part(assay_kernels_cpu ${CMAKE_SOURCE_DIR} "" "${compiled_headers}")
add_kernel_part(assay_kernels_cpu_device ${CMAKE_SOURCE_DIR} "${checked_kernel_flags}" "${compiled_headers}")
foreach(part assay_kernels_cpu_unchecked assay_kernels_cpu_unchecked_device)
  add_kernel_part(${part} ${CMAKE_SOURCE_DIR} "" "REUSE_FROM;assay_kernels_cpu")
endforeach()
foreach(library assay_kernels_cpu assay_kernels_cpu_unchecked)
  target_sources(${library} PRIVATE ${sources})
  add_kernel_module(${library} $<TARGET_OBJECTS:${library}> $<TARGET_OBJECTS:${library}_device>)
endforeach()

# What `assay probe` runs.
file(GLOB sources CONFIGURE_DEPENDS kernels/matrix_unit/*.hip kernels/matrix_unit/*.cpp)
foreach(library assay_kernels_cpu assay_kernels_cpu_unchecked)
  add_kernel_sources(${library} "${sources}")
endforeach()

# add_kernel(NAME TYPE...): the kernel of kernels/NAME/, of which NAME_TYPE.hip instantiates one combination of types
# each. It has a fuzz target fuzz_NAME (fuzz/targets.cmake) and cases in corpus/NAME. Libraries with a fault
# (tests/faults/libraries.cmake) compile it in the first combination only.
set(kernels "")
function(add_kernel name)
  file(GLOB sources CONFIGURE_DEPENDS kernels/${name}/*.hip kernels/${name}/*.cpp)
  foreach(library assay_kernels_cpu assay_kernels_cpu_unchecked)
    add_kernel_sources(${library} "${sources}")
  endforeach()
  list(POP_FRONT ARGN)  # what faults compile
  foreach(type IN LISTS ARGN)
    if(NOT ${CMAKE_SOURCE_DIR}/kernels/${name}/${name}_${type}.hip IN_LIST sources)
      message(FATAL_ERROR "kernels/${name} has no ${name}_${type}.hip")
    endif()
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/kernels/${name}/${name}_${type}.hip)
  endforeach()
  list(TRANSFORM sources REPLACE "^${CMAKE_SOURCE_DIR}/" "")
  set(fault_sources_of_${name} ${sources} PARENT_SCOPE)
  set(kernels ${kernels} ${name} PARENT_SCOPE)
endfunction()
