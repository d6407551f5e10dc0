# The kernels for NVIDIA's GPUs: lib/assay_kernels_nvidia.so, of the sources that the cpu platform has, by nvcc 12.4 or
# later. It needs no GPU to be built, and only the driver to run: the CUDA runtime is in it.
set(ASSAY_NVIDIA_ARCHITECTURES 80 89 90a CACHE STRING "Architectures of the nvidia platform: 90a is sm_90a")
find_program(NVCC nvcc HINTS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin REQUIRED)

set(nvidia_flags -x cu -std=c++20 -O2 -fmad=false --extended-lambda --expt-relaxed-constexpr -Xcompiler=-fPIC,-fvisibility=hidden
  -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/kernels/platform/nvidia)
if("90a" IN_LIST ASSAY_NVIDIA_ARCHITECTURES)
  list(APPEND nvidia_flags -DASSAY_NVIDIA_WARPGROUPS)
endif()
foreach(architecture IN LISTS ASSAY_NVIDIA_ARCHITECTURES)
  list(APPEND nvidia_flags -gencode=arch=compute_${architecture},code=sm_${architecture})
endforeach()

file(GLOB sources CONFIGURE_DEPENDS kernels/*.cpp kernels/host/*.cpp kernels/matrix_unit/*.hip kernels/matrix_unit/*.cpp)
foreach(kernel IN LISTS kernels)
  file(GLOB of_kernel CONFIGURE_DEPENDS kernels/${kernel}/*.hip kernels/${kernel}/*.cpp)
  list(APPEND sources ${of_kernel})
endforeach()
# add_nvidia_object(SOURCE OBJECT FIRST_FLAGS DEPENDS): one file compiled.
function(add_nvidia_object source object first_flags depends)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(RELATIVE_PATH name ${CMAKE_BINARY_DIR}/nvidia ${object})
  add_custom_command(OUTPUT ${object} DEPENDS ${source} ${depends} DEPFILE ${object}.d
    COMMAND ${CCACHE} ${NVCC} ${first_flags} ${nvidia_flags} -MD -MF ${object}.d -c ${source} -o ${object}
    COMMENT "Compiling ${name} for NVIDIA GPUs" VERBATIM)
endfunction()
# add_nvidia_library(LIBRARY OBJECTS): of inline functions that several objects have, the first is linked.
function(add_nvidia_library library objects)
  get_filename_component(name ${library} NAME)
  add_custom_command(OUTPUT ${library} DEPENDS ${objects}
    COMMAND ${NVCC} -shared -cudart static -Xlinker --exclude-libs,ALL ${objects} -o ${library}
    COMMENT "Linking lib/${name}" VERBATIM)
endfunction()

set(nvidia_objects "")
foreach(source IN LISTS sources)
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
  add_nvidia_object(${source} ${CMAKE_BINARY_DIR}/nvidia/${name}.o "" "")
  list(APPEND nvidia_objects ${CMAKE_BINARY_DIR}/nvidia/${name}.o)
endforeach()
set(library ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/assay_kernels_nvidia.so)
add_nvidia_library(${library} "${nvidia_objects}")
add_custom_target(assay_kernels_nvidia ALL DEPENDS ${library})

# What the suite says of kernels that a GPU cannot run to their end: ASSAY_GPU_FAULT names the fault.
set(gpu_faults ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/gpu_faults.so)
add_nvidia_object(${CMAKE_SOURCE_DIR}/tests/gpu/faults/library.cu ${CMAKE_BINARY_DIR}/nvidia/tests/gpu/faults/library.cu.o
  "" "")
add_nvidia_library(${gpu_faults} ${CMAKE_BINARY_DIR}/nvidia/tests/gpu/faults/library.cu.o)
add_custom_target(gpu_faults ALL DEPENDS ${gpu_faults})
