// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/algebra_choice.hpp"

#include "yolk/internal/autotune/search_cost.hpp"
#include "yolk/internal/runtime/probe.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kTrialMeasurements = 64;
constexpr std::size_t kTrialSteps = 5;

}  // namespace

Result<AlgebraPlace> parse_algebra_place(std::string_view text) {
    if (text == "host") return AlgebraPlace::Host;
    if (text == "device") return AlgebraPlace::Device;
    if (text == "auto") return AlgebraPlace::Auto;
    return bad_input("'{}' is not a place for the algebra; it is host, device or auto.", text);
}

bool has_algebra(std::string_view strategy) noexcept {
    return strategy == "natural" || strategy == "bayes" || strategy == "eggroll";
}

Result<ChosenAlgebra> ChosenAlgebra::choose(AlgebraPlace place, std::string_view strategy, std::size_t candidates,
                                            const OpenDevice& open) {
    ChosenAlgebra chosen;
    if (place == AlgebraPlace::Host || !has_algebra(strategy)) return chosen;
    const bool has_population = strategy == "eggroll";
    const auto make = [&]() -> Result<void> {
        YOLK_TRY(Device device, open());
        chosen.device_ = std::make_unique<Device>(std::move(device));
        if (has_population) {
            YOLK_TRY(chosen.policies_, DevicePolicies::create(*chosen.device_));
            return {};
        }
        YOLK_TRY_VOID(probe(*chosen.device_));
        YOLK_TRY(chosen.algebra_, DeviceAlgebra::create(*chosen.device_));
        return {};
    };
    if (const Result<void> made = make(); !made) {
        if (place == AlgebraPlace::Device) return made.error();
        chosen.algebra_.reset();
        chosen.why_ = made.error().message;
        return chosen;
    }
    if (place == AlgebraPlace::Device || has_population) return chosen;
    const StepCost on_host = step_cost(candidates, kTrialMeasurements, kTrialSteps, nullptr);
    const StepCost on_device = step_cost(candidates, kTrialMeasurements, kTrialSteps, chosen.algebra_.get());
    chosen.host_milliseconds_ = on_host.median;
    chosen.device_milliseconds_ = on_device.median;
    if (on_device.median >= on_host.median || chosen.algebra_->counts().take_overs() != 0) {
        chosen.why_ = "it is faster";
        chosen.algebra_.reset();
        return chosen;
    }
    YOLK_TRY(chosen.algebra_, DeviceAlgebra::create(*chosen.device_));  // with counts of its own
    return chosen;
}

void ChosenAlgebra::set(StrategySettings& settings) const {
    if (algebra_ != nullptr) settings.linear_algebra = autotune::on_device(algebra_);
    if (policies_ != nullptr) settings.policy_kernels = autotune::on_device(policies_);
}

AlgebraReport ChosenAlgebra::report() const {
    AlgebraReport report{.on_device = on_device(),
                         .why = why_,
                         .host_milliseconds = host_milliseconds_,
                         .device_milliseconds = device_milliseconds_};
    if (!on_device()) return report;
    report.device = device_->info().name;
    if (algebra_ != nullptr) report.counts = algebra_->counts();
    if (policies_ != nullptr) report.policy = policies_->counts();
    return report;
}

}  // namespace yolk::autotune
