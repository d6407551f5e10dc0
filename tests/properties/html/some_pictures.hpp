/// Data for tests of pages.
#pragma once

#include <string>

#include "properties/html/pictures.hpp"
#include "properties/run/execute.hpp"
#include "tests/properties/faulty_library.hpp"

namespace assay::testing {

/// What would break a page if it were not escaped.
inline const std::string hostile =
    "</pre></title><script>alert('x')</script>\"><img src=x onerror=\"alert(1)\"> & \x1b[31m";

inline reported_finding some_finding() {
  reported_finding f;
  f.smallest = small_case();
  f.kernel = "split_kv";
  f.types = "f16";
  f.property = "output_enclosed";
  f.sentence = "the output lies in the enclosure";
  f.origin = "enclosure";
  f.what = "o[0, 0, 0] = 1 lies outside [2, 3] by factor 4; 1 of 2 elements do";
  f.history = "case 17 of seed 9, shrunk in 5 steps (8 tries) to little; 3 cases failed like this";
  f.file = "out/findings/x.json";
  f.replay = "./assay replay out/findings/x.json";
  f.explain = "./assay explain out/findings/x.json";
  return f;
}

/// The small case, run with a row and head of O made wrong.
inline detailed_run wrong_head_run() {
  const auto lib = corrupting_library([](call& c) {
    const tensor o = c.view("o");
    for (std::int64_t d = 0; d < o.shape[2]; ++d)
      static_cast<std::uint16_t*>(o.data)[o.offset(1, 2, d)] ^= 0x0400;  // an exponent: twice or half
  });
  return run_in_detail(*lib, small_case());
}

/// As large as the numbers of a picture can be.
inline case_pictures largest_pictures() {
  case_pictures made;
  made.pages = use_of_pages(small_case());
  made.pages.pages.resize(256, {7, std::vector<std::int64_t>(100, 1'000'000), 100, 3});
  for (const char* name : {"o_partial", "lse_partial"}) {
    error_map map;
    map.tensor = name;
    map.row_axes = "split, query row, head";
    map.column_axis = "column";
    std::vector<double> values(100 * 200);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 0 : 50;  // no two neighbours are alike
    reduce_to_cells(values, 100, 200, map);
    for (std::size_t i = 0; i < map.cells.size(); ++i) map.cells[i] = i % 2 == 0 ? 0.5 : 50;
    map.elements = 20'000;
    map.outside = 10'000;
    map.total = {"all", 500'000, 0};
    for (const char* kind : {"page", "tile", "split", "head", "lane"})
      map.sums.push_back({kind, std::vector<error_share>(24, {std::string(kind) + " 123456", 1.5, 0})});
    map.worst.assign(8, {"[100000, 100000, 100000, 100000]", -1.23456789e-30, -1.23456789e-30, 1.23456789e-30, 1e20});
    made.maps.push_back(map);
    made.ulps.push_back(count_ulps(name, std::vector<double>{0.1, 0.7, 3, 1e300}));
  }
  return made;
}

}  // namespace assay::testing
