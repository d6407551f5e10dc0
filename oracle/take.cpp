#include "oracle/take.hpp"

#include <stdexcept>
#include <string>

namespace assay::oracle {

const tensor* take(std::span<const named_tensor> inputs, const char* name, bool required, dtype type,
                   std::initializer_list<std::int64_t> shape) {
  const tensor* t = find(inputs, name);
  const std::string who = std::string("oracle: tensor ") + name;
  if (t == nullptr) {
    if (required) throw std::invalid_argument(who + " is missing");
    return nullptr;
  }
  bool fits = t->type == type && t->rank == static_cast<std::int32_t>(shape.size());
  int d = 0;
  for (const std::int64_t n : shape) fits = fits && (n == any_extent || t->shape[d] == n), ++d;
  if (!fits) throw std::invalid_argument(who + " does not have the type and shape that the problem states");
  return t;
}

}  // namespace assay::oracle
