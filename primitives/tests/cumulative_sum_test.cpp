// SPDX-License-Identifier: Apache-2.0
#include "yolk/cumulative_sum.hpp"

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;

class cumulative_sum : public testing::DeviceTest {
   protected:
    Result<std::vector<float>> run(const CumulativeSumDesc& desc, const std::vector<float>& in) {
        const RowBuffers buffers{device(), dispatcher()};
        YOLK_TRY(const auto input, buffers.filled(in, "in"));
        YOLK_TRY(const auto out, buffers.empty(sizeof(float) * in.size(), "out"));
        YOLK_TRY(const CumulativeSumPlan plan, plan_cumulative_sum(device(), desc));
        YOLK_TRY(const auto scratch, buffers.empty(plan.scratch().size_bytes, "scratch"));
        YOLK_TRY(const BoundCumulativeSum bound, plan.bind({.in = input.view(), .out = out.view()}, scratch.view()));
        YOLK_TRY_VOID(buffers.run(bound));
        return out.download<float>();
    }
};
YOLK_FOR_EACH_DEVICE(cumulative_sum);

/// Both ways, and the largest workgroups of the shared one.
constexpr std::array kConfigs{
    CumulativeSumConfig{}, CumulativeSumConfig{.chunks_per_workgroup = 4, .lanes_per_chunk = 64},
    CumulativeSumConfig{.lanes_per_chunk = 256},
    CumulativeSumConfig{.chunk_per_invocation = 1, .chunks_per_workgroup = 64, .lanes_per_chunk = 32}};

TEST_P(cumulative_sum, results_by_hand) {
    const std::vector<float> in{1, 2, 3, 4, 5, 6};
    for (const CumulativeSumConfig& config : kConfigs) {
        EXPECT_THAT(*run({.outer = 2, .columns = 3, .config = config}, in), ElementsAre(1, 3, 6, 4, 9, 15));
        EXPECT_THAT(*run({.outer = 1, .columns = 3, .inner = 2, .config = config}, in), ElementsAre(1, 2, 4, 6, 9, 12));
    }
}

// The order is what a rounding shows: 2^24 + 1 is 2^24. Ones that meet in a later run first are not lost.
TEST_P(cumulative_sum, runs_are_summed_before_they_meet) {
    std::vector<float> in(36, 0.0F);
    in[0] = 0x1p24F;
    in[1] = 1.0F;            // the same run: lost
    in[33] = in[34] = 1.0F;  // the next: 2, then 2^24 + 2
    for (const CumulativeSumConfig& config : kConfigs) {
        ASSERT_OK_AND_ASSIGN(const auto got, run({.outer = 1, .columns = 36, .config = config}, in));
        EXPECT_EQ(got[1], 0x1p24F);
        EXPECT_EQ(got[33], 0x1p24F);
        EXPECT_EQ(got[34], 0x1p24F + 2.0F);
        EXPECT_EQ(got[35], 0x1p24F + 2.0F);
    }
}

// What counts as zero, and what is not a number from its place on.
TEST_P(cumulative_sum, small_numbers_and_nan) {
    const std::vector<float> in{0x1p-101F, -0x1p-149F, 0x1p-100F, 1.0F, -kNan, 1.0F};
    const std::vector<float> right{0.0F, 0.0F, 0x1p-100F, 1.0F, kNan, kNan};
    for (const CumulativeSumConfig& config : kConfigs) {
        ASSERT_OK_AND_ASSIGN(const auto got, run({.outer = 1, .columns = 6, .config = config}, in));
        EXPECT_EQ(oracle::words_of(got), oracle::words_of(right));
    }
}

// A row of more than 1,024 chunks, so that the sums of chunks have chunks of their own.
TEST_P(cumulative_sum, long_rows_have_levels_of_chunks) {
    constexpr std::uint32_t kColumns = (1U << 20U) + 1500;
    std::vector<float> in(kColumns);
    for (std::uint32_t k = 0; k < kColumns; ++k) in[k] = static_cast<float>(k % 1009) * 0.37F - 186.0F;
    const auto twin = reference::twin_result<float>(CumulativeSumDesc{.outer = 1, .columns = kColumns}, {in});
    for (const CumulativeSumConfig& config : kConfigs) {
        const CumulativeSumDesc desc{.outer = 1, .columns = kColumns, .config = config};
        ASSERT_OK_AND_ASSIGN(const auto got, run(desc, in));
        EXPECT_EQ(oracle::words_of(got), oracle::words_of(twin));
    }
}

TEST_P(cumulative_sum, dispatches_and_scratch_follow_the_columns) {
    struct Case {
        std::uint32_t columns;
        std::size_t dispatches;
        std::uint64_t scratch_bytes;
    };
    for (const Case& c :
         {Case{0, 0, 0}, {1024, 1, 0}, {1025, 3, 256}, {1U << 20U, 3, 4096}, {(1U << 20U) + 1, 5, 4608}}) {
        ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1U << 23U, .label = "a"}));
        ASSERT_OK_AND_ASSIGN(const Buffer b, device().create_buffer({.size_bytes = 1U << 23U, .label = "b"}));
        ASSERT_OK_AND_ASSIGN(const Buffer scratch, device().create_buffer({.size_bytes = 8192, .label = "scratch"}));
        ASSERT_OK_AND_ASSIGN(const auto plan, plan_cumulative_sum(device(), {.outer = 1, .columns = c.columns}));
        EXPECT_EQ(plan.scratch().size_bytes, c.scratch_bytes) << c.columns;
        const std::uint64_t bytes = sizeof(float) * c.columns;
        ASSERT_OK_AND_ASSIGN(
            const auto bound,
            plan.bind({.in = BufferView(a, 0, bytes), .out = BufferView(b, 0, bytes)}, BufferView(scratch, 0, 8192)));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        EXPECT_EQ(recorder.dispatch_count(), c.dispatches) << c.columns;
    }
}

TEST_P(cumulative_sum, bad_descriptions_are_refused) {
    const auto refused = [&](const CumulativeSumDesc& desc, const char* what) {
        return testing::expect_error(plan_cumulative_sum(device(), desc), ErrorKind::BadInput, what);
    };
    const auto configured = [](CumulativeSumConfig config) {
        return CumulativeSumDesc{.outer = 1, .columns = 2, .config = config};
    };
    EXPECT_TRUE(refused(configured({0, 8, 32}), "[cumulative_sum] was given 8 chunks per workgroup of 32 lanes"));
    EXPECT_TRUE(refused(configured({0, 4, 128}), "[cumulative_sum] was given 4 chunks per workgroup of 128 lanes"));
    EXPECT_TRUE(refused(configured({1, 8, 64}), "lanes_per_chunk of [cumulative_sum] is 64; it is 32"));
    EXPECT_TRUE(refused(configured({1, 512, 32}), "cumulative_sum"));
    constexpr std::uint32_t kMany = 0xFFFFFFFFU;
    EXPECT_TRUE(refused({.outer = kMany, .columns = kMany, .inner = kMany}, "the in view of [cumulative_sum]"));
}

}  // namespace
}  // namespace yolk
