// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "task_setup.hpp"
#include "temporary_folder.hpp"
#include "yolk/core/hash.hpp"
#include "yolk/evolve/parameter_setup.hpp"
#include "yolk/testing/device_test.hpp"
#include "yolk/testing/mutation.hpp"

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

/// The checksum made to fit, so that what lies behind it is reached.
void seal(std::vector<std::byte>& bytes) {
    if (bytes.size() < 8) return;
    const std::size_t hashed = bytes.size() - 8;
    const std::uint64_t hash = hash64(std::span<const std::byte>(bytes).first(hashed));
    std::memcpy(bytes.data() + hashed, &hash, 8);
}
/// A sealed file of this header and so many zero values.
std::vector<std::byte> checkpoint_bytes(const std::string& header, std::size_t values, std::uint32_t claimed) {
    std::vector<std::byte> bytes(16 + header.size() + 4 * values + 8);
    std::memcpy(bytes.data(), "YOLKRUN\n", 8);
    std::memcpy(bytes.data() + 8, &kCheckpointVersion, 4);
    std::memcpy(bytes.data() + 12, &claimed, 4);
    std::memcpy(bytes.data() + 16, header.data(), header.size());
    seal(bytes);
    return bytes;
}
std::string header_of(const std::string& generation, const std::string& parameters, const std::string& state) {
    return R"({"generation":)" + generation + R"(,"solved":false,"finished":true,"state_hash":"00","parameters":)" +
           parameters + R"(,"optimizer_state":)" + state + R"(,"settings":{}})";
}
Result<Checkpoint> decode_header(const std::string& header, std::size_t values = 3) {
    return decoded_checkpoint(checkpoint_bytes(header, values, static_cast<std::uint32_t>(header.size())));
}

TEST(checkpoint, round_trip) {
    const Checkpoint written = example_checkpoint();
    ASSERT_OK_AND_ASSIGN(const Checkpoint read, decoded_checkpoint(encode_checkpoint(written)));
    EXPECT_EQ(read.settings, written.settings);
    EXPECT_EQ(read.generation, 7U);
    EXPECT_TRUE(read.solved);
    EXPECT_FALSE(read.finished);
    EXPECT_EQ(read.state_hash, written.state_hash);
    EXPECT_EQ(read.parameters, written.parameters);
    EXPECT_EQ(read.optimizer_state, written.optimizer_state);
}
TEST(checkpoint, every_cut_and_every_changed_byte_is_refused) {
    const std::vector<std::byte> whole = encode_checkpoint(example_checkpoint());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_EQ(decoded_checkpoint({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}).error().kind,
                  ErrorKind::BadInput)
            << size;
        std::vector<std::byte> changed = whole;
        changed[size] ^= std::byte{1};
        EXPECT_FALSE(decoded_checkpoint(changed)) << size;
    }
}
TEST(checkpoint, foreign_and_later_files_are_named) {
    EXPECT_TRUE(expect_error(decoded_checkpoint({}), ErrorKind::BadInput, "not a checkpoint of Yolk"));
    EXPECT_TRUE(expect_error(decoded_checkpoint(std::vector<std::byte>(1000)), ErrorKind::BadInput,
                             "not a checkpoint of Yolk"));
    std::vector<std::byte> later = encode_checkpoint(example_checkpoint());
    later[8] = std::byte{2};  // its checksum is whatever that version makes of it
    EXPECT_TRUE(expect_error(decoded_checkpoint(later), ErrorKind::BadInput, "format version 2"));
    std::vector<std::byte> damaged = encode_checkpoint(example_checkpoint());
    damaged.pop_back();
    EXPECT_TRUE(expect_error(decoded_checkpoint(damaged), ErrorKind::BadInput, "damaged or cut off"));
}
TEST(checkpoint, absurd_claims_cost_nothing) {
    EXPECT_TRUE(expect_error(decoded_checkpoint(checkpoint_bytes("{}", 0, 0xFFFFFFFFU)), ErrorKind::BadInput,
                             "header of 4294967295"));
    const std::string huge = "18446744073709551615";
    EXPECT_TRUE(expect_error(decode_header(header_of("1", huge, "4")), ErrorKind::BadInput, "claims " + huge));
    EXPECT_TRUE(expect_error(decode_header(header_of("1", "4", huge)), ErrorKind::BadInput, huge));
    EXPECT_TRUE(expect_error(decode_header(header_of("1", "4611686018427387904", "3")), ErrorKind::BadInput, "claims"));
    EXPECT_TRUE(expect_error(decode_header(header_of("4294967296", "3", "0")), ErrorKind::BadInput, "4294967296"));
    EXPECT_TRUE(expect_error(decode_header(header_of("0", "3", "0")), ErrorKind::BadInput, "0 generations"));
    EXPECT_TRUE(expect_error(decode_header(header_of("-1", "3", "0")), ErrorKind::BadInput, "wrong kind"));
    EXPECT_TRUE(expect_error(decode_header("[1]"), ErrorKind::BadInput, "not a JSON object"));
    EXPECT_TRUE(expect_error(decode_header(std::string(500000, '[')), ErrorKind::BadInput,
                             "nests arrays and objects more than 64 deep"));
    EXPECT_TRUE(expect_error(decode_header(header_of("1", "3", "0")), ErrorKind::BadInput, "state hash"));
}
TEST(checkpoint, parameters_that_are_not_finite_are_refused) {
    Checkpoint checkpoint = example_checkpoint();
    checkpoint.parameters[1] = std::nanf("");
    EXPECT_TRUE(expect_error(decoded_checkpoint(encode_checkpoint(checkpoint)), ErrorKind::BadInput, "not finite"));
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
    const std::vector<std::byte> original = encode_checkpoint(whole);
    ::yolk::testing::Mutator mutate(20250602);
    const int files = ::yolk::testing::mutation_count(10000);
    int refused = 0, resumable = 0;
    for (int i = 0; i < files; ++i) {
        std::vector<std::byte> bytes = mutate(original);
        if (i % 2 == 0) seal(bytes);
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
TEST(checkpoint, frozen_parameters_under_their_older_name_are_read) {
    TrainOptions options = run();
    options.evolution.freeze = {"layer0.bias"};
    ASSERT_OK_AND_ASSIGN(const TaskSetup setup, set_up_task(options));
    Checkpoint old{.settings = run_settings(options, setup.environment),
                   .generation = 10,
                   .state_hash = evolve::state_hash(setup.initial, {}, 10).value(),
                   .parameters = setup.initial,
                   .optimizer_state = {}};
    const auto named = std::ranges::find(old.settings, std::string("freeze"), &Settings::value_type::first);
    ASSERT_NE(named, old.settings.end());
    named->first = "exclude";
    ASSERT_OK_AND_ASSIGN(const Checkpoint read, decoded_checkpoint(encode_checkpoint(old)));
    const std::uint32_t elements = setup.parameters.element_count();
    EXPECT_OK(check_resumable(read, options, setup.environment, elements, "'x'"));
    options.evolution.freeze.clear();
    EXPECT_TRUE(expect_error(check_resumable(read, options, setup.environment, elements, "'x'"), ErrorKind::BadInput,
                             "freeze 'layer0.bias', but '' was given"));
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
