// SPDX-License-Identifier: Apache-2.0
// The threading contracts of device, dispatcher, recorder and binding (runtime/README.md): two threads do everything at
// once. Under the preset tsan this is what finds a race of ours.
#include <array>
#include <barrier>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "noise_work.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kThreadNumbers = 999;
constexpr std::uint32_t kRounds = 25;

class threads : public yolk::testing::DeviceTest {
   protected:
    /// Runs `work` on two threads that begin together; what each returns must be no error.
    static void both(const std::function<Result<void>(std::uint32_t)>& work) {
        std::barrier start(2);
        std::array<Result<void>, 2> outcomes;
        {
            std::vector<std::jthread> running;
            for (std::uint32_t i = 0; i < 2; ++i) {
                running.emplace_back([&, i] {
                    start.arrive_and_wait();
                    outcomes[i] = work(i);
                });
            }
        }
        for (const auto& outcome : outcomes) EXPECT_OK(outcome);
    }

    static Result<void> expect_noise(Dispatcher& dispatcher, const Buffer& out, std::uint32_t time) {
        YOLK_TRY(const auto got, download_ints(dispatcher, out, kThreadNumbers));
        if (got == expected_noise(time, kThreadNumbers)) return {};
        return bad_input("wrong noise at time " + std::to_string(time));
    }
};
YOLK_FOR_EACH_DEVICE(threads);

TEST_P(threads, share_a_device_and_a_dispatcher) {
    ASSERT_OK_AND_ASSIGN(const Device own, Device::create(yolk::testing::instance(), device().info().index));
    ASSERT_OK_AND_ASSIGN(Dispatcher shared, Dispatcher::create(own));
    both([&](std::uint32_t thread) -> Result<void> {
        YOLK_TRY(Recorder recorder, Recorder::create(own, {.timestamp_count = 1, .label = "thread"}));
        for (std::uint32_t round = 0; round < kRounds; ++round) {
            const std::uint32_t time = 2 * round + thread;
            YOLK_TRY(const Buffer out, own.create_buffer({.size_bytes = kThreadNumbers * 4, .label = "out"}));
            YOLK_TRY(const NoiseBinding noise, bind_noise(own, out));
            recorder.begin();
            recorder.dispatch(noise, noise_params(time, kThreadNumbers), noise_groups(kThreadNumbers));
            recorder.timestamp(0);
            YOLK_TRY(const Submission done, shared.submit(recorder));
            YOLK_TRY_VOID(shared.poll(done));
            YOLK_TRY_VOID(shared.wait(done));
            std::array<double, 1> when{};
            if (own.info().limits.timestamp_period_ns > 0.0) YOLK_TRY_VOID(recorder.read_timestamps(when));
            YOLK_TRY_VOID(expect_noise(shared, out, time));
        }
        return {};
    });
    // Of memory that is not mapped the rings of transfers are buffers, too.
    EXPECT_GE(own.counts().buffers_created, 2 * kRounds);
    EXPECT_LE(own.counts().buffers_created, 2 * kRounds + 2);
    EXPECT_EQ(own.counts().pipelines_created, 1U);
    EXPECT_GE(own.counts().dispatches, 2U * kRounds);
}

TEST_P(threads, dispatch_one_binding_into_their_own_recorders) {
    ASSERT_OK_AND_ASSIGN(const Buffer out, device().create_buffer({.size_bytes = kThreadNumbers * 4, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(device(), out));
    both([&](std::uint32_t) -> Result<void> {
        YOLK_TRY(Dispatcher own, Dispatcher::create(device()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        for (std::uint32_t round = 0; round < kRounds; ++round) {
            recorder.begin();
            recorder.dispatch(noise, noise_params(5, kThreadNumbers), noise_groups(kThreadNumbers));
            YOLK_TRY_VOID(own.run(recorder));
        }
        return {};
    });
    EXPECT_OK(expect_noise(dispatcher(), out, 5));
}

TEST_P(threads, wait_for_each_others_submissions) {
    ASSERT_OK_AND_ASSIGN(Dispatcher shared, Dispatcher::create(device()));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
    ASSERT_OK_AND_ASSIGN(const Submission first, shared.submit(recorder));
    both([&](std::uint32_t) -> Result<void> {
        YOLK_TRY(Recorder own, Recorder::create(device()));
        for (std::uint32_t round = 0; round < kRounds; ++round) {
            own.begin();
            YOLK_TRY(const Submission later, shared.submit(own, std::span(&first, 1)));
            YOLK_TRY_VOID(shared.wait(first));
            YOLK_TRY_VOID(shared.wait(later));
        }
        return {};
    });
}

TEST_P(threads, find_and_save_while_others_work) {
    const auto folder = std::filesystem::temp_directory_path() / ("yolk_threads_" + device_name());
    std::filesystem::remove_all(folder);
    {
        ASSERT_OK_AND_ASSIGN(const Device own, Device::create(yolk::testing::instance(), device().info().index,
                                                              {.pipeline_cache_folder = folder}));
        ASSERT_OK_AND_ASSIGN(const Buffer out, own.create_buffer({.size_bytes = kThreadNumbers * 4, .label = "out"}));
        both([&](std::uint32_t thread) -> Result<void> {
            for (std::uint32_t round = 0; round < kRounds; ++round) {
                const SpecConstant constants[] = {{abi::noise::kSpecWorkgroupSize, 1 + (round + thread) % 4}};
                YOLK_TRY_VOID(own.pipeline(kernels::kNoiseI32, constants));
                own.set_findings({.loop_limit = round, .probed = true});
                if (!own.findings().probed) return bad_input("the findings were lost");
                if (round % 8 == 0) YOLK_TRY_VOID(own.save_pipeline_cache());
            }
            return {};
        });
        EXPECT_EQ(own.counts().pipelines_created, 4U);
    }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace yolk
