#include "properties/system/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "properties/system/errors.hpp"

namespace assay {

folder_lock::folder_lock(const std::filesystem::path& folder)
    : fd_(open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) throw environment_error(fmt::format("{}: {}", (folder / "lock").string(), std::strerror(errno)));
  // Children of a killed campaign hold the lock until the kernel has ended them.
  constexpr auto patience = std::chrono::seconds(5);
  const auto start = std::chrono::steady_clock::now();
  while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() - start > patience) {
      close(fd_);
      throw environment_error(fmt::format("{}: another campaign uses this folder", folder.string()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

folder_lock::~folder_lock() {
  close(fd_);
}

}  // namespace assay
