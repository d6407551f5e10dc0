/// A call of llama.cpp's vector flash attention by its own launcher.
#pragma once

#include "kv_cache.hpp"

/// Computes cache.dst. `sinks` may be null.
void flash_attn_vec(const assay::problem& p, kv_cache& cache, const float* sinks);
