// SPDX-License-Identifier: Apache-2.0
// What the first run of a binding costs, a driver's compilation, is no time of a configuration.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <ranges>

#include "table_folder.hpp"
#include "yolk/internal/autotune/live_surface.hpp"
#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/reduce.hpp"

namespace yolk::autotune {
namespace {

constexpr ReduceDesc kColdSum{.operation = ReduceOperation::Sum, .outer = 8, .columns = 40};

/// A sum whose bindings are slow the first time they run, as they are where a driver compiles by then.
class ColdProblem final : public oracle::Problem {
   public:
    static constexpr std::size_t kFirst = 2000;  ///< dispatches that the first run of a binding makes beside its own

    class Plan final : public oracle::PlannedProblem {
       public:
        Plan(std::unique_ptr<oracle::PlannedProblem> right, std::size_t* runs)
            : right_(std::move(right)), runs_(runs) {}
        [[nodiscard]] MemoryNeeds scratch() const override { return right_->scratch(); }
        [[nodiscard]] Result<Record> bind(std::span<const BufferView> views, const BufferView& scratch) const override {
            YOLK_TRY(Record record, right_->bind(views, scratch));
            return Record([record, runs = runs_, is_first = std::make_shared<bool>(true)](Recorder& recorder) {
                ++*runs;
                for (std::size_t i = 0; *is_first && i < kFirst; ++i) {
                    record(recorder);
                    recorder.barrier(Barrier::ComputeToCompute);
                }
                *is_first = false;
                record(recorder);
            });
        }

       private:
        std::unique_ptr<oracle::PlannedProblem> right_;
        std::size_t* runs_;
    };

    [[nodiscard]] std::string name() const override { return right_->name(); }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return right_->space(info); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return right_->default_configuration(info);
    }
    [[nodiscard]] Result<std::unique_ptr<oracle::PlannedProblem>> plan(
        const Device& device, const Configuration& configuration) const override {
        YOLK_TRY(std::unique_ptr<oracle::PlannedProblem> right, right_->plan(device, configuration));
        return std::unique_ptr<oracle::PlannedProblem>(std::make_unique<Plan>(std::move(right), &runs));
    }
    [[nodiscard]] std::vector<oracle::ProblemBuffer> buffers() const override { return right_->buffers(); }
    [[nodiscard]] std::vector<oracle::Expected> expected() const override { return right_->expected(); }
    [[nodiscard]] oracle::Work work() const override { return right_->work(); }

    mutable std::size_t runs = 0;  ///< of bindings, the proofs' too

   private:
    std::unique_ptr<oracle::Problem> right_ = *oracle::make_problem(kColdSum);
};

/// What a sample may take, if the shortest takes so long. One that holds a first run takes kFirst / 8 times as long,
/// for it is the mean of eight runs at most; one whose thread waited for other programs some ten times.
double limit_of(double shortest) { return static_cast<double>(ColdProblem::kFirst) / 16 * shortest; }

class warm_up : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-warm-up-" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path table() const { return folder_ / "tuning.sqlite"; }
    [[nodiscard]] Result<TuneLiveOutcome> tune(const oracle::Problem& problem, const TuneLiveOptions& options) const {
        YOLK_TRY(const TuningFile file, TuningFile::open(table()));
        YOLK_TRY(RunJournal journal, RunJournal::create(journal_folder(table())));
        return tune_live(device(), dispatcher(), problem, file, journal, options);
    }
    [[nodiscard]] TuningKey key() const {
        return tuning_key(device().info(), space_of(device().usable_info(), kColdSum).space());
    }
    std::filesystem::path folder_;
};
YOLK_FOR_EACH_DEVICE(warm_up);

// The first run of a binding is no sample: a driver may compile in it.
TEST_P(warm_up, keeps_the_first_run_of_a_binding_out_of_the_samples) {
    const ColdProblem problem;
    LiveOptions options;
    options.cache_bytes = 0;  // one set of buffers
    ASSERT_OK_AND_ASSIGN(const auto surface, LiveSurface::create(device(), dispatcher(), problem, options));
    ASSERT_OK(surface->run(surface->heuristic()));
    double least_first = std::numeric_limits<double>::infinity();
    const std::vector<std::size_t> others{1, 2, 3, 4, 5, 6};
    for (const std::size_t candidate : others) {
        problem.runs = 0;
        ASSERT_OK_AND_ASSIGN(const LiveMeasurement measured, surface->run(candidate));
        ASSERT_FALSE(measured.milliseconds.empty()) << measured.reason;
        // The proof, the warm-up, and the samples.
        EXPECT_EQ(problem.runs, 1 + surface->repeats() * (1 + measured.milliseconds.size()));
        least_first = std::min(least_first, measured.milliseconds.front());
    }
    ASSERT_OK_AND_ASSIGN(const auto finals, surface->final_rounds(others, 5));
    double least = std::numeric_limits<double>::infinity();
    for (const LiveMeasurement& measured : finals) least = std::min(least, std::ranges::min(measured.milliseconds));
    EXPECT_LT(least_first, limit_of(least));
}

// A budget counts evaluations of candidates, and a table keeps their samples: a warm-up is neither.
TEST_P(warm_up, is_not_counted_and_not_kept) {
    const ColdProblem problem;
    TuneLiveOptions options{.tuner = {.strategy = "random", .budget = 6}};
    options.cache_bytes = 0;
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome, tune(problem, options));
    EXPECT_EQ(outcome.measured, 6U);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key()));
    std::map<StoredConfiguration, double> first;  // of a configuration's samples in the search, in the order of writing
    double shortest_final = std::numeric_limits<double>::infinity();
    for (const TuningSample& sample : samples) {
        if (sample.stage == SampleStage::Search) first.try_emplace(sample.configuration, sample.milliseconds);
        if (sample.stage == SampleStage::Final) shortest_final = std::min(shortest_final, sample.milliseconds);
    }
    ASSERT_EQ(first.size(), 6U);
    EXPECT_LT(std::ranges::min(first | std::views::values), limit_of(shortest_final));
}

}  // namespace
}  // namespace yolk::autotune
