/// Reports of a night, for people and for continuous integration.
#pragma once

#include <string>

#include "properties/nightly/night_comparison.hpp"

namespace assay {

/// Markdown: the stages; then, if `before` is not null, new, remaining and fixed findings and the changes of numbers.
std::string night_markdown(const night& now, const night* before);

/// JUnit XML: a test case per stage.
std::string night_junit(const night& now);

}  // namespace assay
