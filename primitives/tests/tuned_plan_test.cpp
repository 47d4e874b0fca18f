// SPDX-License-Identifier: Apache-2.0
// Plans whose descriptions leave the configuration unset take what the device's table knows.
#include <gmock/gmock.h>

#include <algorithm>

#include "yolk/es_update.hpp"
#include "yolk/fitness.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/runtime/shape_requests.hpp"
#include "yolk/internal/runtime/tuning_table.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/matmul.hpp"
#include "yolk/perturbed_embedding.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/rollout.hpp"
#include "yolk/softmax.hpp"

namespace yolk {
namespace {

class tuned_plan : public testing::DeviceTest {
   protected:
    void TearDown() override {
        device().set_tuning_table(nullptr);
        testing::DeviceTest::TearDown();
    }
    void tune(const TuningSpace& space, const Configuration& configuration) {
        device().set_tuning_table(std::make_shared<const TuningTable>(
            std::vector<TuningEntry>{{.family = space.family(),
                                      .shape = space.shape(),
                                      .configuration = named_configuration(space, configuration)}}));
    }
};
YOLK_FOR_EACH_DEVICE(tuned_plan);

constexpr MatmulDesc kProductDesc{.m = 16, .n = 16, .k = 16};

MatmulConfig another(const DeviceInfo& info) {
    MatmulConfig config = heuristic_of(info, kProductDesc);
    config.block_k = config.block_k == 8 ? 16 : 8;
    return config;
}

TEST_P(tuned_plan, takes_the_tables_configuration_and_a_given_one_before_it) {
    const DeviceInfo info = device().usable_info();
    const auto space = space_of(info, kProductDesc);
    tune(space.space(), space.configuration(another(info)));
    ASSERT_OK_AND_ASSIGN(const MatmulPlan tuned, plan_matmul(device(), kProductDesc));
    EXPECT_EQ(tuned.config(), another(info));
    MatmulDesc given = kProductDesc;
    given.config = heuristic_of(info, kProductDesc);
    ASSERT_OK_AND_ASSIGN(const MatmulPlan own, plan_matmul(device(), given));
    EXPECT_EQ(own.config(), *given.config);
    device().set_tuning_table(nullptr);
    ASSERT_OK_AND_ASSIGN(const MatmulPlan untuned, plan_matmul(device(), kProductDesc));
    EXPECT_EQ(untuned.config(), heuristic_of(info, kProductDesc));
}

TEST_P(tuned_plan, takes_the_heuristic_where_the_table_is_wrong) {
    const DeviceInfo info = device().usable_info();
    const auto space = space_of(info, kProductDesc);
    MatmulConfig illegal = another(info);
    illegal.tile_m = 7;
    tune(space.space(), space.configuration(illegal));
    ASSERT_OK_AND_ASSIGN(const MatmulPlan plan, plan_matmul(device(), kProductDesc));
    EXPECT_EQ(plan.config(), heuristic_of(info, kProductDesc));
}

// Legal in the space and near, but no invocation of this device may loop so long over a row.
TEST_P(tuned_plan, takes_the_heuristic_where_the_tables_choice_cannot_be_planned) {
    const SoftmaxDesc desc{.rows = 1, .columns = 32 * 10922 + 1};
    const auto space = space_of(device().info(), desc);
    tune(space.space(), space.configuration({.row_per_invocation = 1, .rows_per_workgroup = 32}));
    ASSERT_OK(plan_softmax(device(), desc));
}

// Each family's space says what its shape is, and its problems agree with its plans about it.
TEST_P(tuned_plan, every_family_names_its_shapes) {
    for (const oracle::Family* family : oracle::families()) {
        if (family->name == std::string("exact_math")) continue;  // functions, not a primitive
        for (const auto& problem : family->benchmarks()) {
            const TuningSpace space = problem->space(device().usable_info());
            EXPECT_EQ(space.family(), family->name);
            EXPECT_FALSE(space.shape().extents.empty()) << family->name;
        }
    }
}

// What `yolk tune` can go by afterwards: shapes that were left to the table, each once, and no others.
TEST_P(tuned_plan, a_device_remembers_what_was_left_to_the_table) {
    SoftmaxDesc desc{.rows = 3, .columns = 977};
    const TuningShape shape = space_of(device().info(), desc).space().shape();
    const auto count = [this, &shape] {
        const std::vector<ShapeRequest> asked = shape_requests(device());
        EXPECT_TRUE(std::ranges::is_sorted(asked, {}, &ShapeRequest::family));
        return std::ranges::count(asked, ShapeRequest{"softmax", shape});
    };
    desc.config = RowConfig{.row_per_invocation = 1, .rows_per_workgroup = 1};
    ASSERT_OK(plan_softmax(device(), desc));
    EXPECT_EQ(count(), 0);
    desc.config.reset();
    ASSERT_OK(plan_softmax(device(), desc));
    EXPECT_EQ(count(), 1);
    ASSERT_OK(plan_softmax(device(), desc));
    EXPECT_EQ(count(), 1);
}

// Without pairs the kernel draws noise for each member: what was measured with pairs says nothing about it.
TEST(tuning_variants, members_with_noise_of_their_own_are_another_variant) {
    const auto differs = [](auto space, auto desc) {
        desc.antithetic = true;
        const TuningShape pairs = space(DeviceInfo{}, desc).space().shape();
        desc.antithetic = false;
        const TuningShape own = space(DeviceInfo{}, desc).space().shape();
        EXPECT_EQ(pairs.extents, own.extents);
        return pairs.variant != own.variant && !tuning_distance(pairs, own);
    };
    EXPECT_TRUE(
        differs(&space_of<PerturbedLinearDesc>, PerturbedLinearDesc{.members = 4, .rows = 2, .in = 8, .out = 8}));
    EXPECT_TRUE(differs(&space_of<PerturbedEmbeddingDesc>, PerturbedEmbeddingDesc{.members = 4, .rows = 2}));
    EXPECT_TRUE(differs(&space_of<PerturbedVectorDesc>, PerturbedVectorDesc{.members = 4, .element_count = 9}));
    EXPECT_TRUE(differs(&space_of<FitnessDesc>, FitnessDesc{.population = 8, .rule = FitnessRule::ZScore}));
    EXPECT_TRUE(differs(&space_of<EsUpdateDesc>, EsUpdateDesc{.parameters = {}, .population = 8}));
    EXPECT_TRUE(differs(&space_of<RolloutDesc>, RolloutDesc{.members = 8}));
    // Nor what was measured with the exact kernel about the fast one.
    const TuningShape fast =
        space_of(DeviceInfo{}, RolloutDesc{.members = 8, .determinism = Determinism::Fast}).space().shape();
    EXPECT_EQ(fast.variant, "determinism=fast");
    EXPECT_FALSE(tuning_distance(fast, space_of(DeviceInfo{}, RolloutDesc{.members = 8}).space().shape()));
    // Nothing is drawn there.
    EXPECT_FALSE(
        differs(&space_of<PerturbedVectorDesc>, PerturbedVectorDesc{.members = 4, .element_count = 9, .frozen = true}));
    EXPECT_FALSE(differs(&space_of<RolloutDesc>, RolloutDesc{.mean_only = true}));
}

}  // namespace
}  // namespace yolk
