// SPDX-License-Identifier: Apache-2.0
// A trained policy as a file: its weights as safetensors, and in the metadata what is needed to run it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::train {

struct Policy {
    std::string task;  ///< the environment's name
    /// Hash of its text (LoadedEnvironment::source_hash), or host_source() of one on the host; empty: built in.
    std::string environment_source{};
    PolicyNetwork network;
    std::uint32_t generations = 0;  ///< that it was trained for
    std::uint64_t seed = 0;         ///< of the run
    std::vector<float> parameters;  ///< in the order of network.parameters(), laid out as ParameterTable says
};

/// Replaces the file atomically. Errors: parameters that are not finite or not as many as the network's, Io.
[[nodiscard]] Result<void> save_policy(const std::filesystem::path& path, const Policy& policy);

/// `own`: the environment that it was trained on, where that is from a file, else null. One on the host is not needed.
/// Errors: Io; a file that is truncated, damaged or foreign; an unknown task; an own environment that is missing, not
/// wanted, or of another text than the policy was trained on; a network that does not fit its task; tensors that are
/// not the network's; weights that are not finite (with the tensor's name).
[[nodiscard]] Result<Policy> load_policy(const std::filesystem::path& path, const LoadedEnvironment* own = nullptr);

/// Of a network that the roll-out kernel takes.
inline constexpr std::size_t kMinWidths = 2;
inline constexpr std::size_t kMaxWidths = 5;
inline constexpr std::uint32_t kMaxWidth = 256;  ///< from 1

/// kMaxWidth, or kMaxHostWidth where the host steps the environment.
[[nodiscard]] std::uint32_t max_width_of(std::string_view environment_source) noexcept;

/// Errors: fewer than kMinWidths or more than kMaxWidths widths, one outside 1 ... max_width, ends that are not the
/// environment's observations and actions.
[[nodiscard]] Result<void> check_network(const PolicyNetwork& network, const EnvironmentInfo& environment,
                                         std::uint32_t max_width = kMaxWidth);

}  // namespace yolk::train
