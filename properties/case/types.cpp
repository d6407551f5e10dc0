#include "properties/case/types.hpp"

namespace assay {

/// q, "/" and kv where that differs, ":" and o where q does not say it: "f16", "bf16/e4m3fn", "e4m3fn:bf16".
std::string types_text(dtype q, dtype kv, dtype o) {
  const auto name = [](dtype type) { return std::string(boost::describe::enum_to_string(type, "?")); };
  const bool says_o = q == dtype::f32 ? o == q : !is_fp8(q);
  return name(q) + (q == kv ? "" : "/" + name(kv)) + (says_o ? "" : ":" + name(o));
}

std::string types_of(const attention_case& c) {
  return types_text(c.q_type, c.kv_type, c.o_type);
}

}  // namespace assay
