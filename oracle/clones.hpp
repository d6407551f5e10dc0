/// Inner loops are compiled for several instruction sets. The loader chooses the one that the machine supports.
#pragma once

#if defined(__x86_64__) && defined(__ELF__) && defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
// Resolvers of clones run before a sanitizer's runtime starts.
#define ASSAY_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
#endif
#ifndef ASSAY_CLONES
#define ASSAY_CLONES
#endif
