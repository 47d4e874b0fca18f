// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/recorder.hpp"

#include <array>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "gate.hpp"
#include "noise_work.hpp"
#include "recorder_impl.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

struct WrongUse {
    std::function<void(Recorder&)> record;
    const char* message;
};

class recorder : public yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        ASSERT_OK_AND_ASSIGN(out_, device().create_buffer({.size_bytes = 4096, .label = "out"}));
        ASSERT_OK_AND_ASSIGN(noise_, bind_noise(device(), out_));
    }
    void record_noise(Recorder& into, std::uint32_t time = 1) {
        into.dispatch(noise_, noise_params(time, 1000), noise_groups(1000));
    }
    /// Of a recorder [work] with two timestamps; a second error does not hide the first, and the next recording is
    /// good.
    void expect_first_errors(const std::vector<WrongUse>& uses) {
        ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device(), {.timestamp_count = 2, .label = "work"}));
        for (const auto& [record, message] : uses) {
            made.begin();
            record(made);
            made.fill({out_, 1, 1}, 0);
            EXPECT_TRUE(expect_error(dispatcher().submit(made), ErrorKind::BadInput, message));
            EXPECT_TRUE(expect_error(dispatcher().submit(made), ErrorKind::BadInput, message));
        }
        made.begin();
        record_noise(made);
        EXPECT_OK(dispatcher().run(made));
    }

    Buffer out_;
    NoiseBinding noise_;
};
YOLK_FOR_EACH_DEVICE(recorder);

TEST_P(recorder, keeps_the_first_error_until_begun_anew) {
    ASSERT_OK_AND_ASSIGN(Buffer foreign, discrete_device().create_buffer({.size_bytes = 4096, .label = "foreign"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding foreign_noise, bind_noise(discrete_device(), foreign));
    const std::uint32_t above = device().info().limits.max_workgroup_count[0] + 1;
    expect_first_errors({
        {[&](Recorder& r) {
             r.dispatch(noise_, noise_params(1, 1), {above, 1, 1});
         },
         "The kernel [noise_i32] was dispatched with"},
        {[&](Recorder& r) {
             r.dispatch(noise_, noise_params(1, 1), {0, 1, above});
         },
         "workgroups; device"},
        {[&](Recorder& r) {
             r.dispatch(noise_.binding, {}, {1, 1, 1});
         },
         "takes 28 bytes of parameters, 0 were given"},
        {[&](Recorder& r) {
             r.dispatch(Binding(), {}, {1, 1, 1});
         },
         "the binding is empty"},
        {[&](Recorder& r) {
             r.dispatch(foreign_noise, noise_params(1, 1), {1, 1, 1});
         },
         "different devices"},
        {[&](Recorder& r) { r.timestamp(2); }, "Timestamp slot 2 was asked for; the recorder [work] was made with 2"},
        {[&](Recorder& r) { r.timestamp(0), r.timestamp(0); },
         "Timestamp slot 0 of the recorder [work] was written twice"},
        {[&](Recorder& r) { r.end_label(); }, "A label of the recorder [work] was ended that was not begun"},
        {[&](Recorder& r) { r.refuse(bad_input("The share is not there.")), r.timestamp(2); },
         "The share is not there."},
        {[&](Recorder& r) { r.end(), record_noise(r); }, "Cannot record a dispatch: the recording [work] has ended"},
    });
}

TEST_P(recorder, copies_and_fills_stay_within_their_buffers) {
    ASSERT_OK_AND_ASSIGN(Buffer foreign, discrete_device().create_buffer({.size_bytes = 4096, .label = "foreign"}));
    expect_first_errors({
        {[&](Recorder& r) {
             r.copy({out_, 0, 4}, {out_, 4, 8});
         },
         "from 4 bytes to 8"},
        {[&](Recorder& r) {
             r.copy({out_, 0, 8}, {out_, 4, 8});
         },
         "share bytes of the buffer [out]"},
        {[&](Recorder& r) {
             r.copy({out_, 0, 8}, {out_, 4092, 8});
         },
         "The target of a copy, 8 bytes at offset 4092"},
        {[&](Recorder& r) {
             r.copy({foreign, 0, 8}, {out_, 0, 8});
         },
         "The source of a copy: the buffer [foreign]"},
        {[&](Recorder& r) {
             r.fill({out_, 2, 4}, 0);
         },
         "offset 2 and size 4; both must be multiples of 4"},
        {[&](Recorder& r) {
             r.fill({out_, 4, 3}, 0);
         },
         "offset 4 and size 3"},
        {[&](Recorder& r) {
             r.fill({out_, 0, 8192}, 0);
         },
         "The target of a fill, 8192 bytes"},
    });
}

TEST_P(recorder, takes_empty_work) {
    ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device()));
    made.dispatch(noise_, noise_params(1, 1), {0, 1, 1});
    made.copy({}, {});
    made.fill({}, 7);
    EXPECT_EQ(made.dispatch_count(), 0U);
    EXPECT_OK(dispatcher().run(made));
}

TEST_P(recorder, fills_and_copies_words_and_bytes) {
    ASSERT_OK_AND_ASSIGN(const Buffer other, device().create_buffer({.size_bytes = 4096, .label = "other"}));
    ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device()));
    made.fill(out_, 0x04030201);
    made.fill(other, 0xffffffff);
    made.barrier(Barrier::TransferToTransfer);
    made.fill({out_, 8, 4}, 0);
    made.copy({out_, 16, 7}, {other, 1, 7});
    ASSERT_OK(dispatcher().run(made));
    std::array<std::byte, 12> got{};
    ASSERT_OK(dispatcher().download({other, 0, 12}, got));
    const std::array<unsigned, 12> expected{255, 1, 2, 3, 4, 1, 2, 3, 255, 255, 255, 255};
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(static_cast<unsigned>(got[i]), expected[i]) << i;
    ASSERT_OK_AND_ASSIGN(const auto words, download_ints(dispatcher(), out_, 4));
    EXPECT_EQ(words, (std::vector<std::int32_t>{0x04030201, 0x04030201, 0, 0x04030201}));
}

TEST_P(recorder, timestamps_do_not_go_back) {
    constexpr std::size_t kSlots = 5;
    ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device(), {.timestamp_count = kSlots}));
    std::array<double, kSlots> last{};
    for (int round = 0; round < 2; ++round) {
        made.begin();
        for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
            record_noise(made, slot);
            made.barrier(Barrier::ComputeToCompute);
            made.timestamp(slot);
        }
        ASSERT_OK(dispatcher().run(made));
        std::array<double, kSlots> times{};
        ASSERT_OK(made.read_timestamps(times));
        for (std::size_t i = 1; i < kSlots; ++i) EXPECT_GE(times[i], times[i - 1]);
        EXPECT_GT(times.back(), times.front());  // four kernels take time
        EXPECT_TRUE(round == 0 || times[0] > last.back()) << "one origin for all recordings of a device";
        last = times;
    }
    EXPECT_LT(last.back() - last.front(), 60e9);  // nanoseconds, not another unit
}

TEST_P(recorder, timestamps_that_are_not_there_are_an_error) {
    ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device(), {.timestamp_count = 2, .label = "timed"}));
    made.timestamp(0);
    ASSERT_OK(dispatcher().run(made));
    std::array<double, 3> times{};
    EXPECT_OK(made.read_timestamps(std::span(times).first(1)));
    EXPECT_TRUE(expect_error(made.read_timestamps(std::span(times).first(2)), ErrorKind::BadInput,
                             "slot 1 of the recorder [timed]"));
    EXPECT_TRUE(expect_error(made.read_timestamps(times), ErrorKind::BadInput, "3 timestamps were asked for"));
    ASSERT_OK_AND_ASSIGN(Recorder fresh, Recorder::create(device(), {.timestamp_count = 1, .label = "fresh"}));
    fresh.timestamp(0);
    EXPECT_TRUE(
        expect_error(fresh.read_timestamps(std::span(times).first(1)), ErrorKind::BadInput, "once it was submitted"));
    const Gate gate(device());  // opened before the recorders go, which wait for their work
    ASSERT_OK(dispatcher().submit(fresh));
    EXPECT_TRUE(
        expect_error(fresh.read_timestamps(std::span(times).first(1)), ErrorKind::BadInput, "[fresh] still runs"));
}

TEST_P(recorder, closes_labels_left_open) {
    ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device()));
    made.begin_label("outer");
    {
        const ScopedLabel scope(made, std::string(500, 'x'));
        record_noise(made);
    }
    EXPECT_OK(dispatcher().run(made));
}

TEST_P(recorder, is_not_begun_anew_under_running_work) {
    ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device(), {.timestamp_count = 0, .label = "busy"}));
    record_noise(made, 9);
    Gate gate(device());
    ASSERT_OK_AND_ASSIGN(const Submission running, dispatcher().submit(made));
    made.begin();
    record_noise(made, 10);
    EXPECT_TRUE(expect_error(dispatcher().submit(made), ErrorKind::BadInput,
                             "[busy] was begun again while its work is still running"));
    gate.open();
    ASSERT_OK(dispatcher().wait(running));
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), out_, 1000));
    EXPECT_EQ(got, expected_noise(9, 1000));
}

TEST_P(recorder, destroyed_under_running_work_waits_for_it) {
    Gate gate(device());
    Submission running;
    {
        ASSERT_OK_AND_ASSIGN(Recorder made, Recorder::create(device()));
        for (std::uint32_t time = 0; time <= 200; ++time) {
            record_noise(made, time);
            made.barrier(Barrier::ComputeToCompute);
        }
        ASSERT_OK_AND_ASSIGN(running, dispatcher().submit(made));
        gate.open();  // from now on it runs, for milliseconds
    }
    ASSERT_OK_AND_ASSIGN(const bool finished, dispatcher().poll(running));
    EXPECT_TRUE(finished);
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), out_, 1000));
    EXPECT_EQ(got, expected_noise(200, 1000));
}

TEST_P(recorder, threads_record_side_by_side) {
    constexpr std::uint32_t kThreads = 4;
    std::array<std::optional<Error>, kThreads> failures;
    std::vector<std::thread> threads;
    const auto work = [&](std::uint32_t mine) -> Result<void> {
        for (std::uint32_t round = 0; round < 8; ++round) {
            YOLK_TRY(const Buffer out, device().create_buffer({.size_bytes = 4000, .label = "mine"}));
            YOLK_TRY(const NoiseBinding bound, bind_noise(device(), out));
            YOLK_TRY(Recorder own, Recorder::create(device()));
            own.dispatch(bound, noise_params(mine * 100 + round, 1000), noise_groups(1000));
            YOLK_TRY_VOID(dispatcher().run(own));
            YOLK_TRY(const auto got, download_ints(dispatcher(), out, 1000));
            if (got != expected_noise(mine * 100 + round, 1000)) return bad_input("wrong noise");
        }
        return {};
    };
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            if (auto done = work(t); !done) failures[t] = std::move(done).error();
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& failure : failures) EXPECT_FALSE(failure.has_value()) << failure->message;
}

}  // namespace
}  // namespace yolk
