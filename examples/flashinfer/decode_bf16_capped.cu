#include "decode.cuh"

template void decode<__nv_bfloat16, true>(const assay::problem&, const assay::attention_tensors&, decode_plan&);
