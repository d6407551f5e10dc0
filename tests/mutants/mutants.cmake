# assay_mutants: mutates the kernels and runs the suite on each mutant (README.md).

# A line for each kernel: its name, the suffix of the one combination of types that mutants are built in, the sources.
file(GLOB shared RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS kernels/host/*.cpp)
list(REMOVE_ITEM shared kernels/host/declare.cpp)  # of the contracts
list(JOIN shared " " shared_words)
set(recipes "")
foreach(kernel IN LISTS kernels)
  set(compiled ${fault_sources_of_${kernel}})
  list(FILTER compiled INCLUDE REGEX "\\.(hip|cpp)$")
  list(FILTER compiled EXCLUDE REGEX "_contract\\.cpp$")
  set(instance ${compiled})
  list(FILTER instance INCLUDE REGEX "/${kernel}_[a-z0-9_]*\\.hip$")
  list(FILTER instance EXCLUDE REGEX "_check\\.hip$")
  string(REGEX REPLACE ".*/${kernel}_(.*)\\.hip" "\\1" suffix "${instance}")
  list(JOIN compiled " " words)
  string(APPEND recipes "${kernel} ${suffix} ${words} ${shared_words}\n")
endforeach()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/mutants/kernels.txt CONTENT "${recipes}")

file(GLOB sources CONFIGURE_DEPENDS tests/mutants/*.cpp)
list(FILTER sources EXCLUDE REGEX "/main[.]cpp$|_test[.]cpp$")
add_library(assay_mutation STATIC EXCLUDE_FROM_ALL ${sources})
target_link_libraries(assay_mutation PUBLIC assay_properties)
add_executable(assay_mutants EXCLUDE_FROM_ALL tests/mutants/main.cpp)
target_link_libraries(assay_mutants PRIVATE assay_mutation CLI11::CLI11)
set_source_files_properties(tests/mutants/main.cpp PROPERTIES COMPILE_DEFINITIONS
  "ASSAY_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\";ASSAY_BINARY_DIR=\"${CMAKE_BINARY_DIR}\"")
add_dependencies(assay_mutants assay_kernels_cpu_so)
foreach(target assay_mutation assay_mutants)
  target_compile_options(${target} PRIVATE -O0)
endforeach()
