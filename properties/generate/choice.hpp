/// The sources of choices: random numbers, bytes, a case to be written down, and all of them one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "properties/generate/space.hpp"

namespace assay {

/// Chooses by weight, then evenly within the alternative.
class random_source : public choice_source {
 public:
  /// `next` yields evenly distributed 64-bit numbers. `levels`: where something is on or off, or plain or special, both
  /// are as likely, whatever the weights; so that several rare features meet. Choices of lengths and costs, which have
  /// more alternatives or very unequal ones, keep their weights.
  explicit random_source(std::function<std::uint64_t()> next, bool levels = false)
      : next_(std::move(next)), levels_(levels) {}
  std::int64_t choose(std::span<const alternative> alternatives, std::int64_t current) override;
  void favour_rare() override { levels_ = true; }

 private:
  std::function<std::uint64_t()> next_;
  bool levels_;
};

/// Total: any bytes make choices. After the last byte, every choice is the first alternative's `lo`. A choice takes one
/// byte for the alternative, if there are several, and then as many bytes as the range needs, little-endian.
class byte_source : public choice_source {
 public:
  explicit byte_source(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::int64_t choose(std::span<const alternative> alternatives, std::int64_t current) override;

 private:
  std::uint64_t take(int count);
  std::span<const std::uint8_t> bytes_;
};

/// Writes the bytes from which byte_source makes the same choices. Throws case_error where the case's value is not
/// among the alternatives, that is, the case is outside the space.
class byte_recorder : public choice_source {
 public:
  std::int64_t choose(std::span<const alternative> alternatives, std::int64_t current) override;
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Enumerates all sequences of choices: walk, then next() until it is false. For small spaces.
class exhaustive_source : public choice_source {
 public:
  std::int64_t choose(std::span<const alternative> alternatives, std::int64_t current) override;
  /// Prepares the next walk; false when every one was made.
  bool next();

 private:
  struct step {
    std::int64_t at;
    std::int64_t last;
  };
  std::vector<step> steps_;
  std::size_t depth_ = 0;
};

}  // namespace assay
