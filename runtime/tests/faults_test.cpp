// SPDX-License-Identifier: Apache-2.0
// Every driver call that can fail does, once: an error comes out that names its object, nothing is left behind, and the
// device works on. Device tests run with the layer, so an object used after its failure is seen, too.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "gate.hpp"
#include "noise_work.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/shared_memory.hpp"

namespace yolk {
namespace {

using yolk::testing::device_index;
using yolk::testing::expect_error;
using yolk::testing::FaultInjector;
using yolk::testing::FaultKind;
using yolk::testing::Sweep;

constexpr std::uint32_t kFaultedNumbers = 300;
constexpr std::uint64_t kGroups = 2;
static_assert(kGroups * 8 * kNoiseWorkgroup >= kFaultedNumbers);
const std::vector<FaultKind> kMemoryFaults{FaultKind::OutOfHostMemory, FaultKind::OutOfDeviceMemory};

class faults : public yolk::testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(yolk::testing::instance()); }  // lives on: no leak of a test's
    [[nodiscard]] Result<Device> new_device(MemoryPolicy policy = MemoryPolicy::Automatic,
                                            std::uint64_t max_submission_cost = 0) const {
        return Device::create(
            yolk::testing::instance(), device_index(device_name()),
            {.memory_policy = policy, .pipeline_cache_folder = {}, .max_submission_cost = max_submission_cost});
    }
    FaultInjector injector_;  // before any device
};
YOLK_FOR_EACH_DEVICE(faults);

/// Everything that work needs, made, used and dropped.
Result<void> do_work(const Device& device) {
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = kFaultedNumbers * 4, .label = "out"}));
    YOLK_TRY(const NoiseBinding noise, bind_noise(device, out));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.timestamp_count = 2, .label = "generation"}));
    const std::vector<std::int32_t> wrong(kFaultedNumbers, -1);
    YOLK_TRY_VOID(dispatcher.upload(out, std::as_bytes(std::span(wrong))));
    recorder.begin();
    recorder.timestamp(0);
    {
        const ScopedLabel label(recorder, "noise of [out]");
        recorder.dispatch(noise, noise_params(7, kFaultedNumbers), LinearGrid{.groups = kGroups, .cost_per_group = 1});
    }
    recorder.timestamp(1);
    YOLK_TRY(const Submission submission, dispatcher.submit(recorder));
    YOLK_TRY_VOID(dispatcher.poll(submission));
    YOLK_TRY_VOID(dispatcher.wait(submission));
    std::array<double, 2> nanoseconds{};
    YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
    YOLK_TRY_VOID(dispatcher.run(recorder));
    YOLK_TRY(const auto values, download_ints(dispatcher, out, kFaultedNumbers));
    EXPECT_EQ(values, expected_noise(7, kFaultedNumbers));
    return {};
}

const std::vector<std::string> kWorkNames{"[out]",    "[generation]", "[transfer]",
                                          "staging]", "[noise",       "timeline semaphore"};

// On a GPU a wait asks for the counter as often as it can, and a sweep's nth call would never be the last.
TEST_P(faults, a_wait_that_polls_is_one_call) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    device.impl()->context.info.kind = DeviceKind::Discrete;
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(device));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device, {.label = "generation"}));
    recorder.begin();
    Gate gate(device);
    ASSERT_OK_AND_ASSIGN(const Submission submission, dispatcher.submit(recorder));
    injector_.fail_nth_call(1'000'000, FaultKind::DeviceLost);
    EXPECT_TRUE(expect_error(dispatcher.wait(submission, std::chrono::milliseconds(5)), ErrorKind::Driver,
                             "has not finished and is still running"));
    EXPECT_GE(injector_.calls(), 2U);  // a poll and a wait that sleeps
    EXPECT_LE(injector_.calls(), 4U);
    injector_.fail_nothing();
    gate.open();
    EXPECT_OK(dispatcher.wait(submission));
}

TEST_P(faults, any_call_of_creating_an_instance) {
    // The loader's call for drivers that do not start; such a machine has no device, and says so.
    const Sweep sweep{.kinds = {FaultKind::OutOfHostMemory, FaultKind::OutOfDeviceMemory, FaultKind::Refused},
                      .names = {"Vulkan", "instance extensions", "debug messenger", "device '"}};
    sweep_calls(injector_, sweep, []() -> Result<void> {
        YOLK_TRY_VOID(Instance::create());
        return {};
    });
}

TEST_P(faults, any_call_of_creating_a_device) {
    const Sweep sweep{
        .kinds = {FaultKind::OutOfHostMemory, FaultKind::OutOfDeviceMemory, FaultKind::Refused, FaultKind::DeviceLost},
        .names = {yolk::testing::instance().devices()[device_index(device_name())].name}};
    sweep_calls(injector_, sweep, [this]() -> Result<void> {
        YOLK_TRY_VOID(new_device());
        return {};
    });
}

TEST_P(faults, any_call_of_work) {
    struct Variant {
        MemoryPolicy policy = MemoryPolicy::Automatic;
        std::uint64_t max_submission_cost = 0;  ///< 1: each workgroup is a submission of its own
    };
    for (const Variant& variant :
         {Variant{}, Variant{.policy = MemoryPolicy::ForceDiscrete}, Variant{.max_submission_cost = 1}}) {
        ASSERT_OK_AND_ASSIGN(const Device device, new_device(variant.policy, variant.max_submission_cost));
        Sweep sweep{.kinds = kMemoryFaults, .names = kWorkNames};
        sweep.tolerated = {"vkSetDebugUtilsObjectNameEXT"};  // names are for debuggers
        sweep.afterwards = [&] { return do_work(device); };
        sweep_calls(injector_, sweep, [&] { return do_work(device); });
    }
}

TEST_P(faults, any_call_that_makes_what_a_device_keeps) {
    Sweep sweep{.kinds = kMemoryFaults, .names = kWorkNames};
    sweep.kinds.push_back(FaultKind::Refused);
    sweep.names.emplace_back("descriptor pool");
    sweep.tolerated = {"vkAllocateMemory"};  // less is asked for
    for (const MemoryPolicy policy : {MemoryPolicy::Automatic, MemoryPolicy::ForceDiscrete}) {
        sweep_kept(injector_, sweep, [&] {
            auto device = std::make_shared<const Device>(*new_device(policy));
            return [device] { return do_work(*device); };
        });
    }
}

/// Up and down by staging of a dispatcher's own, in two pieces.
Result<void> do_transfers(const Device& device) {
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    std::vector<std::byte> bytes((std::size_t{1} << 20U) + 1, std::byte{7}), got(bytes.size());
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = bytes.size(), .label = "out"}));
    YOLK_TRY_VOID(dispatcher.upload(out, bytes));
    YOLK_TRY_VOID(dispatcher.download(out, got));
    EXPECT_TRUE(got == bytes);
    return {};
}

// One whose other pieces are in flight leaves nothing running.
TEST_P(faults, any_call_of_a_transfer_in_pieces) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device(MemoryPolicy::ForceDiscrete));
    Sweep sweep{.kinds = kMemoryFaults, .names = kWorkNames};
    // Names are for debuggers; where staging cannot be had, less is asked for.
    sweep.tolerated = {"vkSetDebugUtilsObjectNameEXT", "vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory"};
    sweep.afterwards = [&] { return do_transfers(device); };
    sweep_calls(injector_, sweep, [&] { return do_transfers(device); });
}

// Staging of 40 MiB is of 16 MiB in four pieces where memory allows, of one piece of 64 KiB at least; the target has a
// block of its own, which leaves staging nothing to share.
TEST_P(faults, transfers_take_smaller_pieces_where_memory_is_short) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device(MemoryPolicy::ForceDiscrete));
    std::vector<std::uint32_t> values(std::size_t{40} << 18U), got(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761U);
    const auto bytes = std::as_bytes(std::span(values));
    ASSERT_OK_AND_ASSIGN(const Buffer target, device.create_buffer({.size_bytes = bytes.size(), .label = "target"}));
    const auto transfer = [&](Dispatcher& dispatcher, std::uint64_t submissions) {
        const std::uint64_t before = device.counts().submissions;
        std::fill(got.begin(), got.end(), 0U);
        EXPECT_OK(dispatcher.upload(target, bytes));
        EXPECT_EQ(device.counts().submissions, before + submissions);
        EXPECT_OK(dispatcher.download(target, std::as_writable_bytes(std::span(got))));
        EXPECT_EQ(device.counts().submissions, before + 2 * submissions);
        EXPECT_TRUE(got == values);
    };
    ASSERT_OK_AND_ASSIGN(Dispatcher first, Dispatcher::create(device));
    injector_.fail_allocations_above(std::uint64_t{1} << 20U);
    transfer(first, 160);
    injector_.fail_allocations_above(std::uint64_t{1} << 16U);
    transfer(first, 160);  // what it has is kept
    {
        ASSERT_OK_AND_ASSIGN(Dispatcher second, Dispatcher::create(device));
        transfer(second, 640);
        ASSERT_OK_AND_ASSIGN(Dispatcher third, Dispatcher::create(device));
        injector_.fail_allocations_above((std::uint64_t{1} << 16U) - 1);
        EXPECT_TRUE(expect_error(third.upload(target, bytes), ErrorKind::OutOfMemory,
                                 "Cannot allocate 65536 bytes for the buffer [upload staging]"));
        EXPECT_TRUE(expect_error(third.download(target, std::as_writable_bytes(std::span(got))), ErrorKind::OutOfMemory,
                                 "Cannot allocate 65536 bytes for the buffer [download staging]"));
        injector_.fail_allocations_above(UINT64_MAX);
        transfer(third, 10);
    }
    transfer(first, 10);  // made larger again
}

TEST_P(faults, exhaustion_names_the_request_and_what_is_free) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    ASSERT_OK_AND_ASSIGN(const Buffer held, device.create_buffer({.size_bytes = 4096, .label = "held"}));
    injector_.fail_allocations_above(0);
    const auto refused = device.create_buffer({.size_bytes = std::uint64_t{80} << 20U, .label = "large"});
    EXPECT_TRUE(expect_error(refused, ErrorKind::OutOfMemory, "Cannot allocate 83886080 bytes for the buffer [large]"));
    EXPECT_TRUE(expect_error(refused, ErrorKind::OutOfMemory, "VK_ERROR_OUT_OF_DEVICE_MEMORY"));
    // One block of 64 MiB with one buffer in it.
    EXPECT_TRUE(expect_error(refused, ErrorKind::OutOfMemory, "Yolk holds 67108864, 67104768 of them free"));
    EXPECT_OK(device.create_buffer({.size_bytes = 4096, .label = "small"}));  // from that block
}

TEST_P(faults, pipeline_cache_that_cannot_be_read_is_saved_later) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("yolk_faults_" + device_name() + std::to_string(::getpid()));
    {
        ASSERT_OK_AND_ASSIGN(const Device device, Device::create(yolk::testing::instance(), device_index(device_name()),
                                                                 {.memory_policy = MemoryPolicy::Automatic,
                                                                  .pipeline_cache_folder = folder}));
        ASSERT_OK(device.pipeline(kernels::kNoiseI32, {}));
        for (std::uint64_t n = 1; n <= 2; ++n) {  // its size, its bytes
            injector_.fail_nth_call(n, FaultKind::OutOfHostMemory);
            EXPECT_TRUE(
                expect_error(device.save_pipeline_cache(), ErrorKind::OutOfMemory, "pipeline cache of device '"));
            EXPECT_EQ(injector_.injected_into(), "vkGetPipelineCacheData");
        }
        injector_.fail_nothing();
        const auto has_cache = [&] {  // beside the folder of specialized modules
            std::error_code none;
            const std::filesystem::directory_iterator files(folder, none);
            return std::any_of(begin(files), end(files), [](const auto& entry) { return entry.is_regular_file(); });
        };
        EXPECT_FALSE(has_cache());
        EXPECT_OK(device.save_pipeline_cache());
        EXPECT_TRUE(has_cache());
    }
    std::filesystem::remove_all(folder);
}

// Not a finding that someone wrote: the device computes wrongly, and the self-checks find it.
TEST_P(faults, a_path_that_computes_wrongly_is_closed_with_a_notice) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    injector_.spoil_low_precision(true);
    ::testing::internal::CaptureStderr();
    const Result<DeviceFindings> found = probe(device);
    const std::string notices = ::testing::internal::GetCapturedStderr();
    injector_.spoil_low_precision(false);
    ASSERT_OK(found);
    std::size_t open = 0;
    for (const LowPrecisionPath path : kLowPrecisionPaths) {
        if (!path_is_open(device.info(), path)) continue;
        ++open;
        EXPECT_FALSE(path_is_open(device.usable_info(), path)) << to_string(path);
        EXPECT_THAT(notices, ::testing::HasSubstr(to_string(path)));
    }
    const std::size_t told = notices.find("does not take the path");
    EXPECT_NE(told, std::string::npos) << notices;
    EXPECT_EQ(notices.find("does not take the path", told + 1), std::string::npos) << "said once: " << notices;
    EXPECT_GE(open, 1U) << "nothing was tested";
    EXPECT_EQ(found->wrong_paths.size(), open);
    EXPECT_EQ(found->inexact_reason, "") << "the floor is right all the same";
}

TEST_P(faults, no_path_is_closed_where_nothing_is_wrong) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    ASSERT_OK_AND_ASSIGN(const DeviceFindings found, probe(device));
    EXPECT_THAT(found.wrong_paths, ::testing::IsEmpty());
}

// A wait has its time-out from its beginning on: what comes later than that comes too late, whatever the delay.
TEST_P(faults, delayed_waits_begin_at_once_and_return_late) {
    using namespace std::chrono_literals;
    ASSERT_OK_AND_ASSIGN(const Device own, new_device());
    ASSERT_OK_AND_ASSIGN(const SharedTimeline timeline, SharedTimeline::create(own, {.label = "steps"}));
    injector_.delay_waits(800ms);
    std::uint64_t value = 0;
    bool came_too_late = false;
    while (!came_too_late && value < 5) {  // on a busy machine the signal may overtake the wait's beginning
        ++value;
        const auto begun = std::chrono::steady_clock::now();
        std::jthread later([&] {
            std::this_thread::sleep_for(400ms);
            EXPECT_OK(timeline.signal(value));
        });
        const Result<void> waited = timeline.wait(value, 1ms);
        EXPECT_GE(std::chrono::steady_clock::now() - begun, 800ms);
        later.join();
        came_too_late = !waited;
        if (came_too_late) {
            EXPECT_TRUE(expect_error(waited, ErrorKind::Driver, fmt::format("[steps] has not reached {}", value)));
        }
        EXPECT_OK(timeline.wait(value, 1ms));
    }
    EXPECT_TRUE(came_too_late);
    injector_.delay_waits(0ms);
}

}  // namespace
}  // namespace yolk
