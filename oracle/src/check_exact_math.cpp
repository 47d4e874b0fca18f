// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "check_tools.hpp"
#include "exact_math_table.hpp"
#include "yolk/abi/exact_math.h"
#include "yolk/oracle/check.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk::oracle {

namespace {

namespace abi_em = abi::exact_math;

constexpr std::uint32_t kDrawnInputs = 20000;

// The edges of the domain from both sides, and bit patterns drawn uniformly, so that every exponent gets its share.
std::vector<float> inputs_of(const CheckContext& context, const ExactFunction& function) {
    std::vector<float> inputs = edge_inputs(function);
    Draws draws(context.seed, function.id);
    for (std::uint32_t i = 0; i < kDrawnInputs; ++i) {
        const auto value = std::bit_cast<float>(draws.word());
        if (function.contains(value)) inputs.push_back(value);
        const float narrow = draws.uniform(-8.0F, 8.0F);
        if (function.contains(narrow)) inputs.push_back(narrow);
    }
    return inputs;
}

Result<std::vector<float>> run_on_device(const CheckContext& context, CheckReport& report, const std::string& name,
                                         const ExactFunction& function, std::uint32_t workgroup_size,
                                         const std::vector<float>& inputs, std::uint32_t poison) {
    const std::uint64_t size_bytes = sizeof(float) * inputs.size();
    YOLK_TRY(const auto in, GuardedBuffer::create(context.device, context.dispatcher, size_bytes, poison, "exact.in"));
    YOLK_TRY(const auto out,
             GuardedBuffer::create(context.device, context.dispatcher, size_bytes, poison, "exact.out"));
    YOLK_TRY_VOID(in.upload(inputs));
    const std::array constants{SpecConstant{abi_em::kSpecWorkgroupSize, workgroup_size},
                               SpecConstant{abi_em::kSpecFunction, function.id}};
    YOLK_TRY(const auto pipeline, context.device.pipeline(kernels::kExactMath, constants));
    YOLK_TRY(const auto binding, context.device.bind(pipeline, std::array{in.view(), out.view()}));
    const auto count = static_cast<std::uint32_t>(inputs.size());
    YOLK_TRY_VOID(run_recorded(context, [&](Recorder& recorder) {
        recorder.dispatch(binding, abi_em::Params{.element_count = count},
                          fold_groups((count + workgroup_size - 1) / workgroup_size));
    }));
    YOLK_TRY_VOID(hold_guards(report, name, in, "in"));
    YOLK_TRY_VOID(hold_guards(report, name, out, "out"));
    return out.download<float>();
}

std::vector<OracleValue> oracle_values(const ExactFunction& function, std::span<const float> inputs) {
    std::vector<OracleValue> values;
    values.reserve(inputs.size());
    for (const float x : inputs) {
        const double value = function.reference(x);
        values.push_back({value, function.absolute_error + function.relative_error * std::abs(value)});
    }
    return values;
}

}  // namespace

Result<CheckReport> check_exact_math(const CheckContext& context) {
    constexpr std::array<std::uint32_t, 4> kWorkgroups{1, 32, 100, 256};
    CheckReport report;
    report.kernel = "exact_math";
    report.exactness = "P";
    Draws draws(context.seed);
    for (const ExactFunction& function : exact_functions()) {
        const std::vector<float> inputs = inputs_of(context, function);
        std::vector<float> twin(inputs.size());
        std::transform(inputs.begin(), inputs.end(), twin.begin(), function.twin);
        const std::vector<OracleValue> oracle = oracle_values(function, inputs);
        for (std::uint32_t c = 0; c < context.configurations; ++c) {
            const std::uint32_t workgroup_size = c == 0 ? 64 : draws.one_of(kWorkgroups);
            for (const std::uint32_t poison : kPoisons) {
                const std::string name = fmt::format("{}, workgroup {}", function.name, workgroup_size);
                YOLK_TRY(const std::vector<float> got,
                         run_on_device(context, report, name, function, workgroup_size, inputs, poison));
                ++report.cases;
                hold_to_twin(report, name, got, twin);
                hold_to_oracle(report, name, got, oracle);
            }
        }
    }
    return report;
}

}  // namespace yolk::oracle
