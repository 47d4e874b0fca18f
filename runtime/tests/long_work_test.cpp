// SPDX-License-Identifier: Apache-2.0
// Long work is cut over submissions, with the same result. The device of these tests takes little at once.
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "gate.hpp"
#include "noise_work.hpp"
#include "submission_pace.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

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
        EXPECT_EQ(impatient.max_submission_cost(), max_cost);  // asked for, so not measured
        EXPECT_EQ(impatient.max_workgroup_cost(), max_cost);
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

// Work of both is little; what it claims to cost is what is cut by.
class paced_work : public yolk::testing::DeviceTest {
   protected:
    static constexpr std::uint32_t kNumbers = 1U << 18U;
    static constexpr std::uint32_t kGroups = kNumbers / (8 * kNoiseWorkgroup);

    void SetUp() override {
        DeviceTest::SetUp();
        ASSERT_OK_AND_ASSIGN(own_, Device::create(yolk::testing::instance(), device().info().index));
        ASSERT_OK_AND_ASSIGN(dispatcher_, Dispatcher::create(*own_));
        ASSERT_OK_AND_ASSIGN(out_, own_->create_buffer({.size_bytes = kNumbers * 4, .label = "out"}));
        ASSERT_OK_AND_ASSIGN(noise_, bind_noise(*own_, out_));
        ASSERT_OK_AND_ASSIGN(recorder_, Recorder::create(*own_));
    }
    std::size_t record(std::uint32_t time, std::uint64_t claimed_cost) {
        recorder_->begin();
        recorder_->dispatch(noise_, noise_params(time, kNumbers),
                            LinearGrid{.groups = kGroups, .cost_per_group = claimed_cost / kGroups});
        recorder_->end();
        return recorder_->submission_count();
    }
    void expect_result(std::uint32_t time) {
        ASSERT_OK_AND_ASSIGN(const auto got, download_ints(*dispatcher_, out_, kNumbers));
        EXPECT_EQ(got, expected_noise(time, kNumbers));
    }

    /// What was recorded last; its end is seen 400 ms later.
    void run_late() {
        injector_.delay_waits(std::chrono::milliseconds(400));
        EXPECT_OK(dispatcher_->run(*recorder_));
        injector_.delay_waits(std::chrono::milliseconds(0));
    }

    yolk::testing::FaultInjector injector_;
    std::optional<Device> own_;
    std::optional<Dispatcher> dispatcher_;
    Buffer out_;
    NoiseBinding noise_;
    std::optional<Recorder> recorder_;
};
YOLK_FOR_EACH_DEVICE(paced_work);

TEST_P(paced_work, that_ends_early_is_cut_into_fewer_pieces) {
    constexpr std::uint64_t kClaimed = kFirstPieceCost * 16;
    EXPECT_EQ(own_->max_submission_cost(), kFirstPieceCost);
    const std::size_t first = record(0, kClaimed);
    EXPECT_EQ(first, 16U);
    std::size_t pieces = first;
    std::uint32_t time = 0;
    // The first dispatch compiles, and a busy machine may be slow more than once.
    for (; pieces > 1 && time < 50; ++time) {
        ASSERT_OK(dispatcher_->run(*recorder_));
        if (time == 0) expect_result(0);
        pieces = record(time + 1, kClaimed);
    }
    EXPECT_EQ(pieces, 1U);
    EXPECT_GE(own_->max_submission_cost(), kClaimed);
    ASSERT_OK(dispatcher_->run(*recorder_));
    expect_result(time);
}

TEST_P(paced_work, that_is_late_twice_is_cut_into_more_pieces) {
    EXPECT_EQ(record(0, kFirstPieceCost), 1U);
    run_late();
    EXPECT_EQ(own_->max_submission_cost(), kFirstPieceCost) << "once: it may have compiled";
    run_late();
    expect_result(0);
    EXPECT_LT(own_->max_submission_cost(), kFirstPieceCost / 3);  // 400 ms and 125 ms
    EXPECT_EQ(own_->max_workgroup_cost(), kFirstPieceCost);
    EXPECT_GE(record(1, kFirstPieceCost), 4U);
    ASSERT_OK(dispatcher_->run(*recorder_));
    expect_result(1);
}

// Nobody saw when it ended, so that its time says nothing bad of it.
TEST_P(paced_work, that_was_waited_for_too_late_is_cut_as_before) {
    EXPECT_EQ(record(0, kFirstPieceCost), 1U);
    ASSERT_OK_AND_ASSIGN(const Submission done, dispatcher_->submit(*recorder_));
    for (bool finished = false; !finished;) {
        ASSERT_OK_AND_ASSIGN(finished, dispatcher_->poll(done));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ASSERT_OK(dispatcher_->wait(done));
    EXPECT_EQ(own_->max_submission_cost(), kFirstPieceCost);
}

}  // namespace
}  // namespace yolk
