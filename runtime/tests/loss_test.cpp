// SPDX-License-Identifier: Apache-2.0
// Devices that are lost, and devices that hang: what every later call says, what is left behind, and that the process
// goes on.
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gate.hpp"
#include "noise_work.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk {
namespace {

using std::chrono::milliseconds;
using yolk::testing::device_index;
using yolk::testing::expect_error;
using yolk::testing::FaultInjector;
using yolk::testing::FaultKind;
using yolk::testing::living_objects;
using yolk::testing::Sweep;

constexpr std::uint32_t kLostNumbers = 300;
constexpr milliseconds kLimit{40};
constexpr milliseconds kSecond{1000};
/// A wait on a GPU looks at the counter before it sleeps, one on a CPU driver does not. Every device is tried as both.
constexpr std::array<DeviceKind, 2> kWaitingKinds{DeviceKind::Cpu, DeviceKind::Discrete};

/// A device with work recorded on it, [generation], last labelled [rollout].
struct Worker {
    Device device;
    Dispatcher dispatcher;
    Dispatcher hasty;  ///< gives up soon: for work that will not end
    Buffer out;
    NoiseBinding noise;
    Recorder recorder;

    static Result<Worker> create(const Instance& instance, const std::string& name, MemoryPolicy policy) {
        YOLK_TRY(Device device, Device::create(instance, device_index(name), {.memory_policy = policy}));
        YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
        YOLK_TRY(Dispatcher hasty, Dispatcher::create(device, {.hang_limit = kLimit}));
        YOLK_TRY(Buffer out, device.create_buffer({.size_bytes = kLostNumbers * 4, .label = "out"}));
        YOLK_TRY(NoiseBinding noise, bind_noise(device, out));
        YOLK_TRY(Recorder recorder, Recorder::create(device, {.timestamp_count = 1, .label = "generation"}));
        return Worker{std::move(device), std::move(dispatcher), std::move(hasty),
                      std::move(out),    std::move(noise),      std::move(recorder)};
    }
    void record() {
        recorder.begin();
        const ScopedLabel label(recorder, "rollout");
        recorder.dispatch(noise, noise_params(7, kLostNumbers), noise_groups(kLostNumbers));
        recorder.timestamp(0);
    }
    Result<void> work() {
        record();
        YOLK_TRY_VOID(dispatcher.run(recorder));
        YOLK_TRY(const auto values, download_ints(dispatcher, out, kLostNumbers));
        EXPECT_EQ(values, expected_noise(7, kLostNumbers));
        return {};
    }
    /// Every call says at once what happened.
    void expect_failed(std::string_view happened) {
        const auto fails = [&](const auto& result) {
            EXPECT_TRUE(expect_error(result, ErrorKind::DeviceLost, happened));
            EXPECT_TRUE(expect_error(result, ErrorKind::DeviceLost, "last labelled work [rollout]"));
        };
        std::vector<std::byte> bytes(16);
        fails(dispatcher.upload(out, bytes));
        fails(dispatcher.download(out, bytes));
        fails(dispatcher.submit(recorder));
        fails(dispatcher.run(recorder));
        fails(Dispatcher::create(device));
        fails(device.create_buffer({.size_bytes = 16, .label = "more"}));
        fails(device.pipeline(kernels::kNoiseI32, {}));
        fails(bind_noise(device, out));
        fails(Recorder::create(device));
        double nanoseconds = 0.0;
        fails(recorder.read_timestamps(std::span(&nanoseconds, 1)));
        recorder.begin();  // sticks, and comes out of the next submission
        recorder.begin_label("rollout");
        fails(dispatcher.submit(recorder));
    }
};

class losing : public yolk::testing::DeviceTest {
   protected:
    /// Of this test's own: where a device hangs, its instance stays for ever, too.
    void SetUp() override {
        static_cast<void>(yolk::testing::instance());  // lives on: no leak of a test's
        ASSERT_OK_AND_ASSIGN(
            instance_, Instance::create({.validation = yolk::testing::validation_is_on(),
                                         .on_message = [](const auto& message) { ADD_FAILURE() << message.text; }}));
    }
    [[nodiscard]] Result<Worker> worker(MemoryPolicy policy = MemoryPolicy::Automatic) const {
        return Worker::create(*instance_, device_name(), policy);
    }
    FaultInjector injector_;
    std::optional<Instance> instance_;
};
YOLK_FOR_EACH_DEVICE(losing);
using hanging = losing;
YOLK_FOR_EACH_DEVICE(hanging);

TEST_P(losing, any_call_says_what_was_lost_and_a_new_device_goes_on) {
    const std::string living = living_objects();
    const Sweep sweep{.kinds = {FaultKind::DeviceLost},
                      .names = {"of the recorder [generation], last labelled work [rollout]",
                                "of the recorder [transfer]", "[transfer]", "[generation]", "logical device"},
                      .afterwards = [this]() -> Result<void> {
                          YOLK_TRY(Worker next, worker());
                          return next.work();
                      }};
    sweep_calls(injector_, sweep, [this]() -> Result<void> {
        YOLK_TRY(Worker lost, worker());
        YOLK_TRY_VOID(lost.work());
        double nanoseconds = 0.0;
        YOLK_TRY_VOID(lost.recorder.read_timestamps(std::span(&nanoseconds, 1)));
        YOLK_TRY(const Submission again, lost.dispatcher.submit(lost.recorder));
        YOLK_TRY_VOID(lost.dispatcher.poll(again));
        YOLK_TRY_VOID(lost.dispatcher.wait(again));
        return {};
    });
    EXPECT_EQ(living_objects(), living);
}

TEST_P(losing, is_remembered) {
    const std::string living = living_objects();
    for (const DeviceKind kind : kWaitingKinds) {
        ASSERT_OK_AND_ASSIGN(Worker lost, worker());
        lost.device.impl()->context.info.kind = kind;
        ASSERT_OK(lost.work());
        lost.record();
        injector_.fail_nth_call(2, FaultKind::DeviceLost);  // the submission, then the wait
        EXPECT_TRUE(
            expect_error(lost.dispatcher.run(lost.recorder), ErrorKind::DeviceLost,
                         "was lost during submission 3 of the recorder [generation], last labelled work [rollout]"));
        EXPECT_EQ(injector_.injected_into(),
                  kind == DeviceKind::Cpu ? "vkWaitSemaphores" : "vkGetSemaphoreCounterValue");
        injector_.fail_nothing();
        lost.expect_failed("was lost during submission 3 of the recorder [generation]");
        EXPECT_EQ(lost.device.counts().abandoned_handles, 0U);
    }
    EXPECT_EQ(living_objects(), living);
    ASSERT_OK_AND_ASSIGN(Worker next, worker());
    EXPECT_OK(next.work());
}

TEST_P(hanging, is_given_up_after_the_limit) {
    for (const MemoryPolicy policy : {MemoryPolicy::Native, MemoryPolicy::ForceDiscrete}) {
        std::optional<Worker> hung = *worker(policy);
        const Device device = hung->device;
        ASSERT_OK(hung->work());
        hung->record();
        const bool downloads_by_staging = hung->out.mapped().empty();
        Gate gate(device);
        const std::string happened =
            "hangs: submission 1 of the recorder [generation], last labelled work [rollout] made "
            "no progress for 40 ms and was given up";
        EXPECT_TRUE(expect_error(hung->hasty.run(hung->recorder), ErrorKind::DeviceLost, happened));
        hung->expect_failed(happened);
        EXPECT_EQ(device.counts().abandoned_handles, 0U);
        hung.reset();
        // The buffer, two command pools, a query pool and the dispatchers' semaphores.
        EXPECT_EQ(device.counts().abandoned_handles, downloads_by_staging ? 7U : 6U);
    }
    ASSERT_OK_AND_ASSIGN(Worker next, worker());
    EXPECT_OK(next.work());
}

// What the pieces in flight use is left to the device.
TEST_P(hanging, in_the_midst_of_a_staged_transfer_is_given_up) {
    for (const bool up : {true, false}) {
        ASSERT_OK_AND_ASSIGN(const Device device, Device::create(*instance_, device_index(device_name()),
                                                                 {.memory_policy = MemoryPolicy::ForceDiscrete,
                                                                  .pipeline_cache_folder = {}}));
        {
            ASSERT_OK_AND_ASSIGN(Dispatcher hasty, Dispatcher::create(device, {.hang_limit = kLimit}));
            std::vector<std::byte> bytes(std::size_t{6} << 20U);
            ASSERT_OK_AND_ASSIGN(const Buffer out, device.create_buffer({.size_bytes = bytes.size(), .label = "out"}));
            ASSERT_OK(hasty.upload(out, std::span(bytes).first(std::size_t{2} << 20U)));
            injector_.hang_submissions(true);
            const auto moved = up ? hasty.upload(out, bytes) : hasty.download(out, bytes);
            injector_.hang_submissions(false);
            EXPECT_TRUE(expect_error(moved, ErrorKind::DeviceLost, "hangs: submission 3 of the recorder [transfer]"));
            EXPECT_TRUE(expect_error(hasty.download(out, bytes), ErrorKind::DeviceLost, "of the recorder [transfer]"));
        }
        // The target, staging, the recorders' pools and the dispatcher's semaphore at the least.
        EXPECT_GE(device.counts().abandoned_handles, up ? 7U : 8U);
    }
}

// Of work in several submissions the one that does not end is named, not the last.
TEST_P(hanging, names_the_part_that_does_not_end) {
    ASSERT_OK_AND_ASSIGN(const Device device, Device::create(*instance_, device_index(device_name()),
                                                             {.pipeline_cache_folder = {}, .max_submission_cost = 1}));
    ASSERT_OK_AND_ASSIGN(Dispatcher hasty, Dispatcher::create(device, {.hang_limit = kLimit}));
    ASSERT_OK_AND_ASSIGN(const Buffer out, device.create_buffer({.size_bytes = kLostNumbers * 4, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(device, out));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device, {.label = "generation"}));
    for (const char* const part : {"rollout", "fitness", "es_update"}) {
        const ScopedLabel label(recorder, part);
        recorder.dispatch(noise, noise_params(7, kLostNumbers), LinearGrid{.groups = 1, .cost_per_group = 1});
    }
    ASSERT_EQ(recorder.submission_count(), 3U);
    injector_.hang_submissions(true);
    const auto waited = hasty.run(recorder);
    injector_.hang_submissions(false);
    EXPECT_TRUE(expect_error(waited, ErrorKind::DeviceLost,
                             "hangs: submission 1 of the recorder [generation], last labelled work [rollout]"));
}

TEST_P(hanging, is_logged_when_the_device_goes) {
    const std::string living = living_objects();
    ::testing::internal::CaptureStderr();
    {
        ASSERT_OK_AND_ASSIGN(Worker hung, worker());
        injector_.hang_submissions(true);
        EXPECT_TRUE(expect_error(hung.hasty.run(hung.recorder), ErrorKind::DeviceLost, "hangs"));
        injector_.hang_submissions(false);
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("Vulkan handles, its own and its instance's included, were abandoned"), std::string::npos)
        << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
    // All but the descriptor set, which is its pool's.
    EXPECT_NE(said.find(" hung: 14 "), std::string::npos) << said << living_objects();
    EXPECT_NE(living_objects(), living);
}

TEST_P(hanging, is_found_by_destructors) {
    ASSERT_OK_AND_ASSIGN(const Device device, Device::create(*instance_, device_index(device_name())));
    ::testing::internal::CaptureStderr();
    {
        ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(device, {.hang_limit = kLimit}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device, {.label = "left alone"}));
        injector_.hang_submissions(true);
        ASSERT_OK(dispatcher.submit(recorder));
        injector_.hang_submissions(false);
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("the recorder [left alone] made no progress for 40 ms"), std::string::npos) << said;
    EXPECT_EQ(device.counts().abandoned_handles, 2U);
    EXPECT_TRUE(expect_error(Dispatcher::create(device), ErrorKind::DeviceLost, "[left alone]"));
}

TEST_P(hanging, is_not_work_that_moves) {
    for (const DeviceKind kind : kWaitingKinds) {
        ASSERT_OK_AND_ASSIGN(Worker slow, worker());
        slow.device.impl()->context.info.kind = kind;
        slow.record();
        // For many times the limit no wait ends; but each look at the other dispatcher's counter finds it further on.
        // No clock decides.
        static int waits = 0;
        static std::uint64_t counter = 0;
        static VkSemaphore awaited = VK_NULL_HANDLE;
        static VolkDeviceTable healthy;
        waits = 0;
        VolkDeviceTable& driver = slow.device.impl()->context.vk;
        healthy = driver;
        driver.vkQueueSubmit = [](VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
            awaited = infos->pSignalSemaphores[0];
            return healthy.vkQueueSubmit(queue, count, infos, fence);
        };
        driver.vkGetSemaphoreCounterValue = [](VkDevice, VkSemaphore semaphore, std::uint64_t* value) {
            *value = semaphore == awaited ? 0 : ++counter;
            return VK_SUCCESS;
        };
        driver.vkWaitSemaphores = [](VkDevice device, const VkSemaphoreWaitInfo* info, std::uint64_t timeout) {
            if (++waits > 50) return healthy.vkWaitSemaphores(device, info, timeout);
            std::this_thread::sleep_for(std::chrono::nanoseconds(timeout));
            return VK_TIMEOUT;
        };
        EXPECT_OK(slow.hasty.run(slow.recorder));
        EXPECT_EQ(waits, 51);
        driver = healthy;
    }
}

TEST_P(hanging, lost_device_whose_work_goes_on_keeps_its_handles) {
    std::optional<Worker> lost = *worker();
    const Device device = lost->device;
    lost->record();
    Gate gate(device);
    injector_.fail_nth_call(2, FaultKind::DeviceLost);
    EXPECT_TRUE(expect_error(lost->dispatcher.run(lost->recorder), ErrorKind::DeviceLost, "was lost during"));
    injector_.fail_nothing();
    lost.reset();
    EXPECT_EQ(device.counts().abandoned_handles, 5U);
}

TEST_P(hanging, timeout_of_a_wait_gives_nothing_up) {
    ASSERT_OK_AND_ASSIGN(Worker slow, worker());
    slow.record();
    {
        Gate gate(slow.device);
        ASSERT_OK_AND_ASSIGN(const Submission submission, slow.dispatcher.submit(slow.recorder));
        EXPECT_TRUE(expect_error(slow.dispatcher.wait(submission, 2 * kLimit), ErrorKind::Driver, "Wait again"));
        gate.open();
        EXPECT_OK(slow.dispatcher.wait(submission));
    }
    EXPECT_OK(slow.work());
}

/// In a child, which ends with handles alive. The newer validation layer (1.4.309) crashes there, so it is not asked.
class process_of_hanging : public losing {
   protected:
    void SetUp() override { ASSERT_OK_AND_ASSIGN(instance_, Instance::create()); }
};
YOLK_FOR_EACH_DEVICE(process_of_hanging);

// A child's work waits for a gate that no one opens.
TEST_P(process_of_hanging, ends) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto hang_and_end = [this] {
        {
            Result<Worker> hung = worker();
            if (!hung) std::_Exit(2);
            static const Gate* volatile gate = nullptr;
            gate = new Gate(hung->device);  // never opened, never destroyed, and kept, so that it is not a leak
            if (gate == nullptr) std::_Exit(4);
            hung->record();
            if (hung->hasty.run(hung->recorder)) std::_Exit(3);
        }
        std::exit(0);
    };
    EXPECT_EXIT(hang_and_end(), ::testing::ExitedWithCode(0), "");
}

/// Stops the process that starts it, once, for twice `limit`; then says so. It calls nothing but the kernel, as a child
/// of a process with threads must.
class Stopper {
   public:
    explicit Stopper(milliseconds limit) {
        const bool piped = pipe(begin_) == 0 && pipe(over_) == 0;
        const timespec time{.tv_sec = 2 * limit.count() / 1000, .tv_nsec = 2 * limit.count() % 1000 * 1'000'000};
        const pid_t stopped = getpid();
        if (!piped || (child_ = fork()) < 0) std::_Exit(5);
        if (child_ > 0) return;
        char byte = 0;
        if (read(begin_[0], &byte, 1) == 1 && kill(stopped, SIGSTOP) == 0) {
            nanosleep(&time, nullptr);
            kill(stopped, SIGCONT);
            static_cast<void>(write(over_[1], &byte, 1) == 1);
        }
        _exit(0);
    }
    [[nodiscard]] bool begin() const { return write(begin_[1], "", 1) == 1; }
    [[nodiscard]] bool wait_until_over() const {
        char byte = 0;
        return read(over_[0], &byte, 1) == 1;
    }

   private:
    int begin_[2] = {-1, -1};
    int over_[2] = {-1, -1};
    pid_t child_ = -1;
};

// Ctrl-Z in the midst of a wait, and fg later than the limit. What the child waits for comes a little after it goes on.
TEST_P(process_of_hanging, may_be_stopped_for_a_while) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto stop_and_go_on = [this] {
        bool finished = false;
        {
            const Stopper stopper(3 * kSecond);  // what a busy machine takes between two lines is less
            Result<Worker> slow = worker();
            if (!slow) std::_Exit(2);
            Result<Dispatcher> patient = Dispatcher::create(slow->device, {.hang_limit = 3 * kSecond});
            if (!patient) std::_Exit(3);
            slow->record();
            Gate gate(slow->device);
            std::thread opener([&] {
                std::this_thread::sleep_for(kSecond / 20);  // into the wait
                if (!stopper.begin() || !stopper.wait_until_over()) std::_Exit(4);
                std::this_thread::sleep_for(kSecond / 5);  // the waiter looks once or twice
                gate.open();
            });
            finished = patient->run(slow->recorder).has_value();
            opener.join();
        }
        std::exit(finished ? 0 : 1);
    };
    EXPECT_EXIT(stop_and_go_on(), ::testing::ExitedWithCode(0), "");
}

TEST_P(hanging, limit_is_at_least_a_millisecond) {
    EXPECT_TRUE(expect_error(Dispatcher::create(device(), {.hang_limit = std::chrono::microseconds(999)}),
                             ErrorKind::BadInput, "at least 1 ms"));
}

}  // namespace
}  // namespace yolk
