// SPDX-License-Identifier: Apache-2.0
// Training on drivers that fail: an error that says what, a folder that can be resumed from, and the same bits in the
// end.
#include <gmock/gmock.h>

#include <functional>

#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;
using ::yolk::testing::FaultInjector;
using ::yolk::testing::FaultKind;
using ::yolk::testing::living_objects;
using ::yolk::testing::Sweep;

TrainOptions faulted_run(const std::filesystem::path& out, std::uint32_t generations) {
    return {.task = "cartpole",
            .evolution = {.population = 8, .seed = 3},
            .network = {.widths = {4, 2}},
            .generations = generations,
            .stop_when_solved = false,
            .max_steps = 5,
            .out = out,
            .checkpoint_every = out.empty() ? 0U : 1U,
            .evaluation_episodes = 2,
            .rollout_config = RolloutConfig{.unrolled = false}};  // quick to compile
}

class training_faults : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(::yolk::testing::instance()); }  // lives on: no leak of a test's
    [[nodiscard]] Result<Device> new_device() const {
        return Device::create(::yolk::testing::instance(), ::yolk::testing::device_index(device_name()));
    }
    FaultInjector faults_;
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(training_faults);

TEST_P(training_faults, any_call) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    const std::filesystem::path policy = folder_.path() / "policy.safetensors";
    ASSERT_OK(train(device, faulted_run(folder_.path(), 1)));
    const Sweep sweep{
        .kinds = {FaultKind::OutOfDeviceMemory},
        .names = {"[policy", "[parameters", "[returns]", "[evaluation counters]", "[scores]", "[skipped elements]",
                  "[fitness", "[es_update", "[optimizer", "[digest", "[gradient]", "[generation", "[evolution]",
                  "[rollout", "[transfer]", "staging]", "timeline semaphore"},
        .tolerated = {"vkSetDebugUtilsObjectNameEXT"}};
    sweep_calls(faults_, sweep, [&]() -> Result<void> {
        YOLK_TRY_VOID(train(device, faulted_run("", 1)));
        YOLK_TRY_VOID(evaluate_policy(device, policy, {.episodes = 2}));
        return {};
    });
}

TEST_P(training_faults, lost_device_is_resumed_from_to_the_same_bits) {
    TrainOptions options = faulted_run(folder_.path(), 4);
    const std::string living = living_objects();
    {
        ASSERT_OK_AND_ASSIGN(const Device device, new_device());
        const auto outcome = train(device, options, [&](const GenerationReport& report) {
            // The submission of the next generation may fail so, then the wait for it.
            if (report.generation == 1) faults_.fail_nth_call(2, FaultKind::DeviceLost);
            return true;
        });
        EXPECT_TRUE(expect_error(outcome, ErrorKind::DeviceLost, "of the recorder [evolution], last labelled work ["));
        EXPECT_TRUE(expect_error(outcome, ErrorKind::DeviceLost, "' has the first 2 generations; resume from it."));
        // GPUs are polled before a thread sleeps.
        EXPECT_THAT(faults_.injected_into(), ::testing::AnyOf("vkWaitSemaphores", "vkGetSemaphoreCounterValue"));
        faults_.fail_nothing();
        EXPECT_TRUE(expect_error(train(device, faulted_run("", 1)), ErrorKind::DeviceLost, "was lost during"));
    }
    EXPECT_EQ(living_objects(), living);
    options.resume = true;
    ASSERT_OK_AND_ASSIGN(const Device next, new_device());
    ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(next, options));
    EXPECT_EQ(resumed.resumed_from, 2U);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(next, faulted_run("", 4)));
    EXPECT_EQ(resumed.state_hash, whole.state_hash);
    EXPECT_EQ(resumed.eval_mean_return, whole.eval_mean_return);
}

// No checkpoint, and no state on the host: the log has every generation that was done.
TEST_P(training_faults, lost_device_leaves_its_log) {
    TrainOptions options = faulted_run(folder_.path(), 4);
    options.checkpoint_every = 0;
    options.hash_every = 0;
    {
        ASSERT_OK_AND_ASSIGN(const Device device, new_device());
        const auto outcome = train(device, options, [&](const GenerationReport& report) {
            if (report.generation == 1) faults_.fail_nth_call(2, FaultKind::DeviceLost);
            return true;
        });
        EXPECT_TRUE(
            expect_error(outcome, ErrorKind::DeviceLost, "/log.yolk' has the first 2 generations; resume from"));
        faults_.fail_nothing();
    }
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "checkpoint.yolk"));
    options.resume = true;
    ASSERT_OK_AND_ASSIGN(const Device next, new_device());
    ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(next, options));
    EXPECT_EQ(resumed.resumed_from, 2U);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(next, faulted_run("", 4)));
    EXPECT_EQ(resumed.state_hash, whole.state_hash);
}

TEST_P(training_faults, hung_device_is_given_up_and_resumed_from_on_a_new_one) {
    ASSERT_OK_AND_ASSIGN(const Device healthy, new_device());
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(healthy, faulted_run("", 3)));
    ASSERT_OK_AND_ASSIGN(const Instance own, Instance::create());  // stays for ever, as what hangs does
    TrainOptions options = faulted_run(folder_.path(), 3);
    options.hang_limit = std::chrono::seconds(5);  // long enough for a busy machine
    ::testing::internal::CaptureStderr();
    {
        ASSERT_OK_AND_ASSIGN(const Device device, Device::create(own, ::yolk::testing::device_index(device_name())));
        const auto outcome = train(device, options, [&](const GenerationReport& report) {
            faults_.hang_submissions(report.generation == 1);
            return true;
        });
        faults_.hang_submissions(false);
        EXPECT_TRUE(expect_error(outcome, ErrorKind::DeviceLost, "made no progress for 5 s and was given up"));
        // At least its own buffers (12), its recorder, the final evaluation's, and the dispatcher's semaphore.
        EXPECT_GE(device.counts().abandoned_handles, 15U);
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("were abandoned"), std::string::npos) << said;
    options.resume = true;
    options.hang_limit = DispatcherOptions{}.hang_limit;  // a healthy device of a busy machine may take its time
    ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(healthy, options));
    EXPECT_EQ(resumed.resumed_from, 2U);
    EXPECT_EQ(resumed.state_hash, whole.state_hash);
}

TEST_P(training_faults, device_that_computes_wrongly_is_refused_before_anything_is_written) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    faults_.spoil_multiplications(true);
    const std::filesystem::path out = folder_.path() / "new";
    EXPECT_TRUE(expect_error(train(device, faulted_run(out, 1)), ErrorKind::Unsupported, "cannot run in exact mode:"));
    EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace yolk::train
