// SPDX-License-Identifier: Apache-2.0
// The table of es_update: tile edges, primes, all ranks that matter, frozen parameters, integer and float weights,
// shares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "check_tools.hpp"
#include "es_update_oracle.hpp"
#include "yolk/es_update.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/primitives/es_update_strips.hpp"

namespace yolk::oracle {
namespace {

struct EsUpdateCase {
    std::string name;
    std::vector<ParameterDesc> parameters;
    std::uint32_t population = 2;
    std::uint32_t rank = 1;
    FitnessWeights weights = FitnessWeights::I8;
    bool antithetic = true;
    EsUpdateOutput output = EsUpdateOutput::Gradient;
    EsUpdateShare share{};

    [[nodiscard]] std::uint32_t weight_count() const { return antithetic ? population / 2 : population; }
};

ParameterDesc matrix(std::string name, std::uint32_t rows, std::uint32_t columns, std::uint32_t rank = 0) {
    return {
        .name = std::move(name), .rows = rows, .columns = columns, .perturbation = Perturbation::LowRank, .rank = rank};
}
ParameterDesc vector(std::string name, std::uint32_t length) {
    return {.name = std::move(name), .rows = length, .columns = 1, .perturbation = Perturbation::Vector};
}
ParameterDesc frozen(std::string name, std::uint32_t rows, std::uint32_t columns, std::uint32_t rank = 0) {
    return {
        .name = std::move(name), .rows = rows, .columns = columns, .perturbation = Perturbation::Frozen, .rank = rank};
}

std::vector<ParameterDesc> policy_4_64_2() {
    return {matrix("w0", 64, 4), vector("b0", 64), matrix("w1", 2, 64), vector("b1", 2)};
}

std::vector<EsUpdateCase> es_update_cases() {
    const std::vector<ParameterDesc> policy = policy_4_64_2();
    const std::vector<ParameterDesc> edges{matrix("a", 8, 8), matrix("b", 8, 1), matrix("c", 1, 8), matrix("d", 9, 17),
                                           matrix("e", 7, 15)};
    const std::vector<ParameterDesc> vectors{vector("a", 1), vector("b", 7), vector("c", 8), vector("d", 9),
                                             vector("e", 16)};
    const std::vector<ParameterDesc> long_and_wide{matrix("a", 67, 9), matrix("b", 9, 70), vector("c", 9)};
    return {
        {"1x1, population 2", {matrix("w", 1, 1)}, 2, 1, FitnessWeights::I8},
        {"tile edges, rank 1", edges, 10, 1, FitnessWeights::I8},
        {"tile edges, rank 2", edges, 14, 2, FitnessWeights::I8},
        {"vectors around a tile", vectors, 26, 1, FitnessWeights::I8},
        {"prime sizes, rank 3", {matrix("w", 7, 11), vector("v", 5)}, 38, 3, FitnessWeights::I8},
        {"prime sizes, rank 5", {vector("v", 13), matrix("w", 13, 3)}, 34, 5, FitnessWeights::I8},
        {"rank 8", {matrix("w", 8, 9)}, 20, 8, FitnessWeights::I8},
        {"rank 32", {matrix("w", 9, 3)}, 66, 32, FitnessWeights::I8},
        {"policy 4-64-2", policy, 64, 1, FitnessWeights::I8},
        {"some frozen",
         {frozen("a", 3, 3), matrix("b", 5, 5), frozen("c", 1, 1), vector("d", 3), frozen("e", 9, 1)},
         6,
         2,
         FitnessWeights::I8},
        {"all frozen", {frozen("a", 3, 5), frozen("b", 2, 1)}, 4, 1, FitnessWeights::I8},
        {"embedding table", {matrix("embedding", 101, 6)}, 12, 2, FitnessWeights::I8},
        {"all kinds",
         {matrix("embedding", 67, 5), vector("norm", 5), frozen("position", 4, 5), matrix("w", 10, 17), vector("b", 10),
          frozen("last", 3, 1)},
         22,
         2,
         FitnessWeights::I8},
        {"tile edges, floats", edges, 14, 2, FitnessWeights::F32},
        {"policy 4-64-2, floats", policy, 62, 1, FitnessWeights::F32},
        {"all kinds, floats",
         {frozen("first", 2, 2), matrix("embedding", 35, 3), vector("norm", 5), matrix("w", 9, 17)},
         10,
         3,
         FitnessWeights::F32},
        {"rank 32, floats", {matrix("w", 3, 9), vector("v", 9)}, 18, 32, FitnessWeights::F32},
        {"members of their own, rank 2", edges, 13, 2, FitnessWeights::I8, false},
        {"policy 4-64-2, members of their own", policy, 35, 1, FitnessWeights::I8, false},
        {"members of their own, floats", {matrix("w", 9, 17), vector("v", 9)}, 11, 3, FitnessWeights::F32, false},
        {"slices of 128 pairs", long_and_wide, 526, 1, FitnessWeights::I8},
        {"slices of 128 pairs, floats", long_and_wide, 526, 1, FitnessWeights::F32},
    };
}

/// Shares of the parameters and of the pairs: from the beginning, within, to the end, across frozen ones, of nothing.
std::vector<EsUpdateCase> es_update_shares() {
    constexpr auto kInt8 = FitnessWeights::I8;
    constexpr auto kSums = EsUpdateOutput::Sums;
    constexpr std::uint32_t kRest = EsUpdateShare::kAllThatFollow;
    const std::vector<ParameterDesc> all{matrix("embedding", 67, 5), vector("norm", 21), frozen("position", 4, 5),
                                         matrix("w", 10, 17), frozen("last", 3, 1)};
    const std::vector<ParameterDesc> small{matrix("w", 3, 9), vector("v", 9), frozen("f", 2, 1)};
    return {
        {"first strips", all, 22, 2, kInt8, true, {}, {0, 3}},
        {"strips within", all, 22, 1, kInt8, true, {}, {5, 6}},
        {"strips to the end", all, 22, 3, kInt8, true, {}, {11, kRest}},
        {"no strips", all, 22, 1, kInt8, true, {}, {0, 0}},
        {"strips within, floats", all, 22, 2, FitnessWeights::F32, true, {}, {7, 6}},
        {"all sums", all, 22, 2, kInt8, true, kSums, {}},
        {"sums of the first pairs", all, 38, 1, kInt8, true, kSums, {0, kRest, 0, 7}},
        {"sums of pairs within", policy_4_64_2(), 64, 3, kInt8, true, kSums, {0, kRest, 5, 18}},
        {"sums of the last pairs", small, 1030, 1, kInt8, true, kSums, {0, kRest, 501, kRest}},
        {"sums of no pairs", small, 14, 1, kInt8, true, kSums, {0, kRest, 7, 0}},
        {"sums of strips and pairs", all, 34, 1, kInt8, true, kSums, {2, 9, 3, 13}},
        {"sums of members of their own", small, 13, 2, kInt8, false, kSums, {0, kRest, 6, 5}},
    };
}

/// Matrices of several ranks, in runs and by turns, vectors and frozen ones between them.
std::vector<EsUpdateCase> es_updates_of_ranks() {
    constexpr auto kInt8 = FitnessWeights::I8;
    constexpr auto kSums = EsUpdateOutput::Sums;
    constexpr std::uint32_t kRest = EsUpdateShare::kAllThatFollow;
    const std::vector<ParameterDesc> by_turns{frozen("first", 2, 2), matrix("a", 9, 17, 1),   vector("b", 9),
                                              matrix("c", 17, 5, 4), matrix("d", 8, 9, 2),    frozen("e", 3, 5),
                                              matrix("f", 11, 3, 1), matrix("g", 5, 9),       vector("h", 11),
                                              matrix("i", 9, 7, 32), matrix("j", 10, 10, 32), frozen("last", 1, 1, 4)};
    const std::vector<ParameterDesc> one_rank{matrix("a", 9, 9, 3), vector("b", 9), matrix("c", 5, 9, 3)};
    return {
        {"ranks by turns", by_turns, 46, 3, kInt8},
        {"ranks by turns, floats", by_turns, 26, 3, FitnessWeights::F32},
        {"ranks by turns, members of their own", by_turns, 19, 4, kInt8, false},
        {"strips within, ranks by turns", by_turns, 22, 3, kInt8, true, {}, {3, 8}},
        {"sums of pairs within, ranks by turns", by_turns, 60, 3, kInt8, true, kSums, {0, kRest, 5, 18}},
        {"a rank of all, not the run's", one_rank, 30, 1, kInt8},
    };
}

struct UpdateInputs {
    NoiseContext when;
    abi::fitness::Summary summary{};
    std::vector<std::int8_t> integers;  ///< padded to whole words
    std::vector<float> floats;
    std::vector<double> values;  ///< whichever of them, one per pair
};

UpdateInputs draw_inputs(const EsUpdateCase& item, std::uint64_t seed, std::uint32_t stream) {
    Draws draws(seed, stream);
    UpdateInputs inputs;
    const std::uint32_t pairs = item.weight_count();
    inputs.when = {.seed = (std::uint64_t{draws.word()} << 32U) | draws.word(),
                   .generation = 9,
                   .time = draws.below(1000),
                   .sigma = draws.uniform(0.01F, 1.0F)};
    inputs.summary.coefficient = item.weights == FitnessWeights::I8 ? draws.uniform(0.001F, 0.1F) : 1.0F;
    if (item.weights == FitnessWeights::I8) {
        inputs.integers.resize(round_up(pairs, 4));
        for (std::uint32_t pair = 0; pair < pairs; ++pair) {
            const int drawn = static_cast<int>(draws.below(290)) - 145;  // the ends are drawn often
            inputs.integers[pair] = static_cast<std::int8_t>(std::clamp(drawn, -127, 127));
            inputs.values.push_back(inputs.integers[pair]);
        }
    } else {
        inputs.floats = draws.uniforms(pairs, -3.0F, 3.0F);
        inputs.values.assign(inputs.floats.begin(), inputs.floats.end());
    }
    return inputs;
}

EsUpdateDesc describe_update(const EsUpdateCase& item) {
    return {.parameters = *ParameterTable::create(item.parameters),
            .population = item.population,
            .rank = item.rank,
            .weights = item.weights,
            .antithetic = item.antithetic,
            .output = item.output};
}

class EsUpdateProblem final : public OperationProblem<EsUpdateDesc> {
   public:
    EsUpdateProblem(const EsUpdateCase& item, UpdateInputs inputs)
        : OperationProblem(describe_update(item), item.name, inputs.when, OrDefault<EsUpdateShare>{item.share}),
          inputs_(std::move(inputs)),
          share_(item.share),
          zeroes_(item.share.first_strip == 0 && item.share.strip_count > 0) {
        const UpdateStrips strips(desc().parameters);
        share_.strip_count = std::min(share_.strip_count, strips.count() - share_.first_strip);
        share_.pair_count = std::min(share_.pair_count, item.weight_count() - share_.first_pair);
    }

    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {integer() ? bytes_of_values(inputs_.integers) : bytes_of_values(inputs_.floats),
                bytes_of_values(std::vector{inputs_.summary})};
    }
    [[nodiscard]] bool has_twin(std::size_t /*written*/) const override { return integer(); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& /*given*/,
                                                   const HostViews& /*made*/) const override {
        return {sums() ? OracleValues() : values()};
    }
    [[nodiscard]] std::vector<bool> kept(std::size_t /*written*/) const override { return kept_words(sums() ? 2 : 1); }
    /// What a word of a sum is worth no oracle's value says: the two together, scaled as a gradient is.
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        if (!sums()) return;
        const std::vector<bool> is_kept = kept_words(1);
        std::vector<double> values;
        OracleValues expected = this->values();
        for (std::size_t i = 0; i < is_kept.size(); ++i) {
            const std::uint64_t bits = outputs[0][2 * i] | std::uint64_t{outputs[0][2 * i + 1]} << 32U;
            values.push_back(is_kept[i] ? 0.0
                                        : static_cast<double>(static_cast<std::int64_t>(bits)) *
                                              unit_of(static_cast<std::uint32_t>(i)));
            if (is_kept[i]) expected[i] = {};
        }
        verify_against_oracle(report, case_name + ", sums", values, expected);
    }
    /// A multiply-add per pair, rank column and element of a matrix, and one per pair and element of a vector; drawing
    /// noise is not counted.
    [[nodiscard]] Work work() const override {
        const ElementSpan made = UpdateStrips(desc().parameters).elements(share_.first_strip, share_.strip_count);
        double products = 0.0;
        double written = 0.0;
        for (std::uint32_t id = 0; id < desc().parameters.parameters().size(); ++id) {
            const ParameterDesc& parameter = desc().parameters.parameters()[id];
            const std::uint64_t elements = std::uint64_t{parameter.rows} * parameter.columns;
            if (parameter.perturbation == Perturbation::Frozen) {
                if (zeroes_) written += static_cast<double>(elements);
                continue;
            }
            const std::uint64_t first = desc().parameters.offset(ParameterId{id});
            const std::uint64_t begin = std::max<std::uint64_t>(first, made.first);
            const std::uint64_t end = std::min(first + elements, std::uint64_t{made.first} + made.count);
            const double shared = end > begin ? static_cast<double>(end - begin) : 0.0;
            products +=
                (parameter.perturbation == Perturbation::Vector ? 1.0 : rank_of(parameter, desc().rank)) * shared;
            written += shared;
        }
        const auto pairs = static_cast<double>(share_.pair_count);
        return {.operations = 2.0 * pairs * products,
                .bytes = pairs * (integer() ? 1.0 : 4.0) + (sums() ? 8.0 : 4.0) * written};
    }

   private:
    [[nodiscard]] bool integer() const { return desc().weights == FitnessWeights::I8; }
    [[nodiscard]] bool sums() const { return desc().output == EsUpdateOutput::Sums; }
    [[nodiscard]] const ParameterDesc& parameter_of(std::uint32_t element) const {
        std::size_t id = desc().parameters.parameters().size() - 1;
        while (desc().parameters.offset(ParameterId{static_cast<std::uint32_t>(id)}) > element) --id;
        return desc().parameters.parameters()[id];
    }
    /// Elements, of so many words, that the share leaves as they were.
    [[nodiscard]] std::vector<bool> kept_words(std::size_t words) const {
        const ElementSpan made = UpdateStrips(desc().parameters).elements(share_.first_strip, share_.strip_count);
        std::vector<bool> kept;
        for (std::uint32_t i = 0; i < desc().parameters.element_count(); ++i) {
            const bool is_frozen = parameter_of(i).perturbation == Perturbation::Frozen;
            const bool is_made = i >= made.first && i < made.first + made.count;
            kept.insert(kept.end(), words, is_frozen ? !zeroes_ : !is_made);
        }
        return kept;
    }
    /// What 1 of a sum is in the gradient, without the coefficient's rounding.
    [[nodiscard]] double unit_of(std::uint32_t element) const {
        const double members = desc().population;
        const double scale = static_cast<double>(inputs_.summary.coefficient) *
                             static_cast<double>(inputs_.when.sigma) * std::sqrt(members) / members;
        const ParameterDesc& parameter = parameter_of(element);
        if (parameter.perturbation == Perturbation::Vector) return scale / std::sqrt(85.0);
        return scale / (85.0 * std::sqrt(static_cast<double>(rank_of(parameter, desc().rank))));
    }

    /// Four roundings in class P (factor, its product with the coefficient, the sum, the last product), of sums none,
    /// and the oracle's own in double. Floats add a product and an addition per term and an addition per slice, each
    /// 2^-24 of what has been summed.
    [[nodiscard]] OracleValues values() const {
        std::vector<double> weights(inputs_.values.size(), 0.0);
        std::copy_n(inputs_.values.begin() + share_.first_pair, share_.pair_count, weights.begin() + share_.first_pair);
        const EsUpdateOracle oracle =
            es_update_oracle(desc(), weights, static_cast<double>(inputs_.summary.coefficient), inputs_.when);
        const double half_ulp = std::ldexp(1.0, -24);
        OracleValues values;
        for (std::size_t i = 0; i < oracle.gradient.size(); ++i) {
            const std::uint32_t rank = rank_of(parameter_of(static_cast<std::uint32_t>(i)), desc().rank);
            const double terms = static_cast<double>(inputs_.values.size()) * rank;
            double tolerance = (terms + 16.0) * std::ldexp(oracle.magnitude[i], -53);
            if (!sums()) tolerance += 4.1 * half_ulp * std::abs(oracle.gradient[i]);
            if (!integer()) tolerance += 1.01 * half_ulp * (3.0 * terms + 1.0) * oracle.magnitude[i];
            values.push_back({oracle.gradient[i], tolerance + std::ldexp(1.0, -99)});
        }
        return values;
    }

    UpdateInputs inputs_;
    EsUpdateShare share_;  ///< with its counts
    bool zeroes_ = false;  ///< the elements of frozen parameters
};

/// Streams of draws of this family's cases begin here.
constexpr std::uint32_t kStreams = 0x400;

Problems es_update_cases(std::uint64_t seed) {
    Problems problems;
    std::vector<EsUpdateCase> items = es_update_cases();
    std::ranges::move(es_update_shares(), std::back_inserter(items));
    std::ranges::move(es_updates_of_ranks(), std::back_inserter(items));
    for (const EsUpdateCase& item : items) {
        const auto index = static_cast<std::uint32_t>(problems.size());
        problems.push_back(std::make_unique<EsUpdateProblem>(item, draw_inputs(item, seed, kStreams + index)));
    }
    return problems;
}

/// The policy of the examples and a matrix that fills a device, at a population of 4,096.
Problems es_update_benchmarks() {
    Problems problems;
    for (const std::uint32_t rank : {1U, 4U}) {
        for (const EsUpdateCase& item :
             {EsUpdateCase{fmt::format("4-64-2, rank {}", rank), policy_4_64_2(), 4096, rank},
              EsUpdateCase{fmt::format("256x256, rank {}", rank), {matrix("w", 256, 256)}, 4096, rank}}) {
            const auto index = static_cast<std::uint32_t>(problems.size());
            problems.push_back(std::make_unique<EsUpdateProblem>(item, draw_inputs(item, 42, kStreams + index)));
        }
    }
    return problems;
}

std::unique_ptr<Problem> make_es_update_problem(const EsUpdateDesc& desc) {
    const EsUpdateCase item{.name = {},
                            .parameters = {desc.parameters.parameters().begin(), desc.parameters.parameters().end()},
                            .population = desc.population,
                            .rank = desc.rank,
                            .weights = desc.weights,
                            .antithetic = desc.antithetic,
                            .output = desc.output};
    return std::make_unique<EsUpdateProblem>(item, draw_inputs(item, 42, kStreams));
}

// GPUs take slices of 16 to 128 pairs, longer ones where groups of tiles are many; and the form that is not staged
// where slices would be too many.
Problems large_es_updates() {
    Problems problems;
    const auto add = [&](std::uint32_t edge, std::uint32_t population, std::uint32_t rank) {
        EsUpdateDesc desc{
            .parameters = *ParameterTable::create({matrix("w", edge, edge)}), .population = population, .rank = rank};
        problems.push_back(make_es_update_problem(desc));
        desc.output = EsUpdateOutput::Sums;
        problems.push_back(make_es_update_problem(desc));
        desc.output = EsUpdateOutput::Gradient;
        desc.weights = FitnessWeights::F32;
        problems.push_back(make_es_update_problem(desc));
        desc.weights = FitnessWeights::I8;
        desc.antithetic = false;
        problems.push_back(make_es_update_problem(desc));
    };
    for (const std::uint32_t edge : {256U, 362U, 512U, 4096U}) add(edge, 4096, 1);
    add(256, 32800, 32);
    return problems;
}

}  // namespace

const Family& es_update_family() noexcept {
    // Where pipelines take long to make (SwiftShader), they are what a check waits for.
    static constexpr Family kFamily{.name = "es_update",
                                    .exactness = "E+P",
                                    .cases = &es_update_cases,
                                    .benchmarks = &es_update_benchmarks,
                                    .configurations_per_case = 1,
                                    .operation = &kOperationText<EsUpdateDesc, &make_es_update_problem>,
                                    .large = &large_es_updates};
    return kFamily;
}

}  // namespace yolk::oracle
