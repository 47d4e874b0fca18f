// SPDX-License-Identifier: Apache-2.0
// Replace: inputs, work and cases. This one squares.
#include <array>

#include "check_tools.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/kernel_template.hpp"
#include "yolk/kernel_template.hpp"

namespace yolk::oracle {
namespace {

class KernelTemplateProblem final : public OperationProblem<KernelTemplateDesc> {
   public:
    KernelTemplateProblem(const KernelTemplateDesc& desc, std::uint64_t seed) : OperationProblem(desc), seed_(seed) {}

    [[nodiscard]] Work work() const override {
        const double count = desc().count;
        return {.operations = count, .bytes = 8.0 * count};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override { return {bytes_of_values(input())}; }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return bounds_of(desc(), given);
    }

   private:
    // Both signs; what counts as zero, as an operand and as a product; both ends of the range, products finite.
    [[nodiscard]] std::vector<float> input() const {
        constexpr std::array kScales{1.0F, 100.0F, 0x1p-49F, 0x1p-99F, 0x1p-126F, 0x1p62F};
        Draws draws(seed_, 90);
        std::vector<float> values(desc().count);
        for (float& value : values) value = draws.uniform(-1.0F, 1.0F) * draws.one_of(kScales);
        return values;
    }

    std::uint64_t seed_;
};

// Nothing, one element, around a workgroup's tile, primes, several workgroups of the largest tile.
constexpr std::array<std::uint32_t, 9> kKernelTemplateCounts{0, 1, 2, 63, 64, 65, 509, 2053, 20011};

Problems kernel_template_cases(std::uint64_t seed) {
    Problems problems;
    for (const std::uint32_t count : kKernelTemplateCounts)
        problems.push_back(std::make_unique<KernelTemplateProblem>(KernelTemplateDesc{.count = count}, seed));
    return problems;
}

std::unique_ptr<Problem> make_kernel_template_problem(const KernelTemplateDesc& desc) {
    return std::make_unique<KernelTemplateProblem>(desc, 1);
}

/// Shapes worth timing.
Problems kernel_template_benchmarks() {
    Problems problems;
    problems.push_back(make_kernel_template_problem({.count = 1U << 20U}));
    return problems;
}

}  // namespace

const Family& kernel_template_family() noexcept {
    static constexpr Family kFamily{.name = "kernel_template",
                                    .exactness = "P",
                                    .cases = &kernel_template_cases,
                                    .benchmarks = &kernel_template_benchmarks,
                                    .operation = &kOperationText<KernelTemplateDesc, &make_kernel_template_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
