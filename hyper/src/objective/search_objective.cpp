// SPDX-License-Identifier: Apache-2.0
// What a search of the caller's own sees of an objective.
#include "objective.hpp"

namespace yolk::hyper {

const SearchSpace& Objective::space() const noexcept { return of_->space(); }
const OptimizeOptions& Objective::options() const noexcept { return of_->options(); }
std::span<const evolve::ElementBounds> Objective::bounds() const noexcept { return of_->bounds(); }

Result<std::vector<double>> Objective::evaluate(std::span<const float> points, std::uint32_t count) {
    return of_->evaluate(points, count);
}
Result<std::vector<double>> Objective::evaluate(const Perturbations& candidates) {
    YOLK_TRY(std::vector<double> rewards, of_->evaluate(candidates));
    YOLK_TRY_VOID(of_->settle());  // the mean's buffer is the caller's again
    return rewards;
}

bool Objective::report(const GenerationReport& report, std::span<const float> mean) {
    return of_->report(report, mean);
}
bool Objective::report(const GenerationReport& report, const Perturbations& around) {
    return of_->report(report, around);
}

Dispatcher& Objective::dispatcher() noexcept { return of_->dispatcher(); }
evolve::DevicePool* Objective::devices() noexcept { return of_->devices(); }
std::span<const ParameterId> Objective::host_rows() const noexcept { return of_->host_rows(); }
Result<std::unique_ptr<Gradients>> Objective::gradients(std::span<const std::string> groups) {
    return of_->gradients(groups);
}

}  // namespace yolk::hyper
