// SPDX-License-Identifier: Apache-2.0
// Problems that are proven by a sample: what it computes, and that whatever is wrong with a run is found all the same.
#include "sampled_proof.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "half_values.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::oracle {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Everything is sampled, of 3,600 elements 64.
constexpr ProofOptions kSampled{.sampled_above = 0.0, .sampled_elements = 64};
constexpr const char* kExact = "matmul m=60 n=60 k=40 determinism=exact";
constexpr const char* kFast = "matmul m=60 n=60 k=40 determinism=fast";

/// What is done to a run's output, or around it.
using Harm = std::function<void(Recorder&, const PlannedProblem::Record&, std::span<const BufferView>)>;

/// A product, some configurations of which go wrong.
class HarmedProblem final : public Problem {
   public:
    explicit HarmedProblem(const char* text) : right_(*make_named_problem(text)) {}
    void harm(const Configuration& configuration, Harm harm) { harms_[configuration] = std::move(harm); }

    class Plan final : public PlannedProblem {
       public:
        Plan(std::unique_ptr<PlannedProblem> right, Harm harm) : right_(std::move(right)), harm_(std::move(harm)) {}
        [[nodiscard]] MemoryNeeds scratch() const override { return right_->scratch(); }
        [[nodiscard]] Result<Record> bind(std::span<const BufferView> views, const BufferView& scratch) const override {
            YOLK_TRY(Record record, right_->bind(views, scratch));
            return Record([record, harm = harm_, all = std::vector(views.begin(), views.end())](Recorder& recorder) {
                harm(recorder, record, all);
            });
        }

       private:
        std::unique_ptr<PlannedProblem> right_;
        Harm harm_;
    };

    [[nodiscard]] std::string name() const override { return right_->name(); }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return right_->space(info); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return right_->default_configuration(info);
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        YOLK_TRY(std::unique_ptr<PlannedProblem> right, right_->plan(device, configuration));
        const auto found = harms_.find(configuration);
        if (found == harms_.end()) return right;
        return std::unique_ptr<PlannedProblem>(std::make_unique<Plan>(std::move(right), found->second));
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override { return right_->buffers(); }
    [[nodiscard]] std::vector<Expected> expected() const override {
        ++expectations;
        return right_->expected();
    }
    [[nodiscard]] std::unique_ptr<const ElementOracle> elements(std::span<const ProblemBuffer> buffers) const override {
        return right_->elements(buffers);
    }
    [[nodiscard]] Work work() const override { return right_->work(); }

    mutable std::size_t expectations = 0;  ///< how often the whole oracle was asked

   private:
    std::unique_ptr<Problem> right_;
    std::map<Configuration, Harm> harms_;
};

/// Adds to the bits of one element of the output, which is the last buffer.
Harm with_element(std::uint64_t element, std::uint32_t bits) {
    return [=](Recorder& recorder, const PlannedProblem::Record& run, std::span<const BufferView> views) {
        run(recorder);
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.fill(views.back().part(4 * element, 4), bits);
    };
}

/// Puts back what was there before the run. The input a begins with room for it.
Harm without_element(std::uint64_t element, const BufferView& aside) {
    return [=](Recorder& recorder, const PlannedProblem::Record& run, std::span<const BufferView> views) {
        recorder.copy(views.back().part(4 * element, 4), aside.part(0, 4));
        recorder.barrier(Barrier::TransferToCompute);
        run(recorder);
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.barrier(Barrier::TransferToTransfer);
        recorder.copy(aside.part(0, 4), views.back().part(4 * element, 4));
    };
}

class sampled_proof : public testing::DeviceTest {
   protected:
    [[nodiscard]] CheckReport prove(const ProblemProof& proof, const Configuration& configuration,
                                    std::size_t poison = 0) const {
        Result<CheckReport> report =
            proof.prove({.device = device(), .dispatcher = dispatcher()}, configuration, poison);
        EXPECT_OK(report);
        return report ? *report : CheckReport{};
    }
    /// So many of them, the default first, then those that drivers compile soonest.
    [[nodiscard]] std::vector<Configuration> some(const Problem& problem, std::size_t count) const {
        const DeviceInfo info = device().usable_info();
        const TuningSpace space = problem.space(info);
        std::vector<Configuration> drawn = space.draw(100, 3);
        std::ranges::stable_sort(drawn, {}, [&](const Configuration& configuration) {
            std::uint64_t unrolled = 1;
            for (std::size_t i = 0; i < configuration.size(); ++i) {
                const std::string& knob = space.knobs()[i].name;
                if (knob == "tile_m" || knob == "tile_n" || knob == "block_k") unrolled *= configuration[i];
            }
            return unrolled;
        });
        std::vector<Configuration> all{problem.default_configuration(info)};
        for (Configuration& one : drawn) {
            if (one != all.front() && all.size() < count) all.push_back(std::move(one));
        }
        return all;
    }
    /// One that no sample of kSampled has.
    [[nodiscard]] static std::uint64_t unsampled_element(const Problem& problem) {
        const std::vector<ProblemBuffer> buffers = problem.buffers();
        const SampledProof sample(problem.elements(buffers), kSampled.sampled_elements);
        std::uint64_t element = 1000;
        while (std::ranges::find(sample.elements(), element) != sample.elements().end()) ++element;
        return element;
    }
};
YOLK_FOR_EACH_DEVICE(sampled_proof);

// Each element by itself is what the whole oracle and the whole twin have, in every form that is sampled.
TEST(element_oracle, is_the_whole_one_element_by_element) {
    for (const char* text :
         {"matmul m=7 n=9 k=13 determinism=fast",
          "matmul m=7 n=9 k=13 batch=2 a_transposed=1 transposed=0 determinism=exact",
          "matmul m=5 n=3 k=20 a_format=f16 b_format=bf16 residual=1 determinism=fast",
          "matmul m=5 n=3 k=20 a_format=f16 b_format=f16 out_format=f16 determinism=fast",
          "matmul m=7 n=3 k=20 out_format=bf16 determinism=exact", "matmul_i8 m=6 n=7 k=9 batch=2"}) {
        ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Problem> problem, make_named_problem(text));
        const std::vector<ProblemBuffer> buffers = problem->buffers();
        const std::unique_ptr<const ElementOracle> elements = problem->elements(buffers);
        ASSERT_NE(elements, nullptr) << text;
        const Expected whole = problem->expected()[0];
        const bool narrow = bytes_of(elements->bits()) == 2;
        EXPECT_EQ((elements->count() * bytes_of(elements->bits()) + 3) / 4 * 4, buffers.back().size_bytes) << text;
        double largest = 0.0;
        for (std::uint64_t i = 0; i < elements->count(); ++i) {
            const Bounded one = elements->at(i);
            largest = std::max(largest, one.tolerance);
            if (!narrow) {
                EXPECT_NEAR(one.value, whole.oracle[i].value, 1e-12) << text;
                EXPECT_NEAR(one.tolerance, whole.oracle[i].tolerance, 1e-12) << text;
            }
            ASSERT_EQ(elements->twin_at(i).has_value(), !whole.twin.empty()) << text;
            if (whole.twin.empty()) continue;
            const std::uint32_t word = whole.twin[narrow ? i / 2 : i];
            EXPECT_EQ(*elements->twin_at(i), narrow ? word >> (16 * (i % 2)) & 0xFFFFU : word) << text;
            EXPECT_LE(std::abs(value_of(elements->bits(), *elements->twin_at(i)) - one.value), one.tolerance) << text;
        }
        if (whole.twin.empty()) {
            EXPECT_GE(elements->most_apart(), 2.0 * largest) << text;
            EXPECT_LE(elements->most_apart(), 8.0 * largest) << text << ": a bound that says nothing";
        } else {
            EXPECT_EQ(elements->most_apart(), 0.0) << text;
        }
    }
}

TEST(element_oracle, is_only_for_what_it_knows) {
    std::size_t known = 0;
    for (const std::unique_ptr<Problem>& problem : matmul_family().cases(1)) {
        const std::vector<ProblemBuffer> buffers = problem->buffers();
        const std::string name = problem->name();
        const bool is_more = name.find(" bias") != std::string::npos || name.find(" identity ") == std::string::npos;
        if (problem->elements(buffers) != nullptr) ++known;
        if (!is_more && problem->work().operations > 0.0) continue;
        EXPECT_EQ(problem->elements(buffers), nullptr) << name;
    }
    EXPECT_GT(known, 10U);
    for (const char* text : {"softmax rows=4 columns=8", "noise elements=64"}) {
        ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Problem> problem, make_named_problem(text));
        const std::vector<ProblemBuffer> buffers = problem->buffers();
        EXPECT_EQ(problem->elements(buffers), nullptr) << text;
    }
}

TEST(element_oracle, samples_are_spread_over_the_whole) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Problem> problem, make_named_problem(kExact));
    const std::vector<ProblemBuffer> buffers = problem->buffers();
    const SampledProof some(problem->elements(buffers), 64);
    ASSERT_THAT(some.elements(), SizeIs(64));
    EXPECT_EQ(some.elements().front(), 0U);
    EXPECT_EQ(some.elements().back(), 3599U);
    std::set<std::uint64_t> columns;
    for (std::size_t i = 1; i < some.elements().size(); ++i) {
        EXPECT_GT(some.elements()[i], some.elements()[i - 1]);
        EXPECT_LT(some.elements()[i] - some.elements()[i - 1], 2U * 3600 / 64 + 2);
        columns.insert(some.elements()[i] % 60);
    }
    EXPECT_GT(columns.size(), 20U) << "not always the same columns";
    EXPECT_EQ(SampledProof(problem->elements(buffers), 1U << 20U).sampled(), 3600U);
}

TEST_P(sampled_proof, passes_what_is_right_without_the_whole_oracle) {
    for (const auto& [text, configurations] :
         {std::pair{kExact, 3U}, std::pair{kFast, 3U},
          std::pair{"matmul m=33 n=51 k=40 a_format=f16 b_format=f16 out_format=f16 determinism=fast", 3U},
          std::pair{"matmul_i8 m=60 n=60 k=40", 3U}}) {
        const HarmedProblem problem(text);
        const ProblemProof proof(problem, kSampled);
        EXPECT_EQ(problem.expectations, 0U);
        ASSERT_TRUE(proof.sample().has_value());
        EXPECT_EQ(proof.sample()->elements, 64U);
        for (const Configuration& configuration : some(problem, configurations)) {
            for (const std::size_t poison : {0U, 1U})
                EXPECT_THAT(prove(proof, configuration, poison).failures, IsEmpty()) << text;
        }
    }
    const HarmedProblem small(kExact);
    EXPECT_EQ(ProblemProof(small).sample(), std::nullopt) << "what is small is computed as a whole";
    EXPECT_EQ(small.expectations, 1U);
}

TEST_P(sampled_proof, finds_what_is_wrong_with_a_run) {
    for (const char* text : {kExact, kFast}) {
        HarmedProblem problem(text);
        const std::vector<Configuration> all = some(problem, 5);
        ASSERT_THAT(all, SizeIs(5));
        const std::uint64_t element = unsampled_element(problem);
        ASSERT_OK_AND_ASSIGN(const Buffer aside, device().create_buffer({.size_bytes = 4, .label = "aside"}));
        problem.harm(all[1], with_element(0, 0x42C80000U));        // of the sample
        problem.harm(all[2], with_element(element, 0x42C80000U));  // 100, where no sum is above 40
        problem.harm(all[3], without_element(element, aside));
        problem.harm(all[4], [](Recorder& recorder, const PlannedProblem::Record& run, std::span<const BufferView> v) {
            run(recorder);
            recorder.barrier(Barrier::ComputeToTransfer);
            recorder.fill(v.front().part(40, 4), 7);  // an input
        });
        const ProblemProof proof(problem, kSampled);
        EXPECT_THAT(prove(proof, all[0]).failures, IsEmpty());
        const auto refuses = [&](std::size_t which, std::size_t poison, const std::string& part) {
            const CheckReport report = prove(proof, all[which], poison);
            ASSERT_THAT(report.failures, ::testing::Not(IsEmpty())) << text << " " << which << " " << poison;
            EXPECT_THAT(report.failures.front(), HasSubstr(part));
            EXPECT_FALSE(report.passed());
        };
        refuses(1, 0, "element 0");
        refuses(2, 0, "element " + std::to_string(element) + " is 100 where the oracle has");
        for (const std::size_t poison : {0U, 1U})
            refuses(3, poison, "word " + std::to_string(element) + " of the output was not written");
        refuses(4, 0, "the input a was changed");
    }
}

// The first run is compared with no other, so it is made twice, and what leaves an element alone differs from itself.
TEST_P(sampled_proof, the_first_run_must_not_depend_on_what_was_there) {
    HarmedProblem problem(kExact);
    const std::vector<Configuration> all = some(problem, 2);
    ASSERT_OK_AND_ASSIGN(const Buffer aside, device().create_buffer({.size_bytes = 4, .label = "aside"}));
    problem.harm(all[0], without_element(unsampled_element(problem), aside));
    const ProblemProof proof(problem, kSampled);
    for (const std::size_t poison : {1U, 0U}) {
        const CheckReport report = prove(proof, all[0], poison);
        ASSERT_THAT(report.failures, SizeIs(1));
        EXPECT_THAT(report.failures.front(), HasSubstr("depends on what was there before"));
    }
    EXPECT_THAT(prove(proof, all[1]).failures, IsEmpty()) << "then the next one is the first";
}

// A first run that is wrong where nobody looked makes no right one wrong.
TEST_P(sampled_proof, the_oracle_decides_between_two_runs) {
    for (const char* text : {kExact, kFast}) {
        HarmedProblem problem(text);
        const std::vector<Configuration> all = some(problem, 3);
        problem.harm(all[0], with_element(unsampled_element(problem), 0x42C80000U));
        const ProblemProof proof(problem, kSampled);
        EXPECT_THAT(prove(proof, all[0]).failures, IsEmpty()) << "nobody can know yet";
        EXPECT_THAT(prove(proof, all[1]).failures, IsEmpty()) << text;
        EXPECT_THAT(prove(proof, all[2]).failures, IsEmpty()) << text;
        EXPECT_THAT(prove(proof, all[0]).failures, SizeIs(1)) << "finalists are proven again";
    }
}

}  // namespace
}  // namespace yolk::oracle
