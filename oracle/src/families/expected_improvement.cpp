// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "check_tools.hpp"
#include "yolk/expected_improvement.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

constexpr double kLeastVariance = 1e-10;

/// z Phi(z) + phi(z).
double improvement(double z) {
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    return z * 0.5 * std::erfc(-z / std::numbers::sqrt2) + density;
}

Bounded variance_of(const ExpectedImprovementDesc& desc, std::size_t steps, const HostViews& given, std::size_t c) {
    double variance = given.in<float>(4)[c];
    double magnitude = std::abs(variance);
    double dropped = 0.0;
    for (std::size_t s = steps; s-- > 0;) {
        const double left = given.in<float>(1)[s * desc.stride + c];
        const double right = given.in<float>(2)[s * desc.stride + c];
        variance -= left * right;
        magnitude += std::abs(left * right);
        dropped += kOperandFloor * (std::abs(left) + std::abs(right) + kOperandFloor);
    }
    return {std::max(variance, kLeastVariance),
            (static_cast<double>(steps) + 1.0) * kFp32Rounding * magnitude + dropped};
}

Bounded gain_of(const ExpectedImprovementValues& v, const HostViews& given, std::size_t stride, std::size_t c,
                Bounded variance) {
    const double value = given.in<float>(0)[c];
    const double unit = given.in<float>(0)[stride + c];
    const double prior = given.in<float>(3)[c];
    const double mean = prior + value + v.level - v.level * unit - v.mean_slack;
    const double magnitude = std::abs(prior) + std::abs(value) + std::abs(v.level) * (1.0 + std::abs(unit)) +
                             std::abs(v.best) + std::abs(v.mean_slack);
    const double wide = variance.value + v.variance_slack;
    const double deviation = v.deviation * std::sqrt(wide);
    const double z = (v.best - mean) / deviation;
    // Seven roundings on the way to the gap; the root's relative error is half of its operand's, and 1e-7 its own.
    const double gap_error =
        7.0 * kFp32Rounding * magnitude + 5.0 * kOperandFloor * (1.0 + std::abs(v.level) + std::abs(unit));
    const double relative_deviation = 0.5 * (variance.tolerance + kFp32Rounding * wide) / wide + 2e-7;
    const double z_error = std::abs(z) * (2e-7 + 2.0 * kFp32Rounding);
    const double clamped = std::max(z, -11.0);
    const double slope = 0.5 * std::erfc(-std::max(z, -11.0) / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * clamped * clamped) * 0.4;
    // Two approximations meet at 3: of the tail, off by 7.5e-8, and of what is left of the density, off by 1e-4 of it.
    const double a = std::abs(clamped);
    const double share = (a < 3.1 ? 7.5e-8 * a : 0.0) + (a > 2.9 ? 1e-4 * improvement(-a) : 0.0) +
                         16.0 * kFp32Rounding * (a + 1.0) * density;
    const double value_of_gain = v.stretch * deviation * improvement(clamped);
    const double spread_out = 1.0 + std::abs(clamped) * (gap_error / deviation + z_error);
    const double error = slope * (gap_error + deviation * z_error) * spread_out * spread_out +
                         deviation * relative_deviation * density * spread_out * spread_out + deviation * share +
                         std::abs(value_of_gain) * 16.0 * kFp32Rounding / v.stretch;
    return {value_of_gain, v.stretch * error + 0x1p-99};
}

/// In double, the normal distribution by erfc. Tolerances: roundings of sums against their magnitudes, their effect on
/// the gain by its derivatives (at most 1 in the mean, .4 in the deviation), and 7.5e-8 |z| of the approximation.
std::vector<OracleValues> expected_improvement_oracle(const ExpectedImprovementDesc& desc,
                                                      const ExpectedImprovementValues& values, const HostViews& given) {
    OracleValues variances, gains;
    for (std::size_t c = 0; c < desc.count; ++c) {
        variances.push_back(variance_of(desc, values.steps, given, c));
        gains.push_back(gain_of(values, given, desc.stride, c, variances.back()));
    }
    return {variances, gains};
}

/// How the best value lies against the means, in deviations: far above, far below, slacks, candidates kept out.
enum class Regime : std::uint32_t { Plain, Hopeless, Certain, Slack, Tiny, Count };

const char* name_of(Regime regime) {
    constexpr std::array kRegimeNames{"plain", "hopeless", "certain", "slack", "tiny"};
    return kRegimeNames.at(static_cast<std::size_t>(regime));
}

ExpectedImprovementValues values_of(const ExpectedImprovementDesc& desc, Regime regime) {
    ExpectedImprovementValues values{
        .steps = desc.steps, .level = 2.125F, .best = 1.5F, .deviation = 0.4F, .mean_slack = 0.0F};
    if (regime == Regime::Hopeless) values.best = -3.0F;
    if (regime == Regime::Certain) values.best = 40.0F;
    if (regime == Regime::Slack) values.mean_slack = 0.01F, values.variance_slack = 0x1p-10F, values.stretch = 1.25F;
    return values;
}

class ExpectedImprovementProblem final : public OperationProblem<ExpectedImprovementDesc> {
   public:
    explicit ExpectedImprovementProblem(const ExpectedImprovementDesc& desc, Regime regime = Regime::Plain,
                                        std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("rows of {}, {}", desc.stride, name_of(regime)), values_of(desc, regime)),
          regime_(regime),
          seed_(seed) {}

    [[nodiscard]] Work work() const override {
        const double count = desc().count;
        return {.operations = count * (2.0 * desc().steps + 100.0), .bytes = 4.0 * count * (2.0 * desc().steps + 6.0)};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        Draws draws(seed_, 3);
        const std::size_t rows = desc().count == 0 ? 0 : desc().stride;
        const float scale = regime_ == Regime::Tiny ? 0x1p-42F : 1.0F;
        const std::vector<float> scores = draws.uniforms(2 * rows, -1.0F * scale, 1.0F * scale);
        const std::vector<float> left = draws.uniforms(desc().steps * rows, -0.5F * scale, 0.5F * scale);
        const std::vector<float> right = draws.uniforms(desc().steps * rows, -0.5F * scale, 0.5F * scale);
        std::vector<float> prior = draws.uniforms(desc().count, -0.5F, 0.5F);
        std::vector<float> variances = draws.uniforms(desc().count, 0.0F, 1.0F);
        for (std::size_t c = 0; c < desc().count; ++c) {
            // The last few steps leave little or nothing of some variances.
            if (draws.below(8) == 0) variances[c] *= 0x1p-12F;
            if (draws.below(8) == 0) prior[c] = 1e30F;
        }
        return {bytes_of_values(scores), bytes_of_values(left), bytes_of_values(right), bytes_of_values(prior),
                bytes_of_values(variances)};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return expected_improvement_oracle(desc(), argument<0>(), given);
    }

   private:
    Regime regime_;
    std::uint64_t seed_;
};

Problems expected_improvement_cases(std::uint64_t seed) {
    // Nothing, one, primes, around the default workgroup; no step, one, some; rows with something between them.
    constexpr std::array kSizes{std::array{0U, 0U, 2U},     std::array{1U, 1U, 0U},   std::array{7U, 7U, 1U},
                                std::array{63U, 64U, 2U},   std::array{64U, 64U, 5U}, std::array{65U, 71U, 2U},
                                std::array{257U, 320U, 33U}};
    Problems problems;
    for (const auto& [count, stride, steps] : kSizes) {
        for (std::uint32_t regime = 0; regime < static_cast<std::uint32_t>(Regime::Count); ++regime) {
            problems.push_back(std::make_unique<ExpectedImprovementProblem>(
                ExpectedImprovementDesc{.count = count, .stride = stride, .steps = steps}, static_cast<Regime>(regime),
                seed + problems.size()));
        }
    }
    return problems;
}

Problems expected_improvement_benchmarks() {
    return problems_of<ExpectedImprovementProblem>(
        {{.count = 18'000, .stride = 18'176, .steps = 2}, {.count = 18'000, .stride = 18'176, .steps = 256}});
}

}  // namespace

const Family& expected_improvement_family() noexcept {
    static constexpr Family kFamily{
        .name = "expected_improvement",
        .exactness = "P",
        .cases = &expected_improvement_cases,
        .benchmarks = &expected_improvement_benchmarks,
        .configurations_per_case = 3,
        .operation = &kOperationText<ExpectedImprovementDesc, &make_problem<ExpectedImprovementProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
