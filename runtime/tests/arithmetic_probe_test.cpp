// SPDX-License-Identifier: Apache-2.0
#include "arithmetic_probe.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <set>
#include <string>

#include "yolk/internal/abi/probe.h"

namespace yolk {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace op = abi::probe;

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
float number(std::uint32_t value) { return std::bit_cast<float>(value); }

std::vector<std::uint32_t> right_answers(const std::vector<ArithmeticCase>& cases) {
    std::vector<std::uint32_t> answers;
    for (const ArithmeticCase& given : cases) answers.push_back(given.expected);
    return answers;
}

/// What a device answers that computes every case by `answer`.
template <class Answer>
std::string judge_device(const Answer& answer) {
    const std::vector<ArithmeticCase> cases = arithmetic_cases();
    std::vector<std::uint32_t> answers;
    for (const ArithmeticCase& given : cases) answers.push_back(answer(given));
    return judge_arithmetic(cases, answers);
}

TEST(arithmetic_probe, memory_that_nothing_wrote_is_told_from_answers) {
    const std::vector<ArithmeticCase> cases = arithmetic_cases();
    const std::vector<std::uint32_t> right = right_answers(cases);
    // What a download finds where nothing ran: the poison, zeros, or the bytes that were uploaded last.
    std::vector<std::uint32_t> given;
    for (const ArithmeticCase& asked : cases) given.insert(given.end(), {asked.operation, asked.a, asked.b, asked.c});
    given.resize(cases.size());
    for (const std::vector<std::uint32_t>& untouched :
         {std::vector<std::uint32_t>(cases.size(), 0xA5A5A5A5U), std::vector<std::uint32_t>(cases.size(), 0), given})
        EXPECT_THAT(judge_execution(cases, untouched), HasSubstr("does not execute"));
    EXPECT_THAT(judge_execution(cases, right), IsEmpty());
    // Arithmetic that is wrong in most cases is arithmetic all the same.
    std::vector<std::uint32_t> poor = right;
    for (std::size_t i = 0; i < poor.size(); ++i) poor[i] ^= i % 4 != 0 ? 1U : 0U;
    EXPECT_THAT(judge_execution(cases, poor), IsEmpty());
    EXPECT_THAT(judge_arithmetic(cases, poor), HasSubstr("exact mode needs"));
}

// The constants below are by hand: mantissas as integers.
TEST(arithmetic_probe, correct_results_of_known_hard_cases) {
    const auto correct = [](std::uint32_t operation, float a, float b, float c = 0) {
        return correct_result(operation, bits(a), bits(b), bits(c));
    };
    EXPECT_EQ(correct(op::kMultiply, number(0x3F800001U), number(0x3F800001U)), 0x3F800002U);
    EXPECT_EQ(correct(op::kMultiply, 1.5F, number(0x3F800001U)), 0x3FC00002U);  // 1.5 ulps above 1.5: to even
    EXPECT_EQ(correct(op::kMultiply, 1.5F, number(0x3F800003U)), 0x3FC00004U);  // 4.5 ulps: to even
    EXPECT_EQ(correct(op::kAdd, 1.0F, 0x1p-24F), 0x3F800000U);
    EXPECT_EQ(correct(op::kAdd, number(0x3F800001U), 0x1p-24F), 0x3F800002U);
    EXPECT_EQ(correct(op::kAdd, 16777216.0F, 3.0F), 0x4B800002U);
    EXPECT_EQ(correct(op::kSubtract, 1.0F, 0x1p-25F), 0x3F800000U);
    EXPECT_EQ(correct(op::kSubtract, 1.0F, number(0x33000001U)), 0x3F7FFFFFU);
    EXPECT_EQ(correct(op::kMultiplyAdd, 1.000244140625F, 1.000244140625F, -1.00048828125F), 0U);
    EXPECT_EQ(correct(op::kSumInOrder, 1.0F, 0x1p-24F, 0x1p-24F), 0x3F800000U);
    EXPECT_EQ(correct(op::kSumInOrder, 0x1p-24F, 0x1p-24F, 1.0F), 0x3F800001U);
    EXPECT_EQ(correct(op::kFlushedProduct, 0x1p-50F, 0x1p-50F), 0x0D800000U);
    EXPECT_EQ(correct(op::kFlushedProduct, -0x1p-51F, 0x1p-50F), 0U);
    EXPECT_EQ(correct(op::kMultiply, -1.0F, 0.0F), 0x80000000U);
    EXPECT_EQ(correct_result(op::kFromInteger, 0xFFFFFFFFU, 0, 0), 0xBF800000U);
    EXPECT_EQ(correct_result(op::kToInteger, bits(-2.5F), 0, 0), 0xFFFFFFFEU);
}

TEST(arithmetic_probe, a_right_device_passes) {
    const std::vector<ArithmeticCase> cases = arithmetic_cases();
    EXPECT_THAT(judge_arithmetic(cases, right_answers(cases)), IsEmpty());
    std::set<std::uint32_t> operations;
    for (const ArithmeticCase& given : cases) operations.insert(given.operation);
    EXPECT_EQ(operations.size(), 10U) << "every operation must be asked for";
}

TEST(arithmetic_probe, one_wrong_bit_is_found_wherever_it_is) {
    const std::vector<ArithmeticCase> cases = arithmetic_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        std::vector<std::uint32_t> answers = right_answers(cases);
        answers[i] ^= 1U;
        EXPECT_THAT(judge_arithmetic(cases, answers), HasSubstr("1 of ")) << i;
    }
}

TEST(arithmetic_probe, contraction_is_named) {
    const std::string reason = judge_device([](const ArithmeticCase& given) {
        const float a = number(given.a), b = number(given.b), c = number(given.c);
        if (given.operation == op::kMultiplyAdd) return bits(std::fma(a, b, c));
        if (given.operation == op::kSubtractProduct) return bits(std::fma(-a, b, c));
        return given.expected;
    });
    EXPECT_THAT(reason, HasSubstr("1.00024414 (0x3F800800) * 1.00024414 (0x3F800800) + -1.00048828 (0xBF801000) gave "
                                  "0x33800000 instead of 0x00000000"));
    EXPECT_THAT(reason, HasSubstr("no contraction to a fused multiply-add"));
}

TEST(arithmetic_probe, contraction_changes_every_drawn_chain) {
    int chains = 0;
    for (const ArithmeticCase& given : arithmetic_cases()) {
        if (given.operation != op::kMultiplyAdd) continue;
        ++chains;
        EXPECT_NE(bits(std::fma(number(given.a), number(given.b), number(given.c))), given.expected);
    }
    EXPECT_GE(chains, 48);
}

TEST(arithmetic_probe, reassociation_is_named) {
    const std::string reason = judge_device([](const ArithmeticCase& given) {
        if (given.operation != op::kSumInOrder) return given.expected;
        return correct_result(op::kSumInOrder, given.b, given.c, given.a);
    });
    EXPECT_THAT(reason, HasSubstr("sums taken in the order in which they are written"));
}

TEST(arithmetic_probe, flushing_normal_results_is_named) {
    const std::string reason = judge_device([](const ArithmeticCase& given) {
        const bool tiny = (given.expected & 0x7FFFFFFFU) < 0x01000000U;  // below 2^-125
        return tiny ? given.expected & 0x80000000U : given.expected;
    });
    EXPECT_THAT(reason, HasSubstr("normal results kept"));
}

TEST(arithmetic_probe, losing_the_sign_of_zero_is_named) {
    const std::string reason =
        judge_device([](const ArithmeticCase& given) { return given.expected == 0x80000000U ? 0U : given.expected; });
    EXPECT_THAT(reason, HasSubstr("the sign of zero"));
}

TEST(arithmetic_probe, rounding_towards_zero_is_named) {
    const std::string reason = judge_device([](const ArithmeticCase& given) {
        if (given.operation > op::kSubtract) return given.expected;
        const double a = number(given.a), b = number(given.b);
        const double exact = given.operation == op::kMultiply ? a * b : given.operation == op::kAdd ? a + b : a - b;
        const float nearest = number(given.expected);
        return std::fabs(static_cast<double>(nearest)) > std::fabs(exact) ? given.expected - 1U : given.expected;
    });
    EXPECT_THAT(reason, HasSubstr("rounded to the nearest, ties to even"));
}

TEST(arithmetic_probe, flushing_and_keeping_denormals_both_pass) {
    // No expected result is denormal, so nothing that a device does with denormals can be judged.
    for (const ArithmeticCase& given : arithmetic_cases()) {
        if (given.operation == op::kToInteger) continue;
        const std::uint32_t magnitude = given.expected & 0x7FFFFFFFU;
        EXPECT_TRUE(magnitude == 0 || magnitude >= 0x00800000U) << given.expected;
    }
}

TEST(arithmetic_probe, a_missing_answer_is_no_pass) {
    const std::vector<ArithmeticCase> cases = arithmetic_cases();
    EXPECT_THAT(judge_arithmetic(cases, {}), HasSubstr("got 0 answers"));
}

}  // namespace
}  // namespace yolk
