#include "properties/run/by_platform.hpp"

namespace assay {

verdict by_platform(const library& lib, verdict v) {
  v.what = lib.platform() + ": " + v.what;
  return v;
}

bool is_by_platform(const library& lib, std::string_view what) {
  return what.starts_with(lib.platform() + ": ");
}

}  // namespace assay
