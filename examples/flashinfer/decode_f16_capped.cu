#include "decode.cuh"

template void decode<__half, true>(const assay::problem&, const assay::attention_tensors&, decode_plan&);
