// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/transpose.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/oracle/guarded.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;

class transpose : public testing::DeviceTest {
   protected:
    Result<std::vector<std::uint32_t>> run(const TransposeDesc& desc, const std::vector<std::uint32_t>& words) {
        const std::uint64_t size_bytes = sizeof(std::uint32_t) * words.size();
        YOLK_TRY(const auto source,
                 oracle::GuardedBuffer::create(device(), dispatcher(), size_bytes, oracle::kPoisons[0], "source"));
        YOLK_TRY(const auto out,
                 oracle::GuardedBuffer::create(device(), dispatcher(), size_bytes, oracle::kPoisons[0], "out"));
        YOLK_TRY_VOID(source.upload(words));
        YOLK_TRY(const TransposePlan plan, plan_transpose(device(), desc));
        YOLK_TRY(const BoundTranspose bound, plan.bind({.source = source.view(), .out = out.view()}));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return out.download<std::uint32_t>();
    }
};
YOLK_FOR_EACH_DEVICE(transpose);

TEST_P(transpose, each_member_by_itself) {
    ASSERT_OK_AND_ASSIGN(const auto got,
                         run({.members = 2, .rows = 2, .columns = 3}, {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16}));
    EXPECT_THAT(got, ElementsAre(1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16));
}

// More tiles than one dimension of a grid takes: 65,537 members of one element.
TEST_P(transpose, grids_beyond_one_dimension) {
    std::vector<std::uint32_t> words(65537);
    for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i;
    ASSERT_OK_AND_ASSIGN(const auto got,
                         run({.members = 65537,
                              .rows = 1,
                              .columns = 1,
                              .config = TransposeConfig{.workgroup_size = 1, .tile_rows = 8, .tile_columns = 8}},
                             words));
    EXPECT_EQ(got, words);
}

TEST_P(transpose, bad_configurations_are_refused) {
    for (const TransposeConfig& config :
         {TransposeConfig{.workgroup_size = 0}, TransposeConfig{.workgroup_size = 512}, TransposeConfig{.tile_rows = 0},
          TransposeConfig{.tile_rows = 128}, TransposeConfig{.tile_columns = 12}, TransposeConfig{.staged = 2},
          TransposeConfig{.padding = 2}, TransposeConfig{.staged = 0, .padding = 1}}) {
        EXPECT_TRUE(testing::expect_error(plan_transpose(device(), {.rows = 1, .columns = 1, .config = config}),
                                          ErrorKind::BadInput, "transpose"));
    }
}

TEST_P(transpose, sizes_beyond_a_binding_are_refused) {
    for (const std::uint32_t members : {1U, 0xFFFFFFFFU}) {
        EXPECT_TRUE(testing::expect_error(
            plan_transpose(device(), {.members = members, .rows = 0xFFFFFFFFU, .columns = 0xFFFFFFFFU}),
            ErrorKind::BadInput, "the source view of [transpose]"));
    }
}

TEST_P(transpose, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer a, device().create_buffer({.size_bytes = 1024, .label = "a"}));
    ASSERT_OK_AND_ASSIGN(const TransposePlan plan, plan_transpose(device(), {.rows = 8, .columns = 8}));
    const BufferView low(a, 0, 256), high(a, 256, 256);
    const auto refused = [&](const BufferView& source, const BufferView& out, const char* what) {
        return testing::expect_error(plan.bind({.source = source, .out = out}), ErrorKind::BadInput, what);
    };
    EXPECT_OK(plan.bind({.source = low, .out = high}));
    EXPECT_TRUE(refused(low, low, "[transpose]"));
    EXPECT_TRUE(refused(BufferView(a, 0, 252), high, "the source view of"));
    EXPECT_TRUE(refused(low, BufferView(a, 896, 256), "the out view of"));
    EXPECT_TRUE(refused(low, BufferView(a, 384, 256), "the out view of"));
    EXPECT_TRUE(refused(low, {}, "the out view of"));
}

TEST_P(transpose, nothing_is_dispatched_for_zero_elements) {
    ASSERT_OK_AND_ASSIGN(const TransposePlan plan, plan_transpose(device(), {.rows = 5}));
    ASSERT_OK_AND_ASSIGN(const BoundTranspose bound, plan.bind({}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.begin();
    bound.record(recorder);
    EXPECT_EQ(recorder.dispatch_count(), 0U);
}

}  // namespace
}  // namespace yolk
