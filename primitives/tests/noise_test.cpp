// SPDX-License-Identifier: Apache-2.0
#include "yolk/noise.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr NoiseStream kStream{.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7};

class noise : public testing::DeviceTest {
   protected:
    template <class T>
    Result<std::vector<T>> run(const NoiseDesc& desc, const NoiseStream& stream) {
        const std::uint64_t size_bytes = sizeof(T) * desc.element_count * desc.pair_count;
        YOLK_TRY(const auto out,
                 oracle::GuardedBuffer::create(device(), dispatcher(), size_bytes, oracle::kPoisons[0], "noise.out"));
        YOLK_TRY(const NoisePlan plan, plan_noise(device(), desc));
        YOLK_TRY(const BoundNoise bound, plan.bind({.out = out.view()}));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, stream);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return out.download<T>();
    }
};
YOLK_FOR_EACH_DEVICE(noise);

// The check vector of the numeric contract, from the device.
TEST_P(noise, contract_vector) {
    ASSERT_OK_AND_ASSIGN(const auto got, run<std::int32_t>({.element_count = 8}, kStream));
    EXPECT_THAT(got, ElementsAre(-8, 13, 2, -6, 13, -15, -9, 6));
}

// A stream is the same whether its pairs are made at once or one by one.
TEST_P(noise, pairs_do_not_depend_on_the_range_they_are_made_in) {
    ASSERT_OK_AND_ASSIGN(const auto together, run<std::int32_t>({.element_count = 13, .pair_count = 3}, kStream));
    std::vector<std::int32_t> one_by_one;
    for (std::uint32_t pair = 0; pair < 3; ++pair) {
        NoiseStream stream = kStream;
        stream.pair += pair;
        ASSERT_OK_AND_ASSIGN(const auto part, run<std::int32_t>({.element_count = 13}, stream));
        one_by_one.insert(one_by_one.end(), part.begin(), part.end());
    }
    EXPECT_THAT(together, ElementsAreArray(one_by_one));
}

// More than 65,535 workgroups are folded into the second dimension of the grid. One invocation of one block per group
// is the smallest such grid: 65,537 pairs of one element.
TEST_P(noise, grids_beyond_one_dimension) {
    const NoiseDesc desc{.element_count = 1, .pair_count = 65537, .config = NoiseConfig{.workgroup_size = 1}};
    ASSERT_OK_AND_ASSIGN(const auto got, run<std::int32_t>(desc, kStream));
    EXPECT_EQ(got, reference::twin_result<std::int32_t>(desc, {}, kStream));
}

TEST_P(noise, bad_configurations_are_refused) {
    const auto planned = [&](std::uint32_t workgroup_size, std::uint32_t blocks) {
        return plan_noise(device(),
                          {.element_count = 1,
                           .config = NoiseConfig{.workgroup_size = workgroup_size, .blocks_per_invocation = blocks}});
    };
    for (const std::uint32_t workgroup_size : {0U, 257U}) {
        EXPECT_TRUE(
            testing::expect_error(planned(workgroup_size, 1), ErrorKind::BadInput, "workgroup_size of [noise]"));
    }
    for (const std::uint32_t blocks : {0U, 9U}) {
        EXPECT_TRUE(
            testing::expect_error(planned(64, blocks), ErrorKind::BadInput, "blocks_per_invocation of [noise]"));
    }
}

// 2^66 bytes do not fit in 64 bits, 2^34 in no binding.
TEST_P(noise, sizes_beyond_a_binding_are_refused) {
    for (const std::uint32_t pairs : {0xFFFFFFFFU, 1U}) {
        EXPECT_TRUE(testing::expect_error(plan_noise(device(), {.element_count = 0xFFFFFFFFU, .pair_count = pairs}),
                                          ErrorKind::BadInput, "the out view of [noise]"));
    }
}

TEST_P(noise, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 1024, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(const NoisePlan plan, plan_noise(device(), {.element_count = 64, .pair_count = 2}));
    const auto bind = [&](const BufferView& view) { return plan.bind({.out = view}); };
    const auto refused = [&](const BufferView& view) {
        return testing::expect_error(bind(view), ErrorKind::BadInput, "the out view of [noise]");
    };
    EXPECT_OK(bind(BufferView(buffer, 512, 512)));
    EXPECT_TRUE(refused(BufferView(buffer, 0, 508)));    // too short
    EXPECT_TRUE(refused(BufferView(buffer, 128, 512)));  // misaligned
    EXPECT_TRUE(refused(BufferView(buffer, 768, 512)));  // past the end
    EXPECT_TRUE(refused(BufferView{}));
}

TEST_P(noise, nothing_is_dispatched_for_zero_elements) {
    for (const NoiseDesc& desc : {NoiseDesc{.element_count = 0}, NoiseDesc{.element_count = 1, .pair_count = 0}}) {
        ASSERT_OK_AND_ASSIGN(const NoisePlan plan, plan_noise(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundNoise bound, plan.bind({}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder, kStream);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

}  // namespace
}  // namespace yolk
