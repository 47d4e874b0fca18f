// SPDX-License-Identifier: Apache-2.0
// The table of fitness: all rules over populations around a workgroup and scores of every kind that has ever broken a
// normalisation: ties, constants, outliers, huge, tiny, mixed, not finite.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/fitness.hpp"

namespace yolk::oracle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Kind {
    const char* name;
    float (*draw)(Draws& draws);
};
float log_uniform(Draws& draws, float lowest, float highest) {
    const float magnitude = std::exp2(draws.uniform(lowest, highest));
    return draws.below(2) == 0 ? magnitude : -magnitude;
}
constexpr std::array<Kind, 14> kKinds{{
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
         return draws.one_of(std::array<float, 8>{1, 2, -3, 4, kNan, kInfinity, -kInfinity, 0});
     }},
    {"none finite",
     [](Draws& draws) {
         return draws.one_of(std::array<float, 3>{kNan, kInfinity, -kInfinity});
     }},
}};

struct Rule {
    FitnessRule rule;
    bool robust = false;
};
constexpr std::array<Rule, 6> kRules{{{FitnessRule::PairDifference},
                                      {FitnessRule::PairDifference, true},
                                      {FitnessRule::PairSign},
                                      {FitnessRule::CentredRank},
                                      {FitnessRule::ZScore},
                                      {FitnessRule::GroupZScore}}};

struct Size {
    std::uint32_t population, episodes, group_size;
};
constexpr std::array<Size, 7> kSizes{
    {{2, 1, 2}, {6, 3, 3}, {14, 2, 7}, {126, 1, 63}, {128, 1, 2}, {130, 5, 5}, {548, 1, 4}}};

struct Outputs {
    std::vector<float> scores;
    std::vector<std::uint32_t> weights;
    std::vector<std::uint32_t> summary;
};

Result<Outputs> run_kernels(const CheckContext& context, CheckReport& report, const std::string& name,
                            const FitnessDesc& desc, const std::vector<float>& values, std::uint32_t poison) {
    const auto& [device, dispatcher, seed, configurations, all_configurations, progress] = context;
    YOLK_TRY(const FitnessPlan plan, plan_fitness(device, desc));
    YOLK_TRY(auto returns, GuardedBuffer::create(device, dispatcher, 4 * values.size(), poison, "returns"));
    YOLK_TRY(auto scores,
             GuardedBuffer::create(device, dispatcher, std::uint64_t{4} * desc.population, poison, "scores"));
    YOLK_TRY(auto weights, GuardedBuffer::create(device, dispatcher, fitness_weights_bytes(desc), poison, "weights"));
    YOLK_TRY(auto summary, GuardedBuffer::create(device, dispatcher, sizeof(abi::fitness::Summary), poison, "summary"));
    YOLK_TRY(auto scratch, GuardedBuffer::create(device, dispatcher, plan.scratch().size_bytes, poison, "scratch"));
    YOLK_TRY_VOID(returns.upload(values));
    const FitnessViews views{
        .returns = returns.view(), .scores = scores.view(), .weights = weights.view(), .summary = summary.view()};
    YOLK_TRY(const BoundFitness bound, plan.bind(views, scratch.view()));
    YOLK_TRY_VOID(run_recorded(context, [&](Recorder& recorder) { bound.record(recorder); }));
    YOLK_TRY_VOID(hold_guards(report, name, scores, "the scores"));
    YOLK_TRY_VOID(hold_guards(report, name, weights, "the weights"));
    YOLK_TRY_VOID(hold_guards(report, name, summary, "the summary"));
    YOLK_TRY_VOID(hold_guards(report, name, scratch, "the scratch"));
    Outputs outputs;
    YOLK_TRY(outputs.scores, scores.download<float>());
    YOLK_TRY(outputs.weights, weights.download<std::uint32_t>());
    YOLK_TRY(outputs.summary, summary.download<std::uint32_t>());
    return outputs;
}

/// The twin's weights as the kernel stores them.
std::vector<std::uint32_t> stored_weights(const FitnessTwin& twin) {
    std::vector<std::uint32_t> words;
    for (const float weight : twin.float_weights) words.push_back(std::bit_cast<std::uint32_t>(weight));
    for (std::size_t pair = 0; pair < twin.integer_weights.size(); ++pair) {
        if (pair % 4 == 0) words.push_back(0);
        words.back() |= std::uint32_t{static_cast<std::uint8_t>(twin.integer_weights[pair])} << (8 * (pair % 4));
    }
    return words;
}

std::vector<double> weight_values(const FitnessDesc& desc, const std::vector<std::uint32_t>& words) {
    std::vector<double> values;
    for (std::size_t pair = 0; pair < desc.population / 2; ++pair) {
        const double value = is_integer_rule(desc.rule)
                                 ? static_cast<double>(static_cast<std::int8_t>(words[pair / 4] >> (8 * (pair % 4))))
                                 : static_cast<double>(std::bit_cast<float>(words[pair]));
        values.push_back(value);
    }
    return values;
}

void hold_scores(CheckReport& report, const std::string& name, const FitnessDesc& desc,
                 const std::vector<float>& returns, const std::vector<float>& scores) {
    const std::vector<FitnessValue> oracle = fitness_score_oracle(desc, returns);
    std::vector<double> got;
    std::vector<OracleValue> expected;
    for (std::size_t member = 0; member < oracle.size(); ++member) {
        const bool finite = std::isfinite(oracle[member].value);
        if (finite != std::isfinite(scores[member]))
            report.fail(fmt::format("{}: the score of member {} is {}.", name, member, scores[member]));
        got.push_back(finite ? static_cast<double>(scores[member]) : 0.0);
        expected.push_back({finite ? oracle[member].value : 0.0, oracle[member].tolerance});
        if (!finite) expected.back().tolerance = 1.0;
    }
    hold_to_oracle(report, name + ", scores", got, expected);
}

void hold_all(CheckReport& report, const std::string& name, const FitnessDesc& desc, const std::vector<float>& returns,
              const Outputs& outputs) {
    const FitnessTwin twin = fitness_twin(desc, returns);
    const auto summary_words = std::bit_cast<std::array<std::uint32_t, sizeof(twin.summary) / 4>>(twin.summary);
    hold_to_twin(report, name + ", scores", outputs.scores, twin.scores);
    hold_to_twin(report, name + ", weights", outputs.weights, stored_weights(twin));
    hold_to_twin(report, name + ", summary", outputs.summary,
                 std::vector<std::uint32_t>(summary_words.begin(), summary_words.end()));

    hold_scores(report, name, desc, returns, outputs.scores);
    const FitnessOracle oracle = fitness_oracle(desc, outputs.scores);
    std::vector<OracleValue> weights;
    for (const FitnessValue& weight : oracle.weights) weights.push_back({weight.value, weight.tolerance});
    const std::vector<double> got = weight_values(desc, outputs.weights);
    hold_to_oracle(report, name + ", weights", got, weights);
    std::array<std::uint32_t, 8> words{};
    std::ranges::copy(outputs.summary, words.begin());
    const auto summary = std::bit_cast<abi::fitness::Summary>(words);
    const std::vector<double> numbers{static_cast<double>(summary.coefficient),
                                      static_cast<double>(summary.mean),
                                      static_cast<double>(summary.best),
                                      static_cast<double>(summary.worst),
                                      static_cast<double>(summary.variance),
                                      static_cast<double>(summary.not_finite_count),
                                      static_cast<double>(summary.first_not_finite)};
    const std::vector<OracleValue> expected{{oracle.coefficient.value, oracle.coefficient.tolerance},
                                            {oracle.mean.value, oracle.mean.tolerance},
                                            {oracle.best, 0.0},
                                            {oracle.worst, 0.0},
                                            {oracle.variance.value, oracle.variance.tolerance},
                                            {static_cast<double>(oracle.not_finite_count), 0.0},
                                            {static_cast<double>(oracle.first_not_finite), 0.0}};
    hold_to_oracle(report, name + ", summary", numbers, expected);
}

Result<void> check_case(const CheckContext& context, CheckReport& report, const FitnessDesc& desc, const Kind& kind,
                        std::uint32_t poison, Draws& draws) {
    std::vector<float> returns(std::size_t{desc.population} * desc.episodes);
    for (float& value : returns) value = kind.draw(draws);
    const std::string name =
        fmt::format("{}{} of {} x {}, {} (workgroup {})", to_string(desc.rule), desc.robust ? ", robust" : "",
                    desc.population, desc.episodes, kind.name, desc.config.workgroup_size);
    YOLK_TRY(const Outputs outputs, run_kernels(context, report, name, desc, returns, poison));
    ++report.cases;
    hold_all(report, name, desc, returns, outputs);
    return {};
}

}  // namespace

Result<CheckReport> check_fitness(const CheckContext& context) {
    CheckReport report;
    report.kernel = "fitness";
    report.exactness = "E+P";
    Draws draws(context.seed, 6);
    std::vector<std::uint32_t> workgroups{FitnessConfig{}.workgroup_size};
    while (workgroups.size() < context.configurations)
        workgroups.push_back(draws.one_of(std::array<std::uint32_t, 4>{1, 7, 32, 256}));
    std::size_t turn = 0;  // sizes, configurations and poisons take turns: every kind and rule meets several of each
    for (const Kind& kind : kKinds) {
        for (const Rule& rule : kRules) {
            for (const std::uint32_t workgroup_size : workgroups) {
                for (const std::uint32_t poison : kPoisons) {
                    const Size& size = kSizes[turn++ % kSizes.size()];
                    const FitnessDesc desc{.population = size.population,
                                           .episodes = size.episodes,
                                           .rule = rule.rule,
                                           .robust = rule.robust,
                                           .group_size = size.group_size,
                                           .config = {.workgroup_size = workgroup_size}};
                    YOLK_TRY_VOID(check_case(context, report, desc, kind, poison, draws));
                }
            }
        }
    }
    return report;
}

}  // namespace yolk::oracle
