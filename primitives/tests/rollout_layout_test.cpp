// SPDX-License-Identifier: Apache-2.0
#include "rollout_layout.hpp"

#include <gmock/gmock.h>

#include <array>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

RolloutDesc rollout_of(std::vector<std::uint32_t> widths, std::uint32_t recurrent = 0) {
    RolloutDesc desc{.members = 2};
    desc.network = {.widths = std::move(widths), .recurrent = recurrent};
    desc.parameters = *ParameterTable::create(desc.network.parameters());
    return desc;
}

DeviceInfo device_of(DeviceKind kind) {
    DeviceInfo device;
    device.kind = kind;
    return device;
}

/// Of an H200.
DeviceInfo large_nvidia() {
    DeviceInfo device = device_of(DeviceKind::Discrete);
    device.vendor_id = 0x10de;
    device.limits.subgroup_size = 32;
    device.limits.compute_units = 132;
    return device;
}

RolloutLayout layout_of(RolloutDesc desc, DeviceKind kind = DeviceKind::Cpu) {
    desc.config = rollout_config(device_of(kind), desc);
    return *make_rollout_layout(desc);
}

TEST(rollout_layout, forms_are_chosen_by_device_and_size) {
    EXPECT_TRUE(layout_of(rollout_of({4, 64, 2})).unrolled);
    EXPECT_TRUE(layout_of(rollout_of({4, 64, 2})).private_parameters);
    EXPECT_FALSE(layout_of(rollout_of({4, 64, 2}), DeviceKind::Discrete).private_parameters);
    EXPECT_FALSE(layout_of(rollout_of({4, 64, 64, 2})).unrolled);
    EXPECT_FALSE(layout_of(rollout_of({4, 64, 64, 2})).private_parameters);
}

/// By device class: workgroup, unrolled, private parameters, packed.
TEST(rollout_layout, defaults_follow_the_device_and_the_network) {
    struct Case {
        DeviceKind kind;
        std::uint32_t subgroup;
        std::vector<std::uint32_t> widths;
        std::uint32_t rank;
        bool mean;
        std::array<std::uint32_t, 4> expected;
        std::uint32_t members = 4096;
        std::uint32_t episodes = 1;
    };
    constexpr auto kGpu = DeviceKind::Discrete;
    for (const Case& c : std::initializer_list<Case>{
             {DeviceKind::Cpu, 8, {4, 64, 2}, 1, false, {32, 1, 1, 0}},
             {DeviceKind::Cpu, 8, {4, 64, 2}, 1, false, {8, 1, 1, 0}, 341, 3},
             {DeviceKind::Cpu, 8, {4, 64, 2}, 1, false, {32, 1, 1, 0}, 512, 2},
             {DeviceKind::Cpu, 4, {4, 64, 2}, 1, true, {8, 1, 0, 1}},
             {DeviceKind::Cpu, 4, {4, 64, 2}, 1, true, {32, 1, 0, 1}, 1, 1024},
             {DeviceKind::Cpu, 4, {4, 16, 16, 2}, 1, false, {32, 1, 1, 0}},
             {DeviceKind::Cpu, 4, {4, 16, 16, 2}, 1, true, {8, 0, 1, 0}},
             {kGpu, 32, {4, 64, 2}, 1, false, {32, 1, 0, 1}},
             {kGpu, 64, {4, 64, 2}, 1, false, {64, 1, 0, 1}},
             {kGpu, 64, {4, 64, 2}, 1, true, {64, 1, 0, 1}},
             {DeviceKind::Integrated, 128, {4, 64, 2}, 1, false, {128, 1, 0, 1}},
             {kGpu, 16, {4, 64, 2}, 4, false, {32, 1, 0, 1}},
             {kGpu, 64, {4, 64, 2}, 5, false, {64, 0, 0, 0}},
             {kGpu, 64, {4, 256, 2}, 1, true, {64, 1, 0, 1}},
             {kGpu, 64, {4, 256, 2}, 1, false, {64, 0, 0, 0}},
             {kGpu, 64, {4, 2}, 1, false, {64, 1, 0, 0}},
             {kGpu, 64, {4, 64, 64, 2}, 1, false, {64, 0, 0, 0}},
         }) {
        DeviceInfo info = device_of(c.kind);
        info.limits.subgroup_size = c.subgroup;
        RolloutDesc desc = rollout_of(c.widths);
        desc.rank = c.rank;
        desc.mean_only = c.mean;
        desc.members = c.members;
        desc.episodes = c.episodes;
        const RolloutConfig found = heuristic_of(info, desc);
        EXPECT_EQ((std::array{found.workgroup_size, found.unrolled, found.private_parameters, found.packed}),
                  c.expected)
            << c.widths[1] << ", rank " << c.rank << ", members " << c.members;
        EXPECT_OK(space_of(info, desc).check(found));
    }
}

/// Not packed; a copy of the parameters for each lane where there are few lanes. By members: private parameters.
TEST(rollout_layout, of_nvidia_follows_what_was_measured) {
    const auto config_of = [](std::vector<std::uint32_t> widths, std::uint32_t members, bool mean = false) {
        RolloutDesc desc = rollout_of(std::move(widths));
        desc.members = members;
        desc.mean_only = mean;
        const RolloutConfig found = heuristic_of(large_nvidia(), desc);
        EXPECT_OK(space_of(large_nvidia(), desc).check(found));
        return std::array{found.unrolled, found.private_parameters, found.packed};
    };
    EXPECT_EQ(config_of({4, 64, 2}, 4096), (std::array{1U, 1U, 0U}));
    EXPECT_EQ(config_of({4, 64, 2}, 64 * 132), (std::array{1U, 1U, 0U}));
    EXPECT_EQ(config_of({4, 64, 2}, 64 * 132 + 2), (std::array{1U, 0U, 0U}));
    EXPECT_EQ(config_of({4, 64, 2}, 4096, true), (std::array{1U, 0U, 1U})) << "the mean compiles quickly";
    EXPECT_EQ(config_of({4, 256, 2}, 4096), (std::array{0U, 0U, 0U})) << "too large to unroll";
}

TEST(rollout_layout, a_packed_form_takes_what_fits_it) {
    const DeviceInfo info = device_of(DeviceKind::Cpu);
    constexpr RolloutConfig kPacked{.unrolled = 1, .private_parameters = 0, .packed = 1};
    EXPECT_OK(space_of(info, rollout_of({4, 64, 2})).check(kPacked));
    const auto refused = [&](const RolloutDesc& desc, const RolloutConfig& config, std::string_view part) {
        return testing::expect_error(space_of(info, desc).check(config), ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(
        refused(rollout_of({4, 64, 2}), {.unrolled = 0, .private_parameters = 0, .packed = 1}, "needs unrolled"));
    EXPECT_TRUE(
        refused(rollout_of({4, 64, 2}), {.unrolled = 1, .private_parameters = 1, .packed = 1}, "needs unrolled"));
    EXPECT_TRUE(refused(rollout_of({4, 2}), kPacked, "one hidden layer"));
    EXPECT_TRUE(refused(rollout_of({4, 64, 2}, 8), kPacked, "8 recurrent units"));
    EXPECT_TRUE(refused(rollout_of({4, 8, 8, 2}), kPacked, "one hidden layer"));
    EXPECT_TRUE(refused(rollout_of({4, 256, 2}), kPacked, "160 words"));
    RolloutDesc desc = rollout_of({4, 64, 2});
    desc.config = RolloutConfig{.private_parameters = 1};
    EXPECT_EQ(rollout_config(device_of(DeviceKind::Discrete), desc).packed, 0U);
}

TEST(rollout_layout, a_configuration_decides_the_form) {
    RolloutDesc desc = rollout_of({4, 64, 2});
    desc.config = RolloutConfig{.unrolled = false, .private_parameters = false};
    EXPECT_FALSE(layout_of(desc).unrolled);
    EXPECT_FALSE(layout_of(desc).private_parameters);
}

TEST(rollout_layout, the_mean_is_a_member_with_everything_frozen) {
    RolloutDesc desc = rollout_of({4, 64, 2});
    desc.rank = 32;
    desc.mean_only = true;
    const RolloutLayout layout = layout_of(desc);
    EXPECT_EQ(layout.frozen, 0xFFFFFFFFU);
    EXPECT_EQ(layout.rank, 1U);
    EXPECT_EQ(layout.members, 1U);
    EXPECT_TRUE(layout.packed);
}

// 4-3-2, rank 2, by hand. Start: 23 parameters copied (24); layer 0 draws A in 1 block (2), B in 1 (2), V in 1 (2) and
// sums 3 biases (4); layer 1 draws 1, 1 and 1 blocks (6) and sums 2 biases (3). A step: 4 observations (5) and 2
// actions (3); layer 0 projects 2 columns of 4 inputs (2 * 6 + 1) and makes 3 outputs of chains of 4 inputs and 2
// columns (3 * (1 + 5 + 3) + 1); layer 1 2 columns of 3 inputs (2 * 5 + 1) and 2 outputs of chains of 3 and 2 (2 * (1 +
// 4 + 3) + 1).
TEST(rollout_layout, loops_are_counted_as_written) {
    RolloutDesc desc = rollout_of({4, 3, 2});
    desc.rank = 2;
    const RolloutLoopCost cost = rollout_loop_cost(layout_of(desc));
    EXPECT_EQ(cost.start, 24U + 10U + 9U);
    EXPECT_EQ(cost.step, 8U + 13U + 28U + 11U + 17U);
}

// 4-2 behind 3 recurrent units, rank 2. Start: 56 parameters copied (57), 3 units set or loaded and kept (8); gate and
// candidate each draw A, B and V in 1, 2 and 1 blocks (2 + 3 + 2) and sum 3 biases (4), layer 0 draws 1, 1 and 1 (6)
// and sums 2 (3). A step: 4 observations (5) and 2 actions (3); 3 units copied, gated, moved, set where it starts again
// (16); gate and candidate each project 2 columns of 7 inputs (2 * 9 + 1) and make 3 outputs of chains of 7 and 2 (3 *
// (1 + 8
// + 3) + 1); layer 0 2 columns of 3 (2 * 5 + 1) and 2 outputs of chains of 3 and 2 (2 * (1 + 4 + 3) + 1).
TEST(rollout_layout, loops_of_a_recurrent_layer_are_counted_as_written) {
    RolloutDesc desc = rollout_of({4, 2}, 3);
    desc.rank = 2;
    const RolloutLayout layout = layout_of(desc);
    const RolloutLoopCost cost = rollout_loop_cost(layout);
    EXPECT_EQ(cost.start, 57U + 8U + 2U * 11U + 9U);
    EXPECT_EQ(cost.step, 8U + 16U + 2U * (19U + 37U) + 11U + 17U);
    EXPECT_EQ(layout.slot_words, 6U);
    EXPECT_EQ(layout.slot_bytes, 36U) << "4 words of state, the return, a flag, and a memory of 3";
}

TEST(rollout_layout, forms_of_a_recurrent_layer_follow_its_size) {
    EXPECT_TRUE(layout_of(rollout_of({4, 2}, 8)).unrolled);
    EXPECT_FALSE(layout_of(rollout_of({4, 2}, 24)).unrolled) << "1,518 products";
    RolloutDesc mean = rollout_of({4, 64, 2}, 8);
    mean.mean_only = true;
    EXPECT_FALSE(layout_of(mean).packed);
    EXPECT_FALSE(layout_of(rollout_of({4, 64, 2}, 8), DeviceKind::Discrete).packed);
}

// 4-3-2, rank 2, packed. Start: 1 block for each of six streams (12). A step: 4 observations (5) and 2 actions (3); 2
// columns of 4 inputs (2 * 6 + 1); 2 biases (3) and 2 columns (3) begin; 3 units of 4 inputs, 2 columns, 2 outputs, 2
// columns (3 * (1 + 5 + 3 + 3 + 3) + 1); 2 columns of 2 outputs (2 * 4 + 1).
TEST(rollout_layout, loops_of_a_packed_form_are_counted_as_written) {
    RolloutDesc desc = rollout_of({4, 3, 2});
    desc.rank = 2;
    const RolloutLoopCost cost = rollout_loop_cost(layout_of(desc, DeviceKind::Discrete));
    EXPECT_EQ(cost.start, 12U);
    EXPECT_EQ(cost.step, 8U + 13U + 6U + 46U + 9U);
}

TEST(rollout_layout, steps_fit_the_loop_budget) {
    const RolloutLayout layout = layout_of(rollout_of({4, 64, 2}));
    const RolloutLoopCost cost = rollout_loop_cost(layout);
    const auto steps_within = [&](std::uint64_t budget) {
        return rollout_steps_per_dispatch(layout, {.loops = budget, .workgroup_cost = UINT64_MAX});
    };
    const std::uint64_t one_step = cost.start + cost.step + 2;
    EXPECT_EQ(*steps_within(one_step), 1U);
    EXPECT_EQ(*steps_within(one_step + cost.step + 1), 2U);
    EXPECT_EQ(*steps_within(UINT64_MAX), kMaxStepsPerDispatch);
    EXPECT_TRUE(testing::expect_error(steps_within(one_step - 1), ErrorKind::Unsupported, "[rollout] needs"));
}

TEST(rollout_layout, short_episodes_take_one_dispatch) {
    RolloutDesc desc = rollout_of({4, 64, 2});
    desc.max_steps = 5;
    EXPECT_EQ(*rollout_steps_per_dispatch(layout_of(desc), {UINT64_MAX, UINT64_MAX}), 5U);
}

}  // namespace
}  // namespace yolk
