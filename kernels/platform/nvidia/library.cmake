# The kernels for NVIDIA's GPUs: lib/assay_kernels_nvidia.so, of the sources that the cpu platform has, by nvcc 12.4 or
# later. It needs no GPU to be built, and only the driver to run: the CUDA runtime is in it.
set(ASSAY_NVIDIA_ARCHITECTURES 80 89 90a CACHE STRING "Architectures of the nvidia platform: 90a is sm_90a")
find_program(NVCC nvcc HINTS $ENV{CUDA_PATH}/bin /usr/local/cuda/bin REQUIRED)

set(flags -x cu -std=c++20 -O2 -fmad=false --extended-lambda --expt-relaxed-constexpr -Xcompiler=-fPIC,-fvisibility=hidden
  -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/kernels/platform/nvidia)
foreach(architecture IN LISTS ASSAY_NVIDIA_ARCHITECTURES)
  list(APPEND flags -gencode=arch=compute_${architecture},code=sm_${architecture})
endforeach()

file(GLOB sources CONFIGURE_DEPENDS kernels/*.cpp kernels/host/*.cpp kernels/matrix_unit/*.hip kernels/matrix_unit/*.cpp)
foreach(kernel IN LISTS kernels)
  file(GLOB of_kernel CONFIGURE_DEPENDS kernels/${kernel}/*.hip kernels/${kernel}/*.cpp)
  list(APPEND sources ${of_kernel})
endforeach()
set(objects "")
foreach(source IN LISTS sources)
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
  set(object ${CMAKE_BINARY_DIR}/nvidia/${name}.o)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d
    COMMAND ${CCACHE} ${NVCC} ${flags} -MD -MF ${object}.d -c ${source} -o ${object}
    COMMENT "Compiling ${name} for NVIDIA GPUs" VERBATIM)
  list(APPEND objects ${object})
endforeach()
set(library ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/assay_kernels_nvidia.so)
add_custom_command(OUTPUT ${library} DEPENDS ${objects}
  COMMAND ${NVCC} -shared -cudart static -Xlinker --exclude-libs,ALL ${objects} -o ${library}
  COMMENT "Linking lib/assay_kernels_nvidia.so" VERBATIM)
add_custom_target(assay_kernels_nvidia ALL DEPENDS ${library})
