// SPDX-License-Identifier: Apache-2.0
// Live surfaces and searches on devices, with problems some of whose configurations are wrong on purpose.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "table_folder.hpp"
#include "yolk/internal/autotune/explain.hpp"
#include "yolk/internal/autotune/live_surface.hpp"
#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/recording.hpp"
#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/reduce.hpp"

namespace yolk::autotune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr ReduceDesc kSum{.operation = ReduceOperation::Sum, .outer = 8, .columns = 41};

/// A sum; with 32 lanes per row groups of 2 rows compute the maximum instead, groups of 4 cannot be planned, and
/// drivers fail with 8.
class TreacherousProblem final : public oracle::Problem {
   public:
    [[nodiscard]] std::string name() const override { return right_->name(); }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return right_->space(info); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return right_->default_configuration(info);
    }
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(
        const Device& device, const Configuration& configuration) const override {
        ++plans;
        if (configuration == Configuration{0, 4, 32, 0, 1}) return unsupported("Groups of 4 do not fit.");
        if (configuration == Configuration{0, 8, 32, 0, 1}) return Error{ErrorKind::Driver, "The driver fails.", -3};
        return configuration == Configuration{0, 2, 32, 0, 1} ? wrong_->plan(device, configuration)
                                                              : right_->plan(device, configuration);
    }
    [[nodiscard]] std::vector<oracle::ProblemBuffer> buffers() const override { return right_->buffers(); }
    [[nodiscard]] std::vector<oracle::Expected> expected() const override { return right_->expected(); }
    [[nodiscard]] oracle::Work work() const override { return right_->work(); }

    mutable std::size_t plans = 0;

   private:
    std::unique_ptr<oracle::Problem> right_ = *oracle::make_problem(kSum);
    std::unique_ptr<oracle::Problem> wrong_ = *oracle::make_named_problem("reduce outer=8 columns=41 operation=max");
};

/// A sum that takes long to plan, which is done twice for an evaluation and twice for a finalist.
class SlowProblem final : public oracle::Problem {
   public:
    [[nodiscard]] std::string name() const override { return right_->name(); }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return right_->space(info); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return right_->default_configuration(info);
    }
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(
        const Device& device, const Configuration& configuration) const override {
        std::this_thread::sleep_for(kPlan);
        return right_->plan(device, configuration);
    }
    [[nodiscard]] std::vector<oracle::ProblemBuffer> buffers() const override { return right_->buffers(); }
    [[nodiscard]] std::vector<oracle::Expected> expected() const override { return right_->expected(); }
    [[nodiscard]] oracle::Work work() const override { return right_->work(); }

    static constexpr std::chrono::milliseconds kPlan{200};

   private:
    std::unique_ptr<oracle::Problem> right_ = *oracle::make_problem(kSum);
};

class live : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-live-" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] Result<TuneLiveOutcome> tune(const oracle::Problem& problem, const TuneLiveOptions& options) const {
        YOLK_TRY(const TuningFile file, TuningFile::open(table()));
        YOLK_TRY(RunJournal journal, RunJournal::create(journal_folder(table())));
        return tune_live(device(), dispatcher(), problem, file, journal, options);
    }
    [[nodiscard]] std::filesystem::path table() const { return folder_ / "tuning.sqlite"; }
    [[nodiscard]] TuningKey key() const {
        return tuning_key(device().info(), space_of(device().usable_info(), kSum).space());
    }
    std::filesystem::path folder_;
};
YOLK_FOR_EACH_DEVICE(live);

TEST_P(live, wrong_configurations_are_never_timed) {
    const TreacherousProblem problem;
    ASSERT_OK_AND_ASSIGN(const auto surface, LiveSurface::create(device(), dispatcher(), problem));
    EXPECT_THAT(surface->candidates().size(), 28U);  // 9 per invocation, each in two ways to its input, 10 by groups
    const auto run = [&](Configuration configuration) { return surface->run(*surface->find(configuration)); };
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement wrong, run({0, 2, 32, 0, 1}));
    EXPECT_TRUE(wrong.milliseconds.empty());
    EXPECT_TRUE(wrong.quarantine);
    EXPECT_THAT(wrong.reason, AllOf(StartsWith("Wrong result: "), HasSubstr("out")));
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement refused, run({0, 4, 32, 0, 1}));
    EXPECT_TRUE(refused.milliseconds.empty());
    EXPECT_FALSE(refused.quarantine);
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement failing, run({0, 8, 32, 0, 1}));
    EXPECT_TRUE(failing.quarantine);
    ASSERT_OK_AND_ASSIGN(const LiveMeasurement good, run({0, 1, 32, 0, 1}));
    EXPECT_FALSE(good.milliseconds.empty());
    EXPECT_GT(good.milliseconds.front(), 0.0);
}

TEST_P(live, a_search_writes_its_choice_and_what_must_not_run) {
    const TreacherousProblem problem;
    std::size_t told = 0;
    TuneLiveOptions options{.tuner = {.strategy = "random", .budget = 30}};
    options.progress = [&told](const LiveProgress& progress) {
        EXPECT_EQ(progress.evaluations, ++told);
        return true;
    };
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome, tune(problem, options));
    EXPECT_EQ(outcome.measured, 28U);
    EXPECT_EQ(outcome.rejected, 3U);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    ASSERT_THAT(choices, SizeIs(1));
    EXPECT_EQ(choices[0].key, key());
    EXPECT_LE(choices[0].milliseconds, 1.01 * choices[0].heuristic_milliseconds);
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file.quarantined());
    EXPECT_THAT(quarantined, SizeIs(2));
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key()));
    EXPECT_GE(samples.size(), 28U);
    // What is quarantined is not run again; what is known is not measured again, but for the heuristic.
    problem.plans = 0;
    options.progress = {};
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome second, tune(problem, options));
    EXPECT_EQ(second.measured, 1U);
    options.again = true;
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome again, tune(problem, options));
    EXPECT_EQ(again.measured, 26U);
    EXPECT_EQ(again.rejected, 1U);
}

/// Seconds that a search took with so many to its limit.
double seconds_within(const std::function<void(const TuneLiveOptions&)>& search, double limit) {
    const auto begun = std::chrono::steady_clock::now();
    TuneLiveOptions options{.tuner = {.strategy = "random", .budget = 13}};
    options.limit = begun + std::chrono::milliseconds(static_cast<int>(1e3 * limit));
    options.deadline = options.limit;
    search(options);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

// Finals of seven would take another three seconds if the search went on to the limit. On a busy machine a search may
// come to no choice; then the next one goes on.
TEST_P(live, a_search_ends_with_its_finals_within_the_limit) {
    const SlowProblem problem;
    for (std::size_t runs = 0; runs < 5; ++runs) {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        TuneLiveOutcome outcome;
        const double seconds = seconds_within(
            [&](const TuneLiveOptions& options) {
                auto tuned = tune(problem, options);
                ASSERT_OK(tuned);
                outcome = *std::move(tuned);
            },
            5.0);
        EXPECT_LT(outcome.measured, 13U);
        ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
        EXPECT_EQ(outcome.choice.milliseconds > 0.0, !choices.empty());
        if (choices.empty()) continue;
        EXPECT_GE(outcome.known + outcome.measured, 5U);
        if (seconds < 5.0 + 2.0) return;
        std::filesystem::remove_all(folder_);  // the machine was too busy to tell: anew
    }
    ADD_FAILURE() << "no search of five chose something within its five seconds";
}

// Too short for five evaluations: nothing is chosen, the samples stay, and later runs come to a choice.
TEST_P(live, searches_that_end_too_early_are_gone_on_with) {
    const SlowProblem problem;
    const auto one = [&](const TuneLiveOptions& options) { ASSERT_OK(tune(problem, options)); };
    bool too_early = false;
    for (int tries = 0; tries < 5 && !too_early; ++tries) {  // a busy machine may measure nothing, or end late
        std::filesystem::remove_all(folder_);
        const bool in_time = seconds_within(one, 0.7) < 0.7 + 2.0;
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        ASSERT_OK_AND_ASSIGN(const auto none, file.choices());
        EXPECT_TRUE(none.empty());
        ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key()));
        too_early = in_time && !samples.empty();
    }
    EXPECT_TRUE(too_early);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    std::size_t runs = 0;
    for (bool chosen = false; !chosen && runs < 8; ++runs) {
        static_cast<void>(seconds_within(one, 3.0));
        ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
        chosen = !choices.empty();
    }
    EXPECT_LT(runs, 8U);
}

// Where the heuristic's configuration cannot be planned (its loops are longer than this driver's limit), a plan takes
// another one, and so does the search.
TEST_P(live, begins_with_what_an_untuned_plan_takes) {
    for (const std::uint32_t columns : {40U, 32U * 65534U + 1U, 64U * 65534U + 1U}) {
        const ReduceDesc desc{.operation = ReduceOperation::Sum, .outer = 1, .columns = columns};
        const auto problem = *oracle::make_problem(desc);
        ASSERT_OK_AND_ASSIGN(const ReducePlan plan, plan_reduce(device(), desc));
        ASSERT_OK_AND_ASSIGN(const auto surface, LiveSurface::create(device(), dispatcher(), *problem, {}));
        const Configuration first = surface->configuration(surface->heuristic());
        EXPECT_EQ(first, space_of(device().usable_info(), desc).configuration(plan.config())) << columns;
        ASSERT_OK_AND_ASSIGN(const LiveMeasurement measured, surface->run(surface->heuristic()));
        EXPECT_FALSE(measured.milliseconds.empty()) << columns << ": " << measured.reason;
        ASSERT_OK_AND_ASSIGN(const ShapeQuestion question,
                             shape_question(device(), fmt::format("reduce outer=1 columns={}", columns)));
        EXPECT_EQ(question.heuristic, first) << columns;
    }
}

TEST_P(live, times_rotate_among_sets_of_buffers) {
    const auto problem = *oracle::make_problem(kSum);
    std::uint64_t set_bytes = 0;
    for (const oracle::ProblemBuffer& buffer : problem->buffers()) set_bytes += buffer.size_bytes;
    const std::vector<std::pair<std::uint64_t, std::size_t>> expected{
        {0, 1}, {set_bytes - 1, 1}, {3 * set_bytes, 4}, {std::uint64_t{1} << 30U, 64}};
    for (const auto& [cache_bytes, sets] : expected) {
        LiveOptions options;
        options.cache_bytes = cache_bytes;
        ASSERT_OK_AND_ASSIGN(const auto surface, LiveSurface::create(device(), dispatcher(), *problem, options));
        EXPECT_EQ(surface->set_count(), sets);
        ASSERT_OK_AND_ASSIGN(const LiveMeasurement measured, surface->run(surface->heuristic()));
        EXPECT_FALSE(measured.milliseconds.empty());
        const std::vector<std::size_t> finalists{0, 1, 2};
        ASSERT_OK_AND_ASSIGN(const auto finals, surface->final_rounds(finalists, 6));
        for (const LiveMeasurement& of : finals) EXPECT_THAT(of.milliseconds, SizeIs(6)) << of.reason;
    }
}

TEST_P(live, the_strategy_proposes_before_the_portfolio_is_used_up) {
    const auto problem = *oracle::make_problem(kSum);
    const TuningSpace space = problem->space(device().usable_info());
    TuneLiveOptions options{.tuner = {.strategy = "random", .budget = 9}};  // which draws the same whatever it is told
    const std::vector<Configuration> all = space.all();
    for (std::size_t i = 0; i < 8; ++i) options.portfolio.push_back(stored_configuration(space, all[2 * i]));
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome, tune(*problem, options));
    EXPECT_EQ(outcome.measured, 9U);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key()));
    std::set<Configuration> proposed;
    std::set<Configuration> of_portfolio;
    for (const TuningSample& sample : samples) {
        const Configuration values = *configuration_in(space, sample.configuration);
        const bool fixed = values == problem->default_configuration(device().usable_info()) || values == space.plain();
        const bool in_portfolio = std::ranges::find(options.portfolio, sample.configuration) != options.portfolio.end();
        if (in_portfolio) of_portfolio.insert(values);
        if (!fixed && !in_portfolio) proposed.insert(values);
    }
    EXPECT_GE(of_portfolio.size(), 3U);
    EXPECT_GE(proposed.size(), 1U);
}

TEST_P(live, an_interrupted_search_goes_on_where_it_was) {
    const auto problem = *oracle::make_problem(kSum);
    TuneLiveOptions options{.tuner = {.strategy = "random", .budget = 8}};
    options.progress = [](const LiveProgress& progress) { return progress.evaluations < 5; };
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome first, tune(*problem, options));
    EXPECT_TRUE(first.interrupted);
    EXPECT_EQ(first.measured, 5U);
    options.progress = {};
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome second, tune(*problem, options));
    EXPECT_EQ(second.known, 4U);     // without the heuristic, which is measured in each run
    EXPECT_EQ(second.measured, 4U);  // and the heuristic
}

TEST_P(live, what_a_dead_process_ran_is_quarantined) {
    const auto problem = *oracle::make_problem(kSum);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    std::filesystem::create_directories(journal_folder(table()));
    // As tune_live writes it, left by a process that is gone.
    {
        ASSERT_OK_AND_ASSIGN(RunJournal journal, RunJournal::create(journal_folder(table())));
        TuneLiveOptions options{.tuner = {.strategy = "random", .budget = 3}};
        std::string left;
        options.progress = [](const LiveProgress&) { return true; };
        ASSERT_OK(tune_live(device(), dispatcher(), *problem, file, journal, options));
    }
    std::ofstream(journal_folder(table()) / "1-1")
        << "{\"device\":" << Json(key().device.device).dump() << ",\"driver\":" << Json(key().device.driver).dump()
        << ",\"family\":\"reduce\",\"kernels\":\"" << key().kernels
        << "\",\"variant\":" << Json(key().shape.variant).dump() << ",\"extents\":" << Json(key().shape.extents).dump()
        << ",\"configuration\":{\"row_per_invocation\":1,\"rows_per_workgroup\":1,\"lanes_per_row\":32,"
           "\"texel_input\":0,\"elements_per_load\":1}}";
    std::ofstream(journal_folder(table()) / "1-2") << "{\"device\":\"cut o";
    ASSERT_OK_AND_ASSIGN(const std::size_t count, recover_journals(file));
    EXPECT_EQ(count, 1U);
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file.quarantined());
    ASSERT_THAT(quarantined, SizeIs(1));
    EXPECT_EQ(quarantined[0].key, key());
    EXPECT_THAT(quarantined[0].reason, HasSubstr("ended while"));
    ASSERT_OK_AND_ASSIGN(const std::size_t none, recover_journals(file));
    EXPECT_EQ(none, 0U);
}

TEST_P(live, plans_take_the_choice_from_the_file) {
    const auto space = space_of(device().usable_info(), kSum);
    {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
        ASSERT_OK_AND_ASSIGN(const bool written, file.put({.key = key(),
                                                           .configuration = {{"row_per_invocation", 1},
                                                                             {"rows_per_workgroup", 4},
                                                                             {"lanes_per_row", 32},
                                                                             {"texel_input", 1},
                                                                             {"elements_per_load", 1}}},
                                                          std::nullopt));
        EXPECT_TRUE(written);
    }
    EXPECT_EQ(load_tuning(device(), table()), 1U);
    const auto answer = device().tuning_table()->find(space.space());
    device().set_tuning_table(nullptr);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->configuration, (Configuration{1, 4, 32, 1, 1}));
    EXPECT_EQ(load_tuning(device(), folder_ / "missing"), 0U);
    EXPECT_EQ(device().tuning_table(), nullptr);
}

TEST_P(live, recordings_are_written_over_recordings_only) {
    const TuningSpace space = space_of(device().info(), kSum).space();
    std::filesystem::create_directories(folder_);
    for (const RecordingFormat format : {RecordingFormat::KernelTuner, RecordingFormat::T4}) {
        const std::filesystem::path path = folder_ / (format == RecordingFormat::T4 ? "a.t4.json" : "a.json");
        ASSERT_OK_AND_ASSIGN(const std::string text, recording_text(space, {}, "a device", format));
        ASSERT_OK(write_recording(path, text));
        ASSERT_OK(write_recording(path, text));
        std::ofstream(path) << "{\"notes\": 1}";
        const Result<void> refused = write_recording(path, text);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::BadInput);
        EXPECT_THAT(refused.error().message, HasSubstr(path.string()));
        EXPECT_EQ(std::filesystem::file_size(path), 12U);
    }
}

TEST_P(live, recordings_are_read_again) {
    const TuningSpace space = space_of(device().info(), kSum).space();
    std::vector<TuningSample> samples;
    for (const Configuration& configuration : space.all())
        samples.push_back({.configuration = stored_configuration(space, configuration),
                           .milliseconds = 1.0 + 0.25 * configuration[1] + configuration[0]});
    samples[3].milliseconds = kInvalidCost;
    samples[3].reason = std::string(kWrongResult) + "out[0] is 1";
    samples[5].milliseconds = kInvalidCost;
    samples[5].reason = "The process ended while it ran.";
    samples.push_back(samples[0]);  // a second sample of the same
    samples.push_back({.configuration = {{"tile", 3}}, .milliseconds = 1.0});
    for (const RecordingFormat format : {RecordingFormat::KernelTuner, RecordingFormat::T4}) {
        ASSERT_OK_AND_ASSIGN(const std::string text, recording_text(space, samples, device().info().name, format));
        ASSERT_OK_AND_ASSIGN(const RecordedSurface surface, RecordedSurface::parse(text, "the recording"));
        EXPECT_EQ(surface.candidates().size(), 28U);
        EXPECT_EQ(surface.valid_count(), 26U);
        EXPECT_EQ(surface.device(), device().info().name);
        EXPECT_FALSE(surface.kernel().empty());
        if (format == RecordingFormat::T4) {
            EXPECT_THAT(text,
                        AllOf(HasSubstr("\"invalidity\": \"correctness\""), HasSubstr("\"invalidity\": \"runtime\"")));
        }
        EXPECT_EQ(surface.optimum(), 1.25);
        EXPECT_EQ(surface.candidates().dimensions(), 5U);
        EXPECT_THAT(std::vector<double>(surface.costs().begin(), surface.costs().end()), Contains(1.0 + 64.0 + 1.0));
    }
    EXPECT_EQ(recording_format("a/b.t4.json"), RecordingFormat::T4);
    EXPECT_EQ(recording_format("a/b.T4.json"), RecordingFormat::T4);
    EXPECT_EQ(recording_format("a/b.json"), RecordingFormat::KernelTuner);
}

}  // namespace
}  // namespace yolk::autotune
