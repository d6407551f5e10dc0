#include "properties/suite/shard.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <vector>

#include "properties/system/errors.hpp"

namespace assay {
namespace {

constexpr const char* of_slurm = "SLURM_ARRAY_TASK_ID";
constexpr const char* of_kubernetes = "JOB_COMPLETION_INDEX";
constexpr const char* of_matrix = "ASSAY_SHARD_INDEX";
constexpr const char* number_of_shards = "ASSAY_SHARDS";

shard_choice given(const std::string& text) {
  shard_choice choice;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, choice.shard);
  const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, choice.shards) : first;
  if (!slash || second.ec != std::errc{} || second.ptr != end || choice.shard < 1 || choice.shard > choice.shards)
    throw case_error(fmt::format("--shard: '{}' is neither i/n with 1 <= i <= n, nor auto", text));
  return choice;
}

/// Reads the variables of the environment, of which each is a whole number.
class variables {
 public:
  explicit variables(const environment& variable) : variable_(variable) {}

  std::optional<std::int64_t> number(const char* name) const {
    const std::optional<std::string> text = variable_(name);
    if (!text) return std::nullopt;
    std::int64_t value = -1;
    const char* end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data(), end, value);
    constexpr std::int64_t most = std::int64_t{1} << 40;  // of which no sum or product wraps
    if (parsed.ec != std::errc{} || parsed.ptr != end || value < 0 || value > most)
      throw case_error(fmt::format("--shard auto: {}: '{}' is no whole number", name, *text));
    return value;
  }

  std::int64_t number_beside(const char* name, const char* other) const {
    if (const auto value = number(name)) return *value;
    throw case_error(fmt::format("--shard auto: there is {}, but no {}", other, name));
  }

 private:
  const environment& variable_;
};

/// Part `index`, from 0, of `count`.
shard_choice part(std::int64_t index, std::int64_t count, const char* index_name, const std::string& source) {
  if (index >= count)
    throw case_error(
        fmt::format("--shard auto: {}: {} is not below the number of shards, {}", index_name, index, count));
  return {index + 1, count, source};
}

shard_choice slurm(const variables& all) {
  const std::int64_t id = all.number_beside(of_slurm, of_slurm);
  const std::int64_t least = all.number_beside("SLURM_ARRAY_TASK_MIN", of_slurm);
  const std::int64_t most = all.number_beside("SLURM_ARRAY_TASK_MAX", of_slurm);
  const std::int64_t step = all.number("SLURM_ARRAY_TASK_STEP").value_or(1);
  if (step < 1 || id < least || id > most || (id - least) % step != 0)
    throw case_error(
        fmt::format("--shard auto: {}: {} is none of the array's {}-{}:{}", of_slurm, id, least, most, step));
  const std::int64_t count = (most - least) / step + 1;
  if (const std::int64_t said = all.number("SLURM_ARRAY_TASK_COUNT").value_or(count); said != count)
    throw case_error(
        fmt::format("--shard auto: SLURM_ARRAY_TASK_COUNT: {}, but {}-{}:{} are {} tasks; give --array a "
                    "range, not a list",
                    said, least, most, step, count));
  const std::string range = step == 1 ? fmt::format("{}-{}", least, most) : fmt::format("{}-{}:{}", least, most, step);
  return part((id - least) / step, count, of_slurm, fmt::format("task {} of Slurm's array {}", id, range));
}

}  // namespace

std::optional<std::string> variable_of_process(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

shard_choice choose_shard(const std::string& text, const environment& variable) {
  if (text != "auto") return given(text);
  const variables all(variable);
  std::vector<shard_choice> found;
  if (variable(of_slurm)) found.push_back(slurm(all));
  if (const auto index = all.number(of_kubernetes))
    found.push_back(part(*index, all.number_beside(number_of_shards, of_kubernetes), of_kubernetes,
                         fmt::format("completion {} of Kubernetes' indexed Job", *index)));
  if (const auto index = all.number(of_matrix)) {
    const char* const whose = variable("GITHUB_ACTIONS") ? "GitHub's matrix" : "ASSAY_SHARDS";
    found.push_back(part(*index, all.number_beside(number_of_shards, of_matrix), of_matrix,
                         fmt::format("job {} of {}", *index, whose)));
  }
  if (found.empty())
    throw case_error(
        fmt::format("--shard auto: no array of jobs is here: there is no {} (Slurm), {} (Kubernetes) or {}", of_slurm,
                    of_kubernetes, of_matrix));
  const shard_choice& first = found.front();
  for (const shard_choice& other : found)
    if (other.shard != first.shard || other.shards != first.shards)
      throw case_error(fmt::format("--shard auto: {} is shard {}/{}, but {} is shard {}/{}", first.source, first.shard,
                                   first.shards, other.source, other.shard, other.shards));
  if (const auto said = all.number(number_of_shards); said && *said != first.shards)
    throw case_error(
        fmt::format("--shard auto: {}: {}, but {} has {} shards", number_of_shards, *said, first.source, first.shards));
  return first;
}

std::string shard_line(const shard_choice& choice) {
  if (choice.source.empty()) return {};
  return fmt::format("shard {}/{}: {}\n", choice.shard, choice.shards, choice.source);
}

}  // namespace assay
