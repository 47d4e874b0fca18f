// SPDX-License-Identifier: Apache-2.0
// rollout: whole episodes of an environment under a perturbed policy network, one invocation per member and episode
// (docs/kernels/rollout.md). Class P: the same bits on every device that passes the arithmetic probe. With
// Determinism::Fast the policy's outputs are class T.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk {

/// A continuous environment's actions have at most so many dimensions.
inline constexpr std::uint32_t kMaxActionDimensions = 16;

/// How a policy's outputs become an environment's action.
struct ActionSpace {
    bool continuous = false;  ///< false: the index of the largest output, the lower one on a tie
    /// Of a continuous one: true: tanh of each output, false: clipped to [-1, 1]; scaled to [low, high].
    bool squashed = false;
    std::array<float, kMaxActionDimensions> low{}, high{};  ///< by output
};

/// What a host needs to know of an environment; the file shaders/environments/<name>.glsl says the rest.
struct EnvironmentInfo {
    std::string_view name;
    std::uint32_t observation_count = 0;
    std::uint32_t action_count = 0;  ///< outputs of the policy
    std::uint32_t state_words = 0;
    std::uint32_t max_steps = 0;
    float solved_return = 0.0F;  ///< mean return at which the task counts as solved
    float best_return = 0.0F;    ///< no episode can return more
    ActionSpace actions{};
};
[[nodiscard]] std::span<const EnvironmentInfo> environments() noexcept;
/// Error: unknown name (lists the known ones).
[[nodiscard]] Result<EnvironmentInfo> find_environment(std::string_view name);

/// An environment of one's own (yolk/environment.hpp).
class LoadedEnvironment;

/// A multi-layer perceptron: widths[0] inputs, tanh between layers, linear outputs. 2 to 5 widths, each 1 ... 256. What
/// the graph of a policy is lowered to (yolk/internal/hyper/rollout_lowering.hpp).
struct PolicyNetwork {
    std::vector<std::uint32_t> widths{4, 64, 2};
    /// layer0.weight [64, 4], layer0.bias [64], layer1.weight [2, 64], layer1.bias [2]; ids in this order.
    [[nodiscard]] std::vector<ParameterDesc> parameters() const;
};

/// Any valid configuration gives the same bytes where the description is exact.
struct RolloutConfig {
    /// For the switches, which are else 0 or 1: what suits the device and the network.
    static constexpr std::uint32_t kAutomatic = 2;

    std::uint32_t workgroup_size = 32;    ///< where the description has no configuration, a GPU's subgroup if larger
    std::uint32_t unrolled = kAutomatic;  ///< layers written out: many times faster on lavapipe, longer to compile
    std::uint32_t private_parameters = kAutomatic;  ///< parameters copied to private memory by each invocation
    /// Noise kept as bytes, hidden units never stored: networks with one hidden layer on GPUs. Unrolled, and parameters
    /// are not copied.
    std::uint32_t packed = kAutomatic;
};

struct RolloutViews {
    BufferView parameters;   ///< fp32 [element_count], read as a uniform buffer
    BufferView returns;      ///< out, fp32 [episodes, members]
    BufferView evaluations;  ///< out, uint32 [kEvaluationCounters]: their sum is the number of evaluations (live
                             ///< steps); overwritten
};
inline constexpr std::uint32_t kEvaluationCounters = 256;

/// What one call of a plan rolls out. More members or episodes than the description has, and numbers of either that
/// pass 2^32, are refused, by an error that sticks in the recorder.
struct RolloutPart {
    std::uint32_t first_episode = 0;  ///< episode e starts from the reset of (when.generation, first_episode + e)
    std::uint32_t first_member = 0;   ///< ignored with mean_only, as `members` is
    std::uint32_t members = 0;        ///< at most the description's, which 0 means; returns are [episodes, members]
    std::uint32_t episodes = 0;       ///< likewise
};

struct RolloutPipelines;
struct RolloutBindings;

struct RolloutDesc {
    using Config = RolloutConfig;
    using Views = RolloutViews;
    using Pipelines = std::shared_ptr<const RolloutPipelines>;
    using Bindings = std::shared_ptr<const RolloutBindings>;
    /// Resets are shared by all members. A member's return depends on its number and on nothing else of the part.
    using Call = void(const NoiseContext& when, OrDefault<RolloutPart> part);

    std::string environment = "cartpole";
    /// Where set, in place of the built-in one of that name, which is then not looked for.
    std::shared_ptr<const LoadedEnvironment> own_environment = {};
    PolicyNetwork network = {};
    ParameterTable parameters = {};  ///< network.parameters(), some of them perhaps Frozen
    std::uint32_t members = 0;       ///< ignored with mean_only
    std::uint32_t episodes = 1;      ///< per member
    std::uint32_t max_steps = 0;     ///< 0: the environment's; smaller truncates episodes
    std::uint32_t rank = 1;          ///< 1 ... 32
    bool antithetic = true;   ///< both sides of a pair share noise; false: every member has its own, pair = member
    bool mean_only = false;   ///< member -1: the unperturbed policy; one row of `episodes` returns
    bool never_stop = false;  ///< benchmarks: episodes go on to max_steps whatever the environment says
    /// Fast: multiply-adds that may be fused and a cheaper tanh in the policy; the environment stays exact.
    Determinism determinism = Determinism::Exact;
    std::optional<RolloutConfig> config{};  ///< unset: the device's table, else rollout_config
};

/// The description's configuration, with switches instead of kAutomatic; the heuristic, where it has none.
[[nodiscard]] RolloutConfig rollout_config(const DeviceInfo& info, const RolloutDesc& desc) noexcept;

template <>
const Operation<RolloutDesc>& operation_of<RolloutDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after. Split into as many dispatches as
/// the device's loop limit asks for.
using BoundRollout = Bound<RolloutDesc>;
/// With less scratch than size_bytes, down to least(), fewer episodes run at once. Errors: unknown environment, a
/// network that does not fit it, parameters that are not the network's or pass the uniform range (64 KiB), rank outside
/// 1 ... 32, a matrix with another one, no members or episodes, a configuration outside the space.
using RolloutPlan = Plan<RolloutDesc>;
inline constexpr Planner<RolloutDesc> plan_rollout;
/// Dispatches that one record() makes with all of the scratch (size_bytes); long work is cut into more.
[[nodiscard]] std::uint32_t rollout_dispatches(const RolloutPlan& plan) noexcept;

}  // namespace yolk
