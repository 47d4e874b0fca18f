// SPDX-License-Identifier: Apache-2.0
// Timelines between host and device; between devices where a driver exports them, which no CPU driver does: there the
// refusal is checked.
#include "yolk/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "device_impl.hpp"
#include "second_device.hpp"

namespace yolk {
namespace {

using namespace std::chrono_literals;
using yolk::testing::expect_error;

class shared_timeline : public yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(shared_timeline);

TEST_P(shared_timeline, host_and_device_order_each_other) {
    ASSERT_OK_AND_ASSIGN(const SharedTimeline timeline, SharedTimeline::create(device(), {.label = "steps"}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.label = "step"}));
    const TimelinePoint go{&timeline, 1};
    const TimelinePoint done{&timeline, 2};
    ASSERT_OK_AND_ASSIGN(const Submission step,
                         submit(dispatcher(), recorder, {.wait_before = {&go, 1}, .signal_after = {&done, 1}}));
    EXPECT_TRUE(expect_error(timeline.wait(2, 1ms), ErrorKind::Driver, "[steps] has not reached 2"));
    ASSERT_OK_AND_ASSIGN(const bool early, dispatcher().poll(step));
    EXPECT_FALSE(early);
    ASSERT_OK(timeline.signal(1));
    ASSERT_OK(timeline.wait(2, 10s));
    ASSERT_OK(dispatcher().wait(step));
    ASSERT_OK_AND_ASSIGN(const std::uint64_t value, timeline.value());
    EXPECT_EQ(value, 2U);
}

TEST_P(shared_timeline, points_that_cannot_be_are_refused) {
    SecondDevice second(device_name());
    ASSERT_OK_AND_ASSIGN(const SharedTimeline timeline, SharedTimeline::create(device(), {.label = "steps"}));
    ASSERT_OK(timeline.signal(5));
    EXPECT_TRUE(expect_error(timeline.signal(5), ErrorKind::BadInput, "its value is 5, and values only rise"));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.label = "step"}));
    const TimelinePoint past{&timeline, 4};
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.signal_after = {&past, 1}}), ErrorKind::BadInput,
                             "Cannot signal 4"));
    const TimelinePoint nothing;
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.wait_before = {&nothing, 1}}), ErrorKind::BadInput,
                             "has no timeline"));
    const std::vector<TimelinePoint> many(17, past);
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.wait_before = many}), ErrorKind::BadInput,
                             "17 points of timelines to wait for were given; 16 are allowed"));
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.signal_after = many}), ErrorKind::BadInput,
                             "17 points of timelines to signal were given; 15 are allowed"));
    ASSERT_OK_AND_ASSIGN(Recorder other, Recorder::create(second.device, {.label = "step"}));
    EXPECT_TRUE(expect_error(submit(second.dispatcher, other, {.wait_before = {&past, 1}}), ErrorKind::BadInput,
                             "[steps] is of another device"));
    EXPECT_TRUE(expect_error(timeline.export_handle(), ErrorKind::BadInput, "was not made exportable"));
}

/// A timeline that submissions have promised values of, and the gate that they wait for.
class pending_timeline : public yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        real_difference_ = device().impl()->context.max_timeline_difference;
        EXPECT_GE(real_difference_, 0x7FFFFFFFU);
        ASSERT_OK_AND_ASSIGN(gate_, made("gate"));
        ASSERT_OK_AND_ASSIGN(steps_, made("steps"));
    }
    void TearDown() override {
        device().impl()->context.max_timeline_difference = real_difference_;
        if (gate_) {
            EXPECT_OK(gate_->signal(1));
        }
        for (const Submission& submission : submissions_) EXPECT_OK(dispatcher().wait(submission));
    }
    [[nodiscard]] Result<std::unique_ptr<SharedTimeline>> made(const char* label) const {
        YOLK_TRY(SharedTimeline timeline, SharedTimeline::create(device(), {.label = label}));
        return std::make_unique<SharedTimeline>(std::move(timeline));
    }
    /// Waits for the gate, and for `wait_for` of the steps where that is not 0; signals `signals` of them.
    Result<void> submit_behind_gate(std::vector<std::uint64_t> signals, std::uint64_t wait_for = 0) {
        std::vector<TimelinePoint> before{{gate_.get(), 1}};
        if (wait_for != 0) before.push_back({steps_.get(), wait_for});
        std::vector<TimelinePoint> after;
        for (const std::uint64_t value : signals) after.push_back({steps_.get(), value});
        YOLK_TRY(Recorder recorder, Recorder::create(device(), {.label = "step"}));
        YOLK_TRY(const Submission made, submit(dispatcher(), recorders_.emplace_back(std::move(recorder)),
                                               {.wait_before = before, .signal_after = after}));
        submissions_.push_back(made);
        return {};
    }

    std::uint64_t real_difference_ = 0;
    std::unique_ptr<SharedTimeline> gate_;  ///< null once it is open
    std::unique_ptr<SharedTimeline> steps_;
    std::deque<Recorder> recorders_;
    std::vector<Submission> submissions_;
};
YOLK_FOR_EACH_DEVICE(pending_timeline);

TEST_P(pending_timeline, submissions_signal_above_what_others_have_promised) {
    ASSERT_OK(submit_behind_gate({5}));
    for (const std::uint64_t value : {3U, 5U}) {
        EXPECT_TRUE(expect_error(submit_behind_gate({value}), ErrorKind::BadInput,
                                 "[steps]: a submission waits for or signals 5, and values only rise"));
    }
    ASSERT_OK(submit_behind_gate({6}));
    EXPECT_TRUE(expect_error(submit_behind_gate({8, 9}), ErrorKind::BadInput, "[steps] would be signalled twice"));
    EXPECT_TRUE(expect_error(submit_behind_gate({9}, 9), ErrorKind::BadInput, "waits for or signals 9"));
    ASSERT_OK(submit_behind_gate({}, 6));
    ASSERT_OK(submit_behind_gate({8}, 7));
    ASSERT_OK(gate_->signal(1));
    ASSERT_OK(steps_->wait(6, 10s));
    ASSERT_OK(steps_->signal(7));
    ASSERT_OK(steps_->wait(8, 10s));
    EXPECT_TRUE(expect_error(submit_behind_gate({8}), ErrorKind::BadInput, "its value is 8"));
    gate_.reset();
}

TEST_P(pending_timeline, the_host_signals_below_what_submissions_have_promised) {
    ASSERT_OK(submit_behind_gate({5}));
    ASSERT_OK(submit_behind_gate({7}));
    for (const std::uint64_t value : {5U, 6U, 7U, 9U}) {
        EXPECT_TRUE(expect_error(steps_->signal(value), ErrorKind::BadInput,
                                 "[steps]: a submission still has to signal 5, and values only rise"));
    }
    ASSERT_OK(steps_->signal(4));
    ASSERT_OK(gate_->signal(1));
    ASSERT_OK(steps_->wait(7, 10s));
    ASSERT_OK(steps_->signal(9));
    gate_.reset();
}

// What a submission that was not made would have signalled is nobody's promise.
TEST_P(pending_timeline, a_submission_that_was_refused_promises_nothing) {
    const TimelinePoint far{steps_.get(), 100};
    ASSERT_OK_AND_ASSIGN(Recorder stuck, Recorder::create(device(), {.label = "stuck"}));
    stuck.end_label();
    EXPECT_TRUE(expect_error(submit(dispatcher(), stuck, {.signal_after = {&far, 1}}), ErrorKind::BadInput,
                             "A label of the recorder [stuck]"));
    ASSERT_OK(submit_behind_gate({5}));
    ASSERT_OK(steps_->signal(4));
}

TEST_P(pending_timeline, values_stay_within_the_devices_difference) {
    device().impl()->context.max_timeline_difference = 1000;
    ASSERT_OK(steps_->signal(10));
    EXPECT_TRUE(expect_error(steps_->signal(1011), ErrorKind::BadInput, "[steps]: its value is 10"));
    EXPECT_TRUE(expect_error(submit_behind_gate({1011}), ErrorKind::BadInput, "allows a difference of 1000"));
    EXPECT_TRUE(expect_error(submit_behind_gate({}, 1011), ErrorKind::BadInput, "Cannot wait for 1011"));
    ASSERT_OK(submit_behind_gate({1010}));
    ASSERT_OK(gate_->signal(1));
    ASSERT_OK(steps_->wait(1010, 10s));
    ASSERT_OK(steps_->signal(1500));
    EXPECT_TRUE(expect_error(submit_behind_gate({}, 499), ErrorKind::BadInput, "Cannot wait for 499"));
    gate_.reset();
}

TEST_P(shared_timeline, what_was_moved_from_is_refused) {
    ASSERT_OK_AND_ASSIGN(SharedTimeline timeline, SharedTimeline::create(device(), {.label = "steps"}));
    const SharedTimeline now(std::move(timeline));
    const auto refused = [](const auto& result) {
        return expect_error(result, ErrorKind::BadInput, "the timeline was moved from");
    };
    // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
    EXPECT_TRUE(refused(timeline.value()));
    EXPECT_TRUE(refused(timeline.signal(1)));
    EXPECT_TRUE(refused(timeline.wait(1, 1ms)));
    EXPECT_TRUE(refused(timeline.export_handle()));
    const TimelinePoint point{&timeline, 1};
    // NOLINTEND(bugprone-use-after-move)
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.label = "step"}));
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.signal_after = {&point, 1}}), ErrorKind::BadInput,
                             "has no timeline"));
    EXPECT_OK(now.signal(1));
}

TEST_P(shared_timeline, crosses_devices_or_is_refused) {
    const Result<SharedTimeline> here = SharedTimeline::create(device(), {.exportable = true, .label = "steps"});
    if (!device().info().sharing.timeline.can_export) {
        EXPECT_TRUE(expect_error(here, ErrorKind::Unsupported, "cannot export the timeline semaphore [steps]. It"));
        EXPECT_TRUE(expect_error(SharedTimeline::import(device(), TimelineHandle{}), ErrorKind::Unsupported,
                                 "cannot import the timeline semaphore [imported timeline]. It exports"));
        return;
    }
    ASSERT_OK(here);
    SecondDevice second(device_name());
    const std::ptrdiff_t before = open_descriptors();
    {
        ASSERT_OK_AND_ASSIGN(TimelineHandle handle, here->export_handle());
        ASSERT_OK_AND_ASSIGN(const SharedTimeline there, SharedTimeline::import(second.device, handle));
        ASSERT_OK_AND_ASSIGN(Recorder first, Recorder::create(device()));
        ASSERT_OK_AND_ASSIGN(Recorder then, Recorder::create(second.device));
        const TimelinePoint signalled{&*here, 1};
        const TimelinePoint awaited{&there, 1};
        const TimelinePoint last{&there, 2};
        ASSERT_OK_AND_ASSIGN(const Submission waiting, submit(second.dispatcher, then, {.wait_before = {&awaited, 1}}));
        ASSERT_OK_AND_ASSIGN(const bool early, second.dispatcher.poll(waiting));
        EXPECT_FALSE(early);
        ASSERT_OK_AND_ASSIGN(const Submission signalling,
                             submit(dispatcher(), first, {.signal_after = {&signalled, 1}}));
        ASSERT_OK(second.dispatcher.wait(waiting));
        // The validation layer compares a signal with the value that the timeline has when it learns that the
        // submission has ended, and takes the other device's 2 for one that came before this 1.
        ASSERT_OK(dispatcher().wait(signalling));
        then.begin();
        ASSERT_OK(submit(second.dispatcher, then, {.signal_after = {&last, 1}}));
        ASSERT_OK(here->wait(2, 10s));
        handle.fd.close();
        EXPECT_TRUE(expect_error(SharedTimeline::import(second.device, handle), ErrorKind::BadInput, "is not open"));
    }
    EXPECT_EQ(open_descriptors(), before);
}

// Calls of several threads at the driver, in their order; each waits a little, so that another one can come between
// its check and its call.
std::vector<std::uint64_t> signalled_values;  // by the host under the test's mutex, by submissions under the queue's
std::mutex signalled_mutex;
PFN_vkSignalSemaphore real_signal = nullptr;
PFN_vkQueueSubmit real_submit = nullptr;
VkResult VKAPI_CALL signal_slowly(VkDevice device, const VkSemaphoreSignalInfo* info) {
    std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(signalled_mutex);
    signalled_values.push_back(info->value);
    return real_signal(device, info);
}
VkResult VKAPI_CALL submit_and_note(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    const auto* values = static_cast<const VkTimelineSemaphoreSubmitInfo*>(infos->pNext);
    if (infos->signalSemaphoreCount == 2) signalled_values.push_back(values->pSignalSemaphoreValues[0]);
    return real_submit(queue, count, infos, fence);
}

// Each thread has every fourth value, so that most come too late and are refused.
template <class Signal>
void signal_from_threads(const Signal& signal) {
    signalled_values.clear();
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 1; thread <= 4; ++thread) {
        threads.emplace_back([&signal, thread] {
            for (std::uint64_t value = thread; value <= 100; value += 4) {
                const Result<void> done = signal(value);
                EXPECT_TRUE(done || expect_error(done, ErrorKind::BadInput, "only rise"));
            }
        });
    }
    threads.clear();
    EXPECT_TRUE(std::ranges::is_sorted(signalled_values, std::less_equal<>()));
    EXPECT_EQ(signalled_values.back(), 100U);
}

TEST_P(shared_timeline, threads_that_signal_take_turns) {
    SecondDevice own(device_name());
    VolkDeviceTable& vk = own.device.impl()->context.vk;
    real_signal = std::exchange(vk.vkSignalSemaphore, signal_slowly);
    real_submit = std::exchange(vk.vkQueueSubmit, submit_and_note);
    ASSERT_OK_AND_ASSIGN(const SharedTimeline host, SharedTimeline::create(own.device));
    signal_from_threads([&](std::uint64_t value) { return host.signal(value); });
    ASSERT_OK_AND_ASSIGN(const SharedTimeline queue, SharedTimeline::create(own.device));
    signal_from_threads([&](std::uint64_t value) -> Result<void> {
        YOLK_TRY(Recorder recorder, Recorder::create(own.device));
        const TimelinePoint point{&queue, value};
        YOLK_TRY(const Submission made, submit(own.dispatcher, recorder, {.signal_after = {&point, 1}}));
        return own.dispatcher.wait(made);
    });
}

// What stands in, on a device of the test's own, for the functions of a driver that exports timelines.
VkResult VKAPI_CALL give_descriptor(VkDevice, const VkSemaphoreGetFdInfoKHR* info, int* fd) {
    EXPECT_EQ(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT);
    *fd = ::memfd_create("semaphore", MFD_CLOEXEC);
    return VK_SUCCESS;
}
VkResult VKAPI_CALL take_descriptor(VkDevice, const VkImportSemaphoreFdInfoKHR* info) {
    EXPECT_EQ(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT);
    EXPECT_EQ(info->flags, 0U) << "for good";
    ::close(info->fd);
    return VK_SUCCESS;
}
VkResult VKAPI_CALL refuse_descriptor(VkDevice, const VkImportSemaphoreFdInfoKHR*) {
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
}
VkResult VKAPI_CALL refuse_and_close(VkDevice, const VkImportSemaphoreFdInfoKHR* info) {
    ::close(info->fd);
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
}
PFN_vkCreateSemaphore real_create_semaphore = nullptr;
VkResult VKAPI_CALL create_without_export(VkDevice device, const VkSemaphoreCreateInfo* info,
                                          const VkAllocationCallbacks* callbacks, VkSemaphore* semaphore) {
    auto type = *static_cast<const VkSemaphoreTypeCreateInfo*>(info->pNext);
    const auto* exported = static_cast<const VkExportSemaphoreCreateInfo*>(std::exchange(type.pNext, nullptr));
    if (exported != nullptr) {
        EXPECT_EQ(exported->handleTypes, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT);
    }
    VkSemaphoreCreateInfo plain = *info;
    plain.pNext = &type;
    return real_create_semaphore(device, &plain, callbacks, semaphore);
}

TEST_P(shared_timeline, handles_stay_the_callers_whatever_the_driver_does) {
    SecondDevice own(device_name());
    DeviceContext& context = own.device.impl()->context;
    context.info.sharing.timeline = {.can_export = true, .can_import = true};
    real_create_semaphore = std::exchange(context.vk.vkCreateSemaphore, create_without_export);
    context.vk.vkGetSemaphoreFdKHR = give_descriptor;
    ASSERT_OK_AND_ASSIGN(const SharedTimeline here,
                         SharedTimeline::create(own.device, {.exportable = true, .label = "steps"}));
    const std::ptrdiff_t before = open_descriptors();
    {
        ASSERT_OK_AND_ASSIGN(TimelineHandle handle, here.export_handle());
        EXPECT_EQ(handle.origin.device_uuid, device().info().uuid);
        context.vk.vkImportSemaphoreFdKHR = take_descriptor;
        EXPECT_OK(SharedTimeline::import(own.device, handle));
        EXPECT_OK(SharedTimeline::import(own.device, handle)) << "once more";
        for (const PFN_vkImportSemaphoreFdKHR refuses : {refuse_descriptor, refuse_and_close}) {
            context.vk.vkImportSemaphoreFdKHR = refuses;
            EXPECT_TRUE(expect_error(SharedTimeline::import(own.device, handle, "theirs"), ErrorKind::Driver,
                                     "Cannot import the timeline semaphore [theirs]"));
        }
        EXPECT_EQ(open_descriptors(), before + 1);
        handle.origin.driver_uuid = "ff";
        EXPECT_TRUE(expect_error(SharedTimeline::import(own.device, handle), ErrorKind::BadInput, "An opaque handle"));
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace yolk
