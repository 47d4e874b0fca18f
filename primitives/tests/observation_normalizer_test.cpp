// SPDX-License-Identifier: Apache-2.0
// Normalized observations: the rule by which a value enters a policy and is counted, and what devices make of values
// that no sane environment gives.
#include "yolk/exact/observation_normalizer.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "yolk/environment.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t kMiddle = 0x80000000U;  // steps of a value of 0

std::array<std::uint32_t, kObservationCounts> counted(std::initializer_list<float> values) {
    std::array<std::uint32_t, kObservationCounts> words{};
    for (const float value : values)
        exact::exact_count_observation(value, words[0], words[1], words[2], words[3], words[4], words[5]);
    return words;
}

TEST(observation_rule, steps_are_of_a_65536th_and_end_at_the_bounds) {
    EXPECT_EQ(exact::exact_observation_steps(0.0F), kMiddle);
    EXPECT_EQ(exact::exact_observation_steps(-0.0F), kMiddle);
    EXPECT_EQ(exact::exact_observation_steps(1.0F), kMiddle + 65536);
    EXPECT_EQ(exact::exact_observation_steps(-1.0F), kMiddle - 65536);
    EXPECT_EQ(exact::exact_observation_steps(0x1.8p-16F), kMiddle + 1);  // towards 0
    EXPECT_EQ(exact::exact_observation_steps(-0x1.8p-16F), kMiddle - 1);
    EXPECT_EQ(exact::exact_observation_steps(0x1p-17F), kMiddle);
    EXPECT_EQ(exact::exact_observation_steps(32768.0F), 0xFFFFFFFFU);
    EXPECT_EQ(exact::exact_observation_steps(-32768.0F), 0U);
    EXPECT_EQ(exact::exact_observation_steps(std::numeric_limits<float>::max()), 0xFFFFFFFFU);
    EXPECT_EQ(exact::exact_observation_steps(std::numeric_limits<float>::lowest()), 0U);
}

TEST(observation_rule, sums_are_exact_and_leave_out_what_is_not_finite) {
    EXPECT_EQ(counted({kNoNumber, kInfinite, -kInfinite}), counted({}));
    // (2^31 + 65536)^2 = 2^62 + 2^48 + 2^32
    EXPECT_THAT(counted({1.0F}), ::testing::ElementsAre(1, kMiddle + 65536, 0, 0, 0x40010001, 0));
    // (2^32 - 1)^2 = 2^64 - 2^33 + 1, five times: 5 2^64 - 10 2^32 + 5
    EXPECT_THAT(counted({40000.0F, 1e30F, kNoNumber, 32768.0F, 99999.0F, 3e38F}),
                ::testing::ElementsAre(5, 0xFFFFFFFB, 4, 5, 0xFFFFFFF6, 4));
}

TEST(observation_rule, what_enters_is_centred_scaled_and_clipped) {
    EXPECT_EQ(exact::exact_normalized(3.0F, 1.0F, 2.0F), 4.0F);
    EXPECT_EQ(exact::exact_normalized(3.0F, 1.0F, 100.0F), 10.0F);
    EXPECT_EQ(exact::exact_normalized(-3.0F, 1.0F, 100.0F), -10.0F);
    EXPECT_EQ(exact::exact_normalized(1e30F, 0.0F, 0x1p-14F), 2.0F);  // as 32768
    EXPECT_EQ(exact::exact_normalized(-1e30F, 0.0F, 0x1p-14F), -2.0F);
    for (const float odd : {kNoNumber, kInfinite, -kInfinite})
        EXPECT_EQ(exact::exact_normalized(odd, 7.0F, 3.0F), 0.0F) << odd;
    EXPECT_EQ(exact::exact_normalized(0x1p-41F, 0.0F, 1.0F), 0.0F);  // the operand rule
}

/// Its observation is what the step's number says, whatever the policy does: all kinds of values.
constexpr const char* kOddValues = R"(
#ifndef ODD
#define ODD
#include "yolk/exact/environment_prelude.h"
ENVIRONMENT_BEGIN(odd)
EXACT_CONST uint kObservationCount = 2u;
EXACT_CONST uint kActionCount = 2u;
EXACT_CONST uint kMaxSteps = 300u;
EXACT_CONST uint kSolvedReturn = 0x43480000u;
EXACT_CONST uint kBestReturn = 0x43480000u;
struct State { uint step; };
EXACT_FUNCTION State environment_reset(uvec4 words) { State state; state.step = words.x & 3u; return state; }
EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, observation, kObservationCount)) {
    uint k = state.step % 7u;
    uint bits = k == 0u ? 0x7FC00000u : k == 1u ? 0x7F800000u : k == 2u ? 0xFF800000u : k == 3u ? 0x7F7FFFFFu
              : k == 4u ? 0xC7435000u : k == 5u ? 0x00000001u : 0x3F9E0419u;
    observation[0] = exact_from_bits(bits);
    observation[1] = float(state.step);
}
EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint action) {
    state.step += 1u;
    return StepResult(action == 0u ? exact_from_bits(0x3F800000u) : exact_from_bits(0u), false);
}
ENVIRONMENT_END
#endif
)";
constexpr NoiseContext kOddContext{.seed = 3, .generation = 2, .time = 1, .sigma = 0.0F};

class observation_normalizer : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-normalizer-test-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "odd.glsl") << kOddValues;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    struct Outcome {
        std::vector<float> returns;
        std::vector<std::uint32_t> counts;
    };
    Result<Outcome> run(const RolloutDesc& desc, std::span<const float> parameters) {
        YOLK_TRY(const RolloutPlan plan, plan_rollout(device(), desc));
        const auto buffer = [&](std::uint64_t words) {
            return device().create_buffer({.size_bytes = 4 * words, .label = "normalizer test"});
        };
        std::vector<std::uint32_t> evaluations(evaluation_words(desc));
        Outcome outcome{.returns = std::vector<float>(std::size_t{desc.members} * desc.episodes), .counts = {}};
        YOLK_TRY(const Buffer values, buffer(parameters.size()));
        YOLK_TRY(const Buffer returns, buffer(outcome.returns.size()));
        YOLK_TRY(const Buffer counters, buffer(evaluations.size()));
        YOLK_TRY(const Buffer scratch, buffer(plan.scratch().size_bytes / 4));
        YOLK_TRY_VOID(dispatcher().upload(values, std::as_bytes(parameters)));
        YOLK_TRY(const BoundRollout bound,
                 plan.bind({.parameters = values, .returns = returns, .evaluations = counters}, scratch));
        YOLK_TRY(Recorder recorder, Recorder::create(device(), {.label = "normalizer test"}));
        recorder.begin();
        recorder.barrier(Barrier::TransferToCompute);
        bound.record(recorder, kOddContext);
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.barrier(Barrier::ToHost);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        YOLK_TRY_VOID(dispatcher().download(counters, std::as_writable_bytes(std::span(evaluations))));
        YOLK_TRY_VOID(dispatcher().download(returns, std::as_writable_bytes(std::span(outcome.returns))));
        outcome.counts.assign(evaluations.begin() + kEvaluationCounters, evaluations.end());
        return outcome;
    }
    std::filesystem::path folder_;
};
YOLK_FOR_EACH_DEVICE(observation_normalizer);

// 300 steps take several dispatches, and the sums carry from word to word in each.
TEST_P(observation_normalizer, values_that_are_not_finite_are_neither_counted_nor_seen) {
    ASSERT_OK_AND_ASSIGN(const auto own, load_environment(folder_ / "odd.glsl"));
    PolicyNetwork network{.widths = {2, 2}, .normalized = true};
    ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create(network.parameters()));
    RolloutDesc desc{
        .own_environment = own, .network = network, .parameters = table, .members = 5, .episodes = 3, .max_steps = 300};
    std::vector<float> parameters(table.element_count(), 0.0F);
    parameters[0] = 1.0F;  // action 0 where the first value, less 1.0, is not below 0: as what is not finite is
    parameters[network.layer_elements()] = 1.0F;
    for (const std::size_t scale : {2U, 3U}) parameters[network.layer_elements() + scale] = 1.0F;
    for (const std::uint32_t unrolled : {0U, 1U}) {
        desc.config = RolloutConfig{.unrolled = unrolled, .private_parameters = 0, .packed = 0};
        ASSERT_OK_AND_ASSIGN(const Outcome outcome, run(desc, parameters));
        std::array<std::uint32_t, 12> right{};
        for (std::uint32_t episode = 0; episode < desc.episodes; ++episode) {
            const std::uint32_t start = philox_block({.seed = kOddContext.seed,
                                                      .domain = Domain::Environment,
                                                      .pair = episode,
                                                      .time = kOddContext.generation},
                                                     0)[0] &
                                        3U;
            float total = 0.0F;
            for (std::uint32_t step = start; step < start + 300; ++step) {
                const std::array values{kNoNumber, kInfinite, -kInfinite, std::numeric_limits<float>::max(),
                                        -50000.0F, 0x1p-149F, 1.2345F};
                const std::array seen{values[step % 7], static_cast<float>(step)};
                for (std::size_t i = 0; i < 2; ++i) {
                    std::uint32_t* const to = &right[6 * i];
                    exact::exact_count_observation(seen[i], to[0], to[1], to[2], to[3], to[4], to[5]);
                }
                total += step % 7 == 4 || step % 7 == 5 ? 0.0F : 1.0F;
            }
            for (std::uint32_t member = 0; member < desc.members; ++member)
                EXPECT_EQ(outcome.returns[episode * desc.members + member], total) << "unrolled " << unrolled;
        }
        for (std::uint32_t member = 0; member < desc.members; ++member)
            EXPECT_THAT(std::span(outcome.counts).subspan(12 * member, 12), ::testing::ElementsAreArray(right));
    }
}

TEST_P(observation_normalizer, steps_that_a_word_cannot_count_are_refused) {
    PolicyNetwork network{.widths = {4, 2}, .normalized = true};
    ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create(network.parameters()));
    RolloutDesc desc{.network = network, .parameters = table, .members = 2, .episodes = 8'589'935};
    EXPECT_TRUE(expect_error(plan_rollout(device(), desc), ErrorKind::BadInput, "counted with 32 bits"));
    desc.episodes = 3;
    EXPECT_OK(plan_rollout(device(), desc));
}

}  // namespace
}  // namespace yolk
