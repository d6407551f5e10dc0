#include "properties/run/staged_call.hpp"

#include <fmt/format.h>

#include <algorithm>
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
                         std::vector<assay_tensor>& tensors)
    : on_(on) {
  for (const buffer& b : in)
    if (b.role() == tensor_role::input) place(b, nullptr);
  for (buffer& b : out) place(b, &b);
  block_bytes_ += canary_bytes;
  send();
  for (assay_tensor& t : tensors) {
    const buffer* const made = find_buffer(out, t.name);
    t.view.data = address_of(made != nullptr ? *made : *find_buffer(in, t.name));
    t.view.device = on_.device();
  }
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
  sent_.resize(static_cast<std::size_t>(block_bytes_));
  for (std::int64_t at = 0; at < block_bytes_; ++at) sent_[static_cast<std::size_t>(at)] = canary(at);
  for (const staged& s : dense_) std::ranges::copy(s.of->bytes(s.host), sent_.begin() + (s.at + s.host.begin));
  block_ = on_.scratch(block_bytes_);
  on_.copy_in(block_, sent_.data(), block_bytes_);
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
  on_.finish();
  std::vector<std::byte> returned(sent_.size());
  on_.copy_out(returned.data(), block_, block_bytes_);
  on_.finish();
  std::string fault;
  for (const staged& s : dense_)
    if (std::string what = take_back(s, returned.data()); fault.empty()) fault = std::move(what);
  for (const sparse& s : sparse_)
    if (std::string what = take_back(s); fault.empty()) fault = std::move(what);
  return fault.empty() ? changed_canary(returned.data()) : fault;
}

std::string staged_call::take_back(const staged& s, const std::byte* returned) const {
  const std::byte* const first = returned + s.at + s.host.begin;
  if (s.result != nullptr) {
    std::copy_n(first, s.host.size(), s.result->bytes(s.host).begin());
    return {};
  }
  const std::byte* const was = sent_.data() + s.at + s.host.begin;
  const std::byte* const at = std::mismatch(was, was + s.host.size(), first).first;
  return at == was + s.host.size() ? std::string{} : input_written(*s.of, at - was + s.host.begin);
}

/// Pages of the device are larger than those of the host: what lies beside the elements in them must stay unwritten.
std::string staged_call::take_back(const sparse& s) {
  std::string fault;
  std::vector<std::byte> returned;
  const std::vector<index_range> elements = s.of->accessible();
  std::size_t next = 0;
  for (const index_range& page : s.memory.pages()) {
    returned.resize(static_cast<std::size_t>(page.size()));
    on_.copy_out(returned.data(), s.memory.body() + page.begin, page.size());
    on_.finish();
    const auto byte_at = [&](std::int64_t at) { return returned.begin() + (at - page.begin); };
    for (std::int64_t at = page.begin; at < page.end;) {
      const bool has_elements = next < elements.size() && elements[next].begin < page.end;
      const std::int64_t beside = has_elements ? elements[next].begin : page.end;
      const auto changed = std::find_if(byte_at(at), byte_at(beside), [](std::byte b) { return b != unwritten; });
      if (changed != byte_at(beside) && fault.empty()) fault = outside(*s.of, changed - returned.begin() + page.begin);
      if (!has_elements) break;
      const index_range r = elements[next++];
      if (s.result != nullptr) {
        std::copy(byte_at(r.begin), byte_at(r.end), s.result->bytes(r).begin());
      } else if (const auto was = s.of->bytes(r); fault.empty()) {
        const auto differs = std::mismatch(was.begin(), was.end(), byte_at(r.begin)).first;
        if (differs != was.end()) fault = input_written(*s.of, differs - was.begin() + r.begin);
      }
      at = r.end;
    }
  }
  return fault;
}

std::string staged_call::changed_canary(const std::byte* returned) const {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i <= dense_.size(); ++i) {
    const std::int64_t end = i < dense_.size() ? dense_[i].at + dense_[i].host.begin : block_bytes_;
    for (std::int64_t at = begin; at < end; ++at) {
      if (returned[at] == canary(at)) continue;
      // Of the tensor before it, if there is one: stores past an end are the usual ones.
      const staged& s = dense_[i == 0 ? 0 : i - 1];
      return outside(*s.of, at - s.at);
    }
    if (i < dense_.size()) begin = dense_[i].at + dense_[i].host.end;
  }
  return {};
}

}  // namespace assay
