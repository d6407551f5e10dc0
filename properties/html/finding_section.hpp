/// One finding as a part of a page.
#pragma once

#include <string>

#include "properties/html/pictures.hpp"
#include "properties/suite/source_lines.hpp"

namespace assay::html {

/// The pictures of a case under one heading: page strip, maps, sums, histograms.
std::string pictures_section(const case_pictures& pictures);

/// The lines of source that a message names, where `sources` has them; the first four places.
std::string source_section(const std::string& message, const source_finder& sources);

/// What is wrong, how to replay it, the case, its source lines and pictures. `number` counts from 1 and is the part's
/// anchor, "finding-1". `pictures` may be null.
std::string finding_section(std::size_t number, const reported_finding& f, const source_finder& sources,
                            const finding_pictures* pictures);

/// "output_enclosed of split_kv: data race".
std::string finding_title(const reported_finding& f);

}  // namespace assay::html
