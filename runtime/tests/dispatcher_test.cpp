// SPDX-License-Identifier: Apache-2.0
#include "yolk/dispatcher.hpp"

#include <chrono>
#include <vector>

#include "gate.hpp"
#include "noise_work.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using std::chrono::milliseconds;
using yolk::testing::expect_error;

constexpr std::uint32_t kNumbers = 3001;

class dispatching : public yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        ASSERT_OK_AND_ASSIGN(out_, device().create_buffer({.size_bytes = kNumbers * 4, .label = "out"}));
        ASSERT_OK_AND_ASSIGN(noise_, bind_noise(device(), out_));
    }
    Buffer out_;
    NoiseBinding noise_;
};
YOLK_FOR_EACH_DEVICE(dispatching);

TEST_P(dispatching, runs_a_kernel) {
    const OperationCounts before = device().counts();
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.dispatch(noise_, noise_params(7, kNumbers), noise_groups(kNumbers));
    EXPECT_EQ(recorder.dispatch_count(), 1U);
    EXPECT_EQ(device().counts().dispatches, before.dispatches);  // counted when submitted
    ASSERT_OK(dispatcher().run(recorder));
    EXPECT_EQ(device().counts().dispatches, before.dispatches + 1);
    EXPECT_EQ(device().counts().submissions, before.submissions + 1);
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), out_, kNumbers));
    EXPECT_EQ(got, expected_noise(7, kNumbers));
}

TEST_P(dispatching, runs_a_kernel_on_discrete_memory) {
    ASSERT_OK_AND_ASSIGN(const Buffer out,
                         discrete_device().create_buffer({.size_bytes = kNumbers * 4, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding bound, bind_noise(discrete_device(), out));
    ASSERT_OK_AND_ASSIGN(const Buffer readback,
                         discrete_device().create_buffer(
                             {.size_bytes = kNumbers * 4, .domain = MemoryDomain::Readback, .label = "readback"}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(discrete_device()));
    recorder.dispatch(bound, noise_params(8, kNumbers), noise_groups(kNumbers));
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.copy(out, readback);
    recorder.barrier(Barrier::ToHost);
    ASSERT_OK(discrete_dispatcher().run(recorder));
    ASSERT_OK(readback.invalidate());
    const auto* values = reinterpret_cast<const std::int32_t*>(readback.mapped().data());
    EXPECT_EQ(std::vector<std::int32_t>(values, values + kNumbers), expected_noise(8, kNumbers));
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(discrete_dispatcher(), out, kNumbers));
    EXPECT_EQ(got, expected_noise(8, kNumbers));
}

TEST_P(dispatching, replays_a_recording_on_new_data) {
    ASSERT_OK_AND_ASSIGN(const Buffer in, device().create_buffer({.size_bytes = 64, .label = "in"}));
    ASSERT_OK_AND_ASSIGN(const Buffer copy, device().create_buffer({.size_bytes = 64, .label = "copy"}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.copy(in, copy);
    recorder.dispatch(noise_, noise_params(1, kNumbers), noise_groups(kNumbers));
    const std::uint64_t dispatches = device().counts().dispatches;
    const std::vector<std::int32_t> wrong(kNumbers, -1);
    for (std::int32_t round = 0; round < 3; ++round) {
        const std::vector<std::int32_t> data(16, round + 100);
        ASSERT_OK(dispatcher().upload(in, std::as_bytes(std::span(data))));
        ASSERT_OK(dispatcher().upload(out_, std::as_bytes(std::span(wrong))));
        ASSERT_OK(dispatcher().run(recorder));
        ASSERT_OK_AND_ASSIGN(const auto copied, download_ints(dispatcher(), copy, 16));
        EXPECT_EQ(copied, data);
        ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), out_, kNumbers));
        EXPECT_EQ(got, expected_noise(1, kNumbers));
    }
    EXPECT_EQ(device().counts().dispatches, dispatches + 3);
}

TEST_P(dispatching, keeps_the_order_of_submissions_without_waiting) {
    ASSERT_OK_AND_ASSIGN(Recorder first, Recorder::create(device()));
    first.dispatch(noise_, noise_params(1, kNumbers), noise_groups(kNumbers));
    ASSERT_OK_AND_ASSIGN(Recorder second, Recorder::create(device()));
    second.fill({out_, 0, 400}, 0);
    Submission last;
    for (int i = 0; i < 5; ++i) {
        ASSERT_OK(dispatcher().submit(first));
        ASSERT_OK_AND_ASSIGN(last, dispatcher().submit(second));
    }
    ASSERT_OK(dispatcher().wait(last));
    std::vector<std::int32_t> expected = expected_noise(1, kNumbers);
    std::fill_n(expected.begin(), 100, 0);
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), out_, kNumbers));
    EXPECT_EQ(got, expected);
}

TEST_P(dispatching, chains_two_dispatchers) {
    ASSERT_OK_AND_ASSIGN(Dispatcher producer, Dispatcher::create(device()));
    ASSERT_OK_AND_ASSIGN(Dispatcher consumer, Dispatcher::create(device()));
    ASSERT_OK_AND_ASSIGN(const Buffer copy, device().create_buffer({.size_bytes = kNumbers * 4, .label = "copy"}));
    ASSERT_OK_AND_ASSIGN(Recorder produce, Recorder::create(device()));
    produce.dispatch(noise_, noise_params(4, kNumbers), noise_groups(kNumbers));
    ASSERT_OK_AND_ASSIGN(Recorder consume, Recorder::create(device()));
    consume.copy(out_, copy);
    Gate gate(device());
    ASSERT_OK_AND_ASSIGN(const Submission made, producer.submit(produce));
    ASSERT_OK_AND_ASSIGN(const Submission used, consumer.submit(consume, std::span(&made, 1)));
    ASSERT_OK_AND_ASSIGN(const bool early, consumer.poll(used));
    EXPECT_FALSE(early);
    gate.open();
    ASSERT_OK(consumer.wait(used));
    ASSERT_OK_AND_ASSIGN(const bool produced, producer.poll(made));
    EXPECT_TRUE(produced);
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(consumer, copy, kNumbers));
    EXPECT_EQ(got, expected_noise(4, kNumbers));
}

TEST_P(dispatching, names_the_work_that_does_not_finish_in_time) {
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.timestamp_count = 0, .label = "generation"}));
    {
        const ScopedLabel label(recorder, "es_update");
        recorder.dispatch(noise_, noise_params(5, kNumbers), noise_groups(kNumbers));
    }
    Gate gate(device());
    ASSERT_OK_AND_ASSIGN(const Submission slow, dispatcher().submit(recorder));
    ASSERT_OK_AND_ASSIGN(const bool finished, dispatcher().poll(slow));
    EXPECT_FALSE(finished);
    for (const milliseconds timeout : {milliseconds(0), milliseconds(5), milliseconds(-5)}) {
        const auto waited = dispatcher().wait(slow, timeout);
        EXPECT_TRUE(
            expect_error(waited, ErrorKind::Driver, "of the recorder [generation], last labelled work [es_update]"));
    }
    gate.open();
    EXPECT_OK(dispatcher().wait(slow));
    ASSERT_OK_AND_ASSIGN(const bool now, dispatcher().poll(slow));
    EXPECT_TRUE(now);
}

TEST_P(dispatching, names_the_work_on_which_the_device_was_lost) {
    const auto message = "was lost during submission 1 of the recorder [generation], last labelled work [rollout]";
    const auto lose = [this](const auto& provoke) {
        ASSERT_OK_AND_ASSIGN(const Device own, Device::create(yolk::testing::instance(), device().info().index));
        ASSERT_OK_AND_ASSIGN(Dispatcher lost, Dispatcher::create(own));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(own, {.timestamp_count = 0, .label = "generation"}));
        recorder.begin_label("rollout");
        recorder.end_label();
        ASSERT_OK_AND_ASSIGN(const Submission made, lost.submit(recorder));
        VolkDeviceTable& driver = own.impl()->context.vk;
        const VolkDeviceTable healthy = driver;
        driver.vkQueueSubmit = [](VkQueue, std::uint32_t, const VkSubmitInfo*, VkFence) {
            return VK_ERROR_DEVICE_LOST;
        };
        driver.vkWaitSemaphores = [](VkDevice, const VkSemaphoreWaitInfo*, std::uint64_t) {
            return VK_ERROR_DEVICE_LOST;
        };
        driver.vkGetSemaphoreCounterValue = [](VkDevice, VkSemaphore, std::uint64_t*) { return VK_ERROR_DEVICE_LOST; };
        provoke(lost, recorder, made);
        driver = healthy;
    };
    lose([&](Dispatcher& lost, Recorder&, Submission made) {
        EXPECT_TRUE(expect_error(lost.wait(made), ErrorKind::DeviceLost, message));
    });
    lose([&](Dispatcher& lost, Recorder&, Submission made) {
        EXPECT_TRUE(expect_error(lost.wait(made, milliseconds(5)), ErrorKind::DeviceLost, message));
    });
    lose([&](Dispatcher& lost, Recorder&, Submission made) {
        EXPECT_TRUE(expect_error(lost.poll(made), ErrorKind::DeviceLost, message));
    });
    lose([&](Dispatcher& lost, Recorder& recorder, Submission) {
        EXPECT_TRUE(
            expect_error(lost.submit(recorder), ErrorKind::DeviceLost,
                         "was lost during the submission of the recorder [generation], last labelled work [rollout]"));
    });
}

TEST_P(dispatching, refuses_submissions_that_are_not_its_own) {
    ASSERT_OK_AND_ASSIGN(Dispatcher own, Dispatcher::create(device()));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.timestamp_count = 0, .label = "work"}));
    ASSERT_OK_AND_ASSIGN(const Submission made, own.submit(recorder));
    EXPECT_TRUE(expect_error(dispatcher().wait(made), ErrorKind::BadInput, "was not made by this dispatcher"));
    EXPECT_TRUE(expect_error(dispatcher().poll(made), ErrorKind::BadInput, "was not made by this dispatcher"));
    EXPECT_TRUE(expect_error(own.wait(Submission{}), ErrorKind::BadInput, "was not made by this dispatcher"));
    const Submission future{.dispatcher = &own, .serial = SubmitSerial(made.serial.value + 1)};
    EXPECT_TRUE(expect_error(own.wait(future), ErrorKind::BadInput, "was not made by this dispatcher"));
    EXPECT_TRUE(expect_error(own.submit(recorder, std::span(&future, 1)), ErrorKind::BadInput, "which was not made"));
    const Submission nothing;
    EXPECT_TRUE(expect_error(own.submit(recorder, std::span(&nothing, 1)), ErrorKind::BadInput, "not of this device"));
    const std::vector<Submission> many(17, made);
    EXPECT_TRUE(expect_error(own.submit(recorder, many), ErrorKind::BadInput, "16 others at most"));
    EXPECT_TRUE(expect_error(discrete_dispatcher().submit(recorder), ErrorKind::BadInput,
                             "[work]: it was made by another device"));
    EXPECT_OK(own.wait(made));
}

TEST_P(dispatching, counts_bytes_up_and_down) {
    const OperationCounts before = device().counts();
    std::vector<std::byte> bytes(100);
    ASSERT_OK(dispatcher().upload({out_, 0, 100}, bytes));
    ASSERT_OK(dispatcher().download({out_, 0, 100}, std::span(bytes).first(60)));
    EXPECT_EQ(device().counts().bytes_uploaded, before.bytes_uploaded + 100);
    EXPECT_EQ(device().counts().bytes_downloaded, before.bytes_downloaded + 60);
}

TEST_P(dispatching, waits_for_its_work_when_destroyed) {
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    recorder.dispatch(noise_, noise_params(6, kNumbers), noise_groups(kNumbers));
    {
        ASSERT_OK_AND_ASSIGN(Dispatcher own, Dispatcher::create(device()));
        for (int i = 0; i < 10; ++i) ASSERT_OK(own.submit(recorder));
    }
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), out_, kNumbers));
    EXPECT_EQ(got, expected_noise(6, kNumbers));
}

}  // namespace
}  // namespace yolk
