# The Python module assay._assay (-DASSAY_PYTHON=ON), and what a wheel holds (pyproject.toml). Paths are of the top folder.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
find_package(pybind11 2.10 CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS python/module/*.cpp)
pybind11_add_module(assay_python MODULE NO_EXTRAS ${sources})
target_include_directories(assay_python SYSTEM PRIVATE ${pybind11_INCLUDE_DIRS})
target_compile_options(assay_python PRIVATE -O1)  # nothing here takes time
target_precompile_headers(assay_python PRIVATE <pybind11/pybind11.h> <pybind11/stl.h> <boost/json.hpp> <fmt/format.h>
  <fmt/ranges.h> ${CMAKE_SOURCE_DIR}/properties/relations/property.hpp)
target_link_libraries(assay_python PRIVATE assay_properties assay_suite_tools)
target_link_options(assay_python PRIVATE
  LINKER:--whole-archive,$<TARGET_FILE:assay_properties>,--no-whole-archive LINKER:--disable-new-dtags)
# The package as a build has it: build/NAME/python on PYTHONPATH.
set(package ${CMAKE_BINARY_DIR}/python/assay)
set_target_properties(assay_python PROPERTIES OUTPUT_NAME _assay LIBRARY_OUTPUT_DIRECTORY ${package}
  INSTALL_RPATH "$ORIGIN/lib")
file(MAKE_DIRECTORY ${package}/bin)
file(GLOB_RECURSE modules RELATIVE ${CMAKE_SOURCE_DIR}/python/assay CONFIGURE_DEPENDS python/assay/*.py
  python/assay/*.pyi python/assay/py.typed)
foreach(module IN LISTS modules)
  cmake_path(GET module PARENT_PATH folder)
  file(MAKE_DIRECTORY ${package}/${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/assay/${module} ${package}/${module} SYMBOLIC)
endforeach()
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/corpus ${package}/corpus SYMBOLIC)
file(CREATE_LINK ${CMAKE_BINARY_DIR}/bin/assay ${package}/bin/assay SYMBOLIC)

# A wheel has the program, its libraries but for those of the C and C++ languages, and the corpus.
set_target_properties(assay PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS assay_python RUNTIME_DEPENDENCY_SET of_wheel LIBRARY DESTINATION assay COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS assay RUNTIME_DEPENDENCY_SET of_wheel RUNTIME DESTINATION assay/bin COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS assay_kernels_cpu_unchecked_so LIBRARY DESTINATION assay/lib COMPONENT wheel EXCLUDE_FROM_ALL)
install(RUNTIME_DEPENDENCY_SET of_wheel PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc[+][+])[.]so"
  LIBRARY DESTINATION assay/lib COMPONENT wheel EXCLUDE_FROM_ALL)
install(DIRECTORY corpus DESTINATION assay COMPONENT wheel EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.json")
