// SPDX-License-Identifier: Apache-2.0
// What fp32 makes of drawn numbers lies within the bounds that are computed as it goes, in whatever order sums are
// taken, and the bounds are not far wider than that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "yolk/internal/oracle/bounded.hpp"

namespace yolk::oracle {
namespace {

/// fp32 and bounds side by side.
struct Pair {
    float kernel = 0.0F;
    Bounded bounds;

    explicit Pair(float number = 0.0F) : kernel(number), bounds(number) {}
    Pair(float number, const Bounded& off) : kernel(number), bounds(off) {}
    [[nodiscard]] bool holds() const { return std::abs(kernel - bounds.value) <= bounds.tolerance; }
};
Pair operator+(const Pair& x, const Pair& y) { return {x.kernel + y.kernel, x.bounds + y.bounds}; }
Pair operator-(const Pair& x, const Pair& y) { return {x.kernel - y.kernel, x.bounds - y.bounds}; }
Pair operator*(const Pair& x, const Pair& y) { return {x.kernel * y.kernel, x.bounds * y.bounds}; }

float without(float floor, float x) { return std::abs(x) < floor ? 0.0F : x; }

class Numbers {
   public:
    /// Of both signs and of sizes from 2^-60 to 2^20.
    Pair next() {
        const float significand = std::uniform_real_distribution<float>(1.0F, 2.0F)(engine_);
        const int exponent = std::uniform_int_distribution<int>(-60, 20)(engine_);
        return Pair(std::ldexp(engine_() % 2 == 0 ? significand : -significand, exponent));
    }
    std::mt19937& engine() { return engine_; }

   private:
    std::mt19937 engine_{7};
};

TEST(bounded, hold_what_fp32_makes_of_drawn_operations) {
    Numbers numbers;
    for (int i = 0; i < 100'000; ++i) {
        Pair x = numbers.next();
        for (int step = 0; step < 6; ++step) {
            const Pair y = numbers.next();
            switch (numbers.engine()() % 6) {
                case 0: x = x + y; break;
                case 1: x = x - y; break;
                case 2: x = x * y; break;
                case 3: x = {without(0x1p-100F, x.kernel), flush(x.bounds)}; break;
                case 4: x = {without(0x1p-40F, x.kernel), flush_operand(x.bounds)}; break;
                default: x = {std::max(x.kernel, 0.0F), activated(Activation::Relu, x.bounds)};
            }
            ASSERT_TRUE(x.holds()) << i << ", step " << step << ": " << x.kernel << " where " << x.bounds.value
                                   << " +- " << x.bounds.tolerance;
        }
    }
}

// fp32's division and root are rounded once; the exact functions' stated errors are larger.
TEST(bounded, hold_roots_and_reciprocals) {
    Numbers numbers;
    for (int i = 0; i < 100'000; ++i) {
        const Pair square = numbers.next() * numbers.next();
        const Pair x{std::abs(square.kernel), {std::abs(square.bounds.value), square.bounds.tolerance}};
        const Pair of_root{std::sqrt(x.kernel), root(x.bounds)}, inverse{1.0F / x.kernel, reciprocal(x.bounds)};
        ASSERT_TRUE(of_root.holds()) << x.kernel;
        ASSERT_TRUE(inverse.holds()) << x.kernel;
        ASSERT_LT(inverse.bounds.tolerance, 4e-7 * inverse.bounds.value) << x.kernel;
    }
}

TEST(bounded, hold_sums_in_any_order) {
    Numbers numbers;
    double worst = 0.0;
    for (const std::size_t count : {1U, 2U, 7U, 64U, 1000U}) {
        for (int round = 0; round < 200; ++round) {
            std::vector<Pair> terms(count);
            Bounded::Chain chain;
            for (Pair& term : terms) {
                term = numbers.next() * numbers.next();
                chain.add(term.bounds);
            }
            std::ranges::shuffle(terms, numbers.engine());
            Pair sum{0.0F, chain.sum()};
            for (const Pair& term : terms) sum.kernel += term.kernel;
            ASSERT_TRUE(sum.holds()) << count;
            worst = std::max(worst, std::abs(sum.kernel - sum.bounds.value) / sum.bounds.tolerance);
        }
    }
    EXPECT_GT(worst, 0.1);  // of few terms
}

TEST(bounded, a_reciprocal_of_what_may_be_zero_is_anything) {
    EXPECT_TRUE(std::isinf(reciprocal({1.0, 1.0}).tolerance));
    EXPECT_TRUE(std::isfinite(reciprocal({1.0, 0.5}).tolerance));
}

TEST(bounded, what_a_rule_takes_for_zero_is_part_of_the_bound) {
    EXPECT_EQ(flush_operand({0x1p-41}).tolerance, 0x1p-41);
    EXPECT_EQ(flush_operand({0x1p-40}).tolerance, 0.0);
    EXPECT_EQ(flush_operand({0.0}).tolerance, 0.0);
    EXPECT_EQ(flush({0x1p-99, 0x1p-99}).tolerance, 0x1p-99 + 0x1p-100);
}

}  // namespace
}  // namespace yolk::oracle
