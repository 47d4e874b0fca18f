// SPDX-License-Identifier: Apache-2.0
// Plans whose descriptions leave the configuration unset take what the device's table knows.
#include <gmock/gmock.h>

#include "yolk/oracle/check.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/primitives/matmul.hpp"
#include "yolk/primitives/softmax.hpp"
#include "yolk/runtime/tuning_table.hpp"
#include "yolk/testing/device_test.hpp"

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

constexpr MatmulDesc kDesc{.m = 16, .n = 16, .k = 16};

MatmulConfig another(const DeviceInfo& info) {
    MatmulConfig config = default_matmul_config(info, kDesc);
    config.block_k = config.block_k == 8 ? 16 : 8;
    return config;
}

TEST_P(tuned_plan, takes_the_tables_configuration_and_a_given_one_before_it) {
    const DeviceInfo info = device().usable_info();
    const auto space = matmul_space(info, kDesc);
    tune(space.space(), space.configuration(another(info)));
    ASSERT_OK_AND_ASSIGN(const MatmulPlan tuned, plan_matmul(device(), kDesc));
    EXPECT_EQ(tuned.config(), another(info));
    MatmulDesc given = kDesc;
    given.config = default_matmul_config(info, kDesc);
    ASSERT_OK_AND_ASSIGN(const MatmulPlan own, plan_matmul(device(), given));
    EXPECT_EQ(own.config(), *given.config);
    device().set_tuning_table(nullptr);
    ASSERT_OK_AND_ASSIGN(const MatmulPlan untuned, plan_matmul(device(), kDesc));
    EXPECT_EQ(untuned.config(), default_matmul_config(info, kDesc));
}

TEST_P(tuned_plan, takes_the_heuristic_where_the_table_is_wrong) {
    const DeviceInfo info = device().usable_info();
    const auto space = matmul_space(info, kDesc);
    MatmulConfig illegal = another(info);
    illegal.tile_m = 7;
    tune(space.space(), space.configuration(illegal));
    ASSERT_OK_AND_ASSIGN(const MatmulPlan plan, plan_matmul(device(), kDesc));
    EXPECT_EQ(plan.config(), default_matmul_config(info, kDesc));
}

// Legal in the space and near, but no invocation of this device may loop so long over a row.
TEST_P(tuned_plan, takes_the_heuristic_where_the_tables_choice_cannot_be_planned) {
    const SoftmaxDesc desc{.rows = 1, .columns = 32 * 10922 + 1};
    const auto space = softmax_space(device().info(), desc);
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
            EXPECT_FALSE(space.shape().variant.empty()) << family->name;
            EXPECT_FALSE(space.shape().extents.empty()) << family->name;
        }
    }
}

}  // namespace
}  // namespace yolk
