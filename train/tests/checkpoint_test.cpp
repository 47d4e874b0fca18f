// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "task_setup.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/core/seal.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

Checkpoint example_checkpoint() {
    Checkpoint checkpoint{.settings = {{"task", "cartpole"}, {"sigma", "0.2"}},
                          .generation = 7,
                          .solved = true,
                          .finished = false,
                          .state_hash = {},
                          .parameters = {1, -2, 0.5F},
                          .optimizer_state = {4, 5, 6, 7, 8, 9}};
    checkpoint.state_hash =
        evolve::state_hash(checkpoint.parameters, checkpoint.optimizer_state, checkpoint.generation).value();
    return checkpoint;
}
Result<Checkpoint> decoded_checkpoint(const std::vector<std::byte>& bytes) { return decode_checkpoint(bytes, "'x'"); }

/// What a file with this field in the place of another, or with other tensors, is read as.
Result<Checkpoint> decode_with(const char* name, Json value,
                               const std::function<void(std::vector<StoredTensor>&)>& change = {}) {
    YOLK_TRY(const std::vector<std::byte> bytes, encode_checkpoint(example_checkpoint()));
    YOLK_TRY(StateFile file, decode_state(bytes, kCheckpointKind, "'x'"));
    file.fields[name] = std::move(value);
    if (change) change(file.tensors);
    YOLK_TRY(const std::vector<std::byte> changed, encode_state(kCheckpointKind, std::move(file)));
    return decoded_checkpoint(changed);
}

TEST(checkpoint, round_trip) {
    const Checkpoint written = example_checkpoint();
    ASSERT_OK_AND_ASSIGN(const Checkpoint read, decoded_checkpoint(*encode_checkpoint(written)));
    EXPECT_EQ(read.settings, written.settings);
    EXPECT_EQ(read.generation, 7U);
    EXPECT_TRUE(read.solved);
    EXPECT_FALSE(read.finished);
    EXPECT_EQ(read.state_hash, written.state_hash);
    EXPECT_EQ(read.parameters, written.parameters);
    EXPECT_EQ(read.optimizer_state, written.optimizer_state);
}
TEST(checkpoint, absurd_and_missing_fields_are_refused_by_name) {
    EXPECT_TRUE(expect_error(decode_with("generation", 4294967296), ErrorKind::BadInput, "'generation'"));
    EXPECT_TRUE(expect_error(decode_with("generation", 0), ErrorKind::BadInput, "'generation'"));
    EXPECT_TRUE(expect_error(decode_with("generation", -1), ErrorKind::BadInput, "'generation'"));
    EXPECT_TRUE(expect_error(decode_with("solved", 1), ErrorKind::BadInput, "'solved'"));
    EXPECT_TRUE(expect_error(decode_with("finished", "perhaps"), ErrorKind::BadInput, "'finished'"));
    EXPECT_TRUE(expect_error(decode_with("settings", Json::array({1})), ErrorKind::BadInput, "'settings'"));
    EXPECT_TRUE(expect_error(decode_with("settings", {{"sigma", 1}}), ErrorKind::BadInput, "'settings'"));
    EXPECT_TRUE(expect_error(decode_with("settings", std::string(500000, '[')), ErrorKind::BadInput, "'settings'"));
    EXPECT_TRUE(expect_error(decode_with("generation", 8), ErrorKind::BadInput, "state hash"));
    EXPECT_TRUE(expect_error(decode_with("state_hash", "00"), ErrorKind::BadInput, "state hash"));
    const auto with_tensors = [](const std::function<void(std::vector<StoredTensor>&)>& change) {
        return decode_with("more", "", change);
    };
    EXPECT_OK(with_tensors([](auto&) {}));
    EXPECT_TRUE(expect_error(with_tensors([](auto& tensors) { tensors.pop_back(); }), ErrorKind::BadInput,
                             "'optimizer_state'"));
    EXPECT_TRUE(expect_error(with_tensors([](auto& tensors) { tensors[0].name = "params"; }), ErrorKind::BadInput,
                             "'parameters'"));
    EXPECT_TRUE(
        expect_error(with_tensors([](auto& tensors) { tensors[1].values[0] = 0; }), ErrorKind::BadInput, "state hash"));
}
TEST(checkpoint, parameters_that_are_not_finite_are_refused) {
    Checkpoint checkpoint = example_checkpoint();
    checkpoint.parameters[1] = std::nanf("");
    EXPECT_TRUE(expect_error(decoded_checkpoint(*encode_checkpoint(checkpoint)), ErrorKind::BadInput, "not finite"));
}
TrainOptions run() { return {.task = "cartpole", .network = {.widths = {4, 8, 2}}, .generations = 20}; }

// Half of the files are sealed anew, so that what lies behind the checksum is reached. What reads goes on to the last
// check before a run starts from it.
TEST(checkpoint, mutated_files_are_read_soundly_or_refused) {
    const TrainOptions options = run();
    ASSERT_OK_AND_ASSIGN(const TaskSetup setup, set_up_task(options));
    const std::uint32_t elements = setup.parameters.element_count();
    Checkpoint whole{.settings = run_settings(options, setup.environment),
                     .generation = 10,
                     .state_hash = {},
                     .parameters = setup.initial,
                     .optimizer_state = {}};
    whole.state_hash = evolve::state_hash(whole.parameters, whole.optimizer_state, whole.generation).value();
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> original, encode_checkpoint(whole));
    ::yolk::testing::Mutator mutate(20250602);
    const int files = ::yolk::testing::mutation_count(10000);
    int refused = 0, resumable = 0;
    for (int i = 0; i < files; ++i) {
        std::vector<std::byte> bytes = mutate(original);
        if (i % 2 == 0) seal(std::span(bytes));
        const Result<Checkpoint> read = decoded_checkpoint(bytes);
        if (read) {
            EXPECT_LE(4 * (read->parameters.size() + read->optimizer_state.size()), bytes.size());
            const Result<void> good = check_resumable(*read, options, setup.environment, elements, "'x'");
            if (good) {
                EXPECT_EQ(read->parameters.size(), elements);
                ++resumable;
            } else {
                EXPECT_EQ(good.error().kind, ErrorKind::BadInput);
            }
        } else {
            EXPECT_EQ(read.error().kind, ErrorKind::BadInput);
            ++refused;
        }
    }
    EXPECT_GT(refused, files / 2);
    EXPECT_LT(refused, files);          // other settings still read
    EXPECT_LT(resumable, files / 100);  // but do not resume: an edit in ten thousand changes nothing
}

/// What becomes of a checkpoint of run() for a run with other options.
template <class Change>
Result<void> resume_with(Change change) {
    TrainOptions options = run();
    YOLK_TRY(const TaskSetup setup, set_up_task(options));
    Checkpoint checkpoint{.settings = run_settings(options, setup.environment),
                          .generation = 10,
                          .state_hash = {},
                          .parameters = setup.initial,
                          .optimizer_state = {}};
    change(options, checkpoint);
    return check_resumable(checkpoint, options, setup.environment, setup.parameters.element_count(), "'x'");
}
#define EXPECT_RESUME_REFUSED(part, ...)                                                                    \
    EXPECT_TRUE(expect_error(                                                                               \
        resume_with([]([[maybe_unused]] TrainOptions& o, [[maybe_unused]] Checkpoint& c) { __VA_ARGS__; }), \
        ErrorKind::BadInput, part))

TEST(checkpoint, other_settings_are_refused_by_name) {
    EXPECT_OK(resume_with([](TrainOptions&, Checkpoint&) {}));
    EXPECT_RESUME_REFUSED("network '4,8,2', but '4,9,2' was given", o.network.widths[1] = 9);
    EXPECT_RESUME_REFUSED("max_steps '500', but '30' was given", o.max_steps = 30);
    EXPECT_RESUME_REFUSED("population '4096', but '64' was given", o.evolution.population = 64);
    EXPECT_RESUME_REFUSED("rank '1', but '2'", o.evolution.rank = 2);
    EXPECT_RESUME_REFUSED("sigma '0.2', but '0.20000002' was given", o.evolution.sigma = std::nextafter(0.2F, 1.0F));
    EXPECT_RESUME_REFUSED("learning_rate '0.2', but '0.5'", o.evolution.learning_rate = 0.5F);
    EXPECT_RESUME_REFUSED("sigma_decay '1', but '0.5'", o.evolution.sigma_decay = 0.5F);
    EXPECT_RESUME_REFUSED("learning_rate_decay '1', but '0.5'", o.evolution.learning_rate_decay = 0.5F);
    EXPECT_RESUME_REFUSED("noise_reuse '1', but '2'", o.evolution.noise_reuse = 2);
    EXPECT_RESUME_REFUSED("fitness 'pair-difference', but 'pair-sign'", o.evolution.fitness = FitnessRule::PairSign);
    EXPECT_RESUME_REFUSED("robust 'false', but 'true'", o.evolution.robust = true);
    EXPECT_RESUME_REFUSED("group_size '0', but '4'", o.evolution.group_size = 4);
    EXPECT_RESUME_REFUSED("optimizer 'sgd', but 'adam'", o.evolution.optimizer = OptimizerRule::Adam);
    EXPECT_RESUME_REFUSED("beta1 '0.9', but '0.5'", o.evolution.beta1 = 0.5F);
    EXPECT_RESUME_REFUSED("beta2 '0.999', but '0.5'", o.evolution.beta2 = 0.5F);
    EXPECT_RESUME_REFUSED("seed '1', but '2'", o.evolution.seed = 2);
    EXPECT_RESUME_REFUSED("freeze_vectors 'false', but 'true'", o.evolution.freeze_vectors = true);
    EXPECT_RESUME_REFUSED("freeze '', but 'layer0.weight'", o.evolution.freeze = {"layer0.weight"});
    EXPECT_RESUME_REFUSED("episodes '1', but '2'", o.evolution.episodes = 2);
    EXPECT_RESUME_REFUSED("determinism 'exact', but 'fast'", o.evolution.determinism = Determinism::Fast);
}
TEST(checkpoint, what_does_not_change_the_bits_may_differ) {
    EXPECT_OK(resume_with([](TrainOptions& o, Checkpoint&) {
        o.max_steps = 500;  // CartPole's own
        o.generations = 1000;
        o.stop_when_solved = false;
        o.evaluation_episodes = 7;
        o.out = "elsewhere";
        o.pairs_per_slice = 5;
    }));
}
TEST(checkpoint, state_that_does_not_fit_is_refused) {
    EXPECT_RESUME_REFUSED("at most 9 were asked for", o.generations = 9);
    EXPECT_RESUME_REFUSED("its settings need", c.parameters.pop_back());
    EXPECT_RESUME_REFUSED("its settings need", c.optimizer_state.push_back(0));
    EXPECT_RESUME_REFUSED("does not say its 'sigma'",
                          std::erase_if(c.settings, [](auto& s) { return s.first == "sigma"; }));
    EXPECT_RESUME_REFUSED("settings that Yolk does not know", c.settings.emplace_back("later", "1"));
}

}  // namespace
}  // namespace yolk::train
