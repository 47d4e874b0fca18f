// SPDX-License-Identifier: Apache-2.0
// What a wait for a device that stands still says, and what ends it sooner than its limit.
#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <thread>

#include "gate.hpp"
#include "noise_work.hpp"
#include "yolk/internal/core/wait_notice.hpp"
#include "yolk/internal/runtime/hang_limit.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/stop.hpp"

namespace yolk {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using yolk::testing::device_index;
using yolk::testing::expect_error;

class still_device : public yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        static_cast<void>(yolk::testing::instance());
        clear_stop();
        ASSERT_OK_AND_ASSIGN(instance_, Instance::create({.validation = yolk::testing::validation_is_on()}));
        ASSERT_OK_AND_ASSIGN(device_, Device::create(*instance_, device_index(device_name())));
    }
    void TearDown() override { clear_stop(); }
    /// Work that does not end, on a dispatcher of the default limit.
    Result<void> stand_still(Dispatcher& dispatcher) {
        YOLK_TRY(const Buffer out, device_->create_buffer({.size_bytes = 400, .label = "out"}));
        YOLK_TRY(NoiseBinding noise, bind_noise(*device_, out));
        YOLK_TRY(Recorder recorder, Recorder::create(*device_, {.label = "generation"}));
        recorder.begin();
        recorder.begin_label("rollout");
        recorder.dispatch(noise, noise_params(7, 100), noise_groups(100));
        recorder.end_label();
        const Gate gate(*device_);
        return dispatcher.run(recorder);
    }
    std::optional<Instance> instance_;
    std::optional<Device> device_;
};
YOLK_FOR_EACH_DEVICE(still_device);

TEST_P(still_device, is_told_before_it_is_given_up) {
    ASSERT_OK(set_hang_limit(*device_, milliseconds(12000)));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(*device_));
    ::testing::internal::CaptureStderr();
    const Result<void> ran = stand_still(dispatcher);
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(expect_error(ran, ErrorKind::DeviceLost, "made no progress for 12 s and was given up."));
    EXPECT_THAT(log, HasSubstr("which makes no progress at submission 1 of the recorder [generation], last labelled "
                               "work [rollout], for 5 s; given up after 12 s."));
}

TEST_P(still_device, is_given_up_soon_once_the_process_is_asked_to_end) {
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(*device_));
    std::thread asks([] {
        std::this_thread::sleep_for(milliseconds(300));
        request_stop();
    });
    const auto begun = std::chrono::steady_clock::now();
    const Result<void> ran = stand_still(dispatcher);
    const auto waited = std::chrono::steady_clock::now() - begun;
    asks.join();
    EXPECT_TRUE(expect_error(ran, ErrorKind::DeviceLost,
                             "made no progress for 2 s and was given up, as the process was asked to end"));
    EXPECT_LT(waited, seconds(60)) << "two or three, on a busy machine; the limit is 120";
}

TEST_P(still_device, a_limit_below_a_millisecond_is_refused) {
    EXPECT_TRUE(
        expect_error(set_hang_limit(*device_, std::chrono::microseconds(999)), ErrorKind::BadInput, "at least 1 ms"));
    EXPECT_TRUE(expect_error(set_hang_limit(*device_, seconds(-1)), ErrorKind::BadInput, "at least 1 ms"));
}

}  // namespace
}  // namespace yolk
