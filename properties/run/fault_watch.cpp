#include "properties/run/fault_watch.hpp"

#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "properties/system/worker.hpp"

namespace assay {
namespace {

/// Text in a fixed place: a signal handler can neither allocate nor call printf.
class line {
 public:
  line(char* text, std::size_t capacity) : text_(text), capacity_(capacity) {}
  std::size_t size() const { return size_; }

  line& operator<<(std::string_view part) {
    for (const char c : part)
      if (size_ < capacity_) text_[size_++] = c;
    return *this;
  }
  line& operator<<(std::int64_t value) {
    char digits[20];
    std::size_t n = 0;
    // The type cannot hold the magnitude of its smallest number.
    std::uint64_t rest = value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    do digits[n++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0) *this << "-";
    while (n > 0) *this << std::string_view(&digits[--n], 1);
    return *this;
  }

 private:
  char* text_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

std::string_view verb(access kind) {
  return kind == access::read ? "read" : kind == access::write ? "written" : "touched";
}

bool is_accessible(const watched_tensor& t, std::int64_t at) {
  for (const index_range& r : t.accessible)
    if (r.begin <= at && at < r.end) return true;
  return false;
}

void describe_inside(line& text, const watched_tensor& t, std::int64_t at, access kind) {
  // An access that faults on accessible memory is a write to an input: it is read-only while the kernel runs.
  const bool is_protected = is_accessible(t, at);
  text << (is_protected ? "input " : "") << t.name << " was " << verb(is_protected ? access::write : kind);
  if (at < 0)
    text << " before its start";
  else if (at >= t.bytes)
    text << " past its end";
  else if (!is_protected && t.page_bytes == 0)
    text << " between its rows";
  else if (!is_protected)
    text << " at page " << at / t.page_bytes << ", which no sequence uses";
  text << ", at byte " << at << " of " << t.bytes;
}

/// Bytes between an address and a tensor's elements, to either side.
std::uintptr_t distance(const watched_tensor& t, std::uintptr_t address) {
  const std::uintptr_t end = t.elements + static_cast<std::uintptr_t>(t.bytes);
  return address < t.elements ? t.elements - address : address >= end ? address - end : 0;
}

/// For an address outside every tensor's reservation. Names the nearest tensor if a wrong offset may have led there.
void describe_outside(line& text, const std::vector<watched_tensor>& tensors, std::uintptr_t address, access kind) {
  constexpr std::uintptr_t null_page = 4096;
  if (address == 0 && kind == access::unknown) {
    text << "an invalid address was touched";
    return;
  }
  if (address < null_page) {
    text << "a null pointer was " << verb(kind) << " through";
    return;
  }
  const watched_tensor* nearest = nullptr;
  for (const watched_tensor& t : tensors)
    if (nearest == nullptr || distance(t, address) < distance(*nearest, address)) nearest = &t;
  text << "an address outside every tensor was " << verb(kind);
  constexpr std::uintptr_t near = std::uintptr_t{1} << 34;  // what 32-bit arithmetic on elements loses at most
  if (nearest == nullptr || distance(*nearest, address) > near) return;
  const auto away = static_cast<std::int64_t>(distance(*nearest, address));
  text << ", " << away << (address < nearest->elements ? " bytes before " : " bytes past the end of ") << nearest->name;
}

struct sigaction before_segv, before_bus;
const std::vector<watched_tensor>* watched = nullptr;
std::string_view said_before;
fault_teller teller = nullptr;

access kind_of(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t page_fault = 14, write_bit = 2;
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  if (registers[REG_TRAPNO] != page_fault) return access::unknown;
  return (registers[REG_ERR] & write_bit) != 0 ? access::write : access::read;
#else
  static_cast<void>(context);
  return access::unknown;
#endif
}

void on_fault(int number, siginfo_t* info, void* context) {
  const bool is_sent = info->si_code <= 0;  // by kill or raise
  if (!is_sent && watched != nullptr) {
    constexpr std::size_t room_of_fault = 512;
    char text[8192];
    const std::string_view before = said_before.substr(0, sizeof text - room_of_fault);
    std::ranges::copy(before, text);
    const std::size_t size =
        before.size() + describe_fault(*watched, reinterpret_cast<std::uintptr_t>(info->si_addr), kind_of(context),
                                       text + before.size(), sizeof text - 1 - before.size());
    worker::end_with_last_words(text, size);
    text[size] = '\n';
    if (teller != nullptr)
      teller(text, size);
    else if (write(STDERR_FILENO, text, size + 1) < 0)
      _exit(1);
  }
  // On return the faulting instruction runs again, and the previous handler gets the fault.
  sigaction(number, number == SIGSEGV ? &before_segv : &before_bus, nullptr);
  if (is_sent) raise(number);
}

/// A stack for handlers on this thread, unless there is one (a sanitizer's). A fiber that ran over its own stack has
/// none left.
void have_signal_stack() {
  constexpr std::size_t stack_bytes = 64 << 10;  // MINSIGSTKSZ is some 2 KiB, with AVX-512 state some 4
  static thread_local char stack[stack_bytes];
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  stack_t own{};
  own.ss_sp = stack;
  own.ss_size = stack_bytes;
  sigaltstack(&own, nullptr);
}

void watch(std::vector<watched_tensor>& all, const std::vector<buffer>& buffers, bool is_input) {
  for (const buffer& b : buffers) {
    const std::int64_t element = size_bytes(b.view().type);
    all.push_back({b.name().c_str(), is_input, reinterpret_cast<std::uintptr_t>(b.view().data), b.size_bytes(),
                   b.backing().used ? b.view().stride[0] * element : 0, b.reserved(), b.accessible()});
  }
}

}  // namespace

std::size_t describe_fault(const std::vector<watched_tensor>& tensors, std::uintptr_t address, access kind, char* text,
                           std::size_t capacity) {
  line written(text, capacity);
  for (const watched_tensor& t : tensors) {
    const auto at = static_cast<std::int64_t>(address - t.elements);
    if (at < t.reserved.begin || at >= t.reserved.end) continue;
    describe_inside(written, t, at, kind);
    return written.size();
  }
  describe_outside(written, tensors, address, kind);
  return written.size();
}

fault_watch::fault_watch(const std::vector<buffer>& in, const std::vector<buffer>& out, std::string_view before,
                         const std::vector<buffer>& workspace) {
  said_before = before;
  watch(tensors_, in, true);
  watch(tensors_, out, false);
  watch(tensors_, workspace, false);
  have_signal_stack();
  watched = &tensors_;
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, &before_segv);
  sigaction(SIGBUS, &ours, &before_bus);
}

void fault_watch::tell(fault_teller next) {
  teller = next;
}

fault_watch::~fault_watch() {
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  watched = nullptr;
  said_before = {};
}

}  // namespace assay
