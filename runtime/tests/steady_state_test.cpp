// SPDX-License-Identifier: Apache-2.0
// In the steady state recording, submitting and waiting allocate nothing from the heap and make no Vulkan object.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "noise_work.hpp"
#include "watch/driver_watch.hpp"
#include "yolk/internal/testing/device_test.hpp"

#if YOLK_COUNTS_THE_HEAP

namespace yolk {
namespace {

using ::yolk::testing::DriverWatch;
using ::yolk::testing::own_allocations;

class steady_state : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(steady_state);

TEST_P(steady_state, counters_count) {
    const DriverWatch watch(device());
    const std::uint64_t before = own_allocations();
    void* (*const volatile allocate)(std::size_t) = std::malloc;  // volatile: compilers leave out what is only freed
    void* (*const volatile allocate_zeros)(std::size_t, std::size_t) = std::calloc;
    std::free(allocate(3));
    std::free(allocate_zeros(3, 5));
    EXPECT_EQ(own_allocations() - before, 2U);
    const std::vector<std::string> two(1, std::string(100, 'x'));  // operator new, by way of malloc
    EXPECT_GE(own_allocations() - before, 4U);
    EXPECT_EQ(watch.objects_created(), 0U);
    ASSERT_OK_AND_ASSIGN(const Recorder recorder, Recorder::create(device(), {.label = "r"}));
    EXPECT_EQ(watch.objects_created(), 2U);  // a pool and its command buffer
    EXPECT_GT(watch.driver_calls(), watch.objects_created());
}

TEST_P(steady_state, records_submits_and_waits_without_the_heap) {
    ASSERT_OK_AND_ASSIGN(const Buffer out, device().create_buffer({.size_bytes = 4000, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const Buffer copy, device().create_buffer({.size_bytes = 4000, .label = "copy"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(device(), out));
    ASSERT_OK_AND_ASSIGN(Recorder recorder,
                         Recorder::create(device(), {.timestamp_count = 2, .label = std::string(100, 'r')}));
    const auto generation = [&](std::uint32_t time) {
        recorder.begin();
        recorder.timestamp(0);
        {
            const ScopedLabel label(recorder, "a label that is too long for any small string");
            recorder.dispatch(noise, noise_params(time, 1000), noise_groups(1000));
        }
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.copy(out, copy);
        recorder.barrier(Barrier::ToHost);
        recorder.timestamp(1);
        const auto submitted = dispatcher().submit(recorder);
        return submitted.has_value() && dispatcher().poll(*submitted).has_value() &&
               dispatcher().wait(*submitted).has_value();
    };
    const DriverWatch watch(device());
    ASSERT_TRUE(generation(0) && generation(1));
    const OperationCounts counts = device().counts();
    const std::uint64_t calls = watch.driver_calls();
    const std::uint64_t objects = watch.objects_created();
    const std::uint64_t allocations = own_allocations();
    bool good = true;
    for (std::uint32_t time = 2; time < 102; ++time) good = generation(time) && good;
    EXPECT_EQ(own_allocations(), allocations);
    EXPECT_EQ(watch.objects_created(), objects);
    EXPECT_TRUE(good);
    EXPECT_GE(watch.driver_calls() - calls, 100U * 12);  // the calls of a generation went by the watch
    EXPECT_EQ(device().counts().dispatches, counts.dispatches + 100);
    EXPECT_EQ(device().counts().memory_blocks, counts.memory_blocks);
    EXPECT_EQ(device().counts().pipelines_created, counts.pipelines_created);
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), copy, 1000));
    EXPECT_EQ(got, expected_noise(101, 1000));
}

// Where memory is not mapped, bytes go through staging that is made once; in one piece, in all of them, and in more.
TEST_P(steady_state, transfers_without_the_heap) {
    const Device& apart = discrete_device();
    ASSERT_OK_AND_ASSIGN(Dispatcher own, Dispatcher::create(apart));
    constexpr std::size_t kLargest = (std::size_t{6} << 20U) + 1;
    ASSERT_OK_AND_ASSIGN(const Buffer target, apart.create_buffer({.size_bytes = kLargest, .label = "target"}));
    std::vector<std::byte> bytes(kLargest), got(kLargest);
    const auto round = [&](std::size_t size, unsigned salt) {
        for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + (i >> 9U) + salt) & 255U);
        const BufferView view(target, 0, size);
        return own.upload(view, std::span(bytes).first(size)).has_value() &&
               own.download(view, std::span(got).first(size)).has_value() &&
               std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(size), bytes.begin());
    };
    const DriverWatch watch(apart);
    ASSERT_TRUE(round(kLargest, 0));
    const OperationCounts counts = apart.counts();
    const std::uint64_t objects = watch.objects_created();
    const std::uint64_t allocations = own_allocations();
    bool good = true;
    for (unsigned i = 1; i < 100; ++i) good = round(i % 25 == 0 ? kLargest : std::size_t{1} << i % 20U, i) && good;
    EXPECT_EQ(own_allocations(), allocations);
    EXPECT_EQ(watch.objects_created(), objects);
    EXPECT_TRUE(good);
    EXPECT_EQ(apart.counts().buffers_created, counts.buffers_created);
    EXPECT_EQ(apart.counts().memory_blocks, counts.memory_blocks);
    EXPECT_GE(apart.counts().submissions, counts.submissions + 2 * 99);
}

}  // namespace
}  // namespace yolk

#endif
