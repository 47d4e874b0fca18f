// SPDX-License-Identifier: Apache-2.0
// What block_inverse refuses, and how it cuts its work into windows.
#include <gmock/gmock.h>

#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "block_inverse_device.hpp"
#include "special_floats.hpp"

namespace yolk {
namespace {

class block_inverse_plans : public BlockInverseTest {};
YOLK_FOR_EACH_DEVICE(block_inverse_plans);

TEST_P(block_inverse_plans, gpus_take_half_tiles) {
    DeviceInfo info = device().info();
    for (const std::uint32_t n : {8U, 9U, 128U}) {
        for (const InverseMode mode : {InverseMode::Spd, InverseMode::Symmetric}) {
            const BlockInverseDesc desc{.n = n, .blocks = 4, .mode = mode};
            info.kind = DeviceKind::Cpu;
            EXPECT_EQ(heuristic_of(info, desc).tile_rows, 8U);
            info.kind = DeviceKind::Discrete;
            EXPECT_EQ(heuristic_of(info, desc).tile_rows, 4U);
            EXPECT_OK(space_of(info, desc).check(heuristic_of(info, desc)));
        }
    }
}

TEST_P(block_inverse_plans, bad_descriptions_are_refused) {
    const auto refused = [&](const BlockInverseDesc& desc, const char* words) {
        return testing::expect_error(plan_block_inverse(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.n = 1025, .blocks = 1}, "n of [block_inverse]"));
    EXPECT_TRUE(refused({.n = 2, .blocks = 1, .mode = static_cast<InverseMode>(2)},
                        "mode of [block_inverse] is 2; it is spd or symmetric"));
    EXPECT_TRUE(refused({.n = 2, .blocks = 1, .retries = 9}, "retries of [block_inverse]"));
    for (const float damping : {-1.0F, 0x1p-41F, 0x1p21F, kNan})
        EXPECT_TRUE(refused({.n = 2, .blocks = 1, .damping = damping}, "The damping of [block_inverse]"));
    EXPECT_TRUE(refused({.n = 2, .blocks = 1, .damping = 1e-3F, .damping_per_block = true}, "Use one of them"));
    EXPECT_TRUE(refused({.n = 2, .blocks = 0xFFFFFFFFU}, "the status view of [block_inverse]"));
    EXPECT_TRUE(refused({.n = 2, .blocks = 1, .config = BlockInverseConfig{.style = 1}}, "style is 1"));
    EXPECT_TRUE(refused({.n = 33, .blocks = 1, .config = BlockInverseConfig{.style = 0}}, "at most 32 rows"));
    EXPECT_TRUE(refused({.n = 2, .blocks = 1, .mode = InverseMode::Symmetric, .config = BlockInverseConfig{.style = 2}},
                        "style"));
    EXPECT_TRUE(refused({.n = 2, .blocks = 1, .config = BlockInverseConfig{.style = 3}}, "style"));
}

TEST_P(block_inverse_plans, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 1U << 16U, .label = "all"}));
    ASSERT_OK_AND_ASSIGN(const BlockInversePlan plan,
                         plan_block_inverse(device(), {.n = 3, .blocks = 4, .damping_per_block = true}));
    const BlockInverseViews right{.in = {buffer, 0, 144},
                                  .damping = {buffer, 256, 16},
                                  .out = {buffer, 512, 144},
                                  .status = {buffer, 768, 16},
                                  .residual = {buffer, 1024, 16}};
    const BufferView scratch(buffer, 4096, plan.scratch().size_bytes);
    EXPECT_OK(plan.bind(right, scratch));
    const auto refused = [&](BufferView BlockInverseViews::*view, const BufferView& wrong, const char* words) {
        BlockInverseViews views = right;
        views.*view = wrong;
        return testing::expect_error(plan.bind(views, scratch), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused(&BlockInverseViews::in, {buffer, 0, 140}, "the in view"));
    EXPECT_TRUE(refused(&BlockInverseViews::damping, {}, "the damping view"));
    EXPECT_TRUE(refused(&BlockInverseViews::out, {buffer, 516, 144}, "the out view"));
    EXPECT_TRUE(refused(&BlockInverseViews::status, {buffer, 768, 12}, "the status view"));
    EXPECT_TRUE(refused(&BlockInverseViews::residual, {buffer, 768, 16}, "shares bytes"));
    EXPECT_TRUE(refused(&BlockInverseViews::out, {buffer, 0, 144}, "shares bytes"));
    EXPECT_TRUE(testing::expect_error(plan.bind(right, {buffer, 4096, plan.scratch().least_bytes - 4}),
                                      ErrorKind::BadInput, "the scratch view"));
}

TEST_P(block_inverse_plans, nothing_is_dispatched_for_no_blocks) {
    for (const BlockInverseDesc& desc :
         {BlockInverseDesc{.n = 0, .blocks = 3}, BlockInverseDesc{.n = 3, .blocks = 0}}) {
        ASSERT_OK_AND_ASSIGN(const BlockInversePlan plan, plan_block_inverse(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundBlockInverse bound, plan.bind({}, {}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

std::vector<float> plain_blocks(std::uint32_t n, std::uint32_t blocks) {
    std::vector<float> values;
    for (std::uint32_t b = 0; b < blocks; ++b) {
        for (std::uint32_t i = 0; i < n; ++i) {
            for (std::uint32_t j = 0; j < n; ++j)
                values.push_back(i == j ? 2.0F : static_cast<float>((i * j + b) % 7) / static_cast<float>(8 * n));
        }
    }
    return values;
}

// Windows of blocks begin in the middle of an alignment; the least scratch has one block in each.
TEST_P(block_inverse_plans, less_scratch_gives_the_same_bits) {
    for (const InverseMode mode : {InverseMode::Spd, InverseMode::Symmetric}) {
        for (const BlockInverseDesc& desc : descs_of_all_styles({.n = 5, .blocks = 23, .mode = mode, .retries = 0})) {
            const BlockInverseInputs inputs{.in = plain_blocks(5, 23)};
            const BlockInverseOutputs twin = block_inverse_twin(desc, inputs);
            ASSERT_OK_AND_ASSIGN(const BlockInversePlan plan, plan_block_inverse(device(), desc));
            for (const std::uint64_t bytes : {plan.scratch().least_bytes, plan.scratch().size_bytes / 3}) {
                ASSERT_OK_AND_ASSIGN(const auto got, run(desc, inputs, bytes));
                EXPECT_EQ(got.out, twin.out);
                EXPECT_EQ(got.status, twin.status);
                EXPECT_EQ(got.residual, twin.residual);
            }
        }
    }
}

// Kronecker factors of a network: blocks of several sizes, recorded into one submission.
TEST_P(block_inverse_plans, blocks_of_different_sizes_in_one_submission) {
    const RowBuffers buffers{device(), dispatcher()};
    std::deque<oracle::GuardedBuffer> kept;
    const auto keep = [&](Result<oracle::GuardedBuffer> buffer) -> Result<BufferView> {
        YOLK_TRY(oracle::GuardedBuffer made, std::move(buffer));
        kept.push_back(std::move(made));
        return kept.back().view();
    };
    const std::array sizes{1U, 6U, 19U, 41U};
    std::vector<BoundBlockInverse> bound;
    std::vector<std::size_t> outputs;
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    for (const std::uint32_t n : sizes) {
        const std::vector<float> values = plain_blocks(n, 3);
        ASSERT_OK_AND_ASSIGN(const BlockInversePlan plan,
                             plan_block_inverse(device(), {.n = n, .blocks = 3, .damping = 1e-3F}));
        BlockInverseViews views;
        ASSERT_OK_AND_ASSIGN(views.in, keep(buffers.filled(values, "in")));
        ASSERT_OK_AND_ASSIGN(views.out, keep(buffers.empty(sizeof(float) * values.size(), "out")));
        outputs.push_back(kept.size() - 1);
        ASSERT_OK_AND_ASSIGN(views.status, keep(buffers.empty(12, "status")));
        ASSERT_OK_AND_ASSIGN(views.residual, keep(buffers.empty(12, "residual")));
        ASSERT_OK_AND_ASSIGN(const BufferView scratch, keep(buffers.empty(plan.scratch().size_bytes, "scratch")));
        ASSERT_OK_AND_ASSIGN(BoundBlockInverse one, plan.bind(views, scratch));
        one.record(recorder);
        bound.push_back(std::move(one));
    }
    ASSERT_OK(dispatcher().run(recorder));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        ASSERT_OK_AND_ASSIGN(const std::vector<float> out, kept[outputs[i]].download<float>());
        const BlockInverseDesc desc{.n = sizes[i], .blocks = 3, .damping = 1e-3F};
        const BlockInverseInputs inputs{.in = plain_blocks(sizes[i], 3)};
        EXPECT_EQ(out, block_inverse_twin(desc, inputs).out) << sizes[i];
    }
}

// Where loops are cut, a block of many rows takes several dispatches for each pass, and comes out the same.
TEST_P(block_inverse_plans, blocks_of_many_rows) {
    const std::uint32_t n = 129;
    const BlockInverseInputs inputs{.in = plain_blocks(n, 2)};
    for (const InverseMode mode : {InverseMode::Spd, InverseMode::Symmetric}) {
        const BlockInverseDesc desc{.n = n, .blocks = 2, .mode = mode, .retries = 0};
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, inputs));
        const BlockInverseOutputs twin = block_inverse_twin(desc, inputs);
        EXPECT_EQ(got.out, twin.out);
        EXPECT_EQ(got.residual, twin.residual);
        EXPECT_THAT(got.status, ::testing::Each(0U));
    }
}

// A block of Symmetric is one workgroup, which no recorder can cut: the plan does, and takes lanes enough for the
// loops.
TEST_P(block_inverse_plans, symmetric_blocks_of_any_number_of_rows) {
    EXPECT_OK(plan_block_inverse(device(), {.n = 1024, .blocks = 1, .mode = InverseMode::Symmetric}));
    const auto expect_twin = [&](std::uint32_t n) {
        const BlockInverseInputs inputs{.in = plain_blocks(n, 1)};
        const BlockInverseDesc desc{.n = n, .blocks = 1, .mode = InverseMode::Symmetric};
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, inputs));
        const BlockInverseOutputs twin = block_inverse_twin(desc, inputs);
        EXPECT_EQ(got.out, twin.out);
        EXPECT_EQ(got.residual, twin.residual);
        EXPECT_EQ(got.status, twin.status);
    };
    expect_twin(64);
    const std::uint64_t uncut = dispatches_;
    expect_twin(513);
    EXPECT_GE(dispatches_, uncut + 513 / ((1U << 24U) / (513 * 513)));
}

}  // namespace
}  // namespace yolk
