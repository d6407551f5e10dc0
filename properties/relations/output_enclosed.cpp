#include "properties/relations/relations.hpp"

namespace assay::relations {

const property output_enclosed{
    "output_enclosed",
    "the output, its LSE and the split workspaces lie in the enclosure of the contract",
    run_case,
    nullptr,
};

}  // namespace assay::relations
