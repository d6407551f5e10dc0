#include "properties/run/nan_origin.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "oracle/decode.hpp"
#include "properties/data/pages.hpp"
#include "properties/run/execute.hpp"

namespace assay {
namespace {

/// From the one that explains most to the one that explains least.
enum class suspicion { dead_nan, dead_infinity, live_nan, live_infinity, dead_number };
constexpr std::size_t suspicions = 5;

const char* name_of(suspicion s) {
  switch (s) {
    case suspicion::dead_nan:
    case suspicion::live_nan: return "NaN";
    case suspicion::dead_infinity:
    case suspicion::live_infinity: return "infinity";
    case suspicion::dead_number: break;
  }
  return "dead element";
}

bool has_floats(dtype type) {
  return type != dtype::i8 && type != dtype::i32 && type != dtype::i64 && type != dtype::none;
}

/// The logical index of an element; dimensions of one element, and those that share elements, have index 0.
std::vector<std::int64_t> index_of(const tensor& t, std::int64_t offset) {
  std::vector<int> order(static_cast<std::size_t>(t.rank));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater(), [&](int d) { return t.stride[d]; });
  std::vector<std::int64_t> index(static_cast<std::size_t>(t.rank), 0);
  for (const int d : order) {
    if (t.shape[d] <= 1 || t.stride[d] <= 0) continue;
    index[static_cast<std::size_t>(d)] = offset / t.stride[d];
    offset %= t.stride[d];
  }
  return index;
}

/// Whether a slot holds a key of a sequence. Slots that do are dead where no row sees the key.
bool holds_key(const attention_case& c, std::int64_t page, std::int64_t slot) {
  return std::ranges::any_of(c.sequences, [&](const sequence& s) {
    for (std::size_t i = 0; i < s.pages.size(); ++i)
      if (s.pages[i] == page && static_cast<std::int64_t>(i) * c.page_size + slot < s.k) return true;
    return false;
  });
}

/// The same case with other contents of dead memory: what differs is dead.
inputs with_other_poison(const attention_case& c) {
  attention_case other = c;
  other.data.poison = c.data.poison == poison_kind::zero ? poison_kind::nan : poison_kind::zero;
  return fill(other);
}

class load_watch {
 public:
  load_watch(const attention_case& c, const inputs& given)
      : case_(c), twin_(with_other_poison(c)), used_pages_(pages_in_use(given)) {
    for (const buffer& b : given.buffers) {
      const buffer* const other = find_buffer(twin_.buffers, b.name());
      tensors_.emplace(b.name(), watched{b.view(), other->view()});
    }
    watch_.context = this;
    watch_.wants = [](void* self, const assay_load* load) {
      return static_cast<load_watch*>(self)->wants(*load) ? 1 : 0;
    };
    watch_.take = [](void* self, const assay_load* load, const char* line) {
      static_cast<load_watch*>(self)->take(*load, line);
    };
  }
  load_watch(const load_watch&) = delete;
  load_watch& operator=(const load_watch&) = delete;

  const assay_load_watch* watch() const { return &watch_; }
  bool saw_loads() const { return loads_ > 0; }
  /// The first load of the gravest kind, or empty.
  std::string first() const {
    for (const std::string& text : first_)
      if (!text.empty()) return text;
    return {};
  }

 private:
  struct watched {
    tensor given, twin;
  };

  /// The first element of the load of a kind that no load before had.
  bool wants(const assay_load& load) {
    ++loads_;
    const auto found = tensors_.find(load.tensor);
    if (found == tensors_.end()) return false;
    const auto& [given, twin] = found->second;
    const std::int64_t size = size_bytes(given.type);
    if (size == 0) return false;
    const std::int64_t end = (load.offset_bytes + load.size_bytes - 1) / size + 1;
    wanted_.reset();
    for (std::int64_t element = load.offset_bytes / size; element < end; ++element) {
      const std::optional<suspicion> kind = kind_of(given, twin, element);
      if (!kind || !first_[static_cast<std::size_t>(*kind)].empty()) continue;
      if (!wanted_ || *kind < wanted_->kind) wanted_ = {*kind, element};
    }
    return wanted_.has_value();
  }

  void take(const assay_load& load, const char* line) {
    const auto& [given, twin] = tensors_.at(load.tensor);
    const std::vector<std::int64_t> index = index_of(given, wanted_->element);
    const bool is_dead = wanted_->kind != suspicion::live_nan && wanted_->kind != suspicion::live_infinity;
    first_[static_cast<std::size_t>(wanted_->kind)] =
        fmt::format("the first {} loaded: {}[{}] ({}), {}, block ({},{},{}) wave {} lane {}", name_of(wanted_->kind),
                    load.tensor, fmt::join(index, ", "), is_dead ? death_of(load.tensor, index) : "live", line,
                    load.block[0], load.block[1], load.block[2], load.wave, load.lane);
  }

  static std::optional<suspicion> kind_of(const tensor& given, const tensor& twin, std::int64_t element) {
    if (given.type == dtype::i64) return std::nullopt;  // indices are judged by what they lead to
    const std::uint32_t bits = oracle::load_bits(given, element);
    const bool is_dead = bits != oracle::load_bits(twin, element);
    const double value = has_floats(given.type) ? oracle::decode(given.type, bits) : 0;
    if (std::isnan(value)) return is_dead ? suspicion::dead_nan : suspicion::live_nan;
    if (std::isinf(value)) return is_dead ? suspicion::dead_infinity : suspicion::live_infinity;
    return is_dead ? std::optional(suspicion::dead_number) : std::nullopt;
  }

  /// Why the element is dead.
  std::string death_of(const std::string& name, const std::vector<std::int64_t>& index) const {
    const bool is_pool = std::ranges::find(pool_tensors, name) != std::end(pool_tensors);
    if (is_pool && !std::ranges::binary_search(used_pages_, index[0])) return "dead: no sequence uses the page";
    if (name == "k" && case_.k_order == key_order::preshuffled) return "dead: no row sees it";
    const bool has_slots = name == "k" || name == "v" || name == "k_row_scale";
    if (is_pool && (!has_slots || holds_key(case_, index[0], index[1]))) return "dead: of keys that no row sees";
    if (is_pool) return "dead: a slot behind the sequence's end";
    if (name == "block_table" || name == "page_indices") return "dead: a spare entry";
    return "dead memory";
  }

  struct element_of_kind {
    suspicion kind;
    std::int64_t element;
  };

  const attention_case& case_;
  inputs twin_;
  std::vector<std::int64_t> used_pages_;
  std::map<std::string, watched, std::less<>> tensors_;
  assay_load_watch watch_{};
  std::int64_t loads_ = 0;
  std::optional<element_of_kind> wanted_;
  std::array<std::string, suspicions> first_;
};

/// All bits of an element that no one wrote are 1.
bool is_unwritten(const oracle::judgement& j) {
  return j.worst_bits == 0xFF || j.worst_bits == 0xFFFF || j.worst_bits == 0xFFFFFFFF;
}

}  // namespace

bool may_ask_for_loads(const std::string& origin) {
  return origin == "enclosure" || origin == "dead_memory";
}

bool asks_for_loads(const verdict& v) {
  if (v.result != outcome::fail || !may_ask_for_loads(v.origin)) return false;
  return v.origin == "dead_memory" || std::ranges::any_of(v.judgements, [](const oracle::judgement& j) {
           using enum oracle::element_rule;
           const bool wants_number = !j.worst_had_to_stay &&
                                     (j.worst_rule == enclosed || j.worst_rule == positive || j.worst_rule == negative);
           return j.outside > 0 && wants_number && !std::isfinite(j.worst_value) && !is_unwritten(j);
         });
}

std::string first_suspect_load(const library& lib, const attention_case& c) {
  if (!lib.may_show_accesses) return {};
  inputs in = fill(c);
  load_watch watch(c, in);
  run_manner manner;
  manner.watch = watch.watch();
  const execution ran = execute(lib, c, in, manner);
  if (!watch.saw_loads()) return {};
  const std::string first = watch.first();
  return first.empty() ? "no NaN, no infinity and no dead element was loaded: it arose in the kernel" : first;
}

}  // namespace assay
