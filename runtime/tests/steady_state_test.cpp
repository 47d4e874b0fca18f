// SPDX-License-Identifier: Apache-2.0
// In the steady state a submission allocates nothing from the heap. Counted by replacing operator new in this
// executable, on lavapipe only and without the validation layer: those two are written in C (malloc), so what is
// counted is ours; SwiftShader and the layers are C++ and would be counted, too. Sanitizers bring their own operator
// new.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <cstdlib>
#include <new>
#include <vector>

#include "noise_work.hpp"
#include "yolk/testing/device_test.hpp"

namespace {
thread_local std::uint64_t allocations = 0;
}

void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace yolk {
namespace {

TEST(steady_state, records_submits_and_waits_without_the_heap) {
    ASSERT_OK_AND_ASSIGN(const Instance instance, Instance::create());
    ASSERT_OK_AND_ASSIGN(const Device device, Device::create(instance, yolk::testing::device_index("lavapipe")));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(device));
    ASSERT_OK_AND_ASSIGN(const Buffer out, device.create_buffer({.size_bytes = 4000, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const Buffer copy, device.create_buffer({.size_bytes = 4000, .label = "copy"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(device, out));
    ASSERT_OK_AND_ASSIGN(Recorder recorder,
                         Recorder::create(device, {.timestamp_count = 2, .label = std::string(100, 'r')}));
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
        const auto submitted = dispatcher.submit(recorder);
        return submitted.has_value() && dispatcher.poll(*submitted).has_value() &&
               dispatcher.wait(*submitted).has_value();
    };
    ASSERT_TRUE(generation(0));
    const std::uint64_t before = allocations;
    EXPECT_GT(before, 0U);  // the counter counts
    const OperationCounts counts = device.counts();
    bool good = true;
    for (std::uint32_t time = 1; time <= 10; ++time) good = generation(time) && good;
    EXPECT_EQ(allocations, before);
    EXPECT_TRUE(good);
    EXPECT_EQ(device.counts().dispatches, counts.dispatches + 10);
    EXPECT_EQ(device.counts().memory_blocks, counts.memory_blocks);
    EXPECT_EQ(device.counts().pipelines_created, counts.pipelines_created);
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher, copy, 1000));
    EXPECT_EQ(got, expected_noise(10, 1000));
}

}  // namespace
}  // namespace yolk

#endif
