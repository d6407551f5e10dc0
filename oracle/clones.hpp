/// Inner loops are compiled for several instruction sets; the one that the machine has is taken at load time.
#pragma once

#if defined(__x86_64__) && defined(__ELF__) && defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
// Resolvers of clones run before a sanitizer's runtime is there.
#define ASSAY_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#endif
#endif
#ifndef ASSAY_CLONES
#define ASSAY_CLONES
#endif
