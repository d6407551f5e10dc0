/// Ctrl-C and a polite kill end a campaign with its summary instead of without.
#pragma once

namespace assay::campaign {

/// While it lives, SIGINT and SIGTERM are noted instead of ending the process. One at a time.
class interrupts {
 public:
  interrupts();
  ~interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;
  /// Whether one came since; false where nobody notes them.
  static bool came();
};

}  // namespace assay::campaign
