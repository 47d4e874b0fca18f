// SPDX-License-Identifier: Apache-2.0
// Plans and bound plans are immutable: two threads bind one plan and record one bound plan at the same time.
#include <array>
#include <thread>
#include <vector>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/noise.hpp"
#include "yolk/optimizer.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kElements = 1000;

class threads : public testing::DeviceTest {
   protected:
    template <class Work>
    static void both(const Work& work) {
        std::array<Result<void>, 2> outcomes;
        {
            std::vector<std::jthread> running;
            for (std::uint32_t i = 0; i < 2; ++i) running.emplace_back([&, i] { outcomes[i] = work(i); });
        }
        for (const auto& outcome : outcomes) EXPECT_OK(outcome);
    }
};
YOLK_FOR_EACH_DEVICE(threads);

TEST_P(threads, share_a_plan) {
    ASSERT_OK_AND_ASSIGN(const NoisePlan plan, plan_noise(device(), {.element_count = kElements, .pair_count = 1}));
    both([&](std::uint32_t pair) -> Result<void> {
        for (std::uint32_t time = 0; time < 20; ++time) {
            YOLK_TRY(const Buffer out, device().create_buffer({.size_bytes = 4 * kElements, .label = "out"}));
            YOLK_TRY(const BoundNoise bound, plan.bind({.out = out}, {}));
            YOLK_TRY(Recorder recorder, Recorder::create(device()));
            const NoiseStream stream{.seed = 8, .domain = Domain::Data, .pair = pair, .time = time};
            bound.record(recorder, stream);
            YOLK_TRY_VOID(dispatcher().run(recorder));
            std::vector<std::int32_t> values(kElements);
            YOLK_TRY_VOID(dispatcher().download(out, std::as_writable_bytes(std::span(values))));
            for (std::uint32_t i = 0; i < kElements; ++i) {
                if (values[i] != noise_element(stream, i)) return bad_input("wrong noise");
            }
        }
        return {};
    });
}

// Both threads' steps are taken, in whatever order.
TEST_P(threads, record_one_bound_plan) {
    ASSERT_OK_AND_ASSIGN(const Buffer gradient, device().create_buffer({.size_bytes = 4 * kElements, .label = "g"}));
    ASSERT_OK_AND_ASSIGN(const Buffer parameters, device().create_buffer({.size_bytes = 4 * kElements, .label = "p"}));
    const std::vector<float> ones(kElements, 1.0F);
    const std::vector<float> zeros(kElements, 0.0F);
    ASSERT_OK(dispatcher().upload(gradient, std::as_bytes(std::span(ones))));
    ASSERT_OK(dispatcher().upload(parameters, std::as_bytes(std::span(zeros))));
    ASSERT_OK_AND_ASSIGN(const OptimizerPlan plan, plan_optimizer(device(), {.element_count = kElements}));
    ASSERT_OK_AND_ASSIGN(const BoundOptimizer bound,
                         plan.bind({.gradient = gradient, .parameters = parameters, .state = {}}, {}));
    both([&](std::uint32_t) -> Result<void> {
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        for (std::uint32_t step = 0; step < 20; ++step) {
            recorder.begin();
            bound.record(recorder, 0.5F, step);
            YOLK_TRY_VOID(dispatcher().run(recorder));
        }
        return {};
    });
    std::vector<float> values(kElements);
    ASSERT_OK(dispatcher().download(parameters, std::as_writable_bytes(std::span(values))));
    EXPECT_EQ(values, std::vector<float>(kElements, 20.0F));  // 40 steps of .5, exact in any order
}

}  // namespace
}  // namespace yolk
