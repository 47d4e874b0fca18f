// SPDX-License-Identifier: Apache-2.0
// Scores any members of a population and brings their returns to the host: what each worker of a device pool has. One
// over the rollout kernel, and one that is a function of the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::evolve {

/// One thread at a time, not always the same. A member's returns depend on its number, the parameters and the time, and
/// on nothing else: not on the worker, nor on the members that are evaluated with it.
class MemberEvaluator {
   public:
    virtual ~MemberEvaluator();
    MemberEvaluator(const MemberEvaluator&) = delete;
    MemberEvaluator& operator=(const MemberEvaluator&) = delete;

    [[nodiscard]] virtual std::uint32_t episodes() const noexcept = 0;      ///< returns per member
    [[nodiscard]] virtual std::uint32_t most_members() const noexcept = 0;  ///< of one call of evaluate()
    /// Before the first evaluate() of a generation. `parameters` [element_count] need not stay.
    [[nodiscard]] virtual Result<void> begin(std::span<const float> parameters, const NoiseContext& when) = 0;
    /// Fills `returns` [episodes, members.count]; gives the number of evaluations. Blocks. Errors of the kinds
    /// DeviceLost, Driver, OutOfMemory and Unsupported are the worker's, which a pool goes on without; others end the
    /// run.
    [[nodiscard]] virtual Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> returns) = 0;
    /// The same, and the scores of the unperturbed parameters (PoolParts::mean_scores), which are as reproducible as a
    /// member's. There may be no members.
    [[nodiscard]] virtual Result<std::uint64_t> evaluate_with_mean(const MemberRange& members, std::span<float> returns,
                                                                   std::span<double> mean);

    /// What the members of the last evaluate() counted beside their returns (MemberCounts), [members.count, words]. As
    /// reproducible as a member's returns. Empty where nothing is counted.
    [[nodiscard]] virtual std::span<const std::uint32_t> counts() const noexcept { return {}; }

   protected:
    MemberEvaluator() = default;
};

/// Sums over the whole population that set elements of the parameters, such as those of what members observed.
struct MemberCounts {
    std::uint32_t words = 0;     ///< per member; 0: nothing is counted
    std::uint32_t elements = 0;  ///< how many are set: the last of the parameters, which are Frozen
    /// Their values after a generation, from those before and the sums of each word. Called on the thread of step().
    std::function<std::vector<float>(std::span<const float> before, std::span<const std::uint64_t> sums)> follow{};
};

/// Whole episodes in the rollout kernel, for at most `most_members` at once; `desc.members` is not looked at. Errors:
/// plan_rollout's, no memory. `device` and `dispatcher` must outlive it.
[[nodiscard]] Result<std::unique_ptr<MemberEvaluator>> rollout_members(const Device& device, Dispatcher& dispatcher,
                                                                       const RolloutDesc& desc,
                                                                       std::uint32_t most_members,
                                                                       std::uint32_t first_episode = 0);

/// One generation's question to a function on the host. A member's perturbed parameters are made from `parameters`,
/// `when` and its number by member_parameters() (yolk/internal/evolve/member_parameters.hpp).
struct HostQuestion {
    std::span<const float> parameters;  ///< [element_count], the unperturbed values
    NoiseContext when;
    MemberRange members;
};
/// Fills returns [episodes, members.count], which are not numbers before: an element that it leaves counts as a score
/// that is not finite. Gives the number of evaluations. Called on a worker's thread, by several at once where
/// PoolParts::members gives the same function to several workers. It must not throw. Its errors are as in
/// MemberEvaluator::evaluate().
using HostMembers = std::function<Result<std::uint64_t>(const HostQuestion& question, std::span<float> returns)>;
/// Where `evaluate` is empty, every evaluation is an error.
[[nodiscard]] std::unique_ptr<MemberEvaluator> host_members(HostMembers evaluate, std::uint32_t episodes = 1);
/// The exact twin of the roll-out, on the processor's cores: as a judge, or as one more worker.
[[nodiscard]] std::unique_ptr<MemberEvaluator> rollout_twin_members(const RolloutDesc& desc,
                                                                    std::uint32_t first_episode = 0);

}  // namespace yolk::evolve
