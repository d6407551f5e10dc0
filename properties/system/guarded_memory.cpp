#include "properties/system/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace assay {
namespace {

std::int64_t round_up(std::int64_t bytes) {
  return (bytes + os_page_bytes() - 1) / os_page_bytes() * os_page_bytes();
}

std::byte* reserve(std::int64_t bytes) {
  void* range =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(range);
}

void protect(std::byte* begin, std::int64_t bytes, int protection) {
  if (bytes > 0 && mprotect(begin, static_cast<std::size_t>(bytes), protection) != 0) throw std::bad_alloc();
}

/// What may be left of a body before its owner's: all the buffers of a case must not add much.
constexpr std::int64_t most_unused_bytes = std::int64_t{256} << 10;

std::int64_t reserved_bytes(std::int64_t body_bytes) {
  return body_bytes + 2 * os_page_bytes() + most_unused_bytes;
}

/// A dense reservation: an inaccessible OS page, a body, and as many inaccessible bytes behind it as may ever be before
/// it. The owner may have less than the body: its end, before which all is inaccessible.
struct dense_reservation {
  std::byte* reserved = nullptr;
  std::int64_t body_bytes = 0;
  std::int64_t accessible_bytes = 0;

  /// Makes so much accessible, at the end.
  void resize(std::int64_t bytes) {
    std::byte* const end = reserved + os_page_bytes() + body_bytes;
    if (bytes < accessible_bytes) protect(end - accessible_bytes, accessible_bytes - bytes, PROT_NONE);
    if (bytes > accessible_bytes) protect(end - bytes, bytes - accessible_bytes, PROT_READ | PROT_WRITE);
    accessible_bytes = bytes;
  }
  void unmap() const { munmap(reserved, static_cast<std::size_t>(reserved_bytes(body_bytes))); }
};

/// Dense reservations that wait for their next owner, by the size of their bodies: small cases allocate some twenty of
/// few sizes, thousands of times a second, and relations copy the same large pools once for each run. System calls and
/// fresh OS pages for each would cost more than many a kernel's run.
class waiting_reservations {
 public:
  /// For a new body. Without a reservation none waits, and the owner makes its own and says so by own().
  dense_reservation take(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = fitting(bytes);
    if (found == free_.end()) {
      // Now, so that at no moment there is more than there will be.
      drop_to(most_with(owned_bytes_ + bytes) - owned_bytes_ - bytes);
      return {};
    }
    const dense_reservation taken = found->second;
    free_.erase(found);
    held_bytes_ -= taken.body_bytes;
    owned_bytes_ += taken.body_bytes;
    return taken;
  }

  void own(std::int64_t body_bytes) {
    const std::lock_guard lock(mutex_);
    owned_bytes_ += body_bytes;
    most_owned_bytes_ = std::max(most_owned_bytes_, owned_bytes_);
  }

  void put(const dense_reservation& given) {
    const std::lock_guard lock(mutex_);
    free_.emplace(given.body_bytes, given);
    owned_bytes_ -= given.body_bytes;
    held_bytes_ += given.body_bytes;
    if (owned_bytes_ > 0) return;
    // A case has ended. The next one has other sizes, and the process other uses for memory.
    most_owned_bytes_ = 0;
    drop_to(extra_bytes);
  }

  void drop_all() {
    const std::lock_guard lock(mutex_);
    drop_to(0);
  }

 private:
  using by_size = std::multimap<std::int64_t, dense_reservation>;
  /// A quarter of the 64 MiB that a run may take above its data.
  static constexpr std::int64_t extra_bytes = std::int64_t{16} << 20;

  /// The one that was last of this size, else the smallest that is not much larger: pages that are there cost less than
  /// fresh ones.
  by_size::iterator fitting(std::int64_t bytes) {
    const auto first = free_.lower_bound(bytes);
    const auto end = free_.upper_bound(bytes + std::min(bytes / 2, most_unused_bytes));
    if (first == end) return free_.end();
    const auto same = std::find_if(first, end, [=](const auto& one) { return one.second.accessible_bytes == bytes; });
    return same != end ? same : first;
  }

  /// What waits and what is owned take no more than what was owned at once since nothing was, and a little.
  std::int64_t most_with(std::int64_t owned_bytes) const {
    return std::max(most_owned_bytes_, owned_bytes) + extra_bytes;
  }
  /// The largest first: the fewer bytes, the more likely is a next owner.
  void drop_to(std::int64_t most_bytes) {
    while (held_bytes_ > std::max<std::int64_t>(most_bytes, 0) || (most_bytes <= 0 && !free_.empty())) {
      const auto largest = std::prev(free_.end());
      held_bytes_ -= largest->first;
      largest->second.unmap();
      free_.erase(largest);
    }
  }

  std::mutex mutex_;
  by_size free_;
  std::int64_t held_bytes_ = 0;
  std::int64_t owned_bytes_ = 0;
  std::int64_t most_owned_bytes_ = 0;
};

waiting_reservations& waiting() {
  static auto* const all = new waiting_reservations;  // never destroyed: buffers may live as long as the process
  return *all;
}

std::byte* try_dense(std::int64_t body_bytes) {
  const std::int64_t page = os_page_bytes();
  std::byte* const reserved = reserve(reserved_bytes(body_bytes));
  try {
    protect(reserved + page, body_bytes, PROT_READ | PROT_WRITE);
  } catch (const std::bad_alloc&) {
    munmap(reserved, static_cast<std::size_t>(reserved_bytes(body_bytes)));
    throw;
  }
  return reserved;
}

/// A body between two inaccessible OS pages. What waits may be all that is in its way.
std::byte* make_dense(std::int64_t body_bytes) {
  try {
    return try_dense(body_bytes);
  } catch (const std::bad_alloc&) {
    waiting().drop_all();
    return try_dense(body_bytes);
  }
}

}  // namespace

std::int64_t os_page_bytes() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

guarded_memory::guarded_memory(std::int64_t bytes)
    : margin_(os_page_bytes()), body_bytes_(round_up(bytes)), is_dense_(true) {
  if (body_bytes_ > 0) accessible_ = {{0, body_bytes_}};
  if (dense_reservation taken = waiting().take(body_bytes_); taken.reserved != nullptr) {
    reserved_ = taken.reserved;
    margin_ += taken.body_bytes - body_bytes_;
    try {
      taken.resize(body_bytes_);
    } catch (const std::bad_alloc&) {
      waiting().put(taken);
      throw;
    }
    return;
  }
  reserved_ = make_dense(body_bytes_);
  waiting().own(body_bytes_);
#ifdef MADV_POPULATE_WRITE
  // All of it will be written. A fault for each OS page took a tenth of a run; an older system leaves it at that.
  if (body_bytes_ > 0) madvise(body(), static_cast<std::size_t>(body_bytes_), MADV_POPULATE_WRITE);
#endif
}

guarded_memory::guarded_memory(std::int64_t bytes, const std::vector<index_range>& used)
    : margin_(sparse_margin_bytes), body_bytes_(round_up(bytes)) {
  for (const index_range& r : used) {
    const index_range whole{r.begin / os_page_bytes() * os_page_bytes(), round_up(r.end)};
    if (r.size() == 0) continue;
    if (!accessible_.empty() && whole.begin <= accessible_.back().end)
      accessible_.back().end = whole.end;
    else
      accessible_.push_back(whole);
  }
  reserved_ = reserve(body_bytes_ + 2 * margin_);
  try {
    for (const index_range& r : accessible_) protect(body() + r.begin, r.size(), PROT_READ | PROT_WRITE);
  } catch (const std::bad_alloc&) {
    release();
    throw;
  }
}

guarded_memory::~guarded_memory() {
  release();
}

guarded_memory::guarded_memory(guarded_memory&& other) noexcept
    : reserved_(std::exchange(other.reserved_, nullptr)),
      margin_(other.margin_),
      body_bytes_(other.body_bytes_),
      accessible_(std::move(other.accessible_)),
      is_dense_(other.is_dense_) {}

guarded_memory& guarded_memory::operator=(guarded_memory&& other) noexcept {
  if (this == &other) return *this;
  release();
  reserved_ = std::exchange(other.reserved_, nullptr);
  margin_ = other.margin_;
  body_bytes_ = other.body_bytes_;
  accessible_ = std::move(other.accessible_);
  is_dense_ = other.is_dense_;
  return *this;
}

void guarded_memory::set_read_only(bool read_only) const {
  for (const index_range& r : accessible_)
    protect(body() + r.begin, r.size(), read_only ? PROT_READ : PROT_READ | PROT_WRITE);
}

void guarded_memory::release() {
  if (reserved_ == nullptr) return;
  if (is_dense_)
    waiting().put({reserved_, body_bytes_ + margin_ - os_page_bytes(), body_bytes_});
  else
    munmap(reserved_, static_cast<std::size_t>(body_bytes_ + 2 * margin_));
  reserved_ = nullptr;
}

}  // namespace assay
