// SPDX-License-Identifier: Apache-2.0
// A member's parameters as the host forms them, beside what the kernels make of the same noise.
#include "yolk/internal/evolve/member_parameters.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "fixtures.hpp"
#include "yolk/es_update.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/perturbed_embedding.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr std::uint32_t kFormedRows = 5, kFormedColumns = 7;
constexpr NoiseContext kFormedWhen{.seed = 0x123456789ULL, .generation = 6, .time = 3, .sigma = 0.3F};
constexpr double kFormedRounding = 0x1p-24;

ParameterTable member_table() {
    return *ParameterTable::create({{.name = "w", .rows = kFormedRows, .columns = kFormedColumns},
                                    {.name = "b", .rows = kFormedRows, .perturbation = Perturbation::Vector},
                                    {.name = "f", .rows = 3, .columns = 2, .perturbation = Perturbation::Frozen}});
}

struct FormedCase {
    std::uint32_t rank;
    bool antithetic;
    std::int32_t member;
};

class member_parameters_of : public ::testing::TestWithParam<FormedCase> {
   protected:
    void SetUp() override {
        const auto made = member_parameters(table, parameters, kFormedWhen, GetParam().rank, GetParam().antithetic,
                                            GetParam().member);
        ASSERT_TRUE(testing::expect_ok(made));
        formed = *made;
    }
    [[nodiscard]] std::span<const float> matrix() const {
        return std::span(formed).first(kFormedRows * kFormedColumns);
    }
    [[nodiscard]] PerturbedLinearDesc linear() const {
        return {.members = 1,
                .rows = 1,
                .in = kFormedColumns,
                .out = kFormedRows,
                .rank = GetParam().rank,
                .antithetic = GetParam().antithetic};
    }
    /// |M| + |sigma/sqrt(r)| |A| |B|^T of one element: what roundings are relative to.
    [[nodiscard]] double norm(std::uint32_t row, std::uint32_t column) const {
        const auto [rank, antithetic, member] = GetParam();
        double sum = 0.0;
        for (std::uint32_t rho = 0; rho < rank && member >= 0; ++rho) {
            NoiseStream stream{.seed = kFormedWhen.seed,
                               .pair = static_cast<std::uint32_t>(member) / (antithetic ? 2 : 1),
                               .time = kFormedWhen.time};
            const std::int32_t a = noise_element(stream, row * rank + rho);
            stream.domain = Domain::B;
            sum += std::abs(a * noise_element(stream, column * rank + rho));
        }
        const double scale =
            static_cast<double>(kFormedWhen.sigma) / std::sqrt(static_cast<double>(rank)) / kNoiseVariance;
        return std::abs(static_cast<double>(parameters[row * kFormedColumns + column])) + scale * sum;
    }

    const ParameterTable table = member_table();
    const std::vector<float> parameters = drawn_scores(table.element_count(), 9);
    std::vector<float> formed;
};
INSTANTIATE_TEST_SUITE_P(cases, member_parameters_of,
                         ::testing::Values(FormedCase{1, true, -1}, FormedCase{1, true, 0}, FormedCase{1, true, 7},
                                           FormedCase{3, true, 6}, FormedCase{3, true, 7}, FormedCase{1, false, 7},
                                           FormedCase{3, false, 6}, FormedCase{3, false, 7}),
                         [](const auto& with) {
                             const FormedCase& of = with.param;
                             return fmt::format("rank{}_{}_{}", of.rank, of.antithetic ? "pairs" : "single",
                                                of.member < 0 ? "mean" : std::to_string(of.member));
                         });

TEST_P(member_parameters_of, has_the_bits_of_embedding_and_vector) {
    const auto [rank, antithetic, member] = GetParam();
    std::vector<std::uint32_t> every_row(kFormedRows);
    std::iota(every_row.begin(), every_row.end(), 0U);
    const PerturbedEmbeddingDesc embedding{.members = 1,
                                           .rows = kFormedRows,
                                           .table_rows = kFormedRows,
                                           .columns = kFormedColumns,
                                           .rank = rank,
                                           .antithetic = antithetic};
    auto expected = reference::twin_result<float>(
        embedding, {std::span(parameters).first(kFormedRows * kFormedColumns), every_row}, kFormedWhen, member);
    const PerturbedVectorDesc vector{
        .members = 1, .element_count = kFormedRows, .parameter = ParameterId{1}, .antithetic = antithetic};
    const auto bias = reference::twin_result<float>(
        vector, {std::span(parameters).subspan(kFormedRows * kFormedColumns, kFormedRows)}, kFormedWhen, member);
    expected.insert(expected.end(), bias.begin(), bias.end());
    expected.insert(expected.end(), parameters.end() - 6, parameters.end());
    EXPECT_EQ(formed, expected);
}

/// The chain has rank + 3 roundings: scale, scale times A, times B, and one for each sum.
TEST_P(member_parameters_of, is_within_rounding_of_the_formula) {
    const std::vector<double> exact = reference::perturbed_weights(
        linear(), std::span(parameters).first(kFormedRows * kFormedColumns), kFormedWhen, GetParam().member);
    for (std::uint32_t i = 0; i < kFormedRows * kFormedColumns; ++i) {
        const double tolerance = (GetParam().rank + 3) * kFormedRounding * norm(i / kFormedColumns, i % kFormedColumns);
        EXPECT_NEAR(static_cast<double>(formed[i]), exact[i], tolerance) << i;
    }
}

/// perturbed_linear rounds at most in + rank + 3 times on the way of a term, what is formed here rank + 3 times, and
/// the product below is exact enough in double.
TEST_P(member_parameters_of, is_within_rounding_of_perturbed_linear) {
    const std::uint32_t rank = GetParam().rank;
    const std::vector<float> x = drawn_scores(kFormedColumns, 4);
    const auto y = reference::twin_result<float>(
        linear(), {std::span(parameters).first(kFormedRows * kFormedColumns), x}, kFormedWhen, GetParam().member);
    bool other_bits = false;
    for (std::uint32_t row = 0; row < kFormedRows; ++row) {
        double sum = 0.0, magnitude = 0.0;
        float chain = 0.0F;
        for (std::uint32_t column = 0; column < kFormedColumns; ++column) {
            const float weight = matrix()[row * kFormedColumns + column];
            sum += static_cast<double>(x[column]) * static_cast<double>(weight);
            magnitude += static_cast<double>(x[column]) * norm(row, column);
            chain += x[column] * weight;
        }
        EXPECT_NEAR(static_cast<double>(y[row]), sum, (kFormedColumns + 2 * rank + 6) * kFormedRounding * magnitude)
            << row;
        other_bits = other_bits || chain != y[row];
    }
    EXPECT_EQ(other_bits, GetParam().member >= 0);
}

/// G = sqrt(N)/N * c * sum over pairs of q E, where E is what a member adds to zeros. Tolerance: each term has rank + 3
/// roundings and as many sums as there are pairs, and the twin's conversions three.
TEST(member_parameters, of_zeros_is_what_the_update_sums) {
    constexpr std::uint32_t kPairs = 8, kUpdateRank = 3;
    const ParameterTable table = member_table();
    const std::vector<std::int8_t> weights{5, -127, 0, 3, 64, -2, 90, 1};
    abi::fitness::Summary summary{};
    summary.coefficient = 0.25F;
    const EsUpdateDesc desc{.parameters = table, .population = 2 * kPairs, .rank = kUpdateRank};
    const auto twin = reference::twin_result<float>(desc, {weights, summary}, kFormedWhen);
    const std::vector<float> zeros(table.element_count(), 0.0F);
    std::vector<double> sum(zeros.size()), norm(zeros.size());
    for (std::int32_t pair = 0; pair < static_cast<std::int32_t>(kPairs); ++pair) {
        for (const bool plus : {true, false}) {
            ASSERT_OK_AND_ASSIGN(
                const std::vector<float> noise,
                member_parameters(table, zeros, kFormedWhen, kUpdateRank, true, 2 * pair + (plus ? 0 : 1)));
            const double factor = (plus ? 0.5 : -0.5) * 0.25 / std::sqrt(2.0 * kPairs) * weights[std::size_t(pair)];
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += factor * static_cast<double>(noise[i]);
                norm[i] += std::abs(factor) * static_cast<double>(kFormedWhen.sigma) * 11.0 * std::sqrt(3.0);
            }
        }
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
        EXPECT_NEAR(static_cast<double>(twin[i]), sum[i], (kPairs + kUpdateRank + 6) * kFormedRounding * norm[i]) << i;
    EXPECT_NE(twin.front(), 0.0F);
    EXPECT_EQ(twin.back(), 0.0F);  // frozen
}

TEST(member_parameters, bad_input_is_refused) {
    const ParameterTable table = member_table();
    const std::vector<float> parameters(table.element_count(), 1.0F);
    const auto with = [&](std::size_t count, std::uint32_t rank, std::int32_t member) {
        return member_parameters(table, std::span(parameters).first(count), kFormedWhen, rank, true, member);
    };
    EXPECT_TRUE(testing::expect_ok(with(parameters.size(), 32, 0)));
    EXPECT_TRUE(expect_error(with(3, 1, 0), ErrorKind::BadInput, "There are 3 parameter elements; the table has 46."));
    EXPECT_TRUE(expect_error(with(46, 0, 0), ErrorKind::BadInput, "The rank is 0; 1 to 32 are allowed."));
    EXPECT_TRUE(expect_error(with(46, 33, 0), ErrorKind::BadInput, "The rank is 33"));
    EXPECT_TRUE(expect_error(with(46, 1, -2), ErrorKind::BadInput, "The member is -2"));
}

}  // namespace
}  // namespace yolk::evolve
