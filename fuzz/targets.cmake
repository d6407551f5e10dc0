# The fuzz targets: with libFuzzer in the fuzz presets, else with a main that replays files. All but the last two take
# cases, and have the mutator for these.
list(TRANSFORM kernels PREPEND fuzz_ OUTPUT_VARIABLE fuzz_targets)
list(APPEND fuzz_targets fuzz_oracle fuzz_problem fuzz_schedule fuzz_case)
if(ASSAY_FUZZ_ENGINE)
  separate_arguments(fuzzing_engine UNIX_COMMAND "${ASSAY_FUZZ_ENGINE}")
elseif(ASSAY_SANITIZE)
  set(fuzzing_engine -fsanitize=fuzzer)
elseif(ASSAY_FUZZ)  # with -fsanitize=fuzzer comes a runtime of UBSan, whose handlers the checker has itself
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.fuzzer-${CMAKE_SYSTEM_PROCESSOR}.a
    OUTPUT_VARIABLE fuzzing_engine OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
# Targets have no files beside them, so the cases of fuzz_schedule are part of its code.
file(GLOB schedules RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS fuzz/schedules/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schedules})
set(texts "")
foreach(file IN LISTS schedules)
  file(READ ${file} text)
  string(APPEND texts "    {\"${file}\", R\"(${text})\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/schedule_texts.cpp @ONLY CONTENT [[
#include "fuzz/schedules.hpp"

std::span<const assay::fuzz::case_text> assay::fuzz::case_texts() {
  static constexpr case_text texts[] = {
@texts@  };
  return texts;
}
]])
add_library(assay_fuzz STATIC fuzz/case_bytes.cpp fuzz/check_case.cpp fuzz/counters.cpp fuzz/edits.cpp
  fuzz/enclosures.cpp fuzz/judge_beside.cpp fuzz/report_failure.cpp fuzz/schedules.cpp
  ${CMAKE_BINARY_DIR}/generated/schedule_texts.cpp)
target_link_libraries(assay_fuzz PUBLIC assay_properties)
foreach(name IN LISTS fuzz_targets)
  string(REPLACE "fuzz_" "" kernel ${name})
  if(kernel IN_LIST kernels)
    add_executable(${name} fuzz/fuzz_kernel.cpp)
    target_compile_definitions(${name} PRIVATE ASSAY_FUZZ_KERNEL="${kernel}")
  else()
    add_executable(${name} fuzz/${name}.cpp)
  endif()
  target_link_libraries(${name} PRIVATE assay_fuzz)
  if(NOT ASSAY_FUZZ)
    target_sources(${name} PRIVATE fuzz/replay_main.cpp)
    continue()
  endif()
  target_sources(${name} PRIVATE fuzz/write_seeds.cpp)
  target_link_libraries(${name} PRIVATE ${fuzzing_engine})
  find_libraries_beside(${name})
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)  # for the shared objects that ASSAY_FUZZ_LIBRARY names
  if(NOT name MATCHES "fuzz_(schedule|case)")
    target_sources(${name} PRIVATE fuzz/mutator.cpp)
  endif()
endforeach()
add_custom_target(fuzz_targets DEPENDS ${fuzz_targets})
list(JOIN fuzz_targets "\n" fuzz_target_lines)
file(WRITE ${CMAKE_BINARY_DIR}/fuzz_targets.txt "${fuzz_target_lines}\n")
