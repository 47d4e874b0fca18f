// SPDX-License-Identifier: Apache-2.0
// optimizer: adds lr * step to all parameters in one dispatch (docs/kernels/optimizer.md). Class P: own square root and
// reciprocal. Adam: Kingma and Ba 2015, Algorithm 1, on an ascent direction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class OptimizerRule { Sgd, Momentum, Adam };
[[nodiscard]] std::string_view to_string(OptimizerRule rule) noexcept;  ///< "sgd", "momentum", "adam"
[[nodiscard]] Result<OptimizerRule> parse_optimizer_rule(std::string_view name);
/// fp32 arrays of state per parameter element: 0, 1 (momentum: first moment), 2 (Adam: first and second).
[[nodiscard]] std::uint32_t optimizer_state_arrays(OptimizerRule rule) noexcept;

struct OptimizerConfig {
    std::uint32_t workgroup_size = 64;
};

struct OptimizerDesc {
    OptimizerRule rule = OptimizerRule::Sgd;
    std::uint32_t element_count = 0;          ///< 0 is legal
    float beta1 = 0.9F;                       ///< momentum's and Adam's first decay, in [0, 1)
    float beta2 = 0.999F;                     ///< Adam's second, in [0, 1)
    float epsilon = 1e-8F;                    ///< Adam's, in [2^-40, 1]
    std::optional<OptimizerConfig> config{};  ///< unset: the device's table, else OptimizerConfig{}
};

/// Its tuning space; the same for every shape and device. Any configuration gives the same bytes.
[[nodiscard]] ConfigSpace<OptimizerConfig> optimizer_space(const DeviceInfo& info, const OptimizerDesc& desc);

struct OptimizerViews {
    BufferView gradient;    ///< fp32 [element_count], an ascent direction
    BufferView parameters;  ///< in and out, fp32 [element_count]
    BufferView state;       ///< in and out, fp32 [state_arrays, element_count]: first moments, then second; zero at the
                            ///< start; empty for SGD
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundOptimizer {
   public:
    /// `step` counts from 0 (Adam's bias correction uses step + 1).
    void record(Recorder& recorder, float learning_rate, std::uint32_t step) const noexcept;
    BoundOptimizer() noexcept;
    ~BoundOptimizer();
    BoundOptimizer(BoundOptimizer&&) noexcept;
    BoundOptimizer& operator=(BoundOptimizer&&) noexcept;

   private:
    friend class OptimizerPlan;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Immutable: threads may share it. The device must outlive it.
class OptimizerPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundOptimizer> bind(const OptimizerViews& views, const BufferView& scratch = {}) const;
    OptimizerPlan() noexcept;
    ~OptimizerPlan();
    OptimizerPlan(OptimizerPlan&&) noexcept;
    OptimizerPlan& operator=(OptimizerPlan&&) noexcept;

   private:
    friend Result<OptimizerPlan> plan_optimizer(const Device&, const OptimizerDesc&);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// `device` must outlive the plan. Errors: decays or epsilon outside their ranges, a configuration outside the space,
/// sizes above the device's binding limit.
[[nodiscard]] Result<OptimizerPlan> plan_optimizer(const Device& device, const OptimizerDesc& desc);

}  // namespace yolk
