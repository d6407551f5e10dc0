#include "properties/system/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace assay {

std::size_t columns_of_stdout() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace assay
