/// Asynchronous copies of a GPU thread into LDS. A copy is under way from its start to the wait for its group.
/// Meanwhile its destination holds NaN (0xFF bytes), and each access to it, by any thread, is a data race, whatever
/// barriers stand between. For the checker the start is a store: a copy over what others may still read is a data race,
/// too; and from the wait on the destination is what the waiting thread stored then. Its source is read at the start.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cpu {

/// The calling thread's copies. `size` is 4, 8 or 16; `bytes` of the source are read, the rest of the destination
/// becomes 0. Throws std::invalid_argument for another size. Both addresses are multiples of it: demand_multiple().
void begin_copy(void* shared, const void* source, std::size_t size, std::size_t bytes);
/// The same of a copy that the kernel's code at `pc` begins.
void begin_copy_at(std::uintptr_t pc, void* shared, const void* source, std::size_t size, std::size_t bytes);
void commit_copies();
/// Waits for all groups but the newest `pending`; -1: for all copies, also those of no group yet.
void wait_for_copies(int pending);

}  // namespace assay::cpu
