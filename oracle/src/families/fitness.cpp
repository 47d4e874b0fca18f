// SPDX-License-Identifier: Apache-2.0
// The table of fitness: all rules over populations around a workgroup and scores of every kind that has ever broken a
// normalisation: ties, constants, outliers, huge, tiny, mixed, not finite.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check_tools.hpp"
#include "fitness_oracle.hpp"
#include "yolk/fitness.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

constexpr float kInfiniteScore = std::numeric_limits<float>::infinity();
constexpr float kNanScore = std::numeric_limits<float>::quiet_NaN();

struct ScoreKind {
    const char* name;
    float (*draw)(Draws& draws);
};
float log_uniform(Draws& draws, float lowest, float highest) {
    const float magnitude = std::exp2(draws.uniform(lowest, highest));
    return draws.below(2) == 0 ? magnitude : -magnitude;
}
constexpr std::array<ScoreKind, 14> kKinds{{
    {"uniform", [](Draws& draws) { return draws.uniform(-1.0F, 1.0F); }},
    {"step counts", [](Draws& draws) { return static_cast<float>(8 + draws.below(20)); }},
    {"constant", [](Draws&) { return -3.25F; }},
    {"zero", [](Draws&) { return 0.0F; }},
    {"1e30", [](Draws& draws) { return draws.uniform(-1e30F, 1e30F); }},
    {"1e-30", [](Draws& draws) { return draws.uniform(1e-30F, 5e-30F); }},
    {"1e-20", [](Draws& draws) { return draws.uniform(-1e-20F, 5e-20F); }},
    // Not wider than 2^100: below that, relative to the largest, differences count as ties.
    {"mixed magnitudes", [](Draws& draws) { return log_uniform(draws, -45.0F, 45.0F); }},
    {"largest finite", [](Draws& draws) { return draws.below(2) == 0 ? 3.4028235e38F : -3.4028235e38F; }},
    {"neighbours of a power of two",
     [](Draws& draws) { return std::nextafter(1.0F, static_cast<float>(draws.below(3))); }},
    {"large offset", [](Draws& draws) { return 1e6F + draws.uniform(0.0F, 1.0F); }},
    {"one in eight an outlier", [](Draws& draws) { return draws.below(8) == 0 ? 1e12F : draws.uniform(-1.0F, 1.0F); }},
    {"some not finite",
     [](Draws& draws) {
         return draws.one_of(std::array<float, 8>{1, 2, -3, 4, kNanScore, kInfiniteScore, -kInfiniteScore, 0});
     }},
    {"none finite",
     [](Draws& draws) {
         return draws.one_of(std::array<float, 3>{kNanScore, kInfiniteScore, -kInfiniteScore});
     }},
}};

struct Rule {
    FitnessRule rule;
    bool robust = false;
    bool antithetic = true;
};
constexpr std::array<Rule, 9> kCheckedRules{{{FitnessRule::PairDifference},
                                             {FitnessRule::PairDifference, true},
                                             {FitnessRule::PairSign},
                                             {FitnessRule::CentredRank},
                                             {FitnessRule::ZScore},
                                             {FitnessRule::GroupZScore},
                                             {FitnessRule::CentredRank, false, false},
                                             {FitnessRule::ZScore, false, false},
                                             {FitnessRule::GroupZScore, false, false}}};

/// Odd populations are taken where members do not come in pairs.
struct PopulationSize {
    std::uint32_t population, episodes, group_size;
    std::uint32_t odd_population, odd_group_size;
};
constexpr std::array<PopulationSize, 7> kPopulationSizes{{{2, 1, 2, 3, 3},
                                                          {6, 3, 3, 5, 5},
                                                          {14, 2, 7, 14, 2},
                                                          {126, 1, 63, 127, 127},
                                                          {128, 1, 2, 129, 43},
                                                          {130, 5, 5, 131, 131},
                                                          {548, 1, 4, 549, 9}}};
constexpr int kSizesPerKindAndRule = 2;

std::vector<double> weight_values(const FitnessDesc& desc, const std::vector<std::uint32_t>& words) {
    std::vector<double> values;
    for (std::size_t pair = 0; pair < (desc.antithetic ? desc.population / 2 : desc.population); ++pair) {
        const double value = is_integer_rule(desc.rule)
                                 ? static_cast<double>(static_cast<std::int8_t>(words[pair / 4] >> (8 * (pair % 4))))
                                 : static_cast<double>(std::bit_cast<float>(words[pair]));
        values.push_back(value);
    }
    return values;
}

void verify_scores(CheckReport& report, const std::string& name, const FitnessDesc& desc,
                   const std::vector<float>& returns, const std::vector<float>& scores) {
    const std::vector<FitnessValue> oracle = fitness_score_oracle(desc, returns);
    std::vector<double> got;
    std::vector<Bounded> expected;
    for (std::size_t member = 0; member < oracle.size(); ++member) {
        const bool finite = std::isfinite(oracle[member].value);
        if (finite != std::isfinite(scores[member]))
            report.fail(fmt::format("{}: the score of member {} is {}.", name, member, scores[member]));
        got.push_back(finite ? static_cast<double>(scores[member]) : 0.0);
        expected.push_back({finite ? oracle[member].value : 0.0, oracle[member].tolerance});
        if (!finite) expected.back().tolerance = 1.0;
    }
    verify_against_oracle(report, name + ", scores", got, expected);
}

void verify_summary(CheckReport& report, const std::string& name, const FitnessOracle& oracle,
                    const abi::fitness::Summary& summary) {
    const std::vector<double> numbers{static_cast<double>(summary.coefficient),
                                      static_cast<double>(summary.mean),
                                      static_cast<double>(summary.best),
                                      static_cast<double>(summary.worst),
                                      static_cast<double>(summary.variance),
                                      static_cast<double>(summary.not_finite_count),
                                      static_cast<double>(summary.first_not_finite)};
    const std::vector<Bounded> expected{{oracle.coefficient.value, oracle.coefficient.tolerance},
                                        {oracle.mean.value, oracle.mean.tolerance},
                                        {oracle.best, 0.0},
                                        {oracle.worst, 0.0},
                                        {oracle.variance.value, oracle.variance.tolerance},
                                        {static_cast<double>(oracle.not_finite_count), 0.0},
                                        {static_cast<double>(oracle.first_not_finite), 0.0}};
    verify_against_oracle(report, name + ", summary", numbers, expected);
}

class FitnessProblem final : public OperationProblem<FitnessDesc> {
   public:
    FitnessProblem(const FitnessDesc& desc, const char* kind, std::vector<float> returns)
        : OperationProblem(desc, kind), returns_(std::move(returns)) {}

    /// A few passes over the scores, each of a few operations per member.
    [[nodiscard]] Work work() const override {
        const double members = desc().population;
        return {.operations = members * (desc().episodes + 32.0),
                .bytes = 4.0 * members * (desc().episodes + 1.0) + static_cast<double>(fitness_weights_bytes(desc()))};
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        std::vector<float> scores;
        for (const std::uint32_t word : outputs[0]) scores.push_back(std::bit_cast<float>(word));
        verify_scores(report, case_name, desc(), returns_, scores);
        const FitnessOracle oracle = fitness_oracle(desc(), scores);
        std::vector<Bounded> weights;
        for (const FitnessValue& weight : oracle.weights) weights.push_back({weight.value, weight.tolerance});
        const std::vector<double> got = weight_values(desc(), outputs[1]);
        verify_against_oracle(report, case_name + ", weights", got, weights);
        SummaryWords words{};
        std::ranges::copy(outputs[2], words.begin());
        verify_summary(report, case_name, oracle, std::bit_cast<abi::fitness::Summary>(words));
    }

   protected:
    /// No oracle here: it starts from the scores as they came, and knows weights that are not words. verify() compares.
    [[nodiscard]] std::vector<ByteVector> contents() const override { return {bytes_of_values(returns_)}; }

   private:
    using SummaryWords = std::array<std::uint32_t, sizeof(abi::fitness::Summary) / sizeof(std::uint32_t)>;

    std::vector<float> returns_;
};

std::unique_ptr<Problem> scored_problem(const ScoreKind& kind, const Rule& rule, const PopulationSize& size,
                                        Draws& draws) {
    const bool pairs = rule.antithetic;
    const FitnessDesc desc{.population = pairs ? size.population : size.odd_population,
                           .episodes = size.episodes,
                           .rule = rule.rule,
                           .robust = rule.robust,
                           .group_size = pairs ? size.group_size : size.odd_group_size,
                           .antithetic = pairs,
                           .config = {}};
    std::vector<float> returns(std::size_t{desc.population} * desc.episodes);
    for (float& value : returns) value = kind.draw(draws);
    return std::make_unique<FitnessProblem>(desc, kind.name, std::move(returns));
}

/// Every kind of scores under every rule; sizes take turns, so that each rule and each kind meets them all.
Problems fitness_cases(std::uint64_t seed) {
    Problems problems;
    Draws draws(seed, 6);
    for (const ScoreKind& kind : kKinds) {
        for (const Rule& rule : kCheckedRules) {
            for (int i = 0; i < kSizesPerKindAndRule; ++i) {
                problems.push_back(
                    scored_problem(kind, rule, kPopulationSizes[problems.size() % kPopulationSizes.size()], draws));
            }
        }
    }
    return problems;
}

Problems fitness_benchmarks() {
    Problems problems;
    Draws draws(42, 6);
    for (const Rule& rule : kCheckedRules)
        problems.push_back(scored_problem(kKinds[0], rule, {65536, 1, 64, 65536, 64}, draws));
    return problems;
}

std::unique_ptr<Problem> make_fitness_problem(const FitnessDesc& desc) {
    Draws draws(42, 6);
    std::vector<float> returns(std::size_t{desc.population} * desc.episodes);
    for (float& value : returns) value = kKinds[0].draw(draws);
    return std::make_unique<FitnessProblem>(desc, kKinds[0].name, std::move(returns));
}

}  // namespace

const Family& fitness_family() noexcept {
    static constexpr Family kFamily{.name = "fitness",
                                    .exactness = "E+P",
                                    .cases = &fitness_cases,
                                    .benchmarks = &fitness_benchmarks,
                                    .configurations_per_case = 1,
                                    .operation = &kOperationText<FitnessDesc, &make_fitness_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
