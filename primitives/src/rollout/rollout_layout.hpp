// SPDX-License-Identifier: Apache-2.0
// What a roll-out's plan decides before it makes anything: the form of the kernel, its constants, and how many steps
// one dispatch takes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "environments.hpp"
#include "yolk/internal/abi/rollout.h"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk {

inline constexpr std::uint32_t kMaxPolicyWidth = 256;       ///< of a layer, the recurrent one too
inline constexpr std::uint32_t kMaxStepsPerDispatch = 128;  ///< keeps a dispatch far from drivers' time-outs
/// Fewer episodes at once would leave most devices idle.
inline constexpr std::uint64_t kLeastRolloutChunk = 4096;

struct RolloutLayout {
    RolloutDesc desc;
    EnvironmentKernels environment;
    std::uint32_t members = 0;  ///< rows of returns: 1 for the mean
    std::uint32_t max_steps = 0;
    std::uint32_t rank = 1;    ///< of the kernel: 1 where no matrix is perturbed
    std::uint32_t frozen = 0;  ///< bit p: parameter p is not perturbed
    bool unrolled = false;
    bool private_parameters = false;
    bool packed = false;
    std::uint32_t slot_words = 0;  ///< what an episode carries from dispatch to dispatch, but for a recurrent layer
    std::uint64_t slot_bytes = 0;  ///< with its memory
    std::uint32_t steps_per_dispatch = 0;
};

/// What plan_rollout's docstring says, but for sizes and the configuration.
[[nodiscard]] Result<void> check_rollout(const RolloutDesc& desc);
/// A packed kernel is unrolled, reads parameters where they are, and takes networks that fit it.
[[nodiscard]] Result<void> legal_rollout(const DeviceInfo& info, const RolloutDesc& desc, const RolloutConfig& config);
/// Of a description that check_rollout has accepted, with its configuration; steps_per_dispatch is left.
[[nodiscard]] Result<RolloutLayout> make_rollout_layout(const RolloutDesc& desc);

/// Loop iterations that one invocation makes before its first step and in each step, as the shaders are written
/// (shaders/rollout/). An upper bound: an unrolled layer makes none.
struct RolloutLoopCost {
    std::uint64_t start = 0;
    std::uint64_t step = 0;
};
[[nodiscard]] RolloutLoopCost rollout_loop_cost(const RolloutLayout& layout) noexcept;

/// Multiply-adds of one invocation in one step, about.
[[nodiscard]] std::uint64_t rollout_step_cost(const RolloutLayout& layout) noexcept;

/// What a device sets to one dispatch: loops of an invocation, and the cost of what cannot be cut, a workgroup.
struct RolloutBudget {
    std::uint64_t loops = 0;
    std::uint64_t workgroup_cost = 0;
};

/// Steps of one dispatch within `budget`, at most kMaxStepsPerDispatch. Error: not even one step's loops fit.
[[nodiscard]] Result<std::uint32_t> rollout_steps_per_dispatch(const RolloutLayout& layout,
                                                               const RolloutBudget& budget);

/// (Member, episode) pairs in all, and how many of them `scratch_bytes` hold at once.
[[nodiscard]] std::uint64_t rollout_indices(const RolloutLayout& layout) noexcept;
[[nodiscard]] std::uint64_t rollout_chunk(const RolloutLayout& layout, std::uint64_t scratch_bytes) noexcept;

[[nodiscard]] const Kernel<abi::rollout::Params>& rollout_kernel(const RolloutLayout& layout) noexcept;
[[nodiscard]] std::vector<SpecConstant> rollout_constants(const RolloutLayout& layout);

}  // namespace yolk
