// SPDX-License-Identifier: Apache-2.0
#include "yolk/reduce.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class reduce : public testing::DeviceTest {
   protected:
    Result<std::vector<std::uint32_t>> run(const ReduceDesc& desc, const std::vector<float>& in) {
        const RowBuffers buffers{device(), dispatcher()};
        YOLK_TRY(const auto input, buffers.filled(in, "reduce.in"));
        YOLK_TRY(const auto out, buffers.empty(sizeof(float) * desc.outer * desc.inner, "reduce.out"));
        YOLK_TRY(const ReducePlan plan, plan_reduce(device(), desc));
        YOLK_TRY(const BoundReduce bound, plan.bind({.in = input.view(), .out = out.view()}));
        YOLK_TRY_VOID(buffers.run(bound));
        return out.download<std::uint32_t>();
    }
};
YOLK_FOR_EACH_DEVICE(reduce);

// The order of the sum is what two roundings show: 2^24 + 1 rounds to 2^24, in chain 0, but not where the ones have
// met.
TEST_P(reduce, sums_are_made_in_32_chains_and_a_tree) {
    std::vector<float> in(64, 0.0F);
    in[0] = 0x1p24F;
    in[32] = 1.0F;  // the same chain: lost
    in[1] = 1.0F;   // chain 1, met by chain 17
    in[17] = 1.0F;
    for (const RowConfig& config : row_configs()) {
        ASSERT_OK_AND_ASSIGN(const auto got, run({.outer = 1, .columns = 64, .config = config}, in));
        EXPECT_THAT(got, ElementsAre(std::bit_cast<std::uint32_t>(0x1p24F + 2.0F)));
    }
}

TEST_P(reduce, maxima_and_minima_of_what_is_not_finite) {
    const std::vector<float> in{1.0F,       kInfinity,  0.5F,         // infinity
                                -kInfinity, -kInfinity, -kInfinity,   // all of them minus infinity
                                kInfinity,  -kNan,      kNan,         // NaN wins; its first place
                                -0.0F,      0x1p-41F,   -0x1p-149F};  // all of them zero
    for (const RowConfig& config : row_configs()) {
        ReduceDesc desc{.operation = ReduceOperation::Max, .outer = 4, .columns = 3, .config = config};
        ASSERT_OK_AND_ASSIGN(const auto largest, run(desc, in));
        EXPECT_THAT(largest, ElementsAre(0x7F800000U, 0xFF800000U, kNanBits, 0U));
        desc.operation = ReduceOperation::Argmax;
        ASSERT_OK_AND_ASSIGN(const auto places, run(desc, in));
        EXPECT_THAT(places, ElementsAre(1U, 0U, 1U, 0U));
        desc.operation = ReduceOperation::Min;
        ASSERT_OK_AND_ASSIGN(const auto smallest, run(desc, in));
        EXPECT_THAT(smallest, ElementsAre(0x3F000000U, 0xFF800000U, kNanBits, 0U));
    }
}

// Wherever the maximum lies, each of the first 70 places.
TEST_P(reduce, argmax_finds_every_place) {
    constexpr std::uint32_t kColumns = 70;
    std::vector<float> in(std::size_t{kColumns} * kColumns, -1.0F);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t place = 0; place < kColumns; ++place) {
        for (std::uint32_t k = place; k < kColumns; k += 3) in[place * kColumns + k] = 2.0F;
        expected.push_back(place);
    }
    for (const RowConfig& config : row_configs()) {
        ASSERT_OK_AND_ASSIGN(
            const auto got,
            run({.operation = ReduceOperation::Argmax, .outer = kColumns, .columns = kColumns, .config = config}, in));
        EXPECT_EQ(got, expected);
    }
}

// More rows than 65,535 workgroups of one row.
TEST_P(reduce, grids_beyond_one_dimension) {
    constexpr std::uint32_t kRows = 65537;
    const std::vector<float> in(kRows, 3.0F);
    ASSERT_OK_AND_ASSIGN(
        const auto got,
        run({.outer = kRows, .columns = 1, .config = RowConfig{.row_per_invocation = 1, .rows_per_workgroup = 1}}, in));
    EXPECT_THAT(got, Each(std::bit_cast<std::uint32_t>(3.0F)));
}

// The longest rows that the loop limit of lavapipe 22.3 allows, the same bits by both ways.
TEST_P(reduce, the_longest_rows) {
    for (const RowConfig& config : row_configs()) {
        for (const ReduceOperation operation : {ReduceOperation::Sum, ReduceOperation::Argmax}) {
            const std::uint32_t columns = operation == ReduceOperation::Sum ? 32 * 65534 : 32 * 32766;
            std::vector<float> in(columns);
            for (std::uint32_t k = 0; k < columns; ++k) in[k] = static_cast<float>(k % 1009) - 500.0F;
            in.back() = 1000.0F;
            const ReduceDesc desc{.operation = operation, .outer = 1, .columns = columns, .config = config};
            ASSERT_OK_AND_ASSIGN(const auto got, run(desc, in));
            EXPECT_EQ(got, reference::twin_result<std::uint32_t>(desc, {in}));
        }
    }
}

TEST_P(reduce, rows_beyond_the_loops_are_refused) {
    EXPECT_TRUE(refused_by_loops(device(), plan_reduce(device(), {.outer = 1, .columns = 256 * 65534 + 1}),
                                 "Use shorter rows"));
}

// The heuristic's lanes are too few where a driver limits loops; others are not.
TEST_P(reduce, rows_beyond_the_heuristics_loops_get_more_lanes) {
    const ReduceDesc desc{.operation = ReduceOperation::Sum, .outer = 1, .columns = 32 * 65534 + 1};
    ASSERT_OK_AND_ASSIGN(const ReducePlan plan, plan_reduce(device(), desc));
    EXPECT_TRUE(!device().findings().loop_limit || plan.config().lanes_per_row > 32U);
    std::vector<float> in(desc.columns);
    for (std::uint32_t k = 0; k < desc.columns; ++k) in[k] = static_cast<float>(k % 1009) - 500.0F;
    ASSERT_OK_AND_ASSIGN(const auto got, run(desc, in));
    EXPECT_EQ(got, reference::twin_result<std::uint32_t>(desc, {in}));
}

// A table of GPUs' defaults: more invocations share a row where rows are few, as long as each has elements.
TEST_P(reduce, few_long_rows_get_more_lanes_on_gpus_only) {
    struct Case {
        std::uint32_t outer, columns, lanes, rows;
    };
    DeviceInfo info = device().info();
    for (const Case& c : {Case{4096, 1024, 32, 2},
                          {1024, 1024, 64, 1},
                          {256, 1024, 256, 1},
                          {16, 65536, 256, 1},
                          {16, 64, 32, 2},
                          {16, 256, 64, 1},
                          {1, 1, 32, 2}}) {
        const ReduceDesc desc{.outer = c.outer, .columns = c.columns};
        info.kind = DeviceKind::Discrete;
        const RowConfig on_gpu = heuristic_of(info, desc);
        EXPECT_EQ(on_gpu.lanes_per_row, c.lanes) << c.outer << " x " << c.columns;
        EXPECT_EQ(on_gpu.rows_per_workgroup, c.rows) << c.outer << " x " << c.columns;
        EXPECT_EQ(on_gpu.row_per_invocation, 0U);
        EXPECT_OK(space_of(info, desc).check(on_gpu));
        info.kind = DeviceKind::Cpu;
        EXPECT_EQ(heuristic_of(info, desc).row_per_invocation, 1U);
        EXPECT_EQ(heuristic_of(info, desc).lanes_per_row, 32U);
    }
}

TEST_P(reduce, bad_descriptions_are_refused) {
    const auto refused = [&](const ReduceDesc& desc, const char* words) {
        return testing::expect_error(plan_reduce(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.outer = 1, .columns = 0}, "columns of [reduce]"));
    EXPECT_TRUE(refused({.operation = static_cast<ReduceOperation>(enum_words(ReduceOperation{}).size()), .outer = 1},
                        "operation of [reduce]"));
    EXPECT_TRUE(refused({.outer = 0xFFFFFFFFU, .columns = 0xFFFFFFFFU, .inner = 2}, "the in view of [reduce]"));
    EXPECT_TRUE(refused({.outer = 0x40000000U, .columns = 1}, "the in view of [reduce]"));
    EXPECT_TRUE(refused({.outer = 1, .config = RowConfig{.rows_per_workgroup = 3}}, "rows_per_workgroup"));
    EXPECT_TRUE(refused({.outer = 1, .config = RowConfig{.rows_per_workgroup = 16}}, "rows_per_workgroup"));
    EXPECT_TRUE(refused({.outer = 1, .config = RowConfig{.rows_per_workgroup = 2, .lanes_per_row = 256}}, "product"));
    EXPECT_TRUE(refused({.outer = 1, .config = RowConfig{.row_per_invocation = 1, .lanes_per_row = 64}}, "must be 32"));
    EXPECT_TRUE(refused({.outer = 1, .config = RowConfig{.row_per_invocation = 2}}, "row_per_invocation"));
}

TEST_P(reduce, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 2048, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(const ReducePlan plan, plan_reduce(device(), {.outer = 64, .columns = 4}));
    const BufferView in(buffer, 0, 1024);
    const auto refused = [&](const ReduceViews& views, const char* words) {
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind({.in = in, .out = {buffer, 1024, 256}}));
    EXPECT_TRUE(refused({.in = {buffer, 0, 1020}, .out = {buffer, 1024, 256}}, "the in view of [reduce]"));
    EXPECT_TRUE(refused({.in = in, .out = {buffer, 1024, 252}}, "the out view of [reduce]"));
    EXPECT_TRUE(refused({.in = in, .out = {buffer, 1028, 256}}, "the out view of [reduce]"));
    EXPECT_TRUE(refused({.in = in, .out = {buffer, 768, 256}}, "shares bytes"));
    EXPECT_TRUE(refused({.in = in, .out = {}}, "the out view of [reduce]"));
}

TEST_P(reduce, nothing_is_dispatched_for_no_rows) {
    for (const ReduceDesc& desc : {ReduceDesc{.outer = 0}, ReduceDesc{.outer = 1, .inner = 0}}) {
        ASSERT_OK_AND_ASSIGN(const ReducePlan plan, plan_reduce(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundReduce bound, plan.bind({}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

}  // namespace
}  // namespace yolk
