# The kit for kernels of others. A build folder has the form of an installation, so that both serve alike:
#   bin/assay, lib/*.a, lib/cmake/Assay, include/assay, share/assay/starter

add_library(assay_kernel_host STATIC
  $<FILTER:$<TARGET_OBJECTS:assay_kernels_cpu>,INCLUDE,/kernels/host/[^/]*[.]o$>)
set_target_properties(assay_kernel_host PROPERTIES LINKER_LANGUAGE CXX)
set_target_properties(assay_kernel_host assay_platform_cpu PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
foreach(program assay assay_suite)
  add_dependencies(${program} assay_kernel_host assay_hip)
endforeach()
add_library(assay_kernel INTERFACE)
target_link_libraries(assay_kernel INTERFACE assay_kernel_host assay_platform_cpu)
add_library(Assay::kernel ALIAS assay_kernel)

foreach(file AssayConfig.cmake kernel_library.cmake)
  configure_file(kernels/kit/${file} ${CMAKE_BINARY_DIR}/lib/cmake/Assay/${file} COPYONLY)
  install(FILES kernels/kit/${file} DESTINATION lib/cmake/Assay)
endforeach()
file(GLOB starter RELATIVE ${CMAKE_SOURCE_DIR}/kernels/kit/starter CONFIGURE_DEPENDS kernels/kit/starter/*)
foreach(file IN LISTS starter)
  configure_file(kernels/kit/starter/${file} ${CMAKE_BINARY_DIR}/share/assay/starter/${file} COPYONLY)
  install(FILES kernels/kit/starter/${file} DESTINATION share/assay/starter)
endforeach()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include/assay SYMBOLIC)

# The starter is compiled here too, with the warnings of all code.
set_property(GLOBAL PROPERTY ASSAY_HIP ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/assay_hip)
assay_add_kernel_library(starter kernels/kit/starter/starter.hip kernels/kit/starter/starter_library.cpp)

install(DIRECTORY kernels DESTINATION include/assay FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h"
  REGEX "/(append_kv|batch_prefill|kit|mqa_logits|split_kv|amd|nvidia)$" EXCLUDE)
install(TARGETS assay_kernel_host assay_platform_cpu ARCHIVE DESTINATION lib)
install(TARGETS assay assay_hip RUNTIME DESTINATION bin)
install(TARGETS assay_kernels_cpu_unchecked_so LIBRARY DESTINATION lib)
