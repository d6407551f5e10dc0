# find_package(Assay): assay_add_kernel_library(NAME SOURCE...), for kernels of your own. Its place is lib/cmake/Assay of
# an installation, or of a build folder of the checkout.
include(CMakeFindDependencyMacro)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(Assay_FOUND FALSE)
  set(Assay_NOT_FOUND_MESSAGE "Assay checks kernels with clang: configure with -DCMAKE_CXX_COMPILER=clang++-19")
  return()
endif()
find_dependency(Threads)
find_dependency(Boost 1.81 COMPONENTS context)
find_library(ASSAY_DW dw REQUIRED)
find_library(ASSAY_ELF elf REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/kernel_library.cmake)
if(NOT TARGET Assay::kernel)
  get_filename_component(assay_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
  set_property(GLOBAL PROPERTY ASSAY_HIP ${assay_prefix}/bin/assay_hip)
  add_library(Assay::kernel INTERFACE IMPORTED)
  target_include_directories(Assay::kernel INTERFACE ${assay_prefix}/include/assay
    ${assay_prefix}/include/assay/kernels/platform/cpu ${assay_prefix}/include/assay/kernels/platform/cpu/cuda)
  target_compile_options(Assay::kernel INTERFACE ${rounding_flags})
  target_link_libraries(Assay::kernel INTERFACE ${assay_prefix}/lib/libassay_kernel_host.a
    ${assay_prefix}/lib/libassay_platform_cpu.a Boost::context ${ASSAY_DW} ${ASSAY_ELF} Threads::Threads)
endif()
