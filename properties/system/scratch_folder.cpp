#include "properties/system/scratch_folder.hpp"

#include <unistd.h>

#include <string>
#include <utility>

namespace assay {

namespace fs = std::filesystem;

scratch_folder::scratch_folder(fs::path becomes)
    : becomes_(std::move(becomes)),
      path_(becomes_.parent_path() / ("." + becomes_.filename().string() + "." + std::to_string(getpid()))) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw fs::filesystem_error("cannot be made", becomes_, error);
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void scratch_folder::keep() {
  std::error_code error;
  fs::rename(path_, becomes_, error);
  if (error) throw fs::filesystem_error("cannot be made", becomes_, error);
}

}  // namespace assay
