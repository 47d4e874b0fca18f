// SPDX-License-Identifier: Apache-2.0
// The table of es_update: tile edges, primes, all ranks that matter, frozen parameters, integer and float weights,
// drawn configurations.
#include <fmt/format.h>

#include <cmath>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/es_update.hpp"

namespace yolk::oracle {
namespace {

struct Case {
    std::string name;
    std::vector<ParameterDesc> parameters;
    std::uint32_t population = 2;
    std::uint32_t rank = 1;
    FitnessWeights weights = FitnessWeights::I8;
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

std::vector<Case> cases() {
    const std::vector<ParameterDesc> policy{matrix("w0", 64, 4), vector("b0", 64), matrix("w1", 2, 64),
                                            vector("b1", 2)};
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
    };
}

struct Inputs {
    NoiseTime when;
    abi::fitness::Summary summary{};
    std::vector<std::int8_t> integers;  ///< padded to whole words
    std::vector<float> floats;
    std::vector<double> values;  ///< whichever of them, one per pair
};

Inputs draw_inputs(const Case& item, Draws& draws) {
    Inputs inputs;
    const std::uint32_t pairs = item.population / 2;
    inputs.when = {.seed = (std::uint64_t{draws.word()} << 32U) | draws.word(),
                   .generation = 9,
                   .time = draws.below(1000),
                   .sigma = draws.uniform(0.01F, 1.0F)};
    inputs.summary.coefficient = item.weights == FitnessWeights::I8 ? draws.uniform(0.001F, 0.1F) : 1.0F;
    if (item.weights == FitnessWeights::I8) {
        inputs.integers.resize((pairs + 3) / 4 * 4);
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

/// Four roundings in class P (factor, its product with the coefficient, the sum, the last product), and the oracle's
/// own in double. Floats add a product and an addition per term and an addition per slice, each 2^-24 of what has been
/// summed.
std::vector<OracleValue> expected(const Case& item, const EsUpdateDesc& desc, const Inputs& inputs) {
    const EsUpdateOracle oracle =
        es_update_oracle(desc, inputs.values, static_cast<double>(inputs.summary.coefficient), inputs.when);
    const double half_ulp = std::ldexp(1.0, -24);
    const double terms = static_cast<double>(inputs.values.size()) * item.rank;
    std::vector<OracleValue> values;
    for (std::size_t i = 0; i < oracle.gradient.size(); ++i) {
        double tolerance =
            4.1 * half_ulp * std::abs(oracle.gradient[i]) + (terms + 16.0) * std::ldexp(oracle.magnitude[i], -53);
        if (item.weights == FitnessWeights::F32)
            tolerance += 1.01 * half_ulp * (3.0 * terms + 1.0) * oracle.magnitude[i];
        values.push_back({oracle.gradient[i], tolerance + std::ldexp(1.0, -99)});
    }
    return values;
}

Result<std::vector<float>> run_kernel(const CheckContext& context, CheckReport& report, const std::string& name,
                                      const EsUpdateDesc& desc, const Inputs& inputs, std::uint32_t poison) {
    const auto& [device, dispatcher, seed, configurations, all_configurations, progress] = context;
    YOLK_TRY(const EsUpdatePlan plan, plan_es_update(device, desc));
    const std::uint64_t weights_bytes =
        desc.weights == FitnessWeights::I8 ? inputs.integers.size() : 4 * inputs.floats.size();
    YOLK_TRY(auto weights, GuardedBuffer::create(device, dispatcher, weights_bytes, poison, "weights"));
    YOLK_TRY(auto summary, GuardedBuffer::create(device, dispatcher, sizeof(inputs.summary), poison, "summary"));
    YOLK_TRY(auto gradient,
             GuardedBuffer::create(device, dispatcher, desc.parameters.size_bytes(), poison, "gradient"));
    YOLK_TRY(auto scratch, GuardedBuffer::create(device, dispatcher, plan.scratch().size_bytes, poison, "scratch"));
    YOLK_TRY_VOID(desc.weights == FitnessWeights::I8 ? weights.upload(inputs.integers) : weights.upload(inputs.floats));
    YOLK_TRY_VOID(summary.upload(std::as_bytes(std::span(&inputs.summary, 1))));
    YOLK_TRY(
        const BoundEsUpdate bound,
        plan.bind({.weights = weights.view(), .summary = summary.view(), .gradient = gradient.view()}, scratch.view()));
    YOLK_TRY_VOID(run_recorded(context, [&](Recorder& recorder) { bound.record(recorder, inputs.when); }));
    YOLK_TRY_VOID(hold_guards(report, name, gradient, "the gradient"));
    YOLK_TRY_VOID(hold_guards(report, name, scratch, "the scratch"));
    return gradient.download<float>();
}

EsUpdateConfig draw_config(std::uint32_t index, Draws& draws) {
    if (index == 0) return {};
    return {.workgroup_size = draws.one_of(std::array<std::uint32_t, 5>{1, 7, 32, 64, 256}),
            .pairs_per_slice = draws.one_of(std::array<std::uint32_t, 6>{1, 2, 3, 5, 16, 16384}),
            .tile_blocks = draws.one_of(std::array<std::uint32_t, 2>{1, 2})};
}

Result<void> check_case(const CheckContext& context, CheckReport& report, const Case& item, Draws& draws) {
    const Inputs inputs = draw_inputs(item, draws);
    YOLK_TRY(const ParameterTable parameters, ParameterTable::create(item.parameters));
    EsUpdateDesc desc{.parameters = parameters,
                      .population = item.population,
                      .rank = item.rank,
                      .weights = item.weights,
                      .config = {}};
    const std::vector<OracleValue> oracle = expected(item, desc, inputs);
    std::vector<float> twin;
    if (item.weights == FitnessWeights::I8) {
        twin = es_update_twin(desc, std::span(inputs.integers).first(item.population / 2), inputs.summary, inputs.when);
    }
    for (std::uint32_t index = 0; index < context.configurations; ++index) {
        desc.config = draw_config(index, draws);
        for (const std::uint32_t poison : kPoisons) {
            const std::string name =
                fmt::format("{} (workgroup {}, {} pairs per slice, tiles of {} blocks)", item.name,
                            desc.config.workgroup_size, desc.config.pairs_per_slice, desc.config.tile_blocks);
            YOLK_TRY(const auto gradient, run_kernel(context, report, name, desc, inputs, poison));
            ++report.cases;
            hold_to_oracle(report, name, gradient, oracle);
            if (item.weights == FitnessWeights::I8) hold_to_twin(report, name, gradient, twin);
        }
    }
    return {};
}

}  // namespace

Result<CheckReport> check_es_update(const CheckContext& context) {
    CheckReport report;
    report.kernel = "es_update";
    report.exactness = "E+P";
    Draws draws(context.seed, 4);
    for (const Case& item : cases()) YOLK_TRY_VOID(check_case(context, report, item, draws));
    return report;
}

}  // namespace yolk::oracle
