/// What the access checker says of a data race, read from its message: who touched the bytes, and when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

/// One of the two accesses.
struct racing_access {
  std::string kind;   ///< "store of 2 bytes", "load"
  std::string where;  ///< source lines, the innermost first; may be empty
  std::int64_t thread = 0;
  std::int64_t wave = 0;  ///< of the block: thread / wave size
  std::string others;     ///< "and other lanes of its wave", or empty
  std::string block;      ///< "block number 3" where it is another block's, else empty
};

struct race_story {
  std::string place;      ///< "LDS byte 15874", "o[0, 0, 5]"
  racing_access earlier;  ///< came first in this run
  racing_access later;    ///< was checked, and found no order with the first
  std::string block;      ///< of the later access, "0,0,0"; empty where it is not said
};

/// Nothing where the message is not the checker's of a race.
std::optional<race_story> read_race(const std::string& message, std::int64_t wave_size);

}  // namespace assay
