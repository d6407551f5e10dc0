/// libFuzzer's custom mutator and crossover for targets that take cases: over the choices of the case space, beside
/// libFuzzer's own over plain bytes.
#include <algorithm>
#include <cstring>

#include "fuzz/input_form.hpp"
#include "properties/generate/bytes.hpp"
#include "properties/generate/mutate.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace assay;
using fuzz::form;

attention_case case_of(const std::uint8_t* data, std::size_t size) {
  const std::size_t head = std::min(size, form.head_bytes);
  return decode_case({data + head, size - head}, form.kernels);
}

/// Writes the case's bytes behind a head of the form's length. Returns 0 if they do not fit.
std::size_t put_case(const attention_case& c, std::uint8_t* out, std::size_t max_size) {
  const std::vector<std::uint8_t> bytes = encode_case(c, form.kernels);
  const std::size_t size = form.head_bytes + bytes.size();
  if (size > max_size) return 0;
  std::ranges::copy(bytes, out + form.head_bytes);
  return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const bool only_head = form.head_bytes > 0 && seed % 2 == 0 && size >= form.head_bytes;
  if (only_head) {
    const std::size_t head = LLVMFuzzerMutate(data, form.head_bytes, form.head_bytes);
    std::memset(data + head, 0, form.head_bytes - head);
    return size;
  }
  if (seed % 8 == 1) return LLVMFuzzerMutate(data, size, max_size);
  // Now and then a new case: mutations of the empty input, the simplest case, take long to reach interesting ones.
  const attention_case mutant =
      seed % 8 == 3 ? draw_case(seed, form.kernels) : mutate_case(case_of(data, size), seed, form.kernels);
  if (size < form.head_bytes && form.head_bytes <= max_size) std::memset(data + size, 0, form.head_bytes - size);
  const std::size_t written = put_case(mutant, data, max_size);
  return written > 0 ? written : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_size, unsigned seed) {
  const attention_case child =
      cross_cases(case_of(first, first_size), case_of(second, second_size), seed, form.kernels);
  const std::size_t head = std::min(std::min(first_size, form.head_bytes), max_size);
  std::memset(out, 0, std::min(form.head_bytes, max_size));
  if (head > 0) std::memcpy(out, first, head);
  return put_case(child, out, max_size);
}
