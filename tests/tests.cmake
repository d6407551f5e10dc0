# Tests. Labels: unit (Catch2; the launcher), unit-long (those that take seconds, mostly runs of the suite: sanitizers
# leave them to the night), faults (the suite on faulty kernels), compile (the GPUs' compilers), amd (ROCm, on demand),
# fuzz, cli (program), python (the package).
enable_testing()
include(Catch)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS tests/*_test.cpp tests/kernels/*_setting.cpp tests/layering.cpp
  tests/layering_text.cpp
  tests/properties/faulty_library.cpp tests/properties/campaign/fake_target.cpp)
if(ASSAY_SANITIZE STREQUAL thread)  # what threads run, and what waits for processes; it models no fences (atomics_test)
  list(FILTER sources INCLUDE REGEX "/cpu/(executor|static_lds|fiber|wave)_test|/campaign/|/worker_test|/faulty_library")
endif()
add_executable(assay_tests ${sources})
file(GLOB checked_tests CONFIGURE_DEPENDS tests/kernels/platform/cpu/checker_*_test.cpp
  tests/kernels/platform/cpu/edge_flags_test.cpp tests/kernels/device/tile_ring_test.cpp
  tests/kernels/device/page_window_test.cpp tests/kernels/device/warpgroup_test.cpp)
set_source_files_properties(${checked_tests} PROPERTIES COMPILE_OPTIONS "${checked_kernel_flags}"
  SKIP_PRECOMPILE_HEADERS ON)
target_precompile_headers(assay_tests PRIVATE <catch2/catch_test_macros.hpp> ${headers_of_others})
# Its own code comes first: records of accesses hold 24 bits of an address, counted from the start of the module.
target_link_libraries(assay_tests PRIVATE assay_tools assay_properties)
target_link_libraries(assay_tests PRIVATE assay_mutation assay_fuzz assay_source_pass Catch2::Catch2WithMain)
# Sources as HIP's and CUDA's compilers take them, with <<<>>>.
file(GLOB_RECURSE launched CONFIGURE_DEPENDS tests/kernels/platform/cpu/*.hip tests/kernels/platform/cpu/*.cu)
add_library(launched STATIC ${launched})
set_source_files_properties(${launched} PROPERTIES LANGUAGE CXX)
set_target_properties(launched PROPERTIES CXX_COMPILER_LAUNCHER $<TARGET_FILE:assay_hip>)
target_compile_options(launched PRIVATE ${checked_kernel_flags})
target_link_libraries(launched PRIVATE assay_platform_cpu)
add_dependencies(launched assay_hip)
# An archive, which the linker reads after all objects: of inline functions it takes the first, and those of checked
# code are for kernels only.
target_link_libraries(assay_tests PRIVATE launched)
# Only those that need a path have it: the cache knows the others again in another clone.
foreach(source IN LISTS sources)
  file(STRINGS ${source} uses REGEX "ASSAY_(SOURCE|BINARY)_DIR" LIMIT_COUNT 1)
  if(uses)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
      ASSAY_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endif()
endforeach()
catch_discover_tests(assay_tests TEST_SPEC "~[long]" PROPERTIES LABELS unit)
catch_discover_tests(assay_tests TEST_SPEC "[long]" PROPERTIES LABELS unit-long)
foreach(name IN LISTS faults)
  add_test(NAME "the suite catches the fault ${name}" COMMAND assay_tests "[.fault]")
  set_tests_properties("the suite catches the fault ${name}" PROPERTIES LABELS faults ENVIRONMENT ASSAY_FAULT=${name})
endforeach()
if(ASSAY_FUZZ)  # they lack the engine, which our code calls then
  set_target_properties(assay assay_suite assay_tests PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
add_dependencies(assay_tests assay_kernels_cpu_so assay_kernels_cpu_unchecked_so)
if(NOT ASSAY_SANITIZE)
  add_test(NAME "the probes of the descale hazard, with upstream's and our numbers" COMMAND assay_tests "[.probes]")
  set_tests_properties("the probes of the descale hazard, with upstream's and our numbers" PROPERTIES LABELS faults
    COST 100)  # starts first
endif()

# add_script_test(NAME LABEL SCRIPT ARGUMENT...): a shell script that exits 0 for pass, 77 for skipped.
function(add_script_test name label script)
  add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/${script} ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${label}" SKIP_RETURN_CODE 77)
endfunction()
add_script_test("the kernels compile for sm_90a" compile kernels/compile_gpu.sh nvidia sm_90a
  "_bf16[.]hip|matrix_unit[.]hip|mqa_logits_e4m3fn[.]hip")
add_script_test("the kernels compile for sm_80" compile kernels/compile_gpu.sh nvidia sm_80)
foreach(arch gfx90a gfx942 gfx1100)
  add_script_test("the kernels compile for ${arch}" compile kernels/compile_gpu.sh amd ${arch})
endforeach()
add_script_test("the tools that read AMD's code objects see each broken rule" unit
  kernels/platform/amd/tools_test.sh)
add_script_test("AMD's code objects keep the rules" amd kernels/platform/amd/rules_test.sh)
add_script_test("the documents hold what the program does" cli readme_test.sh $<TARGET_FILE:assay>)
add_script_test("PyTorch's attention is timed on the shapes of bench, or skipped with a reason" unit
  gpu/torch_bench_test.sh)
file(GLOB sample_inputs CONFIGURE_DEPENDS corpus/*/*.json)  # as bytes, which any file is, and as their cases' bytes
foreach(name IN LISTS fuzz_targets)
  add_test(NAME "${name} finds nothing in the corpus, as any bytes and as cases" COMMAND ${name} ${sample_inputs})
  set_tests_properties("${name} finds nothing in the corpus, as any bytes and as cases" PROPERTIES LABELS fuzz)
endforeach()
add_script_test("the patches of kernels apply" unit faults/apply.sh)
add_script_test("the faults of the harness apply to its sources, and their tests exist" unit faults/harness/run --applies)
add_script_test("the launcher builds its own sources, one at a time, and exits with 3 where it cannot" unit
  launcher_test.sh)
add_script_test("a night's pull request survives a case that fails" cli propose_corpus_test.sh)
add_script_test("the fuzzing services' images come to sources and libraries" cli dockerfiles_test.sh)
add_script_test("the house is drawn without a build" cli layering --graph)
if(NOT ASSAY_SANITIZE AND NOT ASSAY_FUZZ)
  add_library(attacks MODULE tests/attacks/library.cpp)
  target_link_libraries(attacks PRIVATE assay_flags ${CMAKE_DL_LIBS})
  set_target_properties(attacks PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(assay_tests attacks)
  add_library(narrow MODULE tests/narrow/library.cpp)
  target_link_libraries(narrow PRIVATE assay_flags ${CMAKE_DL_LIBS})
  set_target_properties(narrow PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(assay_tests narrow)
  add_library(units MODULE tests/units/library.cpp)
  target_link_libraries(units PRIVATE assay_flags)
  set_target_properties(units PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(assay_tests units)
  add_library(fake_driver SHARED tests/device/fake_driver.cpp)
  target_link_libraries(fake_driver PRIVATE assay_flags)
  set_target_properties(fake_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/fake)
  add_library(fake_device MODULE tests/device/fake_library.cpp)  # on that driver
  target_link_libraries(fake_device PRIVATE assay_flags ${CMAKE_DL_LIBS})
  set_target_properties(fake_device PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/fake)
  add_dependencies(fake_device assay_kernels_cpu_unchecked_so)
  add_dependencies(assay_tests fake_driver fake_device)
  add_library(orders MODULE EXCLUDE_FROM_ALL tests/orders/library.cpp)
  target_link_libraries(orders PRIVATE assay_flags)
  set_target_properties(orders PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(assay_tests orders)
  # The other parts take minutes: the night runs all.
  add_script_test("the program withstands places that cannot be written, limits and kills" cli attacks/run
    $<TARGET_FILE:assay> $<TARGET_FILE:attacks> ${CMAKE_BINARY_DIR}/lib/assay_kernels_cpu.so
    bad_places bad_limits bad_ends)
endif()
if(NOT ASSAY_SANITIZE AND NOT ASSAY_FUZZ)
  add_script_test("a pack runs from another folder, without an environment" cli pack_test.sh $<TARGET_FILE:assay>
    $<TARGET_FILE:orders>)
endif()
add_script_test("a kernel of others is made, built by find_package, and checked" cli kit_test.sh ${CMAKE_BINARY_DIR})
if(TARGET orders)
  add_script_test("sound kernels in any order pass, and one that loses keys does not" cli orders_test.sh
    $<TARGET_FILE:assay> $<TARGET_FILE:orders>)
endif()
add_script_test("the examples' bugs are found, and what is mended is accepted" cli examples_test.sh ${CMAKE_BINARY_DIR}
  $<TARGET_FILE:assay>)
add_script_test("the shards of schedulers' examples run and merge" cli scale_test.sh $<TARGET_FILE:assay>)
if(NOT ASSAY_SANITIZE AND NOT ASSAY_FUZZ)
  add_script_test("a browser shows the reports, without a complaint" cli html/pages_test.sh $<TARGET_FILE:assay>
    ${CMAKE_BINARY_DIR}/lib)
endif()
add_script_test("kernels in Python are verified, and pytest runs on cases" python python_test.sh ${CMAKE_BINARY_DIR}
  ${Python_EXECUTABLE})
add_script_test("torch's attention on the CPU is verified, and shows what the example says" python torch_test.sh
  ${CMAKE_BINARY_DIR} ${Python_EXECUTABLE})
add_script_test("others' Triton kernels are judged where a variable names them" python triton_adapters_test.sh
  ${CMAKE_BINARY_DIR} ${Python_EXECUTABLE})
add_script_test("aiter's Triton and Gluon kernels run, and a planted fault is found" python aiter_triton_test.sh
  ${CMAKE_BINARY_DIR} ${Python_EXECUTABLE})
add_script_test("the corpus replays" cli replay_test.sh $<TARGET_FILE:assay> ${kernels})
add_script_test("small cases pass with the exact atoms of every unit" cli atoms_test.sh $<TARGET_FILE:assay>)
if(NOT ASSAY_FUZZ)
  add_test(NAME "the program of the suite names the whole one for other commands" COMMAND assay_suite fuzz)
  set_tests_properties("the program of the suite names the whole one for other commands" PROPERTIES LABELS cli
    PASS_REGULAR_EXPRESSION "'fuzz': .*'./assay --help' lists all")
endif()
if(TARGET fake_device)
  add_script_test("the commands for GPUs work over a driver that is none" cli device_test.sh $<TARGET_FILE:assay>)
  add_script_test("a campaign finds what is wrong on a GPU alone" fuzz fuzz_device_test.sh $<TARGET_FILE:assay>)
endif()
# Ways of GPUs on the cpu platform, by seeds without long cases. Without the tests of warpgroups, a model of them that
# accuses everything would pass as one that finds the faults.
function(add_way_test way library kernel types cases seed) # [OPTION...]: of assay run
  if(TARGET ${library})
    set(name "${kernel} passes on the cpu platform in ${types}: ${way}")
    add_test(NAME ${name} COMMAND assay run --library $<TARGET_FILE:${library}> --kernel ${kernel} --types ${types}
      --cases ${cases} --seed ${seed} --accept-blunt ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS cli PASS_REGULAR_EXPRESSION "${cases} pass, 0 fail, 0 discard")
  endif()
endfunction()
add_way_test("by warpgroups" warpgroups_batch_prefill_so batch_prefill bf16 16 4)
add_way_test("by warpgroups" warpgroups_batch_prefill_fp8_so batch_prefill e4m3fn:bf16 8 5 --waves 32)
add_way_test("by warpgroups" warpgroups_batch_prefill_fnuz_so batch_prefill e4m3fnuz:f16 10 2 --waves 32)
add_way_test("by warpgroups, with Hopper's atoms" warpgroups_batch_prefill_fp8_so batch_prefill e4m3fn:bf16 8 5
  --waves 32 --atoms hopper)
# Per tensor by warpgroups, per page of 64 keys without: FP8's sums are coarse in one of two runs that are compared.
add_way_test("by warpgroups, per page without" warpgroups_batch_prefill_fp8_so batch_prefill e4m3fn:bf16 7 1
  --waves 32 --atoms hopper --property equal_descales)
add_way_test("by warpgroups" warpgroups_mqa_logits_so mqa_logits e4m3fn:f32 40 5 --waves 32)
add_way_test("by warpgroups" warpgroups_mqa_logits_so mqa_logits e4m3fnuz:f32 20 5 --waves 32)
add_way_test("by warpgroups, with Hopper's atoms" warpgroups_mqa_logits_so mqa_logits e4m3fn:f32 15 6
  --waves 32 --atoms hopper)
add_way_test("copies pass registers" few_registers_split_kv_held_so split_kv f16 60 3)
add_way_test("copies pass registers" few_registers_split_kv_held_fp8_so split_kv bf16/e4m3fn 40 3)
add_way_test("copies pass registers" few_registers_batch_prefill_held_so batch_prefill e4m3fn:bf16 40 3)
add_way_test("copies pass registers" few_registers_mqa_logits_held_so mqa_logits e4m3fn:f32 60 3)
add_way_test("few registers" few_registers_split_kv_so split_kv f16 40 3)
add_way_test("few registers" few_registers_batch_prefill_so batch_prefill bf16 30 3)
add_way_test("few registers" few_registers_batch_prefill_fp8_so batch_prefill e4m3fn:bf16 30 3)
if("missing_rescale" IN_LIST faults AND NOT ASSAY_FUZZ)
  add_script_test("a campaign finds a fault, and survives kill -9" fuzz fuzz_test.sh $<TARGET_FILE:assay>
    $<TARGET_FILE:fault_missing_rescale_so>)
endif()
