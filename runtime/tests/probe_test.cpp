// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/probe.hpp"

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "loop_probe.hpp"
#include "yolk/internal/abi/probe.h"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using abi::probe::kFlatLoop;
using abi::probe::kNestedLoop;
using ::testing::IsEmpty;
using ::yolk::testing::expect_error;

/// State of the generator after `steps`, by doubling the affine map: another way than the probe's.
std::uint32_t state_after(std::uint32_t start, std::uint64_t steps) {
    std::uint32_t multiplier = 1, increment = 0;
    std::uint32_t square = abi::probe::kStepMultiplier, square_increment = abi::probe::kStepIncrement;
    for (; steps != 0; steps >>= 1U) {
        if ((steps & 1U) != 0) {
            multiplier *= square;
            increment = increment * square + square_increment;
        }
        square_increment = square_increment * square + square_increment;
        square *= square;
    }
    return start * multiplier + increment;
}

TEST(loop_limit, steps_are_counted_exactly) {
    for (const std::uint64_t steps : {0U, 1U, 2U, 65535U, 200000U}) {
        EXPECT_EQ(steps_between(9, state_after(9, steps), 200000), steps);
    }
    EXPECT_EQ(steps_between(9, state_after(9, 101), 100), std::nullopt);
}

/// What a device answers that leaves loops after `limit` passes, worked out loop by loop.
std::uint32_t limited_state(const LoopCase& loop, std::uint64_t limit) {
    std::uint64_t left = limit, made = 0;
    if (loop.shape == kFlatLoop) return state_after(loop.start, std::min<std::uint64_t>(loop.outer, limit));
    --left;  // the flat loop of the other branch
    for (std::uint32_t i = 0; i < loop.outer && left > 0; ++i) {
        const std::uint64_t inner = std::min<std::uint64_t>(loop.inner, left);
        made += inner;
        left -= std::min<std::uint64_t>(left, loop.inner + std::uint64_t{2});
    }
    return state_after(loop.start, made);
}

TEST(loop_limit, is_derived_from_what_a_limited_device_leaves) {
    for (const std::uint64_t limit : {1000ULL, 4096ULL, 65534ULL, 65535ULL, 99999ULL}) {
        std::vector<std::uint32_t> states;
        for (const LoopCase& loop : loop_cases()) states.push_back(limited_state(loop, limit));
        ASSERT_OK_AND_ASSIGN(const auto derived, derive_loop_limit(loop_cases(), states));
        ASSERT_TRUE(derived.has_value()) << limit;
        EXPECT_LE(*derived, limit);
        EXPECT_GE(*derived + 2, limit) << "derived from a cut within an inner loop's last pass";
    }
}

TEST(loop_limit, none_where_every_count_is_right) {
    std::vector<std::uint32_t> states;
    for (const LoopCase& loop : loop_cases()) states.push_back(state_after(loop.start, loop.iterations()));
    ASSERT_OK_AND_ASSIGN(const auto derived, derive_loop_limit(loop_cases(), states));
    EXPECT_EQ(derived, std::nullopt);
}

TEST(loop_limit, nonsense_is_an_error) {
    std::vector<std::uint32_t> states(loop_cases().size(), 0xA5A5A5A5U);
    EXPECT_TRUE(expect_error(derive_loop_limit(loop_cases(), states), ErrorKind::Driver, "cannot be explained"));
}

TEST(loop_budget, costs) {
    EXPECT_EQ(loop_cost(0), 1U);
    EXPECT_EQ(loop_cost(100), 101U);
    EXPECT_EQ(loop_cost(1000, loop_cost(100)), 102001U);
    EXPECT_EQ(loop_cost(UINT64_MAX, 0), UINT64_MAX);
    EXPECT_EQ(loop_cost(UINT64_MAX / 2, 3), UINT64_MAX);
    EXPECT_EQ(loop_cost(1, UINT64_MAX), UINT64_MAX);
    for (const std::uint64_t inside : {0ULL, 1ULL, 7ULL, 101ULL}) {
        const std::uint64_t most = iterations_within(65535, inside);
        EXPECT_LE(loop_cost(most, inside), 65535U);
        EXPECT_GT(loop_cost(most + 1, inside), 65535U);
    }
    EXPECT_EQ(iterations_within(0), 0U);
    EXPECT_EQ(iterations_within(5, 1000), 0U);
}

class probes : public ::yolk::testing::DeviceTest {
   protected:
    /// Runs loops outside the probe and returns the states that they leave.
    [[nodiscard]] Result<std::vector<std::uint32_t>> run(const std::vector<LoopCase>& loops) const {
        std::vector<std::array<std::uint32_t, 4>> words;
        for (const LoopCase& loop : loops) words.push_back({loop.shape, loop.outer, loop.inner, loop.start});
        std::vector<std::uint32_t> states(loops.size());
        YOLK_TRY(const Buffer cases, device().create_buffer({.size_bytes = 16 * words.size(), .label = "cases"}));
        YOLK_TRY(const Buffer results, device().create_buffer({.size_bytes = 4 * words.size(), .label = "results"}));
        YOLK_TRY_VOID(dispatcher().upload(cases, std::as_bytes(std::span(words))));
        YOLK_TRY(const auto pipeline, device().pipeline(kernels::kProbeLoops, {}));
        const std::array<BufferView, 2> views{cases, results};
        YOLK_TRY(const auto binding, device().bind(pipeline, views));
        YOLK_TRY(Recorder recorder, Recorder::create(device(), {.label = "long loops"}));
        const auto count = static_cast<std::uint32_t>(loops.size());
        recorder.begin();
        recorder.dispatch(binding, {.case_count = count}, {.x = count});
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.barrier(Barrier::ToHost);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        YOLK_TRY_VOID(dispatcher().download(results, std::as_writable_bytes(std::span(states))));
        return states;
    }
};
YOLK_FOR_EACH_DEVICE(probes);

TEST_P(probes, arithmetic_is_exact) {
    ASSERT_OK_AND_ASSIGN(const DeviceFindings found, probe(device()));
    EXPECT_TRUE(found.probed);
    EXPECT_THAT(found.inexact_reason, IsEmpty());
}

TEST_P(probes, findings_are_kept_in_the_device) {
    ASSERT_OK_AND_ASSIGN(const DeviceFindings found, probe(device()));
    EXPECT_TRUE(device().findings().probed);
    EXPECT_EQ(device().findings().loop_limit, found.loop_limit);
    const std::uint64_t before = device().counts().submissions;
    EXPECT_OK(probe(device()));
    EXPECT_EQ(device().counts().submissions, before) << "a second probe must not run anything";
}

TEST_P(probes, lavapipe_22_3_alone_has_a_limit) {
    ASSERT_OK_AND_ASSIGN(const DeviceFindings found, probe(device()));
    if (device().info().driver_info.starts_with("Mesa 22.3")) {
        EXPECT_EQ(found.loop_limit, 65535U);
    } else {
        EXPECT_EQ(found.loop_limit, std::nullopt);
    }
}

// The claim against loops that the probe did not run: exactly at the limit, and one past it.
TEST_P(probes, a_long_loop_makes_the_count_that_the_probe_promises) {
    ASSERT_OK_AND_ASSIGN(const DeviceFindings found, probe(device()));
    const auto limit = static_cast<std::uint32_t>(found.loop_limit.value_or(1000000));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> states,
                         run({{kFlatLoop, limit, 0, 5}, {kFlatLoop, limit + 1, 0, 6}}));
    EXPECT_EQ(states[0], state_after(5, limit));
    EXPECT_EQ(states[1] == state_after(6, limit + std::uint64_t{1}), !found.loop_limit.has_value());
}

// Every loop whose cost the plans would allow makes its true count; the first that they would not is cut on a limited
// device.
TEST_P(probes, loops_within_the_budget_are_whole) {
    ASSERT_OK_AND_ASSIGN(const DeviceFindings found, probe(device()));
    const std::uint64_t budget = found.loop_limit.value_or(200000);
    std::vector<LoopCase> loops;
    for (const std::uint32_t inner : {0U, 1U, 2U, 7U, 64U, 1000U, 20000U}) {
        const std::uint64_t outer = iterations_within(budget - loop_cost(0), loop_cost(inner));
        loops.push_back({kNestedLoop, static_cast<std::uint32_t>(outer), inner, inner});
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> states, run(loops));
    for (std::size_t i = 0; i < loops.size(); ++i) {
        EXPECT_EQ(states[i], state_after(loops[i].start, loops[i].iterations()))
            << loops[i].outer << " x " << loops[i].inner;
    }
}

}  // namespace
}  // namespace yolk
