#include "properties/explain/case_pictures.hpp"

#include <boost/json.hpp>

#include "properties/case/operation.hpp"

namespace assay {
namespace {

constexpr std::size_t most_maps = 2;
constexpr int ranks = 4;

/// What is drawn first: a wrong result, another wrong output, a result. Outputs without elements are not drawn.
int rank_of(const operation& op, const oracle::judgement& j) {
  if (j.elements == 0) return ranks;
  return (j.outside > 0 ? 0 : 2) + (is_result(op, j.tensor) ? 0 : 1);
}

}  // namespace

case_pictures picture(const attention_case& c, const detailed_run& run) {
  case_pictures made;
  made.pages = use_of_pages(c);
  if (run.bounds.tensors.empty()) {
    made.none = "The run ended before its outputs were judged, so there is no map of their errors.";
    return made;
  }
  for (int rank = 0; rank < ranks; ++rank)
    for (const oracle::judgement& j : run.result.judgements)
      if (rank_of(describe(c), j) == rank && made.maps.size() < most_maps &&
          find_buffer(run.ran.written.buffers, j.tensor) != nullptr)
        made.maps.push_back(map_errors(run, j.tensor));
  const oracle::enclosure exact = oracle::evaluate_in_binary64(run.ran.planned, run.given.tensors());
  for (const error_map& m : made.maps)
    for (const oracle::enclosed_tensor& t : exact.tensors)
      if (t.name == m.tensor)
        if (const auto d = distances_to_exact(*find_buffer(run.ran.written.buffers, t.name), t); !d.empty())
          made.ulps.push_back(count_ulps(t.name, d));
  return made;
}

std::string to_json(const case_pictures& pictures) {
  return boost::json::serialize(boost::json::value_from(pictures));
}

case_pictures pictures_from_json(const std::string& text) {
  return boost::json::value_to<case_pictures>(boost::json::parse(text));
}

}  // namespace assay
