#include "properties/nightly/child.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "properties/campaign/process.hpp"
#include "properties/system/errors.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int cannot_start = 127;
constexpr int took_too_long = 124;

}  // namespace

child_end run_child(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& log,
                    double limit_seconds) {
  campaign::command what{{program.string()}, {}, log};
  what.arguments.insert(what.arguments.end(), arguments.begin(), arguments.end());
  campaign::process child(what);
  while (child.poll() && child.seconds() <= limit_seconds) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const bool late = child.end().empty();
  child.kill();
  if (!late && child.exit_status() == cannot_start)
    throw environment_error(fmt::format("{} could not be started", program.string()));
  return {late ? took_too_long : child.exit_status(), child.seconds()};
}

fs::path own_program() {
  return fs::read_symlink("/proc/self/exe");
}

}  // namespace assay
