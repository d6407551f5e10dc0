/// Allows one process per folder.
#pragma once

#include <filesystem>

namespace assay {

class folder_lock {
 public:
  /// Throws environment_error if another process holds the lock. The lock ends with the process, even after a kill.
  explicit folder_lock(const std::filesystem::path& folder);
  ~folder_lock();
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int fd_;
};

}  // namespace assay
