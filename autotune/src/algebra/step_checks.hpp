// SPDX-License-Identifier: Apache-2.0
// What every step call checks before it writes anything, so that all forms refuse in the same words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "yolk/result.hpp"

namespace yolk::autotune {

struct StepSizes {
    std::uint64_t vectors = 0;   ///< elements of [count, n]
    std::uint64_t matrices = 0;  ///< elements of [count, n, n]
};

/// An error where count or n is 0, or [count, n, n] of `element_bytes` does not fit in 64 bits. `call` is the label in
/// messages: "kfac_step".
[[nodiscard]] Result<StepSizes> step_sizes(std::uint32_t count, std::uint32_t n, std::uint64_t element_bytes,
                                           const char* call);

/// An error unless `given` elements of `what` are the `needed` ones.
[[nodiscard]] Result<void> check_length(std::size_t given, std::uint64_t needed, const char* call, const char* what);

}  // namespace yolk::autotune
