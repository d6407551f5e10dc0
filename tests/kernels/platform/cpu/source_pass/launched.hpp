/// Launches of launched.hip.
#pragma once

namespace launched {

void run_reverse(int* out, const int* in, bool flaw);
void run_sum(int* out);
void run_ones(int* out);
void run_overrun(int* out);

}  // namespace launched
