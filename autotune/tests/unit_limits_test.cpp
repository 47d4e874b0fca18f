// SPDX-License-Identifier: Apache-2.0
// Times are held against the limit of the unit that a configuration multiplies with.
#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "yolk/internal/autotune/live_surface.hpp"
#include "yolk/internal/autotune/unit_limits.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/reduce.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;

constexpr ReduceDesc kSum{.operation = ReduceOperation::Sum, .outer = 8, .columns = 40};

/// A sum whose groups of one row and of two are done by other units than the rest.
class TwoUnitsProblem final : public oracle::Problem {
   public:
    [[nodiscard]] std::string name() const override { return right_->name(); }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return right_->space(info); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return right_->default_configuration(info);
    }
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(
        const Device& device, const Configuration& configuration) const override {
        return right_->plan(device, configuration);
    }
    [[nodiscard]] std::vector<oracle::ProblemBuffer> buffers() const override { return right_->buffers(); }
    [[nodiscard]] std::vector<oracle::Expected> expected() const override { return right_->expected(); }
    [[nodiscard]] oracle::Work work() const override { return right_->work(); }
    [[nodiscard]] ArithmeticUnit unit(const DeviceInfo& /*info*/, const Configuration& configuration) const override {
        if (configuration == kOnMatrixUnits) return ArithmeticUnit::MatrixF16;
        return configuration == kByOther ? ArithmeticUnit::Other : ArithmeticUnit::Fp32Lanes;
    }

    inline static const Configuration kOnMatrixUnits{0, 1, 32, 0, 1};
    inline static const Configuration kByOther{0, 2, 32, 0, 1};
    inline static const Configuration kOnLanes{0, 4, 32, 0, 1};

   private:
    std::unique_ptr<oracle::Problem> right_ = *oracle::make_problem(kSum);
};

class unit_limits : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(unit_limits);

TEST_P(unit_limits, times_beyond_them_are_refused) {
    const TwoUnitsProblem problem;
    constexpr double kHours = 1e-3;  // a unit on which the sum takes an hour at best
    std::vector<ArithmeticUnit> asked;
    const auto surface_with = [&](double lanes, double matrix_units) {
        asked.clear();
        return LiveSurface::create(device(), dispatcher(), problem,
                                   {.limit_of = [&asked, lanes, matrix_units](ArithmeticUnit unit) -> Result<double> {
                                       asked.push_back(unit);
                                       if (unit == ArithmeticUnit::Other) return 0.0;
                                       return unit == ArithmeticUnit::Fp32Lanes ? lanes : matrix_units;
                                   }});
    };
    ASSERT_OK_AND_ASSIGN(const auto slow, surface_with(kHours, kHours));
    EXPECT_THAT(asked,
                ::testing::ElementsAre(ArithmeticUnit::Fp32Lanes, ArithmeticUnit::MatrixF16, ArithmeticUnit::Other));
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement refused, slow->run(*slow->find(problem.kOnLanes)));
    EXPECT_TRUE(refused.quarantine);
    EXPECT_THAT(refused.reason, HasSubstr("at the limit of the device's fp32 lanes"));
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement refused_units, slow->run(*slow->find(problem.kOnMatrixUnits)));
    EXPECT_TRUE(refused_units.quarantine);
    EXPECT_THAT(refused_units.reason, HasSubstr("at the limit of the device's matrix units with fp16 operands"));
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement other, slow->run(*slow->find(problem.kByOther)));
    EXPECT_FALSE(other.milliseconds.empty()) << "no limit is known: " << other.reason;
    // Faster than lanes ever are, and right all the same: as fp16 products of an H100 are.
    ASSERT_OK_AND_ASSIGN(const auto quick_units, surface_with(kHours, 1e15));
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement quick, quick_units->run(*quick_units->find(problem.kOnMatrixUnits)));
    EXPECT_FALSE(quick.milliseconds.empty()) << quick.reason;
    // Units that are slower than lanes do not slow these down.
    ASSERT_OK_AND_ASSIGN(const auto slow_units, surface_with(1e15, kHours));
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement both, slow_units->run(*slow_units->find(problem.kOnMatrixUnits)));
    EXPECT_FALSE(both.milliseconds.empty()) << both.reason;
}

// What the heuristic does faster than the limit is not counted in the limit's multiply-adds.
TEST_P(unit_limits, are_none_where_the_heuristic_passes_them) {
    const TwoUnitsProblem problem;
    const LiveOptions options{.limit_of = [](ArithmeticUnit) -> Result<double> { return 1e-3; }};
    ASSERT_OK_AND_ASSIGN(const auto surface, LiveSurface::create(device(), dispatcher(), problem, options));
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement first, surface->run(surface->heuristic()));
    EXPECT_FALSE(first.milliseconds.empty()) << first.reason;
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement then, surface->run(*surface->find(problem.kOnLanes)));
    EXPECT_FALSE(then.milliseconds.empty()) << then.reason;
}

TEST_P(unit_limits, are_measured_for_what_the_device_has) {
    UnitLimits limits(device(), dispatcher(), std::chrono::minutes(10));
    ASSERT_OK_AND_ASSIGN(const double lanes, limits.of(ArithmeticUnit::Fp32Lanes));
    EXPECT_GT(lanes, 1e6);
    const DeviceInfo info = device().usable_info();
    ASSERT_OK_AND_ASSIGN(const double dots, limits.of(ArithmeticUnit::IntegerDot));
    EXPECT_EQ(dots > 1e6, path_is_open(info, LowPrecisionPath::IntegerDot)) << dots;
    ASSERT_OK_AND_ASSIGN(const double matrices, limits.of(ArithmeticUnit::MatrixF16));
    EXPECT_EQ(matrices > 1e6, path_is_open(info, LowPrecisionPath::CooperativeMatrix)) << matrices;
    ASSERT_OK_AND_ASSIGN(const double other, limits.of(ArithmeticUnit::Other));
    EXPECT_EQ(other, 0.0);
    // Measured once: another measurement would not give the same number.
    ASSERT_OK_AND_ASSIGN(const double again, limits.of(ArithmeticUnit::Fp32Lanes));
    EXPECT_EQ(again, lanes);
}

TEST_P(unit_limits, are_not_known_without_time_to_measure) {
    UnitLimits limits(device(), dispatcher(), std::chrono::seconds(0));
    ASSERT_OK_AND_ASSIGN(const double lanes, limits.of(ArithmeticUnit::Fp32Lanes));
    EXPECT_EQ(lanes, 0.0);
}

}  // namespace
}  // namespace yolk::autotune
