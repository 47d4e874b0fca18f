// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "error_bounds.hpp"
#include "row_inputs.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/normalize.hpp"

namespace yolk::oracle {
namespace {

/// The part of a scale or bias that belongs to a member; empty where there is none.
std::span<const float> of_member(const NormalizeDesc& desc, RowVector kind, std::span<const float> vector,
                                 std::size_t member) {
    if (kind == RowVector::None) return {};
    return vector.subspan(kind == RowVector::PerMember ? member * desc.columns : 0, desc.columns);
}

/// A value in double and how far the kernel's may be off it.
struct RowEstimate {
    double value = 0.0;
    double off = 0.0;
};

/// The kernel's mean: the sum's error, those of factor and product, and what counts as zero.
RowEstimate mean_of(std::span<const double> row) {
    std::vector<double> magnitudes;
    for (const double x : row) magnitudes.push_back(std::abs(x));
    const auto count = static_cast<double>(row.size());
    const double mean = pairwise_sum(row) / count;
    const double sum_off = row_sum_error(row.size()) * pairwise_sum(magnitudes) / count + kOperandFloor;
    return {mean, sum_off + 2.01 * kFp32Rounding * (std::abs(mean) + sum_off) + kOperandFloor};
}

/// mean(d^2) + epsilon: each square is off by 2 |d| off + off^2 and a rounding, then the sum, the factor, the product
/// and the sum with epsilon.
RowEstimate mean_square_of(const NormalizeDesc& desc, std::span<const RowEstimate> deviations) {
    std::vector<double> squares;
    std::vector<double> errors;
    for (const RowEstimate& d : deviations) {
        squares.push_back(d.value * d.value);
        errors.push_back(2.0 * std::abs(d.value) * d.off + d.off * d.off);
    }
    const auto count = static_cast<double>(deviations.size());
    const double square = pairwise_sum(squares) / count;
    const double off = pairwise_sum(errors) / count;
    const double relative = 1.01 * (row_sum_error(deviations.size()) + 4.0 * kFp32Rounding);
    return {square + desc.epsilon, off + relative * (square + off + desc.epsilon)};
}

void normalize_row_oracle(const NormalizeDesc& desc, std::span<const float> row, std::span<const float> scale,
                          std::span<const float> bias, std::vector<OracleValue>& out) {
    const std::vector<double> values(row.begin(), row.end());
    const RowEstimate mean = desc.rule == NormalizeRule::Layer ? mean_of(values) : RowEstimate{};
    std::vector<RowEstimate> deviations;
    for (const double x : values) {
        const double d = x - mean.value;
        const double before = mean.off + kOperandFloor;
        deviations.push_back({d, before + kFp32Rounding * (std::abs(d) + before) + kOperandFloor});
    }
    const RowEstimate square = mean_square_of(desc, deviations);
    const double root = 1.0 / std::sqrt(square.value);
    // 1/sqrt(1 - q) - 1 where the square is off by the share q; infinite where it may have vanished.
    const double q = square.off / square.value;
    const double of_square = q < 1.0 ? 1.0 / std::sqrt(1.0 - q) - 1.0 : std::numeric_limits<double>::infinity();
    const double relative = 1.01 * (of_square + (1.0 + of_square) * (kSqrtError + kReciprocalError));
    for (std::size_t k = 0; k < row.size(); ++k) {
        double value = deviations[k].value * root;
        double off = deviations[k].off * root * (1.0 + relative) + std::abs(value) * relative;
        off += kFp32Rounding * (std::abs(value) + off);
        if (!scale.empty()) {
            const double factor = std::abs(static_cast<double>(scale[k]));
            off = off * factor + kOperandFloor * (std::abs(value) + off) + kProductFloor;
            value *= scale[k];
            off += kFp32Rounding * (std::abs(value) + off);
        }
        if (!bias.empty()) {
            value += bias[k];
            off += kOperandFloor + kFp32Rounding * (std::abs(value) + off + kOperandFloor);
        }
        out.push_back({value, off});
    }
}

/// Double precision, std::sqrt, pairwise sums; for rows whose mean square is below 2^100. The tolerance follows each
/// rounding (docs/kernels/normalize.md).
OracleValues normalize_oracle(const NormalizeDesc& desc, const HostViews& given) {
    OracleValues out;
    const auto in = given.in<float>(0);
    for (std::size_t first = 0; first < in.size(); first += desc.columns) {
        const std::size_t member = first / desc.columns / desc.rows;
        normalize_row_oracle(desc, in.subspan(first, desc.columns),
                             of_member(desc, desc.scale, given.in<float>(1), member),
                             of_member(desc, desc.bias, given.in<float>(2), member), out);
    }
    return out;
}

class NormalizeProblem final : public OperationProblem<NormalizeDesc> {
   public:
    explicit NormalizeProblem(const NormalizeDesc& desc, RowInputs inputs = RowInputs::Plain, std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("{} inputs, epsilon {}", name_of(inputs), desc.epsilon)),
          inputs_(inputs),
          seed_(seed) {}

    [[nodiscard]] Work work() const override {
        const auto count = static_cast<double>(elements(0));
        return {.operations = 8.0 * count, .bytes = 8.0 * count};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(row_inputs(seed_, elements(0), inputs_)), bytes_of_values(make_vector(1, 0x10000U)),
                bytes_of_values(make_vector(2, 0x10001U))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {normalize_oracle(desc(), given)};
    }

   private:
    [[nodiscard]] std::vector<float> make_vector(std::size_t view, std::uint32_t stream) const {
        if ((view == 1 ? desc().scale : desc().bias) == RowVector::None) return {};
        std::vector<float> values = Draws(seed_, stream).uniforms(elements(view), -2.0F, 2.0F);
        if (!values.empty()) values.front() = 0x1p-41F;  // counts as zero
        return values;
    }
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
    {1, 2, 4099, RowInputs::Wide},
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
         {std::array{1024U, 16U, 64U}, std::array{64U, 64U, 1024U}, std::array{16U, 16U, 4096U}}) {
        const NormalizeDesc desc{.members = members,
                                 .rows = rows,
                                 .columns = columns,
                                 .scale = RowVector::Shared,
                                 .bias = RowVector::Shared};
        problems.push_back(std::make_unique<NormalizeProblem>(desc, RowInputs::Plain, 1));
    }
    return problems;
}

Problems large_normalizations() {
    Problems problems;
    for (const auto& [rows, columns] : kLargeRows) {
        problems.push_back(make_problem<NormalizeProblem>({.rows = rows, .columns = columns}));
        problems.push_back(make_problem<NormalizeProblem>(
            {.rule = NormalizeRule::RootMeanSquare, .rows = rows, .columns = columns, .scale = RowVector::Shared}));
    }
    return problems;
}

}  // namespace

const Family& normalize_family() noexcept {
    static constexpr Family kFamily{.name = "normalize",
                                    .exactness = "P",
                                    .cases = &normalize_cases,
                                    .benchmarks = &normalize_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<NormalizeDesc, &make_problem<NormalizeProblem>>,
                                    .large = &large_normalizations};
    return kFamily;
}

}  // namespace yolk::oracle
