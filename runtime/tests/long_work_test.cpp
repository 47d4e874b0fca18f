// SPDX-License-Identifier: Apache-2.0
// Long work is cut over submissions, with the same result. The device of these tests takes little at once.
#include <chrono>
#include <vector>

#include "gate.hpp"
#include "noise_work.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

constexpr std::uint32_t kDearNumbers = 100 * 8 * kNoiseWorkgroup - 3;  // 100 workgroups
constexpr LinearGrid kDear{.groups = 100, .cost_per_group = 10};

class long_work : public yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<Device> impatient_device(std::uint64_t max_cost) const {
        return Device::create(yolk::testing::instance(), device().info().index, {.max_submission_cost = max_cost});
    }
};
YOLK_FOR_EACH_DEVICE(long_work);

TEST_P(long_work, is_cut_into_submissions_with_the_same_result) {
    for (const std::uint64_t max_cost : {1ULL, 10ULL, 70ULL, 333ULL, 999ULL, 1000ULL}) {
        SCOPED_TRACE(max_cost);
        ASSERT_OK_AND_ASSIGN(const Device impatient, impatient_device(max_cost));
        EXPECT_EQ(impatient.max_submission_cost(), max_cost);
        ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(impatient));
        ASSERT_OK_AND_ASSIGN(const Buffer out,
                             impatient.create_buffer({.size_bytes = kDearNumbers * 4, .label = "out"}));
        ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(impatient, out));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(impatient, {.timestamp_count = 2}));
        recorder.begin();
        recorder.timestamp(0);
        {
            const ScopedLabel outer(recorder, "outer");
            const ScopedLabel inner(recorder, "inner");
            recorder.dispatch(noise, noise_params(7, kDearNumbers), kDear);
        }
        recorder.timestamp(1);
        ASSERT_OK(dispatcher.run(recorder));
        const std::uint64_t submissions = max_cost <= 10    ? 100
                                          : max_cost == 70  ? 15
                                          : max_cost == 333 ? 4
                                          : max_cost == 999 ? 2
                                                            : 1;
        EXPECT_EQ(recorder.submission_count(), submissions);
        EXPECT_EQ(recorder.dispatch_count(), submissions);
        EXPECT_EQ(impatient.counts().submissions, submissions);
        ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher, out, kDearNumbers));
        EXPECT_EQ(got, expected_noise(7, kDearNumbers));
        std::vector<double> times(2);
        ASSERT_OK(recorder.read_timestamps(times));
        EXPECT_GE(times[1], times[0]);
    }
}

TEST_P(long_work, of_several_kernels_is_cut_between_them) {
    ASSERT_OK_AND_ASSIGN(const Device impatient, impatient_device(1500));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(impatient));
    ASSERT_OK_AND_ASSIGN(const Buffer out, impatient.create_buffer({.size_bytes = kDearNumbers * 4, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(impatient, out));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(impatient));
    for (std::uint32_t time = 0; time < 4; ++time) {
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(noise, noise_params(time, kDearNumbers), kDear);  // two would cost 2000
    }
    recorder.end();
    EXPECT_EQ(recorder.submission_count(), 4U);
    const std::vector<std::int32_t> wrong(kDearNumbers, -1);
    for (int replay = 0; replay < 2; ++replay) {
        ASSERT_OK(dispatcher.upload(out, std::as_bytes(std::span(wrong))));
        ASSERT_OK(dispatcher.run(recorder));
        ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher, out, kDearNumbers));
        EXPECT_EQ(got, expected_noise(3, kDearNumbers));
    }
    recorder.begin();  // forgets the segments, too
    recorder.fill({out, 0, 400}, 5);
    ASSERT_OK(dispatcher.run(recorder));
    EXPECT_EQ(recorder.submission_count(), 1U);
}

TEST_P(long_work, names_the_segment_that_does_not_finish) {
    ASSERT_OK_AND_ASSIGN(const Device impatient, impatient_device(1000));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(impatient));
    ASSERT_OK_AND_ASSIGN(const Buffer out, impatient.create_buffer({.size_bytes = kDearNumbers * 4, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(impatient, out));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(impatient, {.label = "two"}));
    {
        const ScopedLabel label(recorder, "first");
        recorder.dispatch(noise, noise_params(0, kDearNumbers), kDear);
    }
    {
        const ScopedLabel label(recorder, "second");
        recorder.dispatch(noise, noise_params(1, kDearNumbers), kDear);
    }
    Gate gate(impatient);
    ASSERT_OK_AND_ASSIGN(const Submission last, dispatcher.submit(recorder));
    EXPECT_EQ(last.serial.value, 2U);
    const Submission first{.dispatcher = &dispatcher, .serial = SubmitSerial{1}};
    constexpr std::chrono::nanoseconds kNow{0};
    EXPECT_TRUE(expect_error(dispatcher.wait(first, kNow), ErrorKind::Driver, "last labelled work [first]"));
    EXPECT_TRUE(expect_error(dispatcher.wait(last, kNow), ErrorKind::Driver, "last labelled work [second]"));
    gate.open();
    EXPECT_OK(dispatcher.wait(last));
}

TEST(long_work_defaults, discrete_devices_take_more_at_once) {
    EXPECT_EQ(default_submission_cost(DeviceKind::Discrete), std::uint64_t{1} << 34U);
    for (const DeviceKind kind : {DeviceKind::Cpu, DeviceKind::Integrated, DeviceKind::Virtual, DeviceKind::Other}) {
        EXPECT_EQ(default_submission_cost(kind), std::uint64_t{1} << 30U);
    }
}

}  // namespace
}  // namespace yolk
