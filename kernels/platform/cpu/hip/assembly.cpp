#include "hip/assembly.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hip/amdgcn.h"
#include "hip/assembly_arithmetic.h"
#include "hip/assembly_text.h"
#include "hip/hip_runtime.h"
#include "hip/ptx.h"
#include "kernels/platform/cpu/checker/access_checker.hpp"

namespace assay::cpu {
namespace {

float as_float(std::uint64_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}
std::uint64_t of_float(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

/// It runs on the kernel's thread, whose accesses count as its own while it lives: what it does for the kernel is
/// checked by `checker`, which may be null.
class interpreter {
 public:
  interpreter(checked_thread& self, access_checker* checker, std::uintptr_t pc, std::source_location where,
              std::initializer_list<assembly_operand> operands)
      : self_(self), checker_(checker), pc_(pc), where_(where), operands_(operands) {}

  void run(const instruction& i) {
    if (!i.guard.empty()) {
      const bool is_negated = i.guard.front() == '!';
      if ((get(i.guard.substr(is_negated ? 1 : 0)) != 0) == is_negated) return;
    }
    if (i.starts_with(".reg")) return;  // a register is there when it is first written
    if (i.starts_with("s_") || i.name == "v_nop") return run_amd(i);
    if (i.starts_with("cp.async")) return run_copy(i);
    if (i.starts_with("ldmatrix")) return run_ldmatrix(i);
    if (i.starts_with("mma.sync")) return run_mma(i);
    if (i.starts_with("ld.") || i.starts_with("st.")) return run_access(i);
    if (i.starts_with("bar.sync") || i.starts_with("barrier"))
      return as_kernel([&] { block_barrier("bar.sync", where_, false); });
    if (i.starts_with("bar.warp"))
      return as_kernel([&, lanes = mask_of(get(i.arguments.at(0)))] { wave_barrier("bar.warp.sync", where_, lanes); });
    if (i.name == "fence.proxy.async" || i.starts_with("fence.proxy.async.shared"))
      return as_kernel([] { publish_lds(); });
    if (i.starts_with("membar") || i.starts_with("fence"))
      return as_kernel([&] { fence(i.has("cta") ? fence_scope::block : fence_scope::device); });
    if (i.starts_with("griddepcontrol.wait")) return as_kernel([] { await_kernel_before(); });
    if (i.starts_with("prefetch") || i.starts_with("griddepcontrol")) return;
    if (i.arguments.size() < 2) fail_assembly(i.name);
    put(i.arguments[0], result_of(i), i.has("b64") ? 64 : 32);
  }

 private:
  /// What the kernel itself does: it meets others there, and is checked.
  template <class F>
  void as_kernel(F act) {
    struct checked {
      checked_thread& self;
      ~checked() { self.checker = nullptr; }
    };
    self_.checker = checker_;
    const checked now{self_};
    act();
  }

  static std::uint64_t mask_of(std::uint64_t lanes) { return (lanes & 0xFFFFFFFF) == 0xFFFFFFFF ? every_lane : lanes; }

  /// %3, a register, a number.
  std::uint64_t get(const std::string& what) const {
    if (what.size() > 1 && what[0] == '%' && std::isdigit(static_cast<unsigned char>(what[1])) != 0)
      return operand(what).value;
    if (!what.empty() && (std::isdigit(static_cast<unsigned char>(what[0])) != 0 || what[0] == '-')) {
      if (what.starts_with("0f") || what.starts_with("0F")) return std::stoull(what.substr(2), nullptr, 16);
      return static_cast<std::uint64_t>(std::stoll(what, nullptr, 0));
    }
    const auto known = registers_.find(what);
    if (known == registers_.end()) fail_assembly(what);
    return known->second;
  }
  const assembly_operand& operand(const std::string& what) const {
    const auto number = static_cast<std::size_t>(std::stoul(what.substr(1)));
    if (number >= operands_.size() || operands_[number].size > sizeof operands_[number].value) fail_assembly(what);
    return operands_[number];
  }
  /// "{%0, %1}" of a word takes its halves, the low one first.
  void put(const std::string& where, std::uint64_t value, int bits = 32) {
    if (where[0] == '{') {
      for (const std::string& part : parts_of(where)) {
        put(part, value & ((std::uint64_t{1} << bits / 2) - 1));
        value >>= bits / 2;
      }
      return;
    }
    if (where[0] != '%') {
      registers_[where] = value;
      return;
    }
    const assembly_operand& to = operand(where);
    if (to.output == nullptr) fail_assembly(where);
    std::memcpy(to.output, &value, to.size);
    operands_[static_cast<std::size_t>(&to - operands_.data())].value = value;
  }
  /// The parts of "{%0, %1}", or the one that it is.
  static std::vector<std::string> parts_of(const std::string& what) {
    if (what.front() != '{') return {what};
    return list_of(std::string_view(what).substr(1, what.size() - 2));
  }
  std::vector<std::uint32_t> words_of(const std::string& what) const {
    std::vector<std::uint32_t> words;
    for (const std::string& part : parts_of(what)) words.push_back(static_cast<std::uint32_t>(get(part)));
    return words;
  }
  /// "[%1]", "[%1 + 16]".
  std::uint64_t address_of(const std::string& what) const {
    std::uint64_t sum = 0;
    std::string inside = what.substr(1, what.size() - 2);
    for (std::size_t from = 0; from <= inside.size();) {
      const std::size_t plus = std::min(inside.find('+', from), inside.size());
      sum += get(trimmed(std::string_view(inside).substr(from, plus - from)));
      from = plus + 1;
    }
    return sum;
  }

  void run_amd(const instruction& i) {
    if (i.name == "s_barrier") return as_kernel([&] { block_barrier("s_barrier", where_, false); });
    if (i.starts_with("s_waitcnt") || i.starts_with("s_wait_") || i.name == "s_nop" || i.name == "s_setprio" ||
        i.name == "v_nop")
      return;
    if (i.name == "s_sleep") return as_kernel([&] { scheduling_point("s_sleep", where_); });
    fail_assembly(i.name);
  }

  void run_copy(const instruction& i) {
    if (i.has("commit_group")) return as_kernel([] { commit_copies(); });
    if (i.has("wait_group"))
      return as_kernel([pending = static_cast<int>(get(i.arguments.at(0)))] { wait_for_copies(pending); });
    if (i.has("wait_all")) return as_kernel([] { wait_for_copies(-1); });
    if (i.arguments.size() < 3 || !i.has("shared") || !i.has("global")) fail_assembly(i.name);
    const auto size = static_cast<std::size_t>(get(i.arguments[2]));
    const std::size_t bytes = i.arguments.size() > 3 ? static_cast<std::uint32_t>(get(i.arguments[3])) : size;
    void* const to = shared_pointer(address_of(i.arguments[0]));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold addresses as numbers
    const void* const from = reinterpret_cast<const void*>(address_of(i.arguments[1]));
    as_kernel([&] { begin_copy_at(pc_, to, from, size, bytes); });
  }

  void run_ldmatrix(const instruction& i) {
    const std::vector<std::string> to = parts_of(i.arguments.at(0));
    const void* const row = shared_pointer(address_of(i.arguments.at(1)));
    std::uint32_t words[4] = {};
    const bool is_transposed = i.has("trans");
    as_kernel([&] { load_matrices(pc_, where_, words, row, static_cast<int>(to.size()), is_transposed); });
    for (std::size_t word = 0; word < to.size(); ++word) put(to[word], words[word]);
  }

  void run_mma(const instruction& i) {
    const bool is_long = i.has("m16n8k16");
    if ((!is_long && !i.has("m16n8k8")) || i.arguments.size() != 4) fail_assembly(i.name);
    const std::vector<std::uint32_t> a = words_of(i.arguments[1]), b = words_of(i.arguments[2]);
    const std::vector<std::uint32_t> c = words_of(i.arguments[3]);
    const std::vector<std::string> to = parts_of(i.arguments[0]);
    std::uint32_t d[4] = {};
    const bool is_bf16 = i.has("f32.bf16.bf16.f32"), has_pairs = i.has("f16.f16.f16.f16");
    if (!is_bf16 && !has_pairs && !i.has("f32.f16.f16.f32")) fail_assembly(i.name);
    const std::size_t sums = has_pairs ? 2 : 4, long_words = is_long ? 2 : 1;
    if (to.size() != sums || c.size() != sums || a.size() != 2 * long_words || b.size() != long_words)
      fail_assembly(i.name);
    mma_fragments own{a.data(), b.data(), c.data(), d};
    demand_warp("mma.sync");
    const wave_operation multiply =
        is_bf16 ? (is_long ? &multiply_warp<bf16_format, 16, float> : &multiply_warp<bf16_format, 8, float>)
        : has_pairs
            ? (is_long ? &multiply_warp<f16_format, 16, std::uint32_t> : &multiply_warp<f16_format, 8, std::uint32_t>)
        : is_long ? &multiply_warp<f16_format, 16, float>
                  : &multiply_warp<f16_format, 8, float>;
    as_kernel([&] { wave_rendezvous("mma.sync", where_, &own, multiply); });
    for (std::size_t word = 0; word < sums; ++word) put(to[word], d[word]);
  }

  /// Loads and stores of vectors of words.
  void run_access(const instruction& i) {
    if (i.arguments.size() != 2) fail_assembly(i.name);
    const bool is_load = i.starts_with("ld.");
    const std::vector<std::string> parts = parts_of(i.arguments[is_load ? 0 : 1]);
    const std::size_t last = i.name.find_last_not_of("0123456789");
    const std::size_t size = std::stoul("0" + i.name.substr(last + 1)) / 8;
    if (size == 0 || size > 8) fail_assembly(i.name);
    const std::uint64_t address = address_of(i.arguments[is_load ? 1 : 0]);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold addresses as numbers
    char* const at = i.has("shared") ? static_cast<char*>(shared_pointer(address)) : reinterpret_cast<char*>(address);
    as_kernel([&, bytes = size * parts.size()] {
      demand_multiple(at, bytes, pc_);
      (is_load ? note_load : note_store)(at, bytes, pc_);
    });
    for (std::size_t part = 0; part < parts.size(); ++part) {
      std::uint64_t value = is_load ? 0 : get(parts[part]);
      if (is_load) {
        std::memcpy(&value, at + part * size, size);
        put(parts[part], value);
      } else {
        std::memcpy(at + part * size, &value, size);
      }
    }
  }

  std::uint64_t result_of(const instruction& i) {
    const auto is = [&](const char* start) { return i.starts_with(start); };
    const std::string& first = i.arguments[1];
    if (is("mov.")) {
      // {a, b}: b in the upper half.
      const std::vector<std::string> halves = parts_of(first);
      if (halves.size() == 1) return get(first);
      if (halves.size() != 2) fail_assembly(i.name);
      const int bits = i.has("b64") ? 32 : 16;
      const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
      return (get(halves[0]) & mask) | (get(halves[1]) & mask) << bits;
    }
    if (is("setp.")) return compare(i) ? 1 : 0;
    if (is("shfl.sync.bfly") && i.arguments.size() == 5) {
      const int lane = lane_id() ^ static_cast<int>(get(i.arguments[2]));
      const std::uint64_t lanes = mask_of(get(i.arguments[4])), value = get(first) & 0xFFFFFFFF;
      std::uint64_t shuffled = 0;
      as_kernel([&] { shuffled = shuffle_bits("shfl.sync.bfly", where_, lanes, value, lane); });
      return shuffled;
    }
    if (is("cvt.rn.f16x2.f32") || is("cvt.rn.bf16x2.f32")) {
      const auto code = is("cvt.rn.f16x2") ? narrowed_f16 : narrowed_bf16;  // the first one in the upper half
      return std::uint64_t{code(as_float(get(first)))} << 16 | code(as_float(get(i.arguments.at(2))));
    }
    if (i.name.ends_with("_f32_dpp")) return moved_sum(i);
    if (const auto known = half_instruction_of(i.name); known && i.arguments.size() == 1 + known->operands) {
      std::vector<std::uint64_t> operands;
      for (std::size_t n = 1; n < i.arguments.size(); ++n) operands.push_back(get(i.arguments[n]));
      return compute(*known, operands);
    }
    if (!i.has("f32")) fail_assembly(i.name);
    const float x = as_float(get(first));
    if (is("ex2.")) return of_float(__builtin_amdgcn_exp2f(x));
    if (is("lg2.")) return of_float(__builtin_amdgcn_logf(x));
    if (is("rcp.")) return of_float(__builtin_amdgcn_rcpf(x));
    if (is("rsqrt.")) return of_float(__builtin_amdgcn_rsqf(x));
    if (is("sqrt.")) return of_float(__builtin_amdgcn_sqrtf(x));
    if (is("tanh.")) return of_float(static_cast<float>(std::tanh(static_cast<double>(x))));
    fail_assembly(i.name);
  }

  /// v_add_f32_dpp %0, %1, %2 row_ror:4: the first operand comes from another lane. Others than row_ror are not known.
  std::uint64_t moved_sum(const instruction& i) {
    const bool is_sum = i.name == "v_add_f32_dpp";
    if ((!is_sum && i.name != "v_max_f32_dpp") || i.arguments.size() != 3) fail_assembly(i.name);
    constexpr std::string_view rotation = "row_ror:";
    const std::string& last = i.arguments[2];
    const std::size_t space = std::min(last.find(' '), last.size());
    const std::string move = trimmed(std::string_view(last).substr(space));
    const int amount = move.starts_with(rotation) ? std::atoi(move.c_str() + rotation.size()) : 0;
    if (amount < 1 || amount > 15 || move != std::string(rotation) + std::to_string(amount))
      fail_assembly(i.name + " " + move);
    const std::uint64_t own = get(i.arguments[1]);
    std::uint64_t moved = 0;
    as_kernel([&, lane = dpp_lane(0x120 + amount, lane_id(), wave_size())] {
      moved = shuffle_bits(is_sum ? "v_add_f32_dpp" : "v_max_f32_dpp", where_, every_lane, own, lane);
    });
    const float a = as_float(moved), b = as_float(get(last.substr(0, space)));
    return of_float(is_sum ? a + b : std::fmax(a, b));
  }

  bool compare(const instruction& i) const {
    if (i.arguments.size() != 3) fail_assembly(i.name);
    const auto a = static_cast<std::int32_t>(get(i.arguments[1])), b = static_cast<std::int32_t>(get(i.arguments[2]));
    if (i.has("eq")) return a == b;
    if (i.has("ne")) return a != b;
    if (!i.has("s32")) fail_assembly(i.name);
    if (i.has("lt")) return a < b;
    if (i.has("le")) return a <= b;
    if (i.has("gt")) return a > b;
    if (i.has("ge")) return a >= b;
    fail_assembly(i.name);
  }

  checked_thread& self_;
  access_checker* checker_;
  std::uintptr_t pc_;
  std::source_location where_;
  std::vector<assembly_operand> operands_;
  std::map<std::string, std::uint64_t> registers_;
};

/// Arithmetic of 16 bits alone, on operands alone: it runs for each element of a vector, and without the interpreter.
struct short_statement {
  half_instruction what;
  std::size_t operands;
  std::size_t to;
  std::size_t from[3];

  /// Statements of one text may share it, and differ in operands.
  bool fits(std::initializer_list<assembly_operand> given) const {
    const auto fits_word = [&](std::size_t n) { return given.begin()[n].size <= sizeof(std::uint64_t); };
    return given.size() == operands && given.begin()[to].output != nullptr && fits_word(to) && fits_word(from[0]) &&
           fits_word(from[1]) && fits_word(from[2]);
  }
  void run(std::initializer_list<assembly_operand> operands) const {
    const assembly_operand* const all = operands.begin();
    std::uint64_t given[3] = {};
    for (std::size_t n = 0; n < what.operands; ++n) given[n] = all[from[n]].value;
    const std::uint64_t result = compute(what, {given, what.operands});
    std::memcpy(all[to].output, &result, all[to].size);
  }
};

struct statement {
  std::vector<instruction> instructions;
  std::optional<short_statement> in_short;
};

std::optional<short_statement> in_short(const std::vector<instruction>& all,
                                        std::initializer_list<assembly_operand> operands) {
  if (all.size() != 1 || !all[0].guard.empty()) return std::nullopt;
  const auto known = half_instruction_of(all[0].name);
  if (!known || all[0].arguments.size() != 1 + known->operands) return std::nullopt;
  short_statement s{*known, operands.size(), 0, {}};
  for (std::size_t n = 0; n <= known->operands; ++n) {
    const std::string& a = all[0].arguments[n];
    if (a.size() != 2 || a[0] != '%' || std::isdigit(static_cast<unsigned char>(a[1])) == 0) return std::nullopt;
    const auto number = static_cast<std::size_t>(a[1] - '0');
    if (number >= operands.size()) return std::nullopt;
    (n == 0 ? s.to : s.from[n - 1]) = number;
  }
  return s;
}

/// Statements are few, and run often.
const statement& parsed(const char* text, std::initializer_list<assembly_operand> operands) {
  static thread_local std::unordered_map<const char*, statement> known;
  const auto [entry, is_new] = known.try_emplace(text);
  if (is_new) {
    entry->second.instructions = parse_assembly(text);
    entry->second.in_short = in_short(entry->second.instructions, operands);
  }
  return entry->second;
}

}  // namespace

[[gnu::noinline]] void run_assembly(const char* text, std::source_location where,
                                    std::initializer_list<assembly_operand> operands) {
  const auto pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (this_thread == nullptr) throw std::logic_error("inline assembly outside of a kernel");
  const statement& what = parsed(text, operands);
  if (what.in_short && what.in_short->fits(operands)) return what.in_short->run(operands);
  auto& self = *static_cast<checked_thread*>(const_cast<thread_coordinates*>(this_thread));
  access_checker* const checker = self.checker;
  const own_accesses own(self);
  interpreter one(self, checker, pc, where, operands);
  for (const instruction& i : what.instructions) one.run(i);
}

}  // namespace assay::cpu
