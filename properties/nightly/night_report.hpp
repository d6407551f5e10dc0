/// A night for people and for continuous integration.
#pragma once

#include <string>

#include "properties/nightly/night_comparison.hpp"

namespace assay {

/// Markdown: the stages, then what appeared, stayed and went since the night before, then the numbers beside its.
/// `before` null: there was none.
std::string night_markdown(const night& now, const night* before);

/// JUnit XML: a test case per stage.
std::string night_junit(const night& now);

}  // namespace assay
