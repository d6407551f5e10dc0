/// Launches of launched.hip.
#pragma once

namespace launched {

void run_reverse(int* out, const int* in, bool flaw);
void run_sum(int* out);
/// out[i] = 3 in[i] + 5 of 64, but out[0] = 2 in[0] + 1.
void run_scale(long* out, const int* in);
void run_ones(int* out);
void run_overrun(int* out);
/// What static LDS held at first: two words of each of four blocks.
void run_first_words(int* out);
/// One thread: out[0] = in[at] as bits, after it loaded in[before].
void run_copy_element(unsigned short* out, const unsigned short* in, long at, long before);

}  // namespace launched
