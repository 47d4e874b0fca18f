// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/oracle/normalize.hpp"

namespace yolk::oracle {
namespace {

class NormalizeProblem final : public Problem {
   public:
    NormalizeProblem(const NormalizeDesc& desc, RowInputs inputs, std::uint64_t seed)
        : desc_(desc), inputs_(inputs), seed_(seed) {}

    [[nodiscard]] std::string name() const override {
        return fmt::format("{} of [{}, {}, {}], {}, {} scale, {} bias, epsilon {}",
                           desc_.rule == NormalizeRule::Layer ? "layer" : "root mean square", desc_.members, desc_.rows,
                           desc_.columns, name_of(inputs_), name_of(desc_.scale), name_of(desc_.bias), desc_.epsilon);
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override {
        return normalize_space(info, desc_).space();
    }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return normalize_space(info, desc_).configuration(default_row_config(info));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        NormalizeDesc desc = desc_;
        desc.config = normalize_space(device.info(), desc_).config(configuration);
        YOLK_TRY(NormalizePlan plan, plan_normalize(device, desc));
        return planned(
            std::move(plan),
            [](const NormalizePlan& of, std::span<const BufferView> views,
               const BufferView& scratch) -> Result<PlannedProblem::Record> {
                YOLK_TRY(BoundNormalize bound,
                         of.bind({.in = views[0], .scale = views[1], .bias = views[2], .out = views[3]}, scratch));
                return recorded(std::move(bound));
            });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        const NormalizeInputs inputs = make_inputs();
        return {input_buffer("in", inputs.in), input_buffer("scale", inputs.scale), input_buffer("bias", inputs.bias),
                output_buffer("out", sizeof(float) * count())};
    }
    [[nodiscard]] std::vector<Expected> expected() const override {
        const NormalizeInputs inputs = make_inputs();
        return {{.twin = words_of(normalize_twin(desc_, inputs)), .oracle = normalize_oracle(desc_, inputs)}};
    }
    [[nodiscard]] Work work() const override {
        const auto elements = static_cast<double>(count());
        return {.operations = 8.0 * elements, .bytes = 8.0 * elements};
    }

   private:
    [[nodiscard]] std::size_t count() const { return std::size_t{desc_.members} * desc_.rows * desc_.columns; }
    [[nodiscard]] std::vector<float> make_vector(RowVector kind, std::uint32_t stream) const {
        if (kind == RowVector::None) return {};
        Draws draws(seed_, stream);
        const std::size_t members = kind == RowVector::PerMember ? desc_.members : 1;
        std::vector<float> values = draws.uniforms(members * desc_.columns, -2.0F, 2.0F);
        if (!values.empty()) values.front() = 0x1p-41F;  // counts as zero
        return values;
    }
    [[nodiscard]] NormalizeInputs make_inputs() const {
        return {.in = row_inputs(seed_, count(), inputs_),
                .scale = make_vector(desc_.scale, 0x10000U),
                .bias = make_vector(desc_.bias, 0x10001U)};
    }

    NormalizeDesc desc_;
    RowInputs inputs_;
    std::uint64_t seed_;
};

struct NormalizeCase {
    std::uint32_t members, rows, columns;
    RowInputs inputs;
    RowVector scale = RowVector::None;
    RowVector bias = RowVector::None;
    float epsilon = 1e-5F;
};

// Nothing, one element, around the 32 chains, primes, more rows than a workgroup has; scales; each kind of vector.
constexpr auto kNormalizeCases = std::to_array<NormalizeCase>({
    {0, 3, 5, RowInputs::Plain},
    {3, 0, 5, RowInputs::Plain, RowVector::Shared, RowVector::PerMember},
    {3, 5, 0, RowInputs::Plain, RowVector::PerMember, RowVector::PerMember},
    {1, 1, 1, RowInputs::Plain},
    {2, 3, 2, RowInputs::Ties, RowVector::Shared, RowVector::Shared},
    {2, 5, 31, RowInputs::Plain, RowVector::PerMember, RowVector::None, 1e-12F},
    {1, 7, 32, RowInputs::Wide, RowVector::Shared, RowVector::PerMember},
    {3, 3, 33, RowInputs::Steep, RowVector::None, RowVector::Shared, 1.0F},
    {1, 5, 65, RowInputs::Huge, RowVector::Shared, RowVector::Shared},
    {2, 2, 1021, RowInputs::Plain, RowVector::PerMember, RowVector::PerMember},
    {1, 1, 4099, RowInputs::Wide},
    {257, 3, 10, RowInputs::Plain, RowVector::PerMember, RowVector::Shared},
    {2, 4, 40, RowInputs::Tiny, RowVector::Shared, RowVector::Shared},
});

Problems normalize_cases(std::uint64_t seed) {
    Problems problems;
    for (const NormalizeCase& c : kNormalizeCases) {
        for (const NormalizeRule rule : {NormalizeRule::Layer, NormalizeRule::RootMeanSquare}) {
            const NormalizeDesc desc{.rule = rule,
                                     .members = c.members,
                                     .rows = c.rows,
                                     .columns = c.columns,
                                     .scale = c.scale,
                                     .bias = rule == NormalizeRule::Layer ? c.bias : RowVector::None,
                                     .epsilon = c.epsilon};
            problems.push_back(std::make_unique<NormalizeProblem>(desc, c.inputs, seed));
        }
    }
    return problems;
}

Problems normalize_benchmarks() {
    Problems problems;
    for (const auto& [members, rows, columns] :
         {std::array{1024U, 16U, 64U}, std::array{64U, 64U, 256U}, std::array{16U, 16U, 4096U}}) {
        const NormalizeDesc desc{.members = members,
                                 .rows = rows,
                                 .columns = columns,
                                 .scale = RowVector::Shared,
                                 .bias = RowVector::Shared};
        problems.push_back(std::make_unique<NormalizeProblem>(desc, RowInputs::Plain, 1));
    }
    return problems;
}

}  // namespace

std::unique_ptr<Problem> make_normalize_problem(const NormalizeDesc& desc) {
    return std::make_unique<NormalizeProblem>(desc, RowInputs::Plain, 1);
}

const Family& normalize_family() noexcept {
    static constexpr Family kFamily{.name = "normalize",
                                    .exactness = "P",
                                    .cases = &normalize_cases,
                                    .benchmarks = &normalize_benchmarks,
                                    .configurations_per_case = 2};
    return kFamily;
}

}  // namespace yolk::oracle
