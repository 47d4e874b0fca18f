// SPDX-License-Identifier: Apache-2.0
#include "stage_calls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evolution_checks.hpp"

namespace yolk::evolve {
namespace {

constexpr std::int8_t kNoWeight = std::numeric_limits<std::int8_t>::min();

Error of_stage(Error error, const char* what) {
    if (is_of_device(error)) error.kind = ErrorKind::Failed;
    return std::move(error).while_doing(what);
}

/// The update multiplies the weights by the coefficient and looks at nothing else of the summary; what a step reports
/// comes from the rest.
Result<void> check_own_shape(const ShapedGeneration& shaped, bool own_update) {
    if (std::ranges::count(shaped.integer_weights, kNoWeight) != 0)
        return bad_input("There is a weight of -128; int8 weights are from -127 to 127.");
    YOLK_TRY_VOID(check_finite(shaped.float_weights, "the weights"));
    const abi::fitness::Summary& summary = shaped.summary;
    if (!std::isfinite(summary.coefficient)) {
        return bad_input("The summary's coefficient is {}; it must be finite: the weights times it are the fitness.",
                         summary.coefficient);
    }
    const bool has_weights = std::ranges::any_of(shaped.integer_weights, [](std::int8_t w) { return w != 0; }) ||
                             std::ranges::any_of(shaped.float_weights, [](float w) { return w != 0.0F; });
    if (!has_weights) return {};
    if (summary.finite_count == 0) {
        return bad_input(
            "The summary has a finite_count of 0, which says that no member has a finite score, but there are weights "
            "that are not zero. Fill the summary in; evolve::shaped_by_twin gives the statistics of the scores.");
    }
    if (summary.coefficient == 0.0F && !own_update) {
        return bad_input(
            "The summary's coefficient is 0, so that nothing would be learned, but there are weights that are not "
            "zero. The weights times the coefficient are the fitness, of the order of 1.");
    }
    return {};
}

}  // namespace

Result<ShapedGeneration> call_shape(const Stages& stages, std::span<const float> returns, const NoiseContext& when,
                                    const EvolutionOptions& options) {
    constexpr auto kWhat = "shaping by Stages::shape";
    Result<ShapedGeneration> shaped = stages.shape(returns, when);
    if (!shaped) return of_stage(std::move(shaped).error(), kWhat);
    const std::uint64_t count = options.antithetic ? options.population / 2 : options.population;
    Result<void> checked = check_shaped(*shaped, count, is_integer_rule(options.fitness));
    if (checked) checked = check_own_shape(*shaped, static_cast<bool>(stages.update));
    if (!checked) return of_stage(std::move(checked).error(), kWhat);
    return shaped;
}

Result<std::vector<float>> call_update(const Stages& stages, const ShapedGeneration& shaped, const NoiseContext& when,
                                       std::uint32_t elements) {
    constexpr auto kWhat = "estimating the gradient by Stages::update";
    Result<std::vector<float>> gradient = stages.update(shaped, when);
    if (!gradient) return of_stage(std::move(gradient).error(), kWhat);
    Result<void> checked = check_gradient(*gradient, elements);
    if (!checked) return of_stage(std::move(checked).error(), kWhat);
    return gradient;
}

Result<void> call_optimize(const Stages& stages, const Stages::Step& step) {
    constexpr auto kWhat = "stepping by Stages::optimize";
    Result<void> done = stages.optimize(step);
    if (done) done = check_finite(step.parameters);
    if (done) done = check_finite(step.state, "the optimizer's state");
    if (!done) return of_stage(std::move(done).error(), kWhat);
    return {};
}

}  // namespace yolk::evolve
