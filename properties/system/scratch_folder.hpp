/// A folder that becomes another one when it is complete.
#pragma once

#include <filesystem>

namespace assay {

/// A folder beside the one that is made of it, so that nothing is half there. It is gone at the end.
class scratch_folder {
 public:
  /// Throws std::filesystem::filesystem_error.
  explicit scratch_folder(std::filesystem::path becomes);
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Gives it the name that it is to have. Throws std::filesystem::filesystem_error.
  void keep();

 private:
  std::filesystem::path becomes_, path_;
};

}  // namespace assay
