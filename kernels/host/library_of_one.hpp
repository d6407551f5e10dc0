/// The exports of a library with one kernel.
#pragma once

#include "kernels/library.h"
#include "kernels/platform/current.hpp"

/// Defines assay_library_v1. The suite draws cases for the kernel's name; the functions are those of assay_kernel.
#define ASSAY_LIBRARY_OF_ONE(kernel_name, plan, declare, run)                                  \
  extern "C" [[gnu::visibility("default")]] const assay_library* assay_library_v1(void) {      \
    static const assay_kernel kernel{kernel_name, plan, declare, run, nullptr};                \
    static const assay_library library =                                                       \
        ASSAY_DEVICE_LIBRARY(assay::platform::name, &kernel, 1, assay::platform::device_type); \
    return &library;                                                                           \
  }
