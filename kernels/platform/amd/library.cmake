# The kernels for AMD's GPUs, of the sources that the cpu platform has, by ROCm's hipcc (7.2 or later):
#   lib/assay_kernels_amd.so                          needs no GPU to be built; at run time ROCm's libamdhip64
#   code_objects/TARGET/KERNEL/NAME.hsaco, .s         each target's ELF file out of the objects, and its disassembly
#   code_objects/manifest.json, resources.md          what a loader must know, and what the kernels take (tools/resources)
set(ASSAY_AMD_ARCHITECTURES gfx90a gfx942 gfx950 gfx1100 gfx1201 CACHE STRING "Targets of the amd platform")
find_program(HIPCC hipcc HINTS $ENV{ROCM_PATH}/bin /opt/rocm/bin REQUIRED)
execute_process(COMMAND ${HIPCC} --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "HIP version: ([0-9]+[.][0-9]+)" version "${version}")
if(CMAKE_MATCH_1 VERSION_LESS 7.2)  # clang 19 miscompiles split_kv with FNUZ caches (LLVM 107092)
  message(FATAL_ERROR "the amd platform needs hipcc 7.2 or later; ${HIPCC} is of ${CMAKE_MATCH_1}")
endif()
find_program(PYTHON3 python3 REQUIRED)
foreach(tool llvm-objcopy llvm-objdump llvm-readelf clang-offload-bundler) # those of hipcc's own LLVM
  execute_process(COMMAND ${HIPCC} -print-prog-name=${tool} OUTPUT_VARIABLE ${tool} OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()

set(cached "")
if(CCACHE)
  set(cached ${CCACHE})
endif()
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(tools ${CMAKE_CURRENT_LIST_DIR}/tools)
# Calls put tiles into scratch, so all is inlined: hipcc added these two options by itself up to ROCm 6, hipcc 7.2 does
# not. The oracle evaluates each rounding: no contraction.
set(flags -x hip -std=c++20 -O3 -ffp-contract=off -fPIC -fvisibility=hidden -Wall -Wextra -D__HIP_PLATFORM_AMD__ -I${root}
  -mllvm -amdgpu-early-inline-all=true -mllvm -amdgpu-function-calls=false)
set(targets "")
foreach(architecture IN LISTS ASSAY_AMD_ARCHITECTURES)
  list(APPEND targets --offload-arch=${architecture})
endforeach()

file(GLOB sources CONFIGURE_DEPENDS ${root}/kernels/*.cpp ${root}/kernels/*/*.cpp ${root}/kernels/*/*.hip)
set(objects "")
set(code_objects "")
foreach(source IN LISTS sources)
  file(RELATIVE_PATH name ${root} ${source})
  set(object ${CMAKE_BINARY_DIR}/amd/${name}.o)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  # Host code has tables of function pointers in constants, which a compile for devices emits there, too.
  set(where --offload-host-only)
  if(name MATCHES "[.]hip$")
    set(where ${targets})
  endif()
  add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d
    COMMAND ${cached} ${HIPCC} ${flags} ${where} -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    COMMENT "Compiling ${name} for AMD GPUs" VERBATIM)
  list(APPEND objects ${object})
  if(NOT name MATCHES "[.]hip$")
    continue()
  endif()
  string(REGEX REPLACE "^kernels/(.*)[.]hip$" "\\1" name ${name})
  set(extracted "")
  foreach(architecture IN LISTS ASSAY_AMD_ARCHITECTURES)
    list(APPEND extracted ${CMAKE_BINARY_DIR}/code_objects/${architecture}/${name}.hsaco)
  endforeach()
  add_custom_command(OUTPUT ${extracted} DEPENDS ${object} ${tools}/extract
    COMMAND ${tools}/extract ${object} ${CMAKE_BINARY_DIR}/code_objects ${name} ${llvm-objcopy}
      ${clang-offload-bundler} ${llvm-objdump} ${llvm-readelf} ${ASSAY_AMD_ARCHITECTURES}
    COMMENT "Extracting the code objects of ${name}" VERBATIM)
  list(APPEND code_objects ${extracted})
endforeach()

set(library ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/assay_kernels_amd.so)
add_custom_command(OUTPUT ${library} DEPENDS ${objects}
  COMMAND ${HIPCC} -shared -Wl,-z,defs -Wl,--exclude-libs,ALL ${objects} -o ${library}
  COMMENT "Linking lib/assay_kernels_amd.so" VERBATIM)
# What the suite says of ROCm's runtime, which it loads by name.
set(interface ${root}/tests/kernels/compile/rocm_interface.cpp)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/amd/rocm_interface.so DEPENDS ${interface}
  COMMAND ${HIPCC} ${flags} --offload-host-only -shared -Wl,-z,defs ${interface} -o
    ${CMAKE_BINARY_DIR}/amd/rocm_interface.so
  COMMENT "Checking what is known of ROCm's runtime" VERBATIM)
set(manifest ${CMAKE_BINARY_DIR}/code_objects/manifest.json)
add_custom_command(OUTPUT ${manifest} DEPENDS ${code_objects} ${tools}/resources ${tools}/assembly.py
    ${tools}/code_objects.py ${tools}/loops.py
  COMMAND ${PYTHON3} ${tools}/resources ${CMAKE_BINARY_DIR}/code_objects --manifest ${manifest}
    --table ${CMAKE_BINARY_DIR}/code_objects/resources.md
  COMMENT "Reading the code objects" VERBATIM)
add_custom_target(assay_kernels_amd ALL DEPENDS ${library} ${manifest}
  ${CMAKE_BINARY_DIR}/amd/rocm_interface.so)
