/// NumPy's file format of arrays (.npy), for programs that link nothing of ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// An array in row-major order. `descr` is NumPy's name of its little-endian type: "<f4", "|u1".
struct npy_array {
  std::string descr;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// The file, of version 1.0.
std::string to_npy(const npy_array& a);

/// Reads versions 1.0 to 3.0. Throws case_error that begins with `origin`: for anything else, for an array in
/// column-major order, and where the file does not have as many bytes as its header says.
npy_array from_npy(std::string_view text, std::string_view origin);

}  // namespace assay
