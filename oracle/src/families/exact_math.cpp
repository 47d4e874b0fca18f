// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "check_tools.hpp"
#include "exact_math_table.hpp"
#include "yolk/internal/abi/exact_math.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/reference/exact_math.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk::oracle {

namespace {

namespace abi_em = abi::exact_math;

constexpr std::uint32_t kDrawnInputs = 20000;
constexpr std::size_t kBenchmarkInputs = 1U << 20U;

// The edges of the domain from both sides, and bit patterns drawn uniformly, so that every exponent gets its share.
std::vector<float> inputs_of(std::uint64_t seed, const ExactFunction& function) {
    std::vector<float> inputs = edge_inputs(function);
    Draws draws(seed, function.id);
    for (std::uint32_t i = 0; i < kDrawnInputs; ++i) {
        const auto value = std::bit_cast<float>(draws.word());
        if (function.contains(value)) inputs.push_back(value);
        const float narrow = draws.uniform(-8.0F, 8.0F);
        if (function.contains(narrow)) inputs.push_back(narrow);
    }
    return inputs;
}

std::vector<Bounded> oracle_values(const ExactFunction& function, std::span<const float> inputs) {
    std::vector<Bounded> values;
    values.reserve(inputs.size());
    for (const float x : inputs) {
        const double value = function.reference(x);
        values.push_back({value, function.absolute_error + function.relative_error * std::abs(value)});
    }
    return values;
}

/// The kernel has no primitive: only checks run it.
class PlannedExactMath final : public PlannedProblem {
   public:
    PlannedExactMath(const Device& device, PipelineOf<abi_em::Params> pipeline, std::uint32_t workgroup_size,
                     std::uint32_t element_count)
        : device_(device), pipeline_(pipeline), workgroup_size_(workgroup_size), element_count_(element_count) {}

    [[nodiscard]] MemoryNeeds scratch() const override { return {}; }
    [[nodiscard]] Result<Record> bind(std::span<const BufferView> views, const BufferView& /*scratch*/) const override {
        YOLK_TRY(auto binding, device_.bind(pipeline_, std::array{views[0], views[1]}));
        const LinearGrid grid{.groups = ceil_div(element_count_, workgroup_size_),
                              .cost_per_group = std::uint64_t{workgroup_size_} * kElementCost};
        const auto kept = std::make_shared<const BindingOf<abi_em::Params>>(std::move(binding));
        return Record([kept, grid, count = element_count_](Recorder& recorder) {
            recorder.dispatch(*kept, abi_em::Params{.element_count = count}, grid);
        });
    }

   private:
    static constexpr std::uint64_t kElementCost = 64;
    const Device& device_;
    PipelineOf<abi_em::Params> pipeline_;
    std::uint32_t workgroup_size_;
    std::uint32_t element_count_;
};

class ExactMathProblem final : public Problem {
   public:
    ExactMathProblem(const ExactFunction& function, std::vector<float> inputs)
        : function_(function), inputs_(std::move(inputs)) {}

    [[nodiscard]] std::string name() const override { return function_.name; }
    [[nodiscard]] TuningSpace space(const DeviceInfo& /*info*/) const override {
        return {"exact_math", {{"workgroup_size", {1, 32, 64, 100, 256}}}};
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& /*info*/) const override { return {64}; }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        YOLK_TRY_VOID(space(device.info()).check(configuration));
        const std::array constants{SpecConstant{abi_em::kSpecWorkgroupSize, configuration[0]},
                                   SpecConstant{abi_em::kSpecFunction, function_.id}};
        YOLK_TRY(const auto pipeline, device.pipeline(kernels::kExactMath, constants));
        std::unique_ptr<PlannedProblem> plan = std::make_unique<PlannedExactMath>(
            device, pipeline, configuration[0], static_cast<std::uint32_t>(inputs_.size()));
        return plan;
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        return {input_buffer("in", inputs_), output_buffer("out", sizeof(float) * inputs_.size())};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        std::vector<float> twin(inputs_.size());
        std::transform(inputs_.begin(), inputs_.end(), twin.begin(),
                       [this](float x) { return reference::exact_math_twin(function_.id, x); });
        return {{.twin = words_of(twin), .oracle = oracle_values(function_, inputs_)}};
    }
    /// Polynomials and Newton steps of about 30 operations.
    [[nodiscard]] Work work() const override {
        const auto elements = static_cast<double>(inputs_.size());
        return {.operations = elements * 30, .bytes = elements * 8};
    }

   private:
    const ExactFunction& function_;
    std::vector<float> inputs_;
};

Problems exact_math_cases(std::uint64_t seed) {
    Problems problems;
    for (const ExactFunction& function : exact_functions()) {
        problems.push_back(std::make_unique<ExactMathProblem>(function, inputs_of(seed, function)));
    }
    return problems;
}

Problems exact_math_benchmarks() {
    Problems problems;
    for (const ExactFunction& function : exact_functions()) {
        std::vector<float> inputs = inputs_of(42, function);
        while (inputs.size() < kBenchmarkInputs) inputs.insert(inputs.end(), inputs.begin(), inputs.end());
        inputs.resize(kBenchmarkInputs);
        problems.push_back(std::make_unique<ExactMathProblem>(function, std::move(inputs)));
    }
    return problems;
}

}  // namespace

const Family& exact_math_family() noexcept {
    static constexpr Family kFamily{
        .name = "exact_math", .exactness = "P", .cases = &exact_math_cases, .benchmarks = &exact_math_benchmarks};
    return kFamily;
}

}  // namespace yolk::oracle
