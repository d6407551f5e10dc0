/// The fake driver and the library on it (fake_library.cpp), for tests in this process and its children.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <string>

namespace assay::testing {

inline const std::string fake_driver_file = ASSAY_BINARY_DIR "/lib/fake/libcuda.so.1";
inline const std::string fake_device_file = ASSAY_BINARY_DIR "/lib/fake/fake_device.so";

/// Sanitized builds lack them.
inline bool has_fake_device() {
  return std::filesystem::exists(fake_driver_file) && std::filesystem::exists(fake_device_file);
}

/// Loaded now, the driver is found under its name later. `planted` is the fault of fake_library.cpp; it holds for
/// processes that begin while this lives.
class fake_device {
 public:
  explicit fake_device(const char* planted) {
    REQUIRE(dlopen(fake_driver_file.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
    setenv("ASSAY_FAKE_DEVICE", planted, 1);
  }
  ~fake_device() { unsetenv("ASSAY_FAKE_DEVICE"); }
  fake_device(const fake_device&) = delete;
  fake_device& operator=(const fake_device&) = delete;
};

}  // namespace assay::testing
