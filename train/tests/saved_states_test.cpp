// SPDX-License-Identifier: Apache-2.0
// The state files of training.
#include "saved_states.hpp"

#include "checkpoint.hpp"
#include "task_setup.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/train/policy_file.hpp"

namespace yolk::testing {
namespace {

using train::Checkpoint;
using train::Policy;

Policy small_policy() {
    Policy policy{.task = "cartpole",
                  .network = {.widths = {4, 1, 2}},
                  .generations = 7,
                  .seed = 18446744073709551615U,
                  .parameters = {}};
    for (int i = 0; i < 4 + 1 + 2 + 2; ++i) policy.parameters.push_back(0.25F * static_cast<float>(i) - 1.0F);
    return policy;
}
Result<void> read_small_policy(const std::filesystem::path& path) {
    YOLK_TRY(const Policy read, train::load_policy(path));
    for (const float value : read.parameters) EXPECT_TRUE(std::isfinite(value));
    EXPECT_EQ(read.network.widths, small_policy().network.widths) << "no other fits the tensors";
    EXPECT_EQ(read.parameters.size(), small_policy().parameters.size());
    return {};
}

Result<void> write_small_checkpoint(const std::filesystem::path& path) {
    const train::TrainOptions options{.task = "cartpole", .network = {.widths = {4, 1, 2}}, .generations = 20};
    YOLK_TRY(const train::TaskSetup setup, train::set_up_task(options));
    Checkpoint checkpoint{.settings = train::run_settings(options, setup.environment),
                          .generation = 10,
                          .solved = true,
                          .state_hash = {},
                          .parameters = setup.initial,
                          .optimizer_state = {}};
    YOLK_TRY(checkpoint.state_hash,
             evolve::state_hash(checkpoint.parameters, checkpoint.optimizer_state, checkpoint.generation));
    return train::write_checkpoint(path, checkpoint);
}
Result<void> read_small_checkpoint(const std::filesystem::path& path) {
    YOLK_TRY(const Checkpoint read, train::load_checkpoint(path));
    EXPECT_EQ(read.state_hash, evolve::state_hash(read.parameters, read.optimizer_state, read.generation).value());
    return {};
}

INSTANTIATE_TEST_SUITE_P(, saved_states,
                         ::testing::Values(SavedState{&kPolicyKind,
                                                      [](const auto& path) {
                                                          return train::save_policy(path, small_policy());
                                                      },
                                                      read_small_policy},
                                           SavedState{&kCheckpointKind, write_small_checkpoint, read_small_checkpoint}),
                         kind_of_case);

}  // namespace
}  // namespace yolk::testing
