#include "properties/explain/case_pictures.hpp"

#include <boost/json.hpp>
#include <stdexcept>

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

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument(what);
}

void require_whole(const case_pictures& pictures) {
  for (const error_map& m : pictures.maps) {
    require(m.map_rows >= 0 && m.map_rows <= most_map_rows, "map_rows: no map has so many");
    require(m.map_columns >= 0 && m.map_columns <= most_map_columns, "map_columns: no map has so many");
    require(std::ssize(m.cells) == m.map_rows * m.map_columns, "cells: are not map_rows times map_columns");
  }
  for (const ulp_histogram& h : pictures.ulps) {
    require(!h.ends.empty(), "ends: there are none");
    require(h.counts.size() == h.ends.size() + 2, "counts: are not two more than ends");
  }
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
  auto pictures = boost::json::value_to<case_pictures>(boost::json::parse(text));
  require_whole(pictures);
  return pictures;
}

}  // namespace assay
