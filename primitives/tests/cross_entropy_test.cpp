// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/cross_entropy.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <vector>

#include "row_device.hpp"
#include "special_floats.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/reference/cross_entropy.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;

class cross_entropy : public testing::DeviceTest {
   protected:
    struct Outcome {
        std::vector<std::uint32_t> losses;
        std::uint32_t status = 0;
    };
    Result<Outcome> run(const CrossEntropyDesc& desc, const reference::CrossEntropyInputs& inputs) {
        const RowBuffers buffers{device(), dispatcher()};
        YOLK_TRY(const auto logits, buffers.filled(inputs.logits, "cross_entropy.logits"));
        YOLK_TRY(const auto targets, buffers.filled(inputs.targets, "cross_entropy.targets"));
        YOLK_TRY(const auto losses, buffers.empty(sizeof(float) * desc.members * desc.rows, "cross_entropy.losses"));
        YOLK_TRY(const auto status, buffers.filled(std::vector<std::uint32_t>{0}, "cross_entropy.status"));
        YOLK_TRY(const CrossEntropyPlan plan, plan_cross_entropy(device(), desc));
        YOLK_TRY(const BoundCrossEntropy bound, plan.bind({.logits = logits.view(),
                                                           .targets = targets.view(),
                                                           .losses = losses.view(),
                                                           .status = status.view()}));
        YOLK_TRY_VOID(buffers.run(bound));
        Outcome outcome;
        YOLK_TRY(outcome.losses, losses.download<std::uint32_t>());
        YOLK_TRY(const std::vector<std::uint32_t> counted, status.download<std::uint32_t>());
        outcome.status = counted[0];
        return outcome;
    }
};
YOLK_FOR_EACH_DEVICE(cross_entropy);

// One class cannot be missed; of equal ones the loss is the logarithm of their number.
TEST_P(cross_entropy, known_losses) {
    for (const RowConfig& config : row_configs()) {
        ASSERT_OK_AND_ASSIGN(const Outcome one,
                             run({.rows = 1, .columns = 1, .config = config}, {.logits = {-3.5F}, .targets = {0}}));
        EXPECT_THAT(one.losses, ElementsAre(0U));
        ASSERT_OK_AND_ASSIGN(const Outcome even, run({.rows = 1, .columns = 10, .config = config},
                                                     {.logits = std::vector<float>(10, 2.0F), .targets = {9}}));
        EXPECT_NEAR(std::bit_cast<float>(even.losses[0]), std::log(10.0F), 3e-7F);
    }
}

TEST_P(cross_entropy, targets_out_of_range_are_counted_and_never_read_with) {
    const reference::CrossEntropyInputs inputs{.logits = std::vector<float>(12, 1.0F),
                                               .targets = {2, 3, 0xFFFFFFFFU, 0}};
    for (const RowConfig& config : row_configs()) {
        ASSERT_OK_AND_ASSIGN(const Outcome got, run({.rows = 4, .columns = 3, .config = config}, inputs));
        EXPECT_EQ(got.losses[1], kNanBits);
        EXPECT_EQ(got.losses[2], kNanBits);
        EXPECT_NEAR(std::bit_cast<float>(got.losses[0]), std::log(3.0F), 2e-7F);
        EXPECT_EQ(got.losses[0], got.losses[3]);
        EXPECT_EQ(got.status, 2U);
    }
}

TEST_P(cross_entropy, logits_that_are_not_finite) {
    const reference::CrossEntropyInputs inputs{.logits = {1.0F, kInfinity,         // infinity
                                                          -kInfinity, -kInfinity,  // no finite logit
                                                          kNan, 0.0F,              // NaN
                                                          -kInfinity, 2.0F,        // the target cannot be
                                                          -kInfinity, 2.0F},       // the target must be
                                               .targets = {0, 0, 1, 0, 1}};
    for (const RowConfig& config : row_configs()) {
        ASSERT_OK_AND_ASSIGN(const Outcome got, run({.rows = 5, .columns = 2, .config = config}, inputs));
        EXPECT_THAT(got.losses, ElementsAre(kNanBits, kNanBits, kNanBits, 0x7F800000U, 0U));
        EXPECT_EQ(got.status, 0U);
    }
}

// The longest rows that the loop limit of lavapipe 22.3 allows.
TEST_P(cross_entropy, the_longest_rows) {
    for (const RowConfig& config : row_configs()) {
        const CrossEntropyDesc desc{.rows = 1, .columns = 32 * 32766, .config = config};
        reference::CrossEntropyInputs inputs{.logits = std::vector<float>(desc.columns), .targets = {desc.columns - 1}};
        for (std::uint32_t k = 0; k < desc.columns; ++k) inputs.logits[k] = static_cast<float>(k % 1009) * 0.01F;
        ASSERT_OK_AND_ASSIGN(const Outcome got, run(desc, inputs));
        EXPECT_EQ(got.losses, oracle::words_of(reference::cross_entropy_twin(desc, inputs)));
    }
}

TEST_P(cross_entropy, rows_beyond_the_loops_are_refused) {
    EXPECT_TRUE(refused_by_loops(device(), plan_cross_entropy(device(), {.rows = 1, .columns = 256 * 32766 + 1}),
                                 "Use shorter rows"));
}

TEST_P(cross_entropy, bad_descriptions_are_refused) {
    const auto refused = [&](const CrossEntropyDesc& desc, const char* words) {
        return testing::expect_error(plan_cross_entropy(device(), desc), ErrorKind::BadInput, words);
    };
    EXPECT_TRUE(refused({.rows = 1, .columns = 0}, "columns of [cross_entropy]"));
    EXPECT_TRUE(refused({.members = 0xFFFFFFFFU, .rows = 0xFFFFFFFFU, .columns = 2}, "the logits view"));
    EXPECT_TRUE(refused({.rows = 0x40000000U, .columns = 1}, "the logits view"));
    EXPECT_TRUE(refused({.rows = 1, .config = RowConfig{.rows_per_workgroup = 5}}, "rows_per_workgroup"));
}

TEST_P(cross_entropy, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 2048, .label = "small"}));
    ASSERT_OK_AND_ASSIGN(const CrossEntropyPlan plan, plan_cross_entropy(device(), {.rows = 64, .columns = 4}));
    const CrossEntropyViews right{.logits = {buffer, 0, 1024},
                                  .targets = {buffer, 1024, 256},
                                  .losses = {buffer, 1280, 256},
                                  .status = {buffer, 1536, 4}};
    const auto refused = [&](BufferView CrossEntropyViews::*view, const BufferView& wrong, const char* words) {
        CrossEntropyViews views = right;
        views.*view = wrong;
        return testing::expect_error(plan.bind(views), ErrorKind::BadInput, words);
    };
    EXPECT_OK(plan.bind(right));
    EXPECT_TRUE(refused(&CrossEntropyViews::logits, {buffer, 0, 1020}, "the logits view"));
    EXPECT_TRUE(refused(&CrossEntropyViews::targets, {buffer, 1024, 252}, "the targets view"));
    EXPECT_TRUE(refused(&CrossEntropyViews::losses, {buffer, 1284, 256}, "the losses view"));
    EXPECT_TRUE(refused(&CrossEntropyViews::status, {}, "the status view"));
    EXPECT_TRUE(refused(&CrossEntropyViews::status, {buffer, 1024, 4}, "shares bytes"));
}

TEST_P(cross_entropy, nothing_is_dispatched_for_no_rows) {
    ASSERT_OK_AND_ASSIGN(const Buffer status, device().create_buffer({.size_bytes = 4, .label = "status"}));
    for (const CrossEntropyDesc& desc : {CrossEntropyDesc{.rows = 0}, CrossEntropyDesc{.members = 0, .rows = 3}}) {
        ASSERT_OK_AND_ASSIGN(const CrossEntropyPlan plan, plan_cross_entropy(device(), desc));
        ASSERT_OK_AND_ASSIGN(const BoundCrossEntropy bound,
                             plan.bind({.logits = {}, .targets = {}, .losses = {}, .status = status}));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        EXPECT_EQ(recorder.dispatch_count(), 0U);
    }
}

}  // namespace
}  // namespace yolk
