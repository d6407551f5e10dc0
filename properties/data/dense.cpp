#include "properties/data/dense.hpp"

#include <cstring>
#include <stdexcept>

namespace assay {
namespace {

/// Calls `visit` with the address of each element, in row-major order.
template <class Visit>
void for_each_element(const tensor& t, Visit visit) {
  const std::int64_t bytes = size_bytes(t.type);
  std::int64_t index[max_rank] = {};
  for (std::int64_t left = t.size(); left > 0; --left) {
    visit(static_cast<std::byte*>(t.data) + t.offset(index[0], index[1], index[2], index[3]) * bytes);
    for (int d = t.rank - 1; d >= 0 && ++index[d] == t.shape[d]; --d) index[d] = 0;
  }
}

}  // namespace

std::string dense_bytes(const tensor& t) {
  const auto bytes = static_cast<std::size_t>(size_bytes(t.type));
  std::string all(static_cast<std::size_t>(t.size()) * bytes, '\0');
  char* to = all.data();
  for_each_element(t, [&](const std::byte* from) {
    std::memcpy(to, from, bytes);
    to += bytes;
  });
  return all;
}

void store_dense(const tensor& t, const std::string& bytes) {
  const auto element = static_cast<std::size_t>(size_bytes(t.type));
  if (bytes.size() != static_cast<std::size_t>(t.size()) * element)
    throw std::invalid_argument("store_dense: the bytes are those of another number of elements");
  const char* from = bytes.data();
  for_each_element(t, [&](std::byte* to) {
    std::memcpy(to, from, element);
    from += element;
  });
}

}  // namespace assay
