// SPDX-License-Identifier: Apache-2.0
#include "yolk/convert.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>

#include "yolk/exact/exact_half.h"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class convert : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(convert);

TEST_P(convert, bad_input_is_refused) {
    const auto refused = [&](const ConvertDesc& desc, const char* part) {
        return expect_error(plan_convert(device(), desc), ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused({.count = 1, .from = FloatFormat::F32, .to = FloatFormat::F32}, "f32 to f32"));
    EXPECT_TRUE(refused({.count = 1, .from = FloatFormat::F16, .to = FloatFormat::BF16}, "f16 to bf16"));
    EXPECT_TRUE(refused({.count = 0xFFFFFFFFU}, "the in view of [convert]"));
    EXPECT_TRUE(
        refused({.count = 1, .config = ConvertConfig{.words_per_invocation = 3}}, "words_per_invocation of [convert]"));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 1024, .label = "floats"}));
    ASSERT_OK_AND_ASSIGN(const ConvertPlan plan, plan_convert(device(), {.count = 33}));
    const auto bind = [&](const BufferView& in, const BufferView& out) { return plan.bind({.in = in, .out = out}); };
    EXPECT_OK(bind(BufferView(buffer, 0, 132), BufferView(buffer, 256, 68)));
    EXPECT_TRUE(expect_error(bind(BufferView(buffer, 0, 132), BufferView(buffer, 256, 66)), ErrorKind::BadInput,
                             "the out view of [convert]"));
    EXPECT_TRUE(expect_error(bind(BufferView(buffer, 0, 128), BufferView(buffer, 256, 68)), ErrorKind::BadInput,
                             "the in view of [convert]"));
    EXPECT_TRUE(
        expect_error(bind(BufferView(buffer, 0, 132), BufferView(buffer, 0, 68)), ErrorKind::BadInput, "shares bytes"));
}

// By hand, from the formats' definitions.
TEST(half_floats, known_patterns) {
    const auto f16 = [](float value) { return exact::exact_f32_to_f16(std::bit_cast<std::uint32_t>(value)); };
    EXPECT_EQ(f16(1.0F), 0x3C00U);
    EXPECT_EQ(f16(-2.0F), 0xC000U);
    EXPECT_EQ(f16(65504.0F), 0x7BFFU);
    EXPECT_EQ(f16(65519.996F), 0x7BFFU);
    EXPECT_EQ(f16(65520.0F), 0x7C00U);
    EXPECT_EQ(f16(0x1p-24F), 0x0001U);
    EXPECT_EQ(f16(0x1p-25F), 0x0000U);  // to even
    EXPECT_EQ(f16(0x1.000002p-25F), 0x0001U);
    EXPECT_EQ(f16(0x1.8p-24F), 0x0002U);    // to even
    EXPECT_EQ(f16(0x1.ffep-15F), 0x0400U);  // the largest denormal and a half: to 2^-14
    EXPECT_EQ(f16(2049.0F), 0x6800U);       // to even: 2048
    EXPECT_EQ(f16(2051.0F), 0x6802U);       // to even: 2052
    const auto bf16 = [](float value) { return exact::exact_f32_to_bf16(std::bit_cast<std::uint32_t>(value)); };
    EXPECT_EQ(bf16(1.0F), 0x3F80U);
    EXPECT_EQ(bf16(257.0F), 0x4380U);  // to even: 256
    EXPECT_EQ(bf16(259.0F), 0x4382U);  // to even: 260
    EXPECT_EQ(bf16(std::numeric_limits<float>::max()), 0x7F80U);
    EXPECT_EQ(bf16(0x1p-133F), 0x0001U);  // a denormal of both
    EXPECT_EQ(exact::exact_f32_to_bf16(0x7F800001U), 0x7FC0U) << "a NaN of low bits is no infinity";
    EXPECT_EQ(exact::exact_f32_to_f16(0xFF800001U), 0xFE00U);
}

TEST(half_floats, every_number_comes_back) {
    for (std::uint32_t half = 0; half < 0x10000U; ++half) {
        const bool f16_nan = (half & 0x7FFFU) > 0x7C00U, bf16_nan = (half & 0x7FFFU) > 0x7F80U;
        const std::uint32_t f16 = exact::exact_f32_to_f16(exact::exact_f16_to_f32(half));
        const std::uint32_t bf16 = exact::exact_f32_to_bf16(exact::exact_bf16_to_f32(half));
        EXPECT_TRUE(f16 == half || f16_nan) << half;
        EXPECT_TRUE(bf16 == half || bf16_nan) << half;
    }
}

// ADR 2: a number of fp16 is zero or at least 2^-24, so the operand rule drops none.
TEST(half_floats, no_number_of_fp16_is_dropped_by_the_operand_rule) {
    for (std::uint32_t half = 0; half <= 0x7C00U; ++half) {
        const auto value = std::bit_cast<float>(exact::exact_f16_to_f32(half));
        EXPECT_TRUE(value == 0.0F || value >= 0x1p-24F) << half;
    }
}

}  // namespace
}  // namespace yolk
