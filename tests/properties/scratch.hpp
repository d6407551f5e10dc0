/// Files for a test.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "properties/system/write_file.hpp"

namespace assay::testing {

/// A folder that is gone afterwards.
class scratch {
 public:
  scratch() : path_(std::filesystem::temp_directory_path() / name()) { std::filesystem::create_directories(path_); }
  ~scratch() { std::filesystem::remove_all(path_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    write_by_rename(path_ / name, text);
    return file(name);
  }

 private:
  static std::string name() {
    static std::atomic<int> number = 0;
    return "assay_test." + std::to_string(getpid()) + "." + std::to_string(number++);
  }
  std::filesystem::path path_;
};

}  // namespace assay::testing
