/// Notes SIGINT and SIGTERM, so that a campaign can end with its summary.
#pragma once

namespace assay {

/// While it lives, SIGINT and SIGTERM do not end the process. Only one object at a time.
class interrupts {
 public:
  interrupts();
  ~interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;
  /// Whether a signal arrived while the object lived; false without an object.
  static bool seen();
};

}  // namespace assay
