/// The terminal that stdout may be.
#pragma once

#include <cstddef>

namespace assay {

/// Columns of the terminal; 0 where stdout is a pipe, a file or a terminal that does not say.
std::size_t columns_of_stdout();

}  // namespace assay
