// SPDX-License-Identifier: Apache-2.0
// Environments that the host steps: a C++ class, or a program behind a pipe (docs/host_environments.md). train() runs
// them as a task: the device evaluates the policies of all live members with one batched forward pass per step.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::train {

inline constexpr std::uint32_t kMaxHostWidth = 4096;       ///< of observations, actions and layers of their policies
inline constexpr std::uint32_t kMaxHostLanes = 1U << 20U;  ///< that are stepped together

/// Either a number out of `count`, or one value between each pair of bounds.
struct HostActions {
    std::uint32_t count = 0;           ///< actions 0 ... count - 1: the policy's largest output; 0: a box
    std::vector<float> low{}, high{};  ///< of a box; may be infinite

    [[nodiscard]] std::uint32_t outputs() const noexcept;  ///< of the policy
    [[nodiscard]] std::uint32_t values() const noexcept;   ///< per lane, as step() gets them
    friend bool operator==(const HostActions&, const HostActions&) = default;
};

/// `outputs` [HostActions::outputs()] of a policy as the action [values()]: the number of the largest output (the first
/// of equal ones), as a float; of a box each output clipped to [-1, 1], or its tanh where `squashed`, scaled to the
/// bounds. Where a bound exceeds 2^40 in size, the action is the output, clipped to the bounds. Exact. An output that
/// is not a number counts as 0.
void host_action(const HostActions& actions, std::span<const float> outputs, std::span<float> action,
                 bool squashed = false);

struct HostEnvironmentInfo {
    std::string name{};
    std::uint32_t lanes = 0;  ///< environments that are stepped together, each of another member
    std::uint32_t observation_count = 0;
    HostActions actions{};
    std::uint32_t max_steps = 0;  ///< of an episode; 0: without a limit of its own, so that training needs one
    float solved_return = 0.0F;   ///< mean return at which the task counts as solved; infinite: there is none
};

/// Errors: no name, lanes, observations or actions, bounds that are not in order, a mark that is not a number.
[[nodiscard]] Result<void> check_host_environment(const HostEnvironmentInfo& info);

/// One step of all lanes. Lanes that are not live have ended, or were never needed: what they give is not looked at,
/// and they need not be stepped.
struct HostStep {
    std::span<const float> actions;      ///< [lanes, HostActions::values()]; of lanes that are not live: any
    std::span<const std::uint8_t> live;  ///< [lanes]
    std::span<float> observations;       ///< out [lanes, observation_count]
    std::span<float> rewards;            ///< out [lanes]
    std::span<std::uint8_t> terminated;  ///< out [lanes]; not 0: the episode has ended
    std::span<std::uint8_t> truncated;   ///< likewise, cut off
};

/// A batch of environments. One thread at a time, not always the same; it must not throw. What a lane does must follow
/// from its seed and its actions alone, not from the lane or the other ones: then a seed gives the same run whatever
/// the number of lanes, and a run that is resumed has the bits of one that never stopped. An error ends the run, whose
/// finished generations are kept.
class HostEnvironment {
   public:
    virtual ~HostEnvironment();
    HostEnvironment(const HostEnvironment&) = delete;
    HostEnvironment& operator=(const HostEnvironment&) = delete;

    /// The same at every call, at the same place.
    [[nodiscard]] virtual const HostEnvironmentInfo& info() const noexcept = 0;
    /// All lanes begin an episode: `seeds` [lanes], `observations` out [lanes, observation_count]. Two lanes with one
    /// seed begin alike.
    [[nodiscard]] virtual Result<void> reset(std::span<const std::uint32_t> seeds, std::span<float> observations) = 0;
    [[nodiscard]] virtual Result<void> step(const HostStep& step) = 0;

   protected:
    HostEnvironment() = default;
};

/// Copies of one environment, which take turns: while the device evaluates the policies for one, another is stepped.
/// All have the same info.
using HostEnvironments = std::vector<std::shared_ptr<HostEnvironment>>;

/// A program that steps environments, spoken to over its standard input and output (docs/host_environments.md).
struct HostProgram {
    std::string command{};        ///< as a shell reads it
    std::uint32_t processes = 2;  ///< each with lanes of its own
    std::uint32_t lanes = 64;     ///< of each process
    /// That an answer may take, and the start.
    std::chrono::milliseconds timeout{60'000};
};
/// Starts it. What it writes to standard error goes to this process's. A process ends with its environment. Errors: a
/// number outside its limits, a program that cannot be started, does not speak the protocol, or does not answer in
/// time.
[[nodiscard]] Result<HostEnvironments> start_host_program(const HostProgram& program);
/// As many lanes as each process needs to have all of `members` in one batch; at most 1,024.
[[nodiscard]] std::uint32_t host_lanes(std::uint32_t members, std::uint32_t processes);

/// The seed that an episode begins with, below 2^31: of the run's seed, the generation and the number of the episode,
/// and the same for all members.
[[nodiscard]] std::uint32_t host_episode_seed(std::uint64_t seed, std::uint32_t generation, std::uint32_t episode);

/// What tells the environment of a policy or a log from others: "host, 3 observations, box -2:2", and back.
[[nodiscard]] std::string host_source(const HostEnvironmentInfo& info);
[[nodiscard]] bool is_host_source(std::string_view source) noexcept;
/// The observations and actions. Error: a text that host_source() did not write.
[[nodiscard]] Result<HostEnvironmentInfo> host_info_of_source(std::string_view source);

}  // namespace yolk::train
