/// Launches of launched.hip.
#pragma once

namespace launched {

void run_reverse(int* out, const int* in, bool flaw);
void run_sum(int* out);
void run_ones(int* out);
void run_overrun(int* out);
/// One thread: out[0] = in[at] as bits, after it loaded in[before].
void run_copy_element(unsigned short* out, const unsigned short* in, long at, long before);

}  // namespace launched
