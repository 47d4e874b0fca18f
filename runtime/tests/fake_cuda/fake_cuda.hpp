// SPDX-License-Identifier: Apache-2.0
// What a test asks of fake_cuda.cpp; found by dlsym.
#pragma once

#include <cstdint>

/// What is alive, and what the last calls were given.
struct FakeCudaState {
    unsigned char uuid[16];           ///< of its second device; the first has another
    int device_count;                 ///< 0: cuInit finds no device
    int failing_import;               ///< 1: imports are refused, and the descriptor is left alone
    int memories;                     ///< imported and not destroyed
    int mappings;                     ///< mapped and not freed
    int contexts;                     ///< retained and not released
    int pushed;                       ///< contexts that are current
    int semaphores;                   ///< imported and not destroyed
    unsigned int memory_flags;        ///< of the last import
    unsigned long long memory_bytes;  ///< of the last import
    std::uint64_t waited;             ///< the last value
    std::uint64_t signalled;          ///< the last value
};
