#include "properties/run/teeth.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "properties/run/execute.hpp"

namespace assay {
namespace {

/// 8 rows of 4 heads on 256 keys in pages of 64, f16.
attention_case usual_case() {
  attention_case c;
  c.heads_q = 4;
  c.page_size = 64;
  c.pool_pages = 8;
  c.num_splits = 2;
  c.scale = 0.125F;
  c.data.fill = fill_kind::even_weights;
  c.sequences = {{.q = 8, .k = 256, .prefix_offset = {}, .pages = {6, 1, 4, 3}}};
  return c;
}

bite bite_of(const std::vector<named_bite>& teeth, const std::string& fault) {
  const auto at = std::ranges::find(teeth, fault, &named_bite::fault);
  return at == teeth.end() ? bite{} : at->counts;
}

TEST_CASE("what a loose enclosure admits is asked of the residual test, as all rows show it", "[residual]") {
  const attention_case c = usual_case();
  const std::shared_ptr<library> lib = library::built_in();
  inputs in = fill(c);
  execution ran = execute(*lib, c, in);
  ran.declared.exp2_relative_error = 0.3F;
  oracle::enclosure bounds;
  REQUIRE(judge_execution(in, ran, &bounds).result == outcome::pass);
  const std::vector<named_bite> blunt = measure_teeth(in, ran, bounds, 3, false);
  const std::vector<named_bite> all = measure_teeth(in, ran, bounds, 3, true);
  for (const char* const fault : {"key_dropped", "page_swapped", "split_lost", "split_misweighed"}) {
    INFO(fault);
    CHECK(bite_of(blunt, fault).asked == bite_of(all, fault).asked);
    CHECK(bite_of(blunt, fault).seen == 0);
    CHECK(bite_of(all, fault).seen == bite_of(all, fault).asked);
    CHECK(bite_of(all, fault).asked > 0);
  }
  // No group of keys shows these.
  for (const char* const fault : {"p_truncated", "output_truncated"})
    CHECK(bite_of(all, fault).seen == bite_of(blunt, fault).seen);
}

TEST_CASE("where no row is regressed, the residual test is not asked for teeth", "[residual]") {
  attention_case c = usual_case();
  const std::shared_ptr<library> lib = library::built_in();
  lib->measures_teeth = true;
  verdict v = run_case(*lib, c);
  REQUIRE(v.result == outcome::pass);
  CHECK(v.rows_regressed > 0);
  CHECK_FALSE(v.teeth.empty());
  // Of the fill page_tagged neither: its teeth are those of the enclosure.
  c.data.fill = fill_kind::page_tagged;
  const detailed_run run = run_in_detail(*lib, c);
  CHECK(run.result.rows_regressed == 0);
  CHECK(run.result.teeth == measure_teeth(run.given, run.ran, run.bounds, c.data.seed, false));
  lib->measures_teeth = false;
}

}  // namespace
}  // namespace assay
