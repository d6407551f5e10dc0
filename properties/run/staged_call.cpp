#include "properties/run/staged_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "oracle/enclosure.hpp"

namespace assay {
namespace {

constexpr std::int64_t alignment = 256;
constexpr std::int64_t canary_bytes = 512;
constexpr std::byte unwritten{oracle::unwritten_byte};

/// No two neighbours are equal, and the pattern is not that of the host's guards.
std::byte canary(std::int64_t at) {
  return static_cast<std::byte>((0x5B + 29 * at) & 0xFF);
}
constexpr std::int64_t canary_period = 256;

/// A period and more of canaries, from a multiple of the period on.
const std::byte* canaries() {
  static const auto all = [] {
    std::array<std::byte, 2 * canary_period> pattern;
    for (std::int64_t i = 0; i < std::ssize(pattern); ++i) pattern[static_cast<std::size_t>(i)] = canary(i);
    return pattern;
  }();
  return all.data();
}

/// Calls visit(at, count, canaries) for parts of [begin, end), until it returns false.
template <class Visit>
void for_canaries(std::int64_t begin, std::int64_t end, Visit visit) {
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t count = std::min(end - at, canary_period);
    if (!visit(at, count, canaries() + at % canary_period)) return;
    at += count;
  }
}

/// The first byte that differs from `value`, or `end`. Most often there is none: blocks are compared at once.
const std::byte* first_other(const std::byte* begin, const std::byte* end, std::byte value) {
  if (begin == end) return end;
  const bool all_alike =
      *begin == value && std::memcmp(begin, begin + 1, static_cast<std::size_t>(end - begin - 1)) == 0;
  return all_alike ? end : std::find_if(begin, end, [=](std::byte b) { return b != value; });
}

/// The first byte in which two ranges differ, or `size`.
std::int64_t first_difference(const std::byte* a, const std::byte* b, std::int64_t size) {
  if (std::memcmp(a, b, static_cast<std::size_t>(size)) == 0) return size;
  return std::mismatch(a, a + size, b).first - a;
}

std::int64_t phase_of(const buffer& b) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b.view().data) % alignment);
}

std::string input_written(const buffer& b, std::int64_t at) {
  return fmt::format("input {} was written, at byte {} of {}", b.name(), at, b.size_bytes());
}

std::string outside(const buffer& b, std::int64_t at) {
  return fmt::format("{} was written outside its memory, at byte {} of {}", b.name(), at, b.size_bytes());
}

}  // namespace

staged_call::staged_call(device_driver& on, const std::vector<buffer>& in, std::vector<buffer>& out,
                         std::vector<assay_tensor>& tensors, std::vector<buffer>& workspace)
    : on_(on) {
  for (const buffer& b : in)
    if (b.role() == tensor_role::input) place(b, nullptr);
  for (buffer& b : out) place(b, &b);
  for (buffer& b : workspace) place(b, &b);
  block_bytes_ += canary_bytes;
  send();
  for (assay_tensor& t : tensors) {
    const buffer* const made = find_buffer(out, t.name);
    t.view.data = address_of(made != nullptr ? *made : *find_buffer(in, t.name));
    t.view.device = on_.device();
  }
  for (const buffer& b : workspace) workspace_ = address_of(b);
}

void staged_call::place(const buffer& b, buffer* result) {
  if (b.is_sparse()) {
    sparse_.emplace_back(b, result, on_);
    return;
  }
  staged s{&b, result, b.with_guards()};
  const std::int64_t least = block_bytes_ + canary_bytes - s.host.begin;
  s.at = least + (phase_of(b) - least % alignment + alignment) % alignment;
  block_bytes_ = s.at + s.host.end;
  dense_.push_back(s);
}

staged_call::sparse::sparse(const buffer& b, buffer* to, device_driver& on)
    : of(&b), result(to), memory(on, b.reserved(), b.accessible(), unwritten) {}

void staged_call::send() {
  sent_ = on_.host_scratch(device_driver::host_use::to_device, block_bytes_);
  std::int64_t begin = 0;
  const auto fill_until = [&](std::int64_t end) {
    for_canaries(begin, end, [&](std::int64_t at, std::int64_t count, const std::byte* pattern) {
      std::copy_n(pattern, count, sent_ + at);
      return true;
    });
  };
  for (const staged& s : dense_) {
    fill_until(s.at + s.host.begin);
    std::copy_n(s.of->bytes(s.host).data(), s.host.size(), sent_ + s.at + s.host.begin);
    begin = s.at + s.host.end;
  }
  fill_until(block_bytes_);
  block_ = on_.scratch(block_bytes_);
  on_.copy_in(block_, sent_, block_bytes_);
  for (const sparse& s : sparse_)
    for (const index_range& r : s.of->accessible())
      on_.copy_in(s.memory.body() + r.begin, s.of->bytes(r).data(), r.size());
}

std::byte* staged_call::address_of(const buffer& b) {
  for (const staged& s : dense_)
    if (s.of == &b) return block_ + s.at;
  for (const sparse& s : sparse_)
    if (s.of == &b) return s.memory.body();
  throw std::logic_error(b.name() + " is no tensor of the call");
}

std::string staged_call::finish() {
  std::byte* const returned = on_.host_scratch(device_driver::host_use::from_device, block_bytes_);
  on_.copy_out(returned, block_, block_bytes_);
  on_.finish();
  std::string fault;
  for (const staged& s : dense_)
    if (std::string what = take_back(s, returned); fault.empty()) fault = std::move(what);
  if (fault.empty()) fault = changed_canary(returned);
  for (const sparse& s : sparse_)
    if (std::string what = take_back(s); fault.empty()) fault = std::move(what);
  return fault;
}

std::string staged_call::take_back(const staged& s, const std::byte* returned) const {
  const std::byte* const first = returned + s.at + s.host.begin;
  if (s.result != nullptr) {
    std::copy_n(first, s.host.size(), s.result->bytes(s.host).begin());
    return {};
  }
  const std::int64_t at = first_difference(sent_ + s.at + s.host.begin, first, s.host.size());
  return at == s.host.size() ? std::string{} : input_written(*s.of, at + s.host.begin);
}

/// Pages of the device are larger than those of the host: what lies beside the elements in them must stay unwritten.
/// They come back in batches.
std::string staged_call::take_back(const sparse& s) {
  constexpr std::int64_t most_at_once = std::int64_t{64} << 20;
  std::string fault;
  const std::vector<index_range> elements = s.of->accessible();
  std::size_t next = 0;
  const std::vector<index_range>& pages = s.memory.pages();
  for (std::size_t first = 0; first < pages.size();) {
    std::int64_t bytes = 0;
    std::size_t end = first;
    while (end < pages.size() && (end == first || bytes + pages[end].size() <= most_at_once))
      bytes += pages[end++].size();
    std::byte* returned = on_.host_scratch(device_driver::host_use::from_device, bytes);
    std::byte* to = returned;
    for (std::size_t i = first; i < end; to += pages[i++].size())
      on_.copy_out(to, s.memory.body() + pages[i].begin, pages[i].size());
    on_.finish();
    for (; first < end; returned += pages[first++].size())
      if (std::string what = take_back(s, pages[first], returned, elements, next); fault.empty())
        fault = std::move(what);
  }
  return fault;
}

/// `next` is the first element range that does not end before the page.
std::string staged_call::take_back(const sparse& s, index_range page, const std::byte* returned,
                                   const std::vector<index_range>& elements, std::size_t& next) const {
  std::string fault;
  const auto byte_at = [&](std::int64_t at) { return returned + (at - page.begin); };
  for (std::int64_t at = page.begin; at < page.end;) {
    const bool has_elements = next < elements.size() && elements[next].begin < page.end;
    const std::int64_t beside = has_elements ? elements[next].begin : page.end;
    const std::byte* const changed = first_other(byte_at(at), byte_at(beside), unwritten);
    if (changed != byte_at(beside) && fault.empty()) fault = outside(*s.of, changed - returned + page.begin);
    if (!has_elements) break;
    const index_range r = elements[next++];
    if (s.result != nullptr) {
      std::copy(byte_at(r.begin), byte_at(r.end), s.result->bytes(r).begin());
    } else if (fault.empty()) {
      const std::int64_t differs = first_difference(s.of->bytes(r).data(), byte_at(r.begin), r.size());
      if (differs != r.size()) fault = input_written(*s.of, differs + r.begin);
    }
    at = r.end;
  }
  return fault;
}

std::string staged_call::changed_canary(const std::byte* returned) const {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i <= dense_.size(); ++i) {
    const std::int64_t end = i < dense_.size() ? dense_[i].at + dense_[i].host.begin : block_bytes_;
    std::int64_t changed = end;
    for_canaries(begin, end, [&](std::int64_t at, std::int64_t count, const std::byte* pattern) {
      const std::int64_t differs = first_difference(pattern, returned + at, count);
      if (differs != count) changed = at + differs;
      return differs == count;
    });
    // Of the tensor before it, if there is one: stores past an end are the usual ones.
    const staged* const s = dense_.empty() ? nullptr : &dense_[i == 0 ? 0 : i - 1];
    if (changed != end && s != nullptr) return outside(*s->of, changed - s->at);
    if (i < dense_.size()) begin = dense_[i].at + dense_[i].host.end;
  }
  return {};
}

}  // namespace assay
