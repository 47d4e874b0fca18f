// SPDX-License-Identifier: Apache-2.0
// The digest of a run's state: 128 bits that stand for a generation where the state itself stays on the device. What it
// protects against is in docs/adr/0018-a-digest-made-on-the-device.md; the hash of the contract is state_hash
// (parameter_setup.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "yolk/result.hpp"

namespace yolk::evolve {

/// What the kernel digest is given as `array` for each of them.
inline constexpr std::uint32_t kDigestOfParameters = 0;
inline constexpr std::uint32_t kDigestOfOptimizer = 1;
/// Of the block {generations, low and high; number of parameters; number of the optimizer's values}, which is added by
/// the host.
inline constexpr std::uint32_t kDigestOfCounts = 0xFFFFFFFFU;

struct StateCounts {
    std::uint32_t parameters = 0;       ///< elements
    std::uint32_t optimizer_state = 0;  ///< elements of all its arrays
    std::uint64_t generations = 0;      ///< done
};

/// 32 hexadecimal digits, the second sum first, from what the kernel digest (docs/kernels/digest.md) made of parameters
/// and optimizer's arrays: uint32 [abi::digest::kSumWords]. Error, Failed: a value that is not finite among them, as in
/// state_hash.
[[nodiscard]] Result<std::string> state_digest(std::span<const std::uint32_t> sums, const StateCounts& counts);

/// The same by the exact twin, from the state on the host.
[[nodiscard]] Result<std::string> state_digest(std::span<const float> parameters,
                                               std::span<const float> optimizer_state, std::uint64_t generations);

}  // namespace yolk::evolve
