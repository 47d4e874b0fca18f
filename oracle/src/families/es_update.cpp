// SPDX-License-Identifier: Apache-2.0
// The table of es_update: tile edges, primes, all ranks that matter, frozen parameters, integer and float weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check_tools.hpp"
#include "es_update_oracle.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/oracle/operation_problem.hpp"
#include "yolk/reference/es_update.hpp"

namespace yolk::oracle {
namespace {

struct EsUpdateCase {
    std::string name;
    std::vector<ParameterDesc> parameters;
    std::uint32_t population = 2;
    std::uint32_t rank = 1;
    FitnessWeights weights = FitnessWeights::I8;
    bool antithetic = true;

    [[nodiscard]] std::uint32_t weight_count() const { return antithetic ? population / 2 : population; }
};

ParameterDesc matrix(std::string name, std::uint32_t rows, std::uint32_t columns) {
    return {.name = std::move(name), .rows = rows, .columns = columns, .perturbation = Perturbation::LowRank};
}
ParameterDesc vector(std::string name, std::uint32_t length) {
    return {.name = std::move(name), .rows = length, .columns = 1, .perturbation = Perturbation::Vector};
}
ParameterDesc frozen(std::string name, std::uint32_t rows, std::uint32_t columns) {
    return {.name = std::move(name), .rows = rows, .columns = columns, .perturbation = Perturbation::Frozen};
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
            .antithetic = item.antithetic};
}

class EsUpdateProblem final : public OperationProblem<EsUpdateDesc> {
   public:
    EsUpdateProblem(const EsUpdateCase& item, UpdateInputs inputs)
        : OperationProblem(describe_update(item), item.name, inputs.when), inputs_(std::move(inputs)) {}

    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {integer() ? bytes_of_values(inputs_.integers) : bytes_of_values(inputs_.floats),
                bytes_of_values(std::vector{inputs_.summary})};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        Expected gradient{.oracle = oracle()};
        if (integer()) {
            gradient.twin = words_of(reference::es_update_twin(
                desc(), std::span(inputs_.integers).first(inputs_.values.size()), inputs_.summary, inputs_.when));
        }
        return {std::move(gradient)};
    }
    /// A multiply-add per pair, rank column and element of a matrix, and one per pair and element of a vector; drawing
    /// noise is not counted.
    [[nodiscard]] Work work() const override {
        double products = 0.0;
        for (const ParameterDesc& parameter : desc().parameters.parameters()) {
            if (parameter.perturbation == Perturbation::Frozen) continue;
            const double terms = parameter.perturbation == Perturbation::Vector ? 1.0 : desc().rank;
            products += terms * parameter.rows * parameter.columns;
        }
        const auto pairs = static_cast<double>(inputs_.values.size());
        return {.operations = 2.0 * pairs * products,
                .bytes = pairs * (integer() ? 1.0 : 4.0) + static_cast<double>(desc().parameters.size_bytes())};
    }

   private:
    [[nodiscard]] bool integer() const { return desc().weights == FitnessWeights::I8; }

    /// Four roundings in class P (factor, its product with the coefficient, the sum, the last product), and the
    /// oracle's own in double. Floats add a product and an addition per term and an addition per slice, each 2^-24 of
    /// what has been summed.
    [[nodiscard]] std::vector<OracleValue> oracle() const {
        const EsUpdateOracle oracle =
            es_update_oracle(desc(), inputs_.values, static_cast<double>(inputs_.summary.coefficient), inputs_.when);
        const double half_ulp = std::ldexp(1.0, -24);
        const double terms = static_cast<double>(inputs_.values.size()) * desc().rank;
        std::vector<OracleValue> values;
        for (std::size_t i = 0; i < oracle.gradient.size(); ++i) {
            double tolerance =
                4.1 * half_ulp * std::abs(oracle.gradient[i]) + (terms + 16.0) * std::ldexp(oracle.magnitude[i], -53);
            if (!integer()) tolerance += 1.01 * half_ulp * (3.0 * terms + 1.0) * oracle.magnitude[i];
            values.push_back({oracle.gradient[i], tolerance + std::ldexp(1.0, -99)});
        }
        return values;
    }

    UpdateInputs inputs_;
};

/// Streams of draws of this family's cases begin here.
constexpr std::uint32_t kStreams = 0x400;

Problems es_update_cases(std::uint64_t seed) {
    Problems problems;
    for (const EsUpdateCase& item : es_update_cases()) {
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
                            .antithetic = desc.antithetic};
    return std::make_unique<EsUpdateProblem>(item, draw_inputs(item, 42, kStreams));
}

}  // namespace

const Family& es_update_family() noexcept {
    // Where pipelines take long to make (SwiftShader), they are what a check waits for.
    static constexpr Family kFamily{.name = "es_update",
                                    .exactness = "E+P",
                                    .cases = &es_update_cases,
                                    .benchmarks = &es_update_benchmarks,
                                    .configurations_per_case = 1,
                                    .operation = &kOperationText<EsUpdateDesc, &make_es_update_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
