// SPDX-License-Identifier: Apache-2.0
// Any generation of a run, from its log.
#include "yolk/internal/train/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "checkpoint.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/run_log.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

constexpr std::uint32_t kGenerations = 5;

TrainOptions logged_run_options(const std::filesystem::path& out) {
    return {.task = "cartpole",
            .evolution = {.population = 32, .rank = 2, .sigma_decay = 0.9F, .noise_reuse = 2, .seed = 3},
            .network = {.widths = {4, 8, 2}},
            .generations = kGenerations,
            .stop_when_solved = false,
            .max_steps = 30,
            .out = out,
            .evaluation_episodes = 2,
            .rollout_config = RolloutConfig{.unrolled = false}};  // quick to compile
}

class replaying : public ::yolk::testing::DeviceTest {
   protected:
    /// The state hash after each generation.
    [[nodiscard]] Result<std::vector<std::string>> run(const TrainOptions& options) const {
        std::vector<std::string> hashes;
        YOLK_TRY_VOID(train(device(), options, [&](const GenerationReport& report) {
            hashes.push_back(report.state_hash);
            return true;
        }));
        return hashes;
    }
    [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(replaying);

TrainOptions with_rule(TrainOptions options, FitnessRule rule, bool pairs = true) {
    options.evolution.fitness = rule;
    options.evolution.antithetic = pairs;
    options.evolution.group_size = rule == FitnessRule::GroupZScore ? 16 : 0;
    if (!is_integer_rule(rule)) options.evolution.determinism = Determinism::Fast;
    return options;
}

// On each device from the log of the first device's run, and on the host. Integer rules in exact mode.
TEST_P(replaying, gives_the_hash_of_every_generation_on_any_device_and_on_the_host) {
    struct Case {
        FitnessRule rule;
        OptimizerRule optimizer;
        bool pairs;
    };
    for (const Case& c : {Case{FitnessRule::PairDifference, OptimizerRule::Adam, true},
                          Case{FitnessRule::PairSign, OptimizerRule::Momentum, true},
                          Case{FitnessRule::CentredRank, OptimizerRule::Sgd, false}}) {
        SCOPED_TRACE(to_string(c.rule));
        TrainOptions options = with_rule(logged_run_options(file(std::string(to_string(c.rule)))), c.rule, c.pairs);
        options.evolution.optimizer = c.optimizer;
        std::vector<std::string> hashes;
        ASSERT_OK(train(::yolk::testing::first_device().device, options, [&](const GenerationReport& r) {
            hashes.push_back(r.state_hash);
            return true;
        }));
        for (const std::uint32_t g : {1U, 3U, kGenerations}) {
            ASSERT_OK_AND_ASSIGN(const ReplayOutcome here, replay(device(), options.out, {.generation = g}));
            EXPECT_EQ(here.state_hash, hashes[g - 1]) << g;
            EXPECT_EQ(here.generation, g);
            EXPECT_EQ(here.differs_from, std::nullopt);
        }
        ASSERT_OK_AND_ASSIGN(const ReplayOutcome host, replay(evolve::Devices::none(), options.out / "log.yolk"));
        EXPECT_EQ(host.state_hash, hashes.back());
        EXPECT_EQ(host.generations_in_log, kGenerations);
        EXPECT_EQ(host.task, "cartpole");
        EXPECT_EQ(host.seed, 3U);
        EXPECT_EQ(host.population, 32U);
    }
}
// In fast mode the roll-out's last bits are the device's, but not what the log's weights make of them; float rules
// repeat on the device that ran them.
TEST_P(replaying, in_fast_mode_makes_the_same_update) {
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::ZScore, FitnessRule::GroupZScore}) {
        SCOPED_TRACE(to_string(rule));
        TrainOptions options = with_rule(logged_run_options(file(std::string(to_string(rule)))), rule);
        options.evolution.determinism = Determinism::Fast;
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes, run(options));
        ASSERT_OK_AND_ASSIGN(const ReplayOutcome again, replay(device(), options.out));
        EXPECT_EQ(again.state_hash, hashes.back());
        EXPECT_EQ(again.differs_from, std::nullopt);
        EXPECT_TRUE(expect_error(replay(evolve::Devices::none(), options.out), ErrorKind::BadInput,
                                 "Only exact determinism has a twin"));
    }
}
// The first device's z-scores on another: within the kernel's tolerance, and told where they are not the same bits.
TEST_P(replaying, of_float_rules_elsewhere_tells_what_differs) {
    const TrainOptions options = with_rule(logged_run_options(file("out")), FitnessRule::ZScore);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome made, train(::yolk::testing::first_device().device, options));
    ASSERT_OK_AND_ASSIGN(const Policy wanted, load_policy(made.policy));
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome here, replay(device(), options.out, {.out = file("replayed")}));
    EXPECT_EQ(here.state_hash == made.state_hash, !here.differs_from.has_value());
    ASSERT_OK_AND_ASSIGN(const Policy got, load_policy(here.policy));
    ASSERT_EQ(got.parameters.size(), wanted.parameters.size());
    // Steps of at most 1 of sums of 32 terms, five times: far above what three roundings per term come to.
    for (std::size_t i = 0; i < got.parameters.size(); ++i)
        EXPECT_NEAR(got.parameters[i], wanted.parameters[i], 1e-4) << i;
}
TEST_P(replaying, generation_0_is_the_beginning) {
    ASSERT_OK(run(logged_run_options(file("out"))));
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome begin,
                         replay(device(), file("out"), {.generation = 0, .out = file("begin")}));
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome host, replay(evolve::Devices::none(), file("out"), {.generation = 0}));
    EXPECT_EQ(begin.state_hash, host.state_hash);
    EXPECT_TRUE(begin.checkpoint.empty());
    ASSERT_OK_AND_ASSIGN(const Policy policy, load_policy(begin.policy));
    EXPECT_EQ(policy.generations, 0U);
    EXPECT_FALSE(std::filesystem::exists(file("begin") / "checkpoint.yolk"));
    // Nothing of an earlier replay stays beside it.
    ASSERT_OK(replay(device(), file("out"), {.generation = 3, .out = file("twice")}));
    ASSERT_TRUE(std::filesystem::exists(file("twice") / "checkpoint.yolk"));
    ASSERT_OK(replay(device(), file("out"), {.generation = 0, .out = file("twice")}));
    EXPECT_FALSE(std::filesystem::exists(file("twice") / "checkpoint.yolk"));
    EXPECT_FALSE(std::filesystem::exists(file("twice") / "log.yolk"));
}
TEST_P(replaying, training_goes_on_from_any_generation) {
    TrainOptions options = logged_run_options(file("out"));
    options.evolution.optimizer = OptimizerRule::Adam;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> hashes, run(options));
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome third,
                         replay(device(), file("out"), {.generation = 3, .out = file("third")}));
    EXPECT_EQ(third.checkpoint, file("third") / "checkpoint.yolk");
    ASSERT_OK_AND_ASSIGN(const Checkpoint checkpoint, load_checkpoint(third.checkpoint));
    EXPECT_EQ(checkpoint.state_hash, hashes[2]);
    ASSERT_OK_AND_ASSIGN(const Policy policy, load_policy(third.policy));
    EXPECT_EQ(policy.parameters, checkpoint.parameters);
    options.out = file("third");
    options.resume = true;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome rest, train(device(), options));
    EXPECT_EQ(rest.resumed_from, 3U);
    EXPECT_EQ(rest.state_hash, hashes.back());
    EXPECT_EQ(text_of(file("third") / "log.yolk"), text_of(file("out") / "log.yolk"));
    EXPECT_TRUE(expect_error(replay(device(), file("out"), {.generation = 2, .out = file("third")}),
                             ErrorKind::BadInput, "A run has trained in"));
}
TEST_P(replaying, ends_where_its_callback_says) {
    ASSERT_OK(run(logged_run_options(file("out"))));
    std::map<std::uint32_t, std::uint32_t> seen;
    const auto ended = replay(device(), file("out"), {.out = file("not")}, [&](std::uint32_t done, std::uint32_t all) {
        seen[done] = all;
        return done < 2;
    });
    EXPECT_TRUE(expect_error(ended, ErrorKind::Cancelled, "after generation 2 of 5"));
    EXPECT_EQ(seen, (std::map<std::uint32_t, std::uint32_t>{{1, 5}, {2, 5}}));
    EXPECT_FALSE(std::filesystem::exists(file("not") / "policy.safetensors"));
}

/// The log of a short run with its header changed.
template <class Change>
Result<ReplayOutcome> replay_changed(const std::filesystem::path& from, const std::filesystem::path& to,
                                     Change change) {
    YOLK_TRY(const evolve::RunLogReader log, evolve::RunLogReader::open(from));
    evolve::RunLogHeader header = log.header();
    change(header);
    evolve::RunLogWriter writer = evolve::RunLogWriter::replace(to, header);
    YOLK_TRY(evolve::LoggedGeneration logged, log.read(0));
    logged.generation = header.first_generation;
    logged.shaped.integer_weights.resize(header.weight_count);
    YOLK_TRY_VOID(writer.append(logged));
    return replay(evolve::Devices::none(), to);
}
std::string& setting_of(evolve::RunLogHeader& header, const std::string& name) {
    return std::ranges::find(header.settings, name, &Settings::value_type::first)->second;
}

TEST(replay_log_file, bad_ones_are_refused_in_words) {
    const TemporaryFolder folder;
    TrainOptions options = logged_run_options(folder.path() / "out");
    options.generations = 1;
    ASSERT_OK(train(::yolk::testing::first_device().device, options));
    const std::filesystem::path log = options.out / "log.yolk";
    EXPECT_TRUE(expect_error(replay(evolve::Devices::none(), folder.path()), ErrorKind::Io, "There is no log"));
    EXPECT_TRUE(expect_error(replay(evolve::Devices::none(), options.out / "checkpoint.yolk"), ErrorKind::BadInput,
                             "is not the log"));
    EXPECT_TRUE(expect_error(replay(evolve::Devices::none(), log, {.generation = 2}), ErrorKind::BadInput,
                             "ends after generation 1; generation 2 was asked for"));
    EXPECT_TRUE(expect_error(replay(evolve::Devices::none(), log, {.out = options.out}), ErrorKind::BadInput,
                             "of the log itself"));
    const auto changed = [&](const std::string& part, const std::function<void(evolve::RunLogHeader&)>& change) {
        EXPECT_TRUE(expect_error(replay_changed(log, folder.path() / "changed", change), ErrorKind::BadInput, part));
    };
    EXPECT_OK(replay_changed(log, folder.path() / "changed", [](evolve::RunLogHeader&) {}));
    changed("network with 58 parameters, but its settings make one with 23",
            [](auto& header) { setting_of(header, "network") = "4,3,2"; });
    changed("the network '4,,2'", [](auto& header) { setting_of(header, "network") = "4,,2"; });
    changed("the network '4'", [](auto& header) { setting_of(header, "network") = "4"; });
    changed("the network '4,9999,2'", [](auto& header) { setting_of(header, "network") = "4,9999,2"; });
    changed("the fitness 'median'", [](auto& header) { setting_of(header, "fitness") = "median"; });
    changed("the sigma '0.2x'", [](auto& header) { setting_of(header, "sigma") = "0.2x"; });
    changed("the robust 'maybe'", [](auto& header) { setting_of(header, "robust") = "maybe"; });
    changed("rank", [](auto& header) { setting_of(header, "rank") = "40"; });
    changed("does not say its 'seed'",
            [](auto& header) { std::erase_if(header.settings, [](auto& s) { return s.first == "seed"; }); });
    changed("has 16 weights per generation, but its settings make 32 of int8",
            [](auto& header) { setting_of(header, "population") = "64"; });
    changed("begins after generation 4", [](auto& header) { header.first_generation = 4; });
    EXPECT_TRUE(expect_error(
        replay_changed(log, folder.path() / "changed", [](auto& header) { setting_of(header, "seed") = "9"; }),
        ErrorKind::Failed, "does not go on from this state"));
}
// The task is a name: a log of an environment that this build does not have is replayed all the same.
TEST(replay_log_file, needs_no_environment) {
    const TemporaryFolder folder;
    TrainOptions options = logged_run_options(folder.path() / "out");
    options.generations = 1;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome made, train(::yolk::testing::first_device().device, options));
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome outcome,
                         replay_changed(options.out / "log.yolk", folder.path() / "changed", [](auto& header) {
                             setting_of(header, "task") = "somebody's own";
                             setting_of(header, "environment_source") = "0123";
                         }));
    EXPECT_EQ(outcome.task, "somebody's own");
    EXPECT_EQ(outcome.state_hash, made.state_hash);
}

}  // namespace
}  // namespace yolk::train
