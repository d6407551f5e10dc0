#include <dlfcn.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "properties/run/kernel_library.hpp"
#include "properties/system/device_driver.hpp"
#include "properties/system/errors.hpp"
#include "properties/system/worker.hpp"

namespace assay {
namespace {

/// Names are compared, listed and printed: letters, digits and a few signs.
bool is_plain(const char* name) {
  constexpr std::size_t most = 64;
  const std::string_view text(name, strnlen(name, most + 1));
  const auto fits = [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || std::strchr("_-.:", c) != nullptr);
  };
  return !text.empty() && text.size() <= most && std::ranges::all_of(text, fits);
}

/// Of the first version, from the structs' starts to the ends of their last fields.
constexpr auto least_problem_bytes = static_cast<std::int32_t>(offsetof(problem, soft_cap) + sizeof(problem::soft_cap));
constexpr auto least_contract_bytes =
    static_cast<std::int32_t>(offsetof(contract, sum_epsilon) + sizeof(contract::sum_epsilon));
constexpr auto least_table_bytes =
    static_cast<std::int32_t>(offsetof(assay_library, platform) + sizeof(assay_library::platform));
constexpr auto least_launch_bytes =
    static_cast<std::int32_t>(offsetof(assay_launch, accepts) + sizeof(assay_launch::accepts));
constexpr auto least_kernel_bytes = static_cast<std::int32_t>(offsetof(assay_kernel, run) + sizeof(assay_kernel::run));

/// What is wrong with the sizes of a library's structs, or nullptr. A library may know less than this program: structs
/// grow at their ends. Tensors come in an array that is the suite's, whose elements do not grow.
const char* defect_of_sizes(const assay_library& table) {
  constexpr auto size_of_table = static_cast<std::int32_t>(sizeof(assay_library));
  if (table.size_bytes < least_table_bytes) return "its assay_library is smaller than that of the first version";
  if (table.problem_bytes < least_problem_bytes || table.contract_bytes < least_contract_bytes ||
      table.launch_bytes < least_launch_bytes || table.kernel_bytes < least_kernel_bytes)
    return "it was built with headers before the first version";
  if (table.size_bytes > size_of_table || table.problem_bytes > static_cast<std::int32_t>(sizeof(problem)) ||
      table.contract_bytes > static_cast<std::int32_t>(sizeof(contract)) ||
      table.launch_bytes > static_cast<std::int32_t>(sizeof(assay_launch)) ||
      table.kernel_bytes > static_cast<std::int32_t>(sizeof(assay_kernel)))
    return "it was built for a newer Assay, of which this one does not know all fields";
  constexpr auto pointer_bytes = static_cast<std::int32_t>(sizeof(void*));
  if (table.tensor_bytes != static_cast<std::int32_t>(sizeof(assay_tensor)) || table.kernel_bytes % pointer_bytes != 0)
    return "its tensors or kernels have another layout";
  return nullptr;
}

/// Kernel i of a table whose kernels may end before this program's do.
assay_kernel kernel_of(const assay_library& table, std::int32_t i) {
  assay_kernel kernel{};
  const auto size = static_cast<std::size_t>(table.kernel_bytes);
  std::memcpy(&kernel, reinterpret_cast<const std::byte*>(table.kernels) + static_cast<std::size_t>(i) * size, size);
  return kernel;
}

DLDeviceType device_of(const assay_library& table) {
  const bool says = table.size_bytes >= static_cast<std::int32_t>(sizeof(assay_library)) && table.device_type != 0;
  return says ? static_cast<DLDeviceType>(table.device_type) : kDLCPU;
}

/// What makes a table unusable, or nullptr.
const char* defect_of(const assay_library* table) {
  if (table == nullptr) return "assay_library_v1() returned nothing";
  if (const char* const defect = defect_of_sizes(*table)) return defect;
  if (table->platform == nullptr) return "it names no platform";
  if (!is_plain(table->platform)) return "its platform's name is not 1 to 64 letters, digits, '_', '-', '.' or ':'";
  if (table->num_kernels < 0 || (table->num_kernels > 0 && table->kernels == nullptr))
    return "its kernel table is broken";
  if (const DLDeviceType where = device_of(*table); where != kDLCPU && where != kDLCUDA && where != kDLROCM)
    return "its tensors lie on a device that is neither the host, nor CUDA's, nor ROCm's";
  for (std::int32_t i = 0; i < table->num_kernels; ++i) {
    const assay_kernel kernel = kernel_of(*table, i);
    if (kernel.name == nullptr || kernel.plan == nullptr || kernel.run == nullptr)
      return "one of its kernels has no name or misses a function";
    if (!is_plain(kernel.name))
      return "the name of one of its kernels is not 1 to 64 letters, digits, '_', '-', '.' or ':'";
  }
  return nullptr;
}

void demand_usable(const assay_library* table, const std::string& path) {
  if (const char* defect = defect_of(table))
    throw environment_error(fmt::format("{}: not a usable kernel library: {}", path, defect));
}

library_description description_of(const assay_library& table, bool supports_generated) {
  library_description d{table.platform, {}, supports_generated, {}, false, device_of(table)};
  for (std::int32_t i = 0; i < table.num_kernels; ++i) d.kernels.emplace_back(kernel_of(table, i).name);
  return d;
}

/// The handle of dlopen and the table that the file's entry returns; the table may be unusable.
std::pair<void*, const assay_library*> open_file(const std::string& path) {
  // A bare file name would be searched for on the loader's path instead of here.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw environment_error(fmt::format("{}: cannot be loaded: {}", path, dlerror()));
  auto* entry = reinterpret_cast<const assay_library* (*)()>(dlsym(handle, "assay_library_v1"));
  if (entry == nullptr) throw environment_error(fmt::format("{}: exports no assay_library_v1", path));
  return {handle, entry()};
}

template <typename Function>
Function* find_export(void* handle, const char* name) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

/// What the kernels take, by the library's export. Throws environment_error.
support_map supports_of(void* handle, const std::vector<std::string>& kernels, const std::string& path) {
  support_map all;
  auto* const entry = find_export<const assay_support*(const char*)>(handle, "assay_support_v1");
  if (entry == nullptr) return all;
  for (const std::string& kernel : kernels) {
    const assay_support* given = entry(kernel.c_str());
    if (given == nullptr) continue;
    try {
      all.emplace(kernel, read_support(*given));
    } catch (const case_error& e) {
      throw environment_error(fmt::format("{}: assay_support_v1(\"{}\"): {}", path, kernel, e.what()));
    }
  }
  return all;
}

std::string to_line(const library_description& d) {
  boost::json::object supports;
  for (const auto& [kernel, s] : d.supports) supports[kernel] = support_to_json(s);
  return boost::json::serialize(boost::json::object{{"platform", d.platform},
                                                    {"kernels", boost::json::value_from(d.kernels)},
                                                    {"generated", d.supports_generated},
                                                    {"predicate", d.has_predicate},
                                                    {"tensors_on", static_cast<int>(d.tensors_on)},
                                                    {"supports", std::move(supports)}});
}

library_description from_line(const std::string& line) {
  const boost::json::value parsed = boost::json::parse(line);
  const boost::json::object& o = parsed.as_object();
  library_description d{boost::json::value_to<std::string>(o.at("platform")),
                        boost::json::value_to<std::vector<std::string>>(o.at("kernels")),
                        o.at("generated").as_bool(),
                        {},
                        o.at("predicate").as_bool(),
                        static_cast<DLDeviceType>(o.at("tensors_on").to_number<int>())};
  for (const auto& [kernel, s] : o.at("supports").as_object())
    d.supports.emplace(std::string(kernel), support_from_json(s.as_object()));
  return d;
}

/// In a child: the description as a line behind an empty one, or what is wrong.
std::string described_text(const std::string& path) {
  try {
    const auto [handle, table] = open_file(path);
    demand_usable(table, path);
    auto* const generated = find_export<std::int32_t()>(handle, "assay_supports_generated_v1");
    library_description d = description_of(*table, generated != nullptr && generated() == 1);
    d.supports = supports_of(handle, d.kernels, path);
    d.has_predicate = dlsym(handle, "assay_supports_case_v1") != nullptr;
    return "\n" + to_line(d);
  } catch (const environment_error& e) {
    return e.what();
  }
}

}  // namespace

library::library(const assay_library* table, std::string path) : path_(std::move(path)) {
  take(table);
  described_ = description_of(*table, false);
}

library::library(library_description described, const std::string& file)
    : supports_generated(described.supports_generated),
      supports(described.supports),
      described_(std::move(described)),
      path_(file),
      file_(file) {}

// Opened with RTLD_NODELETE: threads and fibers of the library's platform may hold its thread-local state until exit.
library::~library() {
  if (handle_ != nullptr) dlclose(handle_);
}

std::shared_ptr<library> library::built_in() {
  static const auto only = [] {
    auto made = std::make_shared<library>(assay_library_v1(), "built-in");
    made->supports_generated = assay_supports_generated_v1() == 1;
    return made;
  }();
  return only;
}

std::filesystem::path beside_the_program(const std::string& name) {
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe");
  return program.parent_path().parent_path() / "lib" / name;
}

std::shared_ptr<library> library::built_in_unchecked() {
  const std::filesystem::path beside = beside_the_program("assay_kernels_cpu_unchecked.so");
  std::error_code unknown;
  if (!std::filesystem::exists(beside, unknown))
    throw environment_error(fmt::format("{}: cannot be loaded: there is no such file", beside.string()));
  const std::shared_ptr<library> checked = built_in();
  library_description same = checked->described_;
  same.supports_generated = checked->supports_generated;
  auto made = std::make_shared<library>(std::move(same), beside.string());
  made->path_ = "built-in, unchecked";
  made->checks.accesses = false;
  made->may_show_accesses = false;
  return made;
}

std::shared_ptr<library> library::load(const std::string& path) {
  constexpr double limit_seconds = 20;
  isolated child([&](const std::string& file) { return described_text(file); }, limit_seconds);
  const work_result said = child.ask(path);
  if (!said.reply) throw environment_error(fmt::format("{}: the process that loaded it {}", path, said.death));
  if (!said.reply->starts_with('\n')) throw environment_error(*said.reply);
  return std::make_shared<library>(from_line(said.reply->substr(1)), path);
}

const assay_library& library::table() const {
  if (table_ == nullptr) {
    const auto [handle, table] = open_file(file_);
    take(table);
    handle_ = handle;
  }
  return *table_;
}

/// Throws environment_error if the table cannot be used.
void library::take(const assay_library* table) const {
  demand_usable(table, file_.empty() ? path_ : file_);
  for (std::int32_t i = 0; i < table->num_kernels; ++i) kernels_.push_back(kernel_of(*table, i));
  table_ = table;
}

std::span<std::uint8_t> library::edge_flags() const {
  static_cast<void>(table());
  auto* entry = &assay_edge_flags_v1;
  if (handle_ != nullptr) entry = reinterpret_cast<decltype(entry)>(dlsym(handle_, "assay_edge_flags_v1"));
  const assay_edge_flags* given = entry == nullptr ? nullptr : entry();
  if (given == nullptr || given->flags == nullptr || given->count <= 0) return {};
  return {given->flags, static_cast<std::size_t>(given->count)};
}

std::shared_ptr<void> library::announce(const assay_call& call) const {
  static_cast<void>(table());
  auto* begin = &assay_begin_call_v1;
  auto* end = &assay_end_call_v1;
  if (handle_ != nullptr) {
    begin = reinterpret_cast<decltype(begin)>(dlsym(handle_, "assay_begin_call_v1"));
    end = reinterpret_cast<decltype(end)>(dlsym(handle_, "assay_end_call_v1"));
  }
  if (begin == nullptr || end == nullptr) return nullptr;
  void* const begun = begin(&call);
  return begun == nullptr ? nullptr : std::shared_ptr<void>(begun, end);
}

std::int32_t library::contract_bytes() const {
  return table().contract_bytes;
}

bool library::knows_workspace() const {
  constexpr std::size_t known = offsetof(assay_launch, workspace_bytes) + sizeof(assay_launch::workspace_bytes);
  return table().launch_bytes >= static_cast<std::int32_t>(known);
}

std::string library::devices() const {
  if (tensors_on() == kDLCPU) return {};
  const auto ask = [&](const std::string&) -> std::string {
    try {
      return "\n" + device_driver::devices_text(tensors_on());
    } catch (const environment_error& e) {
      return e.what();
    }
  };
  constexpr double limit_seconds = 60;  // a driver that starts for the first time after boot takes seconds
  const work_result said = isolated(ask, limit_seconds).ask("");
  if (!said.reply) throw environment_error(fmt::format("{}: the process that asked its driver {}", path_, said.death));
  if (!said.reply->starts_with('\n'))
    throw environment_error(fmt::format("{}: a library for {}: {}", path_, platform(), *said.reply));
  return said.reply->substr(1);
}

const assay_matrix_unit* library::matrix_unit() const {
  static_cast<void>(table());
  auto* entry = &assay_matrix_unit_v1;
  if (handle_ != nullptr) entry = reinterpret_cast<decltype(entry)>(dlsym(handle_, "assay_matrix_unit_v1"));
  const assay_matrix_unit* const unit = entry == nullptr ? nullptr : entry();
  if (unit == nullptr) return nullptr;
  const bool is_known = unit->size_bytes >= static_cast<std::int32_t>(sizeof(assay_matrix_unit)) &&
                        unit->atom_bytes >= static_cast<std::int32_t>(sizeof(assay_unit_atom)) &&
                        unit->num_atoms >= 0 && (unit->atoms != nullptr || unit->num_atoms == 0) &&
                        unit->multiply != nullptr && unit->evaluate != nullptr;
  if (!is_known) throw environment_error(fmt::format("{}: assay_matrix_unit_v1() returned a broken table", path_));
  return unit;
}

bool library::is_compiled_for_checks() const {
  static_cast<void>(table());
  auto* entry = &assay_is_checked_v1;
  if (handle_ != nullptr) entry = reinterpret_cast<decltype(entry)>(dlsym(handle_, "assay_is_checked_v1"));
  return entry != nullptr && entry() != 0;
}

assay_status library::supports_case(const std::string& kernel, const problem& planned,
                                    std::span<const assay_tensor> tensors) const {
  static_cast<void>(table());
  case_predicate ask = predicate;
  if (ask == nullptr && handle_ != nullptr)
    ask = reinterpret_cast<case_predicate>(dlsym(handle_, "assay_supports_case_v1"));
  if (ask == nullptr) return {ASSAY_OK, {}};
  return ask(kernel.c_str(), &planned, tensors.data(), static_cast<std::int32_t>(tensors.size()));
}

bool library::has(const std::string& kernel) const {
  return std::ranges::find(described_.kernels, kernel) != described_.kernels.end();
}

const assay_kernel* library::find(const std::string& kernel) const {
  static_cast<void>(table());
  const auto found = std::ranges::find_if(kernels_, [&](const assay_kernel& k) { return kernel == k.name; });
  return found != kernels_.end() ? &*found : nullptr;
}

}  // namespace assay
