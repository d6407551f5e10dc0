/// A data race as a timeline of waves.
#pragma once

#include <string>

#include "properties/explain/race_story.hpp"

namespace assay::html {

/// A line per wave; the two accesses in the order of this run, and between them what is missing.
std::string race_svg(const race_story& race);

/// The timeline with its words, and the accesses as a table.
std::string race_figure(const race_story& race);

}  // namespace assay::html
