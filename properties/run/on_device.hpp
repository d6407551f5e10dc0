/// What a device says of a run, as a finding.
#pragma once

#include <string>
#include <string_view>

#include "properties/system/device_driver.hpp"
#include "properties/system/worker.hpp"

namespace assay {

/// Returns what `work` returns. An error of the device is the worker's last word, behind `before`: what runs next needs
/// a process with a context of its own. Where there is no worker, it is returned. That memory is short is the caller's
/// to say (device_memory_error): the process may go on.
template <class Work>
std::string on_device(Work work, std::string_view before = {}) {
  try {
    return work();
  } catch (const device_memory_error&) {
    throw;
  } catch (const device_error& e) {
    std::string what = std::string(before) + e.what();
    worker::end_with_last_words(what.data(), what.size());
    return what;
  }
}

}  // namespace assay
