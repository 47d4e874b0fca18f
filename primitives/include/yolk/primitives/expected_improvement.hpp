// SPDX-License-Identifier: Apache-2.0
// expected_improvement: what measuring each candidate of a Gaussian posterior is expected to gain on the best value
// (Jones, Schonlau, Welch 1998, "Efficient global optimization of expensive black-box functions", equation 15), after
// its variance was brought up to date (docs/kernels/expected_improvement.md). Class P.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/expected_improvement.h"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

struct ExpectedImprovementConfig {
    std::uint32_t workgroup_size = 64;
    friend bool operator==(const ExpectedImprovementConfig&, const ExpectedImprovementConfig&) = default;
};

struct ExpectedImprovementDesc {
    std::uint32_t count = 0;   ///< candidates; 0 is legal
    std::uint32_t stride = 0;  ///< from row to row of scores, left and right, in elements; at least count
    std::uint32_t steps = 0;   ///< rows of left and right, at most; 0 is legal
    std::optional<ExpectedImprovementConfig> config{};
};

struct ExpectedImprovementViews {
    BufferView scores;     ///< fp32 [2, stride]: value scores v, unit scores u
    BufferView left{};     ///< fp32 [steps, stride]; empty for no steps
    BufferView right{};    ///< likewise; may be `left`
    BufferView prior;      ///< fp32 [count]; 1e30 keeps a candidate out
    BufferView variances;  ///< in and out, fp32 [count]: less the sum of left right over the steps, at least 1e-10
    BufferView out;        ///< fp32 [count]
};

/// The mean of a candidate is prior + v + level (1 - u) - mean_slack, its deviation d is
/// deviation sqrt(variance + variance_slack); its gain stretch d (z Phi(z) + phi(z)), z = (best - mean) / d, z at least
/// -11. With slacks of 0 and stretch 1 the expected improvement itself; with what mean and variance may be off, a bound
/// from above; with a power of two for stretch, gains that small ones of which are no zeros for kernels that take what
/// is below 2^-40 for zero.
struct ExpectedImprovementValues {
    std::uint32_t steps = 0;  ///< of the description's; more are taken for as many
    float level = 0.0F;
    float best = 0.0F;
    float deviation = 1.0F;  ///< above 0
    float mean_slack = 0.0F;
    float variance_slack = 0.0F;
    float stretch = 1.0F;
};

[[nodiscard]] ConfigSpace<ExpectedImprovementConfig> expected_improvement_space(const DeviceInfo& info,
                                                                                const ExpectedImprovementDesc& desc);

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundExpectedImprovement {
   public:
    /// One dispatch. Values that are not finite give gains that are not.
    void record(Recorder& recorder, const ExpectedImprovementValues& values) const noexcept;

   private:
    friend class ExpectedImprovementPlan;
    ExpectedImprovementDesc desc_;
    BindingOf<abi::expected_improvement::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class ExpectedImprovementPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] const ExpectedImprovementConfig& config() const noexcept { return *desc_.config; }
    [[nodiscard]] Result<BoundExpectedImprovement> bind(const ExpectedImprovementViews& views,
                                                        const BufferView& scratch = {}) const;

   private:
    friend Result<ExpectedImprovementPlan> plan_expected_improvement(const Device&, const ExpectedImprovementDesc&);
    const Device* device_ = nullptr;
    ExpectedImprovementDesc desc_;
    std::uint64_t score_bytes_ = 0;
    std::uint64_t step_bytes_ = 0;
    PipelineOf<abi::expected_improvement::Params> pipeline_;
};

/// Errors: a stride below count, sizes that overflow or pass the device's binding limit, a configuration outside the
/// space, more steps than the device's loops allow.
[[nodiscard]] Result<ExpectedImprovementPlan> plan_expected_improvement(const Device& device,
                                                                        const ExpectedImprovementDesc& desc);

}  // namespace yolk
