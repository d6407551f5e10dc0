#include "kernels/platform/cpu/source_pass/source_pass.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/platform/cpu/source_pass/function_text.hpp"

namespace assay::source_pass {
namespace {

class pass : function_text {
 public:
  using function_text::function_text;

  std::string run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      note_scope();
      if (is(at_, "__attribute__") && is(at_ + 3, "assay_host")) {
        rewrite_host();
        continue;
      }
      if (is(at_, "__shared__")) rewrite_shared(at_ + 1);
      if (is(at_, "__attribute__") && is(at_ + 1, "(") && is(at_ + 2, "(") && is(at_ + 3, "shared"))
        rewrite_shared(at_ + 6);
      if (is(at_, "&")) rewrite_address();
      if (is(at_, "::")) name_template();
      if (is(at_, "hipLaunchKernel")) rewrite_launch_by_address();
      if (tokens_[at_].kind == token_kind::literal) rewrite_label();
      if (is(at_, "asm") || is(at_, "__asm") || is(at_, "__asm__")) rewrite_assembly();
      if (is_launch(at_)) rewrite_launch();
    }
    return applied();
  }

 private:
  /// Whether each open brace is of a function's body: then everything inside is.
  void note_scope() {
    if (is(at_, "{")) {
      std::size_t before = at_;
      constexpr std::array qualifiers{"const", "noexcept", "override", "final", "mutable", "try", "else", "do"};
      while (before > 0 &&
             std::find(qualifiers.begin(), qualifiers.end(), tokens_[before - 1].text) != qualifiers.end())
        --before;
      const bool is_body = before != at_ || (before > 0 && is(before - 1, ")"));
      in_function_.push_back((!in_function_.empty() && in_function_.back()) || is_body);
    } else if (is(at_, "}") && !in_function_.empty()) {
      in_function_.pop_back();
    }
  }

  /// __host__, as hip_runtime.h spells it. HIP overloads by it: of two functions that differ in nothing else, the one
  /// for the device stays, since a source that is both asks for it in constant expressions.
  void rewrite_host() {
    constexpr std::size_t tokens_of_mark = 6;
    const std::size_t open = parameters_behind(at_ + tokens_of_mark), past = signature_end(open);
    const std::size_t body = body_behind(past), end = body != 0 ? closing(body) : past;
    const bool is_member = body == 0 && is(past, ";") && is_class(scope_of(at_));
    if (open == 0 || (body == 0 && !is_member) || !has_twin(open, past, is_member)) {
      replace(at_, at_ + tokens_of_mark, "");
      at_ += tokens_of_mark - 1;
      return;
    }
    std::size_t first = statement_begin(at_);
    while (is(first + 1, ":") && first + 2 <= at_) first += 2;  // public:
    replace(first, end + 1, "");
    at_ = end;
  }

  /// `past` the word, which __attribute__((shared)) spells, too.
  void rewrite_shared(std::size_t past) {
    const std::size_t first = statement_begin(at_);
    bool is_extern = false;
    for (std::size_t i = first; i < tokens_.size() && !is(i, ";") && !is(i, "="); ++i) is_extern |= is(i, "extern");
    if (is_extern) return rewrite_dynamic(first);
    for (std::size_t i = first; i < at_; ++i)
      if (is(i, "static")) replace(i, i + 1, "");
    // As ASSAY_STATIC_LDS of hip_runtime.h: here macros are expanded already.
    const std::string words = R"(__attribute__((used, section("assay_lds"))) static thread_local)";
    const std::string guard = words + " char assay_shared_guard_" + std::to_string(guards_++) + "[256]; ";
    if (first == at_) return replace(at_, past, guard + words);
    insert(first, guard);
    replace(at_, past, words);
  }

  /// extern __shared__ alignas(16) unsigned char name[]; attributes stand anywhere before the name.
  void rewrite_dynamic(std::size_t first) {
    std::string type;
    std::size_t name = tokens_.size(), i = first;
    for (; i < tokens_.size() && !is(i, ";"); ++i) {
      if (is(i, "extern") || is(i, "__shared__")) continue;
      if (is(i, "alignas") || is(i, "__attribute__")) {
        i = closing(i + 1);
      } else if (is(i, "[") && is(i + 1, "[")) {
        i = closing(i);
      } else if (is(i, "[")) {
        if (!is(i + 1, "]")) fail(i, "an extern __shared__ array with an extent is not known to HIP");
        ++i;
      } else {
        if (is_word(i) && (is(i + 1, "[") || is(i + 1, ";")) && !is(i + 2, "[")) {
          name = i;
          continue;
        }
        type += (type.empty() ? "" : " ") + std::string(tokens_[i].text);
      }
    }
    if (name == tokens_.size() || type.empty() || i == tokens_.size())
      fail(at_, "an extern __shared__ declaration that is not 'extern __shared__ TYPE NAME[];'");
    const std::string called(tokens_[name].text);
    const bool in_function = !in_function_.empty() && in_function_.back();
    replace(first, i,
            in_function
                ? type + "* const " + called + " = reinterpret_cast<" + type + "*>(::assay::cpu::dynamic_lds())"
                : "[[maybe_unused]] static constexpr ::assay::cpu::dynamic_lds_of<" + type + "> " + called + "{}");
  }

  /// "<<<" that is no operator<< with template arguments.
  bool is_launch(std::size_t i) const {
    return is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && touches(i) && touches(i + 1) && i > 0 &&
           !is(i - 1, "operator");
  }

  /// First token of the kernel's name, which ends before `past`: a::b<c>::d<e, f>, (*pointer), object.member.
  std::size_t kernel_begin(std::size_t past) const {
    std::size_t i = past;
    for (bool is_chain = true; is_chain;) {
      if (i > 0 && is(i - 1, ")")) return opening(i - 1);
      if (i > 0 && is(i - 1, ">")) i = opening_angle(i - 1);
      if (i == 0 || !is_word(i - 1)) break;
      --i;
      if (i > 0 && is(i - 1, "template")) --i;
      const bool is_joined = i > 0 && (is(i - 1, "::") || is(i - 1, ".") || is(i - 1, "->"));
      is_chain = is_joined && i > 1 && (is_word(i - 2) || is(i - 2, ">"));
      if (is_joined) --i;
    }
    if (i == past || is(i, "<")) fail(past, "'<<<' without a kernel before it");
    return i;
  }

  /// Whether the '&' takes an address. A cast stands before it, or what no value ends with.
  bool is_unary(std::size_t i) const {
    if (i == 0) return false;
    constexpr std::array before_values{"return", "case", "throw", "else", "do", "co_return", "co_yield"};
    const std::string_view before = tokens_[i - 1].text;
    if (before == ")") return is(i - 2, "*") || is(i - 2, "&");
    if (before == "&" || before == "]") return false;
    if (tokens_[i - 1].kind == token_kind::mark) return true;
    return std::find(before_values.begin(), before_values.end(), before) != before_values.end();
  }

  /// The address of what ends with .x or .lo, if the tokens are such: of an element or a half of a vector, which C++
  /// does not take, or of a member. Empty if they are not.
  std::string component_address(std::size_t first, std::size_t past) const {
    constexpr std::string_view elements = "xyzw";
    if (past < first + 3) return {};
    const std::string_view name = tokens_[past - 1].text;
    const bool is_element = name.size() == 1 && elements.find(name) != std::string_view::npos;
    const bool is_half = name == "lo" || name == "hi";
    if ((!is_element && !is_half) || (!is(past - 2, ".") && !is(past - 2, "->"))) return {};
    std::string object(source(first, past - 2));
    if (is(past - 2, "->")) object = "*(" + object + ")";
    const std::string part = is_half ? std::string("half_of<") + (name == "lo" ? "0" : "1")
                                     : "component_of<" + std::to_string(elements.find(name));
    // A lambda may look into the class around it.
    return "[](auto& object) { if constexpr (::assay::cpu::is_vector<decltype(object)>) return ::assay::cpu::" + part +
           ">(object); else return &object." + std::string(name) + "; }(" + object + ")";
  }

  /// &value.x
  void rewrite_address() {
    if (in_function_.empty() || !in_function_.back() || !is_unary(at_)) return;
    std::size_t first = at_ + 1, past = member_end(first), end = past;
    if (is(first, "(") && past == closing(first) + 1) {  // &(value.x)
      ++first;
      past = end - 1;
      if (member_end(first) != past) return;
    }
    if (past == 0 || is(end, "<")) return;
    std::string address = component_address(first, past);
    if (address.empty()) return;
    replace(at_, end, std::move(address));
    at_ = end - 1;
  }

  /// Past a name, or what is in parentheses, and the members, elements and calls of it; 0 if there is none.
  std::size_t member_end(std::size_t first) const {
    bool wants_name = true;
    std::size_t i = first;
    for (; i < tokens_.size(); ++i) {
      if (wants_name && is_word(i) && !is(i, "this")) {
        wants_name = false;
      } else if (wants_name && is(i, "(") && i == first) {
        i = closing(i);
        wants_name = false;
      } else if (!wants_name && (is(i, ".") || is(i, "->") || is(i, "::"))) {
        wants_name = true;
      } else if (!wants_name && (is(i, "[") || is(i, "("))) {
        i = closing(i);
      } else {
        break;
      }
    }
    return wants_name ? 0 : i;
  }

  /// a<T>::f<n>(x) without the word that says that f is a template: nvcc does not ask for it, clang does.
  void name_template() {
    const bool is_of_arguments = at_ > 0 && is(at_ - 1, ">") && touches(at_ - 1);
    if (!is_of_arguments || !is_word(at_ + 1) || !is(at_ + 2, "<") || !touches(at_ + 1)) return;
    if (in_function_.empty() || !in_function_.back() || is_in_system(at_)) return;
    int depth = 0;
    std::size_t i = at_ + 2;
    for (; i < tokens_.size(); ++i) {
      if (is(i, "<")) ++depth;
      if (is(i, ">") && --depth == 0) break;
      const bool is_plain = is_word(i) || is(i, "<") || is(i, ">") || is(i, "::") || is(i, ",") || is(i, "*");
      if (!is_plain) return;
    }
    if (is(i + 1, "(") && touches(i)) insert(at_ + 1, "template ");
  }

  /// hipLaunchKernel((void*)kernel, ...): the kernel keeps its type, which says what the arguments are.
  void rewrite_launch_by_address() {
    if (!is(at_ + 1, "(")) return;
    std::size_t first = at_ + 2;
    const auto past_void = [&](std::size_t i) {
      if (is(i, "const")) ++i;
      if (!is(i, "void")) return std::size_t{0};
      ++i;
      if (is(i, "const")) ++i;
      return is(i, "*") ? i + 1 : 0;
    };
    std::size_t end = first;
    while (end < tokens_.size() && !is(end, ",")) end = is(end, "(") || is(end, "{") ? closing(end) + 1 : end + 1;
    if (is(first, "(") && past_void(first + 1) != 0 && is(past_void(first + 1), ")")) {
      first = past_void(first + 1) + 1;
    } else if (is(first, "reinterpret_cast") && is(first + 1, "<") && past_void(first + 2) != 0) {
      first = past_void(first + 2) + 1;
    } else {
      return;
    }
    replace(at_, end,
            "::assay::cpu::launch_with_addresses(\"" + name_of(first, end) + "\", " + std::string(source(first, end)));
    at_ = end;
  }

  /// __asm("llvm.amdgcn.raw.buffer.load.i32"): names of functions that the platform has under another name.
  void rewrite_label() {
    constexpr std::string_view start = "\"llvm.amdgcn.";
    const std::string_view text = tokens_[at_].text;
    if (at_ < 2 || !is(at_ - 1, "(") || !text.starts_with(start)) return;
    if (is(at_ - 2, "asm") || is(at_ - 2, "__asm") || is(at_ - 2, "__asm__"))
      replace(at_, at_ + 1, "\"assay." + std::string(text.substr(std::string_view("\"llvm.").size())));
  }

  /// asm volatile("text" : outputs : inputs : clobbers): the text and the operands, for an interpreter.
  void rewrite_assembly() {
    if (in_function_.empty() || !in_function_.back() || is_in_system(at_)) return;
    std::size_t open = at_ + 1;
    constexpr std::array qualifiers{"volatile", "__volatile__", "__volatile", "inline"};
    while (open < tokens_.size() &&
           std::find(qualifiers.begin(), qualifiers.end(), tokens_[open].text) != qualifiers.end())
      ++open;
    if (!is(open, "(")) return;
    const std::size_t close = closing(open);
    std::size_t i = open + 1;
    while (i < close && tokens_[i].kind == token_kind::literal) ++i;
    // The label of a declaration stands behind it, and is a name alone.
    if (i == open + 1 || (i == close && open == at_ + 1 && (is(at_ - 1, ")") || is_word(at_ - 1)))) return;
    const std::size_t text_end = i;
    std::string operands;
    std::vector<std::string_view> names;  // of the operands; empty where one has none
    std::string_view name;
    int part = 0;  // 1: outputs, 2: inputs
    for (; i < close; ++i) {
      if (is(i, ":") || is(i, "::")) {
        part += is(i, "::") ? 2 : 1;
      } else if (is(i, "[") && part <= 2) {
        name = source(i + 1, closing(i));
        i = closing(i);
      } else if (is(i, "(") && part <= 2) {
        const std::size_t end = closing(i);
        const std::string address = part == 1 ? component_address(i + 1, end) : std::string();
        operands += std::string(operands.empty() ? "" : ", ") + "::assay::cpu::assembly_" +
                    (part == 1 ? "output(" : "input(") + (address.empty() ? "" : "*") +
                    (address.empty() ? std::string(source(i + 1, end)) : address) + ")";
        names.push_back(std::exchange(name, {}));
        i = end;
      }
    }
    const std::string text = "::assay::cpu::run_assembly(" + numbered(source(open + 1, text_end), names) +
                             ", ::std::source_location::current(), {" + operands;
    replace(at_, close + 1, text + "})");
    at_ = close;
  }

  /// %[name] becomes the operand's number.
  static std::string numbered(std::string_view text, const std::vector<std::string_view>& names) {
    std::string result(text);
    for (std::size_t n = 0; n < names.size(); ++n) {
      if (names[n].empty()) continue;
      const std::string named = "%[" + std::string(names[n]) + "]", number = "%" + std::to_string(n);
      for (std::size_t at = result.find(named); at != std::string::npos; at = result.find(named, at))
        result.replace(at, named.size(), number);
    }
    return result;
  }

  /// Whether the call tells the kernel's last template arguments. Then the kernel has no address of its own.
  bool is_deduced(std::size_t past) {
    std::size_t name = past - 1, given = 0;
    if (is(name, ">")) {
      const std::size_t angle = opening_angle(name);
      if (angle + 1 < name) given = 1;
      int depth = 0;
      for (std::size_t i = angle + 1; i < name; ++i) {
        if (is(i, "(") || is(i, "{")) i = closing(i);
        if (is(i, "<")) ++depth;
        if (is(i, ">")) --depth;
        if (depth == 0 && is(i, ",")) ++given;
      }
      if (angle == 0) return false;
      name = angle - 1;
    }
    return is_word(name) && wants_deduction(tokens_[name].text, given);
  }

  void rewrite_launch() {
    const std::size_t open = at_, kernel = kernel_begin(open);
    std::vector<std::string> given{""};
    std::size_t i = open + 3;
    for (std::size_t from = i;; ++i) {
      if (i + 3 >= tokens_.size()) fail(open, "'<<<' without '>>>('");
      if (is(i, "(") || is(i, "[") || is(i, "{")) i = closing(i);
      const bool ends =
          is(i, ">") && is(i + 1, ">") && is(i + 2, ">") && touches(i) && touches(i + 1) && is(i + 3, "(");
      if (!ends && !is(i, ",")) continue;
      given.back() = source(from, i);
      if (ends) break;
      given.emplace_back();
      from = i + 1;
    }
    if (given.size() < 2 || given.size() > 4) fail(open, "'<<<' takes two to four arguments");
    if (given.size() < 3) given.emplace_back("0");
    if (given.size() < 4) given.emplace_back("nullptr");
    const std::size_t call = i + 3, end = closing(call);
    const std::string called(source(kernel, open));
    std::string text = "::assay::cpu::launch_kernel(\"" + name_of(kernel, open) + "\", " + called;
    if (is_deduced(open))
      text = "::assay::cpu::launch_call(\"" + name_of(kernel, open) + "\", [&](const auto&... given) { " + called +
             "(given...); }";
    // A line marker stays at the start of its line.
    for (const std::string& argument : given) text += (argument.starts_with('#') ? ",\n" : ", ") + argument;
    // The call's arguments may hold launches of their own, in lambdas: they stay as they are, for this pass to see.
    replace(kernel, call + 1, text + (call + 1 < end ? ", " : ""));
    at_ = call;
  }

  std::size_t at_ = 0;
  std::vector<bool> in_function_;
  int guards_ = 0;
};

}  // namespace

std::string rewritten(std::string_view preprocessed) {
  return pass(preprocessed).run();
}

}  // namespace assay::source_pass
