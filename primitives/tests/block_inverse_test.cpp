// SPDX-License-Identifier: Apache-2.0
#include "yolk/block_inverse.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <vector>

#include "block_inverse_device.hpp"
#include "special_floats.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class block_inverse : public BlockInverseTest {};
YOLK_FOR_EACH_DEVICE(block_inverse);

TEST_P(block_inverse, a_diagonal_of_powers_of_two_is_exact) {
    for (const InverseMode mode : {InverseMode::Spd, InverseMode::Symmetric}) {
        for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 2, .blocks = 1, .mode = mode})) {
            ASSERT_OK_AND_ASSIGN(const auto got, run(desc, {.in = {2.0F, 0.0F, 0.0F, 4.0F}}));
            EXPECT_THAT(got.out, ElementsAre(0.5F, 0.0F, 0.0F, 0.25F));
            EXPECT_THAT(got.status, ElementsAre(0U));
            EXPECT_THAT(got.residual, ElementsAre(0.0F));
        }
    }
}

TEST_P(block_inverse, an_indefinite_block_is_inverted_or_reported_by_mode) {
    const BlockInverseInputs inputs{.in = {4.0F, 3.0F, 3.0F, 2.0F}};
    ASSERT_OK_AND_ASSIGN(const auto symmetric, run({.n = 2, .blocks = 1, .mode = InverseMode::Symmetric}, inputs));
    EXPECT_THAT(symmetric.out, ElementsAre(-2.0F, 3.0F, 3.0F, -4.0F));
    EXPECT_EQ(block_status_of(symmetric.status[0]), BlockStatus::Ok);
    for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 2, .blocks = 1})) {
        ASSERT_OK_AND_ASSIGN(const auto spd, run(desc, inputs));
        EXPECT_EQ(block_status_of(spd.status[0]), BlockStatus::Indefinite);
        EXPECT_THAT(spd.out, Each(0.0F));
        EXPECT_THAT(spd.residual, ElementsAre(kNoResidual));
    }
}

// Each status, with a good block on either side of every bad one. The last block of each list is good.
TEST_P(block_inverse, statuses_leave_neighbours_alone) {
    const std::vector<std::vector<float>> bad{{0.0F, 0.0F, 0.0F, 0.0F},      {1.0F, 0.0F, kNan, 1.0F},
                                              {kInfinity, 0.0F, 0.0F, 1.0F}, {0.0F, 0.0F, 1.0F, 0.0F},
                                              {-1.0F, 0.0F, 0.0F, -1.0F},    {1.0F, 0.0F, 1.0F, 1.0F}};
    BlockInverseInputs inputs;
    const std::vector<float> good{2.0F, kNan, 0.0F, 8.0F};
    for (const std::vector<float>& block : bad) {
        inputs.in.insert(inputs.in.end(), good.begin(), good.end());
        inputs.in.insert(inputs.in.end(), block.begin(), block.end());
    }
    inputs.in.insert(inputs.in.end(), good.begin(), good.end());
    using enum BlockStatus;
    const std::vector<BlockStatus> spd{Singular, NotFinite, NotFinite, Indefinite, Indefinite, Damped};
    const std::vector<BlockStatus> symmetric{Singular, NotFinite, NotFinite, Ok, Ok, Singular};
    for (const InverseMode mode : {InverseMode::Spd, InverseMode::Symmetric}) {
        for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 2, .blocks = 13, .mode = mode})) {
            ASSERT_OK_AND_ASSIGN(const auto got, run(desc, inputs));
            for (std::size_t b = 0; b < 13; b += 2) {
                EXPECT_EQ(got.status[b], 0U);
                EXPECT_EQ(got.out[4 * b], 0.5F);
                EXPECT_EQ(got.out[4 * b + 3], 0.125F);
            }
            const auto& expected = mode == InverseMode::Spd ? spd : symmetric;
            for (std::size_t i = 0; i < bad.size(); ++i) {
                EXPECT_EQ(block_status_of(got.status[2 * i + 1]), expected[i]) << i;
                EXPECT_EQ(got.residual[2 * i + 1] == kNoResidual, !is_inverted(got.status[2 * i + 1])) << i;
            }
        }
    }
}

// [[0, 1], [1, 0]] needs a pivot of two rows.
TEST_P(block_inverse, a_pivot_of_two_rows) {
    ASSERT_OK_AND_ASSIGN(const auto got,
                         run({.n = 2, .blocks = 1, .mode = InverseMode::Symmetric}, {.in = {0.0F, 0.0F, 1.0F, 0.0F}}));
    EXPECT_THAT(got.out, ElementsAre(0.0F, 1.0F, 1.0F, 0.0F));
    EXPECT_EQ(got.status[0], 0U);
}

// A scale changes nothing but the scale: powers of two give the same bits, shifted, and the same residual.
TEST_P(block_inverse, scales_change_nothing_else) {
    const std::vector<float> block{3.0F, 0.0F, 0.0F, 1.0F, 2.0F, 0.0F, -1.0F, 0.25F, 5.0F};
    for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 3, .blocks = 1, .damping = 1e-3F})) {
        ASSERT_OK_AND_ASSIGN(const auto one, run(desc, {.in = block}));
        for (const int shift : {-104, -20, 40, 104}) {
            std::vector<float> scaled = block;
            for (float& x : scaled) x = std::ldexp(x, shift);
            ASSERT_OK_AND_ASSIGN(const auto got, run(desc, {.in = scaled}));
            EXPECT_EQ(got.status, one.status) << shift;
            EXPECT_EQ(got.residual, one.residual) << shift;
            for (std::size_t e = 0; e < 9; ++e) EXPECT_EQ(got.out[e], std::ldexp(one.out[e], -shift)) << shift;
        }
    }
}

// An inverse beyond fp32 is told, not left infinite or zero.
TEST_P(block_inverse, an_inverse_that_fp32_cannot_hold) {
    for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 1, .blocks = 2})) {
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, {.in = {0x1p127F, 0x1p-126F}}));
        EXPECT_EQ(block_status_of(got.status[0]), BlockStatus::NotFinite);
        EXPECT_EQ(got.out[0], 0.0F);
        EXPECT_EQ(got.status[1], 0U);
        EXPECT_EQ(got.out[1], 0x1p126F);
    }
}

// The retries are counted, and there are no more than allowed.
TEST_P(block_inverse, retries_are_counted) {
    for (const std::uint32_t retries : {0U, 1U, 4U}) {
        for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 2, .blocks = 1, .retries = retries})) {
            ASSERT_OK_AND_ASSIGN(const auto got, run(desc, {.in = {1.0F, 0.0F, 1.0F, 1.0F}}));
            EXPECT_EQ(block_status_of(got.status[0]), retries == 0 ? BlockStatus::Singular : BlockStatus::Damped);
            EXPECT_EQ(retries_of(got.status[0]), retries == 0 ? 0U : 1U);
        }
    }
}

// More blocks than a retry has invocations for, all but one of them on its list.
TEST_P(block_inverse, many_blocks_are_tried_again) {
    constexpr std::uint32_t kBlocks = 150;
    BlockInverseInputs inputs;
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
        for (std::uint32_t e = 0; e < 81; ++e) inputs.in.push_back(b == 7 && e % 10 != 0 ? 0.0F : 1.0F);
    }
    for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 9, .blocks = kBlocks})) {
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, inputs));
        const BlockInverseOutputs twin = block_inverse_twin(desc, inputs);
        EXPECT_EQ(got.status, twin.status);
        EXPECT_EQ(got.out, twin.out);
        EXPECT_EQ(got.residual, twin.residual);
        EXPECT_EQ(retries_of(got.status[0]), 1U);
        EXPECT_EQ(got.status[7], 0U);
    }
}

}  // namespace
}  // namespace yolk
