// SPDX-License-Identifier: Apache-2.0
// What proposes. Every strategy stands behind one interface and sees only what the tuner was told; docs/tuner.md says
// what each one does.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "yolk/internal/autotune/history.hpp"
#include "yolk/internal/autotune/linear_algebra.hpp"
#include "yolk/internal/autotune/policy_kernels.hpp"
#include "yolk/internal/autotune/random.hpp"
#include "yolk/internal/autotune/space.hpp"
#include "yolk/internal/autotune/transfer.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// How a gradient becomes a step, in the strategies that follow one.
enum class Step {
    Plain,        ///< the gradient
    Identity,     ///< F^-1 with F the identity, damped: the plain direction, the control of those below
    InverseSqrt,  ///< M^-1/2 g, M the covariance of recent sample gradients
    Natural,      ///< F^-1 g, F the Fisher matrix of the policy (eggroll) or M (smoothed)
};
[[nodiscard]] Result<Step> step_of(std::string_view name);  ///< plain, identity, inverse-sqrt, natural

inline constexpr std::size_t kFirstOfNatural = 12;

struct StrategySettings {
    Step step = Step::InverseSqrt;             ///< eggroll and smoothed
    std::optional<double> learning_rate = {};  ///< of the same; each step has its own default
    /// What the house strategy measures before it looks for what is good (docs/adr/0032).
    std::size_t natural_first = kFirstOfNatural;
    /// Where the algebra of `natural` and `bayes` is done; unset: on the host.
    std::function<std::unique_ptr<LinearAlgebra>()> linear_algebra = {};
    /// Where the population of `eggroll` is scored and moved; unset: on the host. The bits are the same.
    std::function<std::unique_ptr<PolicyKernels>()> policy_kernels = {};
};

/// What a strategy works with. `history` belongs to the tuner and outlives the strategy.
struct StrategyContext {
    std::shared_ptr<const CandidateSet> candidates = {};
    const History* history = nullptr;
    Random random{0};
    std::size_t budget = 0;                         ///< measurements that are planned; annealing cools over them
    std::shared_ptr<const DevicePrior> prior = {};  ///< what other devices say; only `natural` reads it; may be null
    StrategySettings settings = {};
};

class Strategy {
   public:
    Strategy() = default;
    virtual ~Strategy() = default;
    Strategy(const Strategy&) = delete;
    Strategy& operator=(const Strategy&) = delete;
    Strategy(Strategy&&) = delete;
    Strategy& operator=(Strategy&&) = delete;

    /// A candidate that is not known yet. Nothing: no idea left, the tuner draws one. There is at least one that is not
    /// known.
    [[nodiscard]] virtual std::optional<std::size_t> propose() = 0;
    /// The history knows one more candidate, proposed or not.
    virtual void told(std::size_t /*candidate*/) {}
};

/// Names of all strategies, `natural` first.
[[nodiscard]] std::span<const std::string_view> strategy_names() noexcept;
/// Error (BadInput): not one of strategy_names().
[[nodiscard]] Result<std::unique_ptr<Strategy>> make_strategy(std::string_view name, StrategyContext context);

}  // namespace yolk::autotune
