#include <dlfcn.h>

#include <fmt/format.h>

#include <filesystem>

#include "properties/run/kernel_library.hpp"
#include "properties/system/errors.hpp"

namespace assay {
namespace {

/// What makes a table unusable, or nullptr. Sizes guard against a library that was built with other headers.
const char* defect_of(const assay_library* table) {
  if (table == nullptr) return "assay_library_v1() returned nothing";
  if (table->abi != 1) return "its ABI is not version 1";
  if (table->problem_bytes != static_cast<std::int32_t>(sizeof(problem)))
    return "it was built with another problem.hpp";
  if (table->contract_bytes != static_cast<std::int32_t>(sizeof(contract)))
    return "it was built with another contract.hpp";
  if (table->platform == nullptr) return "it names no platform";
  if (table->num_kernels < 0 || (table->num_kernels > 0 && table->kernels == nullptr))
    return "its kernel table is broken";
  for (std::int32_t i = 0; i < table->num_kernels; ++i) {
    const assay_kernel& kernel = table->kernels[i];
    if (kernel.name == nullptr || kernel.plan == nullptr || kernel.declare == nullptr || kernel.run == nullptr)
      return "one of its kernels has no name or misses a function";
  }
  return nullptr;
}

}  // namespace

library::library(const assay_library* table, std::string path, void* handle)
    : table_(table), path_(std::move(path)), handle_(handle) {
  if (const char* defect = defect_of(table))
    throw environment_error(fmt::format("{}: not a usable kernel library: {}", path_, defect));
}

// Opened with RTLD_NODELETE: threads and fibers of the library's platform may hold its thread-local state until exit.
library::~library() {
  if (handle_ != nullptr) dlclose(handle_);
}

std::shared_ptr<library> library::built_in() {
  static const auto only = [] {
    auto made = std::make_shared<library>(assay_library_v1(), "built-in", nullptr);
    made->supports_generated = assay_supports_generated_v1() == 1;
    return made;
  }();
  return only;
}

std::shared_ptr<library> library::built_in_unchecked() {
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe");
  const std::filesystem::path beside = program.parent_path().parent_path() / "lib" / "assay_kernels_cpu_unchecked.so";
  std::shared_ptr<library> loaded = load(beside.string());
  loaded->path_ = "built-in, unchecked";
  loaded->checks.accesses = false;
  return loaded;
}

std::shared_ptr<library> library::load(const std::string& path) {
  // A bare file name would be searched for on the loader's path instead of here.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw environment_error(fmt::format("{}: cannot be loaded: {}", path, dlerror()));
  auto* entry = reinterpret_cast<const assay_library* (*)()>(dlsym(handle, "assay_library_v1"));
  if (entry == nullptr) throw environment_error(fmt::format("{}: exports no assay_library_v1", path));
  auto loaded = std::make_shared<library>(entry(), path, handle);
  auto* supports =
      reinterpret_cast<decltype(&assay_supports_generated_v1)>(dlsym(handle, "assay_supports_generated_v1"));
  loaded->supports_generated = supports != nullptr && supports() == 1;
  return loaded;
}

std::span<std::uint8_t> library::edge_flags() const {
  auto* entry = &assay_edge_flags_v1;
  if (handle_ != nullptr) entry = reinterpret_cast<decltype(entry)>(dlsym(handle_, "assay_edge_flags_v1"));
  const assay_edge_flags* given = entry == nullptr ? nullptr : entry();
  if (given == nullptr || given->flags == nullptr || given->count <= 0) return {};
  return {given->flags, static_cast<std::size_t>(given->count)};
}

const char* library::platform() const {
  return table_->platform;
}

const assay_kernel* library::find(const std::string& kernel) const {
  for (std::int32_t i = 0; i < table_->num_kernels; ++i)
    if (kernel == table_->kernels[i].name) return &table_->kernels[i];
  return nullptr;
}

std::vector<std::string> library::kernels() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(table_->num_kernels));
  for (std::int32_t i = 0; i < table_->num_kernels; ++i) names.emplace_back(table_->kernels[i].name);
  return names;
}

}  // namespace assay
