// SPDX-License-Identifier: Apache-2.0
// That the family check finds what it is there to find.
#include "yolk/internal/oracle/family.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "family_runs.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/noise.hpp"
#include "yolk/twin.hpp"

namespace yolk::oracle {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

enum class Fault { None, Twin, Oracle, Kept, Input, Beyond, Refused, Hold };

/// Noise of one pair, with one thing about it that is not so.
class FaultyProblem final : public Problem {
   public:
    explicit FaultyProblem(Fault fault) : fault_(fault) {}
    [[nodiscard]] std::string name() const override { return "a faulty problem"; }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return space_of(info, desc_).space(); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return space_of(info, desc_).configuration({});
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        NoiseDesc desc = desc_;
        desc.config = space_of(device.info(), desc_).config(configuration);
        YOLK_TRY(NoisePlan plan, plan_noise(device, desc));
        const bool swapped = fault_ == Fault::Input || fault_ == Fault::Refused;
        return planned(std::move(plan),
                       [swapped](const NoisePlan& of, std::span<const BufferView> views,
                                 const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundNoise bound, of.bind({.out = views[swapped ? 0 : 1]}, scratch));
                           return recorded(std::move(bound), NoiseStream{.seed = 42});
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        const std::uint64_t out_bytes = fault_ == Fault::Beyond ? 4 * kCount - 4 : 4 * kCount;
        const std::uint32_t in_count = fault_ == Fault::Refused ? kCount - 1 : kCount;
        return {input_buffer("in", std::vector<std::int32_t>(in_count, 5)), output_buffer("out", out_bytes)};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        Expected expected{.element = ElementType::I32,
                          .twin = reference::twin_result<std::uint32_t>(desc_, {}, NoiseStream{.seed = 42})};
        for (const std::uint32_t word : expected.twin)
            expected.oracle.push_back({static_cast<double>(static_cast<std::int32_t>(word)), 0.0});
        if (fault_ == Fault::Twin) expected.twin[7] ^= 1U;
        if (fault_ == Fault::Oracle) expected.oracle[7].value += 0.5;
        if (fault_ == Fault::Kept) expected.kept = {false, true};
        return {expected};
    }
    [[nodiscard]] Work work() const override { return {}; }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        if (fault_ == Fault::Hold && outputs[0].size() == kCount) report.fail(case_name + ": held");
    }

   private:
    static constexpr std::uint32_t kCount = 20;
    Fault fault_;
    NoiseDesc desc_{.element_count = kCount};
};

template <Fault kFault>
Problems cases(std::uint64_t /*seed*/) {
    Problems problems;
    problems.push_back(std::make_unique<FaultyProblem>(kFault));
    return problems;
}

class family : public testing::DeviceTest {
   protected:
    template <Fault kFault>
    Result<CheckReport> check(std::uint32_t configurations = 3) {
        const Family faulty{.name = "faulty", .exactness = "E", .cases = &cases<kFault>, .benchmarks = nullptr};
        return check_family({.device = device(), .dispatcher = dispatcher(), .configurations = configurations}, faulty);
    }
    struct AllOptions {
        std::uint32_t part = 1;
        std::uint32_t parts = 1;
        std::function<void(const CheckProgress&)> progress{};
        std::function<void(const char*, const std::string&)> on_failure{};
        std::function<bool()> stop{};
    };
    template <Fault kFault>
    Result<CheckReport> check_all(const AllOptions& options) {
        const Family faulty{.name = "faulty", .exactness = "E", .cases = &cases<kFault>, .benchmarks = nullptr};
        return check_family({.device = device(),
                             .dispatcher = dispatcher(),
                             .all_configurations = true,
                             .part = options.part,
                             .parts = options.parts,
                             .progress = options.progress,
                             .on_failure = options.on_failure,
                             .stop = options.stop},
                            faulty);
    }
    template <Fault kFault>
    void expect_found(const char* what) {
        ASSERT_OK_AND_ASSIGN(const CheckReport report, check<kFault>());
        EXPECT_FALSE(report.passed());
        EXPECT_THAT(report.failures, Not(IsEmpty()));
        EXPECT_THAT(report.failures, Each(HasSubstr(what)));
        EXPECT_EQ(report.failure_count, report.cases);
    }
};
YOLK_FOR_EACH_DEVICE(family);

TEST_P(family, a_right_kernel_passes_with_the_default_and_the_drawn_configurations) {
    ASSERT_OK_AND_ASSIGN(const CheckReport report, check<Fault::None>(5));
    EXPECT_THAT(report.failures, IsEmpty());
    EXPECT_GE(report.cases, 2 * 5U);         // two poisons; one of the drawn may be the default
    EXPECT_LE(report.cases, 2 * (6U + 4U));  // and what four kinds of GPUs take
    ASSERT_OK_AND_ASSIGN(const CheckReport other, check<Fault::None>(1));
    EXPECT_EQ(report.output_hash, other.output_hash);
}

TEST_P(family, every_kind_of_fault_is_found) {
    expect_found<Fault::Twin>("differ from the exact twin; the first is element 7");
    expect_found<Fault::Oracle>("element 7 is");
    expect_found<Fault::Kept>("not its to write");
    expect_found<Fault::Hold>("held");
}

// The output is written to the input's buffer.
TEST_P(family, a_changed_input_is_found) {
    ASSERT_OK_AND_ASSIGN(const CheckReport report, check<Fault::Input>());
    EXPECT_FALSE(report.passed());
    EXPECT_THAT(report.failures, ::testing::Contains(HasSubstr("the input in was changed")));
}

// What is stored behind the output goes to room that is bound with it, and so is seen on every driver.
TEST_P(family, a_store_behind_the_output_is_found) {
    ASSERT_OK_AND_ASSIGN(const CheckReport report, check<Fault::Beyond>());
    EXPECT_FALSE(report.passed());
    EXPECT_THAT(report.failures, ::testing::Contains(HasSubstr("1 words outside out were overwritten")));
}

// What a plan refuses is an error of the check, with the case's name.
TEST_P(family, a_refusal_names_the_case) {
    EXPECT_TRUE(testing::expect_error(check<Fault::Refused>(), ErrorKind::BadInput, "checking a faulty problem"));
}

// Of all configurations it is one failure of many.
TEST_P(family, a_refusal_does_not_end_the_check_of_all) {
    std::vector<std::string> told;
    ASSERT_OK_AND_ASSIGN(const CheckReport report,
                         check_all<Fault::Refused>({.on_failure = [&](const char* kernel, const std::string& failure) {
                             EXPECT_STREQ(kernel, "faulty");
                             told.push_back(failure);
                         }}));
    EXPECT_TRUE(report.finished());
    EXPECT_GT(report.runs, 2U);
    EXPECT_EQ(report.failure_count, 2 * report.runs);  // poisons
    EXPECT_EQ(told.size(), report.failure_count);
    EXPECT_EQ(report.failures.size(), 8U);
    EXPECT_THAT(told, Each(HasSubstr("checking a faulty problem")));
}

TEST_P(family, parts_share_the_runs) {
    ASSERT_OK_AND_ASSIGN(const CheckReport whole, check_all<Fault::None>({}));
    EXPECT_TRUE(whole.passed());
    EXPECT_EQ(whole.configurations, whole.configurations_of_all);
    std::uint64_t runs = 0;
    std::uint64_t progress = 0;
    for (std::uint32_t part = 1; part <= 3; ++part) {
        std::uint64_t before = 0;
        ASSERT_OK_AND_ASSIGN(const CheckReport report,
                             check_all<Fault::None>({.part = part, .parts = 3, .progress = [&](const CheckProgress& p) {
                                                         EXPECT_EQ(p.runs, before++);
                                                         EXPECT_LE(p.runs, p.runs_of_part);
                                                         ++progress;
                                                     }}));
        EXPECT_TRUE(report.passed());
        EXPECT_EQ(report.output_hash, "");
        EXPECT_EQ(report.configurations_of_all, whole.configurations_of_all);
        runs += report.runs;
    }
    EXPECT_EQ(runs, whole.runs);
    EXPECT_EQ(progress, whole.runs);
    EXPECT_TRUE(
        testing::expect_error(check_all<Fault::None>({.part = 4, .parts = 3}), ErrorKind::BadInput, "Part 4 of 3"));
    EXPECT_TRUE(testing::expect_error(check_all<Fault::None>({.part = 0}), ErrorKind::BadInput, "Part 0 of 1"));
}

TEST_P(family, a_stop_leaves_what_was_checked) {
    int asked = 0;
    ASSERT_OK_AND_ASSIGN(const CheckReport report, check_all<Fault::None>({.stop = [&] { return asked++ == 2; }}));
    EXPECT_EQ(report.runs, 2U);
    EXPECT_EQ(report.cases, 4U);  // poisons
    EXPECT_FALSE(report.finished());
    EXPECT_FALSE(report.passed());
    EXPECT_EQ(report.failure_count, 0U);
    EXPECT_EQ(report.output_hash, "");
}

// Every kernel is made again for the next batch, and nothing of them stays.
TEST_P(family, all_configurations_leave_no_pipelines_behind) {
    const OperationCounts before = device().counts();
    ASSERT_OK(check_all<Fault::None>({}));
    const std::uint64_t made = device().counts().pipelines_created - before.pipelines_created;
    ASSERT_OK(check_all<Fault::None>({}));
    EXPECT_EQ(device().counts().pipelines_created - before.pipelines_created, 2 * made);
}

TEST_P(family, all_configurations_meet_one_case_each_where_compiling_takes_long) {
    const DeviceInfo& info = device().info();
    const CheckContext all{.device = device(), .dispatcher = dispatcher(), .all_configurations = true};
    for (const Family* of : {&rearrange_family(), &gather_family(), &matmul_family()}) {
        const Problems problems = of->cases(1);
        const std::vector<Batch> batches = choose_batches(info, all, *of, problems);
        std::set<Configuration> met;
        std::vector<std::size_t> defaults(problems.size(), 0);
        for (const Batch& batch : batches) {
            const Problem& problem = *problems[batch.problem];
            const TuningSpace space = problem.space(info);
            if (batch.is_default) {
                ++defaults[batch.problem];
                EXPECT_EQ(batch.configurations, std::vector<Configuration>{problem.default_configuration(info)});
                continue;
            }
            EXPECT_GT(problem.work().operations + problem.work().bytes, 0.0) << of->name << " " << problem.name();
            for (const Configuration& configuration : batch.configurations) {
                EXPECT_OK(space.check(configuration));
                EXPECT_TRUE(met.insert(configuration).second) << "twice: " << space.text(configuration);
            }
        }
        EXPECT_THAT(defaults, Each(1U)) << of->name;
        for (const auto& problem : problems) {
            for (const Configuration& configuration : problem->space(info).all())
                EXPECT_TRUE(met.contains(configuration)) << of->name << " " << problem->name();
        }
        EXPECT_EQ(runs_of(batches), met.size() + problems.size());
        std::uint64_t in_parts = 0;
        for (std::uint32_t part = 1; part <= 5; ++part) in_parts += runs_of(part_of(batches, part, 5));
        EXPECT_EQ(in_parts, runs_of(batches));
    }
}

// A wide network that is written out compiles for a minute; another case has that configuration.
TEST_P(family, drawn_configurations_go_to_cases_that_compile_them_quickly) {
    const CheckContext drawing{.device = device(), .dispatcher = dispatcher()};
    const Problems problems = rollout_family().cases(1);
    const auto drawn_of = [&](const Problem& problem) {
        std::vector<Configuration> drawn = problem.space(device().info()).draw(drawing.configurations, drawing.seed);
        std::erase(drawn, problem.default_configuration(device().info()));
        return drawn;
    };
    const auto is_slow_for_some = [&](const auto& problem) {
        return !std::ranges::all_of(drawn_of(*problem), [&](const auto& c) { return problem->is_quick_to_make(c); });
    };
    EXPECT_GT(std::ranges::count_if(problems, is_slow_for_some), 0);
    // By their places in the draw, since not every case has the same space.
    std::set<std::size_t> met;
    for (const Batch& batch : choose_batches(device().info(), drawing, rollout_family(), problems)) {
        const Problem& problem = *problems[batch.problem];
        const std::vector<Configuration> drawn = drawn_of(problem);
        for (const Configuration& configuration : batch.configurations) {
            EXPECT_TRUE(problem.is_quick_to_make(configuration)) << problem.name();
            met.insert(static_cast<std::size_t>(std::ranges::find(drawn, configuration) - drawn.begin()));
        }
    }
    std::size_t places = SIZE_MAX;
    for (const auto& problem : problems) places = std::min(places, drawn_of(*problem).size());
    for (std::size_t place = 0; place < places; ++place) EXPECT_TRUE(met.contains(place)) << place;
}

// A pipeline is made again for each batch: neighbours stay together. No case takes all that it may.
TEST_P(family, neighbours_share_batches_and_cases_share_the_work) {
    const CheckContext all{.device = device(), .dispatcher = dispatcher(), .all_configurations = true};
    const Problems problems = perturbed_linear_family().cases(1);
    constexpr std::ptrdiff_t kProjection = 10;
    const TuningSpace space = problems.front()->space(device().info());
    ASSERT_EQ(space.knobs()[kProjection].name, "projection_workgroup");
    ASSERT_EQ(space.knobs()[kProjection + 1].name, "projection_rows");
    std::map<std::size_t, std::size_t> runs_of_case;
    std::size_t output_kernels = 0;
    std::size_t runs = 0;
    for (const Batch& batch : choose_batches(device().info(), all, perturbed_linear_family(), problems)) {
        if (batch.is_default) continue;
        std::set<Configuration> kernels;
        for (Configuration configuration : batch.configurations) {
            configuration.erase(configuration.begin() + kProjection, configuration.begin() + kProjection + 2);
            kernels.insert(std::move(configuration));
        }
        output_kernels += kernels.size();
        runs += batch.configurations.size();
        runs_of_case[batch.problem] += batch.configurations.size();
    }
    EXPECT_LT(output_kernels, runs * 2 / 3);
    EXPECT_GT(runs_of_case.size(), problems.size() / 3);
    for (const auto& [problem, count] : runs_of_case) EXPECT_LT(count, runs / 3) << problems[problem]->name();
}

}  // namespace
}  // namespace yolk::oracle
