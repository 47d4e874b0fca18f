// SPDX-License-Identifier: Apache-2.0
// That the family check finds what it is there to find.
#include "yolk/oracle/family.hpp"

#include <gmock/gmock.h>

#include <array>

#include "yolk/oracle/noise.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk::oracle {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

enum class Fault { None, Twin, Oracle, Kept, Input, Beyond, Hold };

/// Noise of one pair, with one thing about it that is not so.
class FaultyProblem final : public Problem {
   public:
    explicit FaultyProblem(Fault fault) : fault_(fault) {}
    [[nodiscard]] std::string name() const override { return "a faulty problem"; }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return noise_space(info, desc_).space(); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return noise_space(info, desc_).configuration({});
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        NoiseDesc desc = desc_;
        desc.config = noise_space(device.info(), desc_).config(configuration);
        YOLK_TRY(NoisePlan plan, plan_noise(device, desc));
        const bool swapped = fault_ == Fault::Input;
        return planned(std::move(plan),
                       [swapped](const NoisePlan& of, std::span<const BufferView> views,
                                 const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(BoundNoise bound, of.bind({.out = views[swapped ? 0 : 1]}, scratch));
                           return recorded(std::move(bound), NoiseStream{.seed = 42});
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        const std::uint64_t out_bytes = fault_ == Fault::Beyond ? 4 * kCount - 4 : 4 * kCount;
        return {input_buffer("in", std::vector<std::int32_t>(kCount, 5)), output_buffer("out", out_bytes)};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        Expected expected{.element = ElementType::I32, .twin = words_of(noise_i32_twin(desc_, {.seed = 42}))};
        for (const std::uint32_t word : expected.twin)
            expected.oracle.push_back({static_cast<double>(static_cast<std::int32_t>(word)), 0.0});
        if (fault_ == Fault::Twin) expected.twin[7] ^= 1U;
        if (fault_ == Fault::Oracle) expected.oracle[7].value += 0.5;
        if (fault_ == Fault::Kept) expected.kept = {false, true};
        return {expected};
    }
    [[nodiscard]] Work work() const override { return {}; }
    void hold(CheckReport& report, const std::string& case_name,
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
    EXPECT_GE(report.cases, 2 * 5U);  // two poisons; one of the drawn may be the default
    EXPECT_LE(report.cases, 2 * 6U);
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

// What a plan refuses is an error of the check, with the case's name.
TEST_P(family, a_refusal_names_the_case) {
    EXPECT_TRUE(testing::expect_error(check<Fault::Beyond>(), ErrorKind::BadInput, "checking a faulty problem"));
}

}  // namespace
}  // namespace yolk::oracle
