// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolution.hpp"
#include "yolk/run_log.hpp"

#include <filesystem>

#include "fixtures.hpp"
#include "run_log_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr std::uint32_t kLoggedMembers = 34;

class log_replay : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        path_ = std::filesystem::temp_directory_path() / ("yolk-log-replay-" + std::to_string(::getpid()));
    }
    void TearDown() override { std::filesystem::remove(path_); }
    [[nodiscard]] Result<Evolution> create(const EvolutionOptions& options, bool scores) const {
        EvolutionParts parts;
        YOLK_TRY(parts.parameters, trained_parameters(layered_table(2), options));
        parts.initial = initial_parameters(parts.parameters, options.seed);
        if (scores) {
            YOLK_TRY(parts.evaluator, PreparedScores::create(device(), dispatcher(), drawn_scores(kLoggedMembers)));
        }
        parts.digest = true;
        parts.keep_weights = scores;
        return Evolution::create(device(), dispatcher(), std::move(parts), options);
    }
    /// Runs 4 generations; `spoil` changes what is logged of each. The state hash after them.
    template <class Spoil>
    Result<std::string> run_and_log(const EvolutionOptions& options, Spoil spoil) {
        YOLK_TRY(Evolution run, create(options, true));
        YOLK_TRY(const RunLogHeader header, run_log_header({}, options, run.parameters(), run.optimizer_state(), 0));
        RunLogWriter log = RunLogWriter::replace(path_, header);
        for (std::uint32_t g = 0; g < 4; ++g) {
            YOLK_TRY_VOID(run.step());
            LoggedGeneration logged{.generation = g};
            YOLK_TRY(logged.shaped, run.shaped());
            YOLK_TRY(logged.digest, run.state_digest());
            spoil(logged);
            YOLK_TRY_VOID(log.append(logged));
        }
        return run.state_hash();
    }
    std::filesystem::path path_;
};
YOLK_FOR_EACH_DEVICE(log_replay);

TEST_P(log_replay, gives_the_state_on_the_device_and_on_the_host) {
    const EvolutionOptions options{.population = kLoggedMembers, .rank = 2, .optimizer = OptimizerRule::Adam};
    ASSERT_OK_AND_ASSIGN(const std::string hash, run_and_log(options, [](LoggedGeneration&) {}));
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(path_));
    ASSERT_OK_AND_ASSIGN(Evolution run, create(options, false));
    std::vector<std::uint32_t> seen;
    ASSERT_OK_AND_ASSIGN(const auto differs, replay_log(run, log, 4, [&](std::uint32_t done) {
                             seen.push_back(done);
                             return true;
                         }));
    EXPECT_EQ(differs, std::nullopt);
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{1, 2, 3, 4}));
    ASSERT_OK_AND_ASSIGN(const std::string again, run.state_hash());
    EXPECT_EQ(again, hash);
    ASSERT_OK_AND_ASSIGN(Evolution twin, Evolution::create(Devices::none(),
                                                           {.parameters = run.table(),
                                                            .initial = initial_parameters(run.table(), options.seed)},
                                                           options));
    EXPECT_TRUE(expect_error(twin.step(), ErrorKind::BadInput, "no evaluator"));
    ASSERT_OK(replay_log(twin, log, 4));
    ASSERT_OK_AND_ASSIGN(const std::string on_host, twin.state_hash());
    EXPECT_EQ(on_host, hash);
}
TEST_P(log_replay, names_the_generation_that_differs) {
    const EvolutionOptions options{.population = kLoggedMembers};
    ASSERT_OK(run_and_log(options, [](LoggedGeneration& logged) {
        if (logged.generation == 2) logged.shaped.integer_weights[3] ^= 1;
    }));
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(path_));
    ASSERT_OK_AND_ASSIGN(Evolution run, create(options, false));
    EXPECT_TRUE(expect_error(replay_log(run, log, 4), ErrorKind::Failed, "Replaying generation 2 of"));
}
// Float rules are within a tolerance on other devices; the log says from where on.
TEST_P(log_replay, of_float_weights_goes_on_and_says_so) {
    EvolutionOptions options{.population = kLoggedMembers, .fitness = FitnessRule::ZScore};
    options.determinism = Determinism::Fast;
    ASSERT_OK_AND_ASSIGN(const std::string hash, run_and_log(options, [](LoggedGeneration& logged) {
                             if (logged.generation >= 1) logged.digest[0] = logged.digest[0] == '0' ? '1' : '0';
                         }));
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(path_));
    ASSERT_OK_AND_ASSIGN(Evolution run, create(options, false));
    ASSERT_OK_AND_ASSIGN(const auto differs, replay_log(run, log, 4));
    EXPECT_EQ(differs, 2U);  // after the second
    ASSERT_OK_AND_ASSIGN(const std::string again, run.state_hash());
    EXPECT_EQ(again, hash);
}
TEST_P(log_replay, refuses_what_the_log_does_not_have) {
    const EvolutionOptions options{.population = kLoggedMembers};
    ASSERT_OK(run_and_log(options, [](LoggedGeneration&) {}));
    ASSERT_OK_AND_ASSIGN(const RunLogReader log, RunLogReader::open(path_));
    ASSERT_OK_AND_ASSIGN(Evolution run, create(options, false));
    EXPECT_TRUE(expect_error(replay_log(run, log, 5), ErrorKind::BadInput, "ends after generation 4; generation 5"));
    EXPECT_TRUE(expect_error(replay_log(run, log, 4, [](std::uint32_t done) { return done < 2; }), ErrorKind::Cancelled,
                             "after generation 2 of 4"));
    EXPECT_TRUE(expect_error(replay_log(run, log, 1), ErrorKind::BadInput,
                             "generation 1 was asked for, but the state to go on from is that after generation 2"));
    ASSERT_OK(replay_log(run, log, 2));  // nothing is left to apply
    EvolutionOptions other = options;
    other.seed = 2;
    ASSERT_OK_AND_ASSIGN(Evolution another, create(other, false));
    EXPECT_TRUE(expect_error(replay_log(another, log, 4), ErrorKind::Failed, "does not go on from this state"));
}

}  // namespace
}  // namespace yolk::evolve
