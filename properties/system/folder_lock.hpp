/// One campaign per folder.
#pragma once

#include <filesystem>

namespace assay::campaign {

class folder_lock {
 public:
  /// Throws environment_error when another process holds it. It ends with the process, however that ends.
  explicit folder_lock(const std::filesystem::path& folder);
  ~folder_lock();
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int fd_;
};

}  // namespace assay::campaign
