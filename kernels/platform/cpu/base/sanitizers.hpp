/// ASSAY_ASAN: whether the build has AddressSanitizer. ASSAY_TSAN, ThreadSanitizer, is the build's to define: checked
/// kernels have the compiler's feature, and no runtime.
#pragma once

#if !defined(ASSAY_ASAN) && defined(__has_feature)  // checked kernels have this feature, too: they say 0
#if __has_feature(address_sanitizer)
#define ASSAY_ASAN 1
#endif
#endif
