// SPDX-License-Identifier: Apache-2.0
#include "yolk/row_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "check_tools.hpp"
#include "error_bounds.hpp"
#include "program_oracle.hpp"
#include "row_inputs.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

/// A value's elements along one row.
using RowValues = std::vector<OracleValue>;

OracleValue sum_of(const RowValues& row) {
    std::vector<double> values, magnitudes;
    double tolerance = 0.0;
    for (const OracleValue& value : row) {
        values.push_back(value.value);
        magnitudes.push_back(std::abs(value.value) + value.tolerance);
        tolerance += value.tolerance + kProductFloor;
    }
    return {pairwise_sum(values), tolerance + row_sum_error(row.size()) * pairwise_sum(magnitudes)};
}

/// The largest moves by no more than the most that an element may.
OracleValue extreme_of(RowOperation operation, const RowValues& row) {
    const bool is_min = operation == RowOperation::Min;
    std::size_t best = 0;
    double tolerance = 0.0;
    for (std::size_t k = 0; k < row.size(); ++k) {
        if (is_min ? row[k].value < row[best].value : row[k].value > row[best].value) best = k;
        tolerance = std::max(tolerance, row[k].tolerance);
    }
    if (operation == RowOperation::Argmax) return {static_cast<double>(best), tolerance};
    return {row[best].value, tolerance + kProductFloor};
}

/// A falling function of an operand above 0; `error` is its relative error.
template <class Function>
OracleValue falling(const OracleValue& x, double error, Function&& function) {
    const std::array<float, 3> ends = possible(x);
    if (!(ends[0] > 0.0F)) return {function(x.value), std::numeric_limits<double>::infinity()};
    const double least = function(ends[2]), most = function(ends[0]), value = function(x.value);
    return {value, std::max(most - value, value - least) + 1.01 * error * most};
}

OracleValue reduced(RowOperation operation, const RowValues& row) {
    return operation == RowOperation::Sum ? sum_of(row) : extreme_of(operation, row);
}

OracleValue bounded_row_step(RowOperation operation, std::span<const std::uint32_t> operands,
                             std::span<const OracleValue> values) {
    const OracleValue& x = values[operands[0]];
    switch (operation) {
        case RowOperation::Operand:
            return {std::abs(x.value) < kOperandFloor ? 0.0 : x.value,
                    x.tolerance == 0.0 ? 0.0 : x.tolerance + kOperandFloor};
        case RowOperation::Result: return {x.value, x.tolerance + kProductFloor};
        case RowOperation::Exponential: return bounded_step(ElementwiseOperation::Exp, operands, values);
        case RowOperation::Difference: return bounded_step(ElementwiseOperation::Subtract, operands, values);
        case RowOperation::Product: return bounded_step(ElementwiseOperation::Multiply, operands, values);
        case RowOperation::Total: return bounded_step(ElementwiseOperation::Add, operands, values);
        case RowOperation::Reciprocal: return falling(x, kReciprocalError, [](double value) { return 1.0 / value; });
        default: return falling(x, kReciprocalError + kSqrtError, [](double value) { return 1.0 / std::sqrt(value); });
    }
}

/// Where element `element` of the space is in an input that lacks some of its dimensions.
std::size_t place_in(const RowProgramDesc& desc, std::uint32_t dimensions, std::size_t element) {
    std::size_t place = 0, stride = 1;
    for (std::size_t d = desc.extents.size(); d-- > 0; element /= desc.extents[d]) {
        if ((dimensions >> d & 1U) == 0) continue;
        place += element % desc.extents[d] * stride;
        stride *= desc.extents[d];
    }
    return place;
}

/// Goes through a row as kernels do, element by element for each reduction, so that only rows take memory.
class RowOracle {
   public:
    /// Element k of the row is element first + k stride of the space.
    RowOracle(const RowProgramDesc& desc, const HostViews& given, std::size_t first, std::size_t stride)
        : desc_(desc), given_(given), first_(first), stride_(stride), shared_(values()) {
        for (std::size_t s = 0; s < desc.steps.size(); ++s) {
            if (!is_reduction(desc.steps[s])) continue;
            RowValues row(desc.extents[desc.row]);
            for (std::size_t k = 0; k < row.size(); ++k) row[k] = value(desc.steps[s].operands[0], k);
            shared_[values() - desc.steps.size() + s] = reduced(std::get<RowOperation>(desc.steps[s].operation), row);
        }
    }
    [[nodiscard]] OracleValue result(std::size_t k) { return value(values() - 1, k); }
    /// False where a value is no number, or beyond what fp32 has.
    [[nodiscard]] bool is_finite() const { return is_finite_; }

   private:
    [[nodiscard]] std::size_t values() const { return desc_.inputs.size() + desc_.numbers.size() + desc_.steps.size(); }
    [[nodiscard]] OracleValue value(std::size_t number, std::size_t k) {
        element_.clear();
        for (std::size_t i = 0; i < desc_.inputs.size(); ++i)
            element_.push_back({given_.in<float>(i)[place_in(desc_, desc_.inputs[i], first_ + k * stride_)], 0.0});
        for (const float one : desc_.numbers) element_.push_back({one, 0.0});
        for (const RowStep& step : desc_.steps) {
            if (element_.size() > number) break;
            element_.push_back(step_value(step));
            const OracleValue& made = element_.back();
            is_finite_ = is_finite_ && std::isfinite(made.value) && std::isfinite(made.tolerance);
        }
        return element_[number];
    }
    [[nodiscard]] OracleValue step_value(const RowStep& step) const {
        const auto* const of_row = std::get_if<RowOperation>(&step.operation);
        if (of_row == nullptr)
            return bounded_step(std::get<ElementwiseOperation>(step.operation), step.operands, element_);
        return is_reduction(*of_row) ? shared_[element_.size()] : bounded_row_step(*of_row, step.operands, element_);
    }

    const RowProgramDesc& desc_;
    const HostViews& given_;
    std::size_t first_, stride_;
    std::vector<OracleValue> shared_;   // by value, of reductions
    std::vector<OracleValue> element_;  // by value, of the element at hand
    bool is_finite_ = true;
};

class RowProgramProblem final : public OperationProblem<RowProgramDesc> {
   public:
    explicit RowProgramProblem(const RowProgramDesc& desc, RowInputs inputs = RowInputs::Plain, std::uint64_t seed = 1)
        : OperationProblem(desc, name_of(inputs)), inputs_(inputs), seed_(seed) {}

    [[nodiscard]] Work work() const override { return count() == 0 ? Work{} : OperationProblem::work(); }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        std::vector<ByteVector> all;
        for (std::size_t i = 0; i < desc().inputs.size(); ++i)
            all.push_back(bytes_of_values(row_inputs(seed_ + i, of_input(i), inputs_)));
        return all;
    }
    [[nodiscard]] double operations() const override { return static_cast<double>(count() * desc().steps.size()); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        const bool varies = varies_along_row(desc()).back();
        const std::size_t columns = desc().extents[desc().row], inner = this->inner();
        OracleValues out(varies ? count() : count() / std::max<std::size_t>(columns, 1));
        for (std::size_t row = 0; row * columns < count(); ++row) {
            const std::size_t first = row / inner * columns * inner + row % inner;
            RowOracle of(desc(), given, first, inner);
            if (!varies) out[row] = of.result(0);
            for (std::size_t k = 0; varies && k < columns; ++k) out[first + k * inner] = of.result(k);
            if (!of.is_finite()) return {};
        }
        return {std::move(out)};
    }
    [[nodiscard]] ElementType element(const ViewShape& /*shape*/) const override {
        const auto* const last = std::get_if<RowOperation>(&desc().steps.back().operation);
        return last != nullptr && *last == RowOperation::Argmax ? ElementType::U32 : ElementType::F32;
    }
    [[nodiscard]] RowProgramViews views_of(const RowProgramDesc& desc,
                                           std::span<const BufferView> views) const override {
        return {.inputs = views.first(desc.inputs.size()), .out = views.back()};
    }

   private:
    [[nodiscard]] std::size_t count() const {
        std::size_t product = 1;
        for (const std::uint32_t extent : desc().extents) product *= extent;
        return product;
    }
    [[nodiscard]] std::size_t inner() const {
        std::size_t product = 1;
        for (std::size_t d = desc().row + std::size_t{1}; d < desc().extents.size(); ++d) product *= desc().extents[d];
        return product;
    }
    [[nodiscard]] std::size_t of_input(std::size_t number) const {
        std::size_t product = 1;
        for (std::size_t d = 0; d < desc().extents.size(); ++d)
            product *= (desc().inputs[number] >> d & 1U) != 0 ? desc().extents[d] : 1;
        return product;
    }
    RowInputs inputs_;
    std::uint64_t seed_;
};

struct RowProgramCase {
    std::string_view text;
    RowInputs inputs = RowInputs::Plain;
};

// Each operation and reduction, up to four in turn, results of elements and of rows. Empty three ways, one element,
// around the 32 chains, primes, more rows than a workgroup has; rows along the last dimension, the first and between;
// inputs that have the row and not the others, the others and not the row, one element.
constexpr auto kRowProgramCases = std::to_array<RowProgramCase>({
    {"extents=0-3-5 row=2 inputs=7,4 steps=add:0:1,sum:2,multiply:3:2"},
    {"extents=3-0-5 row=2 inputs=7 steps=sum:0"},
    {"extents=3-5-0 row=2 inputs=7,3 steps=max:0,subtract:0:2"},
    {"extents=1 row=0 inputs=1 steps=sum:0,add:0:1"},
    {"extents=5-31 row=1 inputs=3,3 steps=multiply:0:1,sum:2"},
    {"extents=7-32 row=1 inputs=3,3 "
     "steps=where:0:1:0,operand:2,max:3,difference:3:4,exponential:5,sum:6,reciprocal:7,product:6:8,result:9"},
    {"extents=3-3-33 row=2 inputs=7,7,3 steps=multiply:0:1,sum:3,add:4:2,subtract:0:5,multiply:1:6", RowInputs::Steep},
    {"extents=2-65 row=1 inputs=3,2 numbers=2 steps=sum:0,multiply:4:2,subtract:0:5,multiply:6:6,sum:7,multiply:8:2,"
     "absolute:9,add:10:3,inverse_sqrt:11,multiply:6:12,multiply:13:1"},
    {"extents=257-7 row=1 inputs=3,1,0 steps=max:0,min:0,subtract:3:4,multiply:5:1,add:6:2", RowInputs::Ties},
    {"extents=9-33 row=1 inputs=3 steps=operand:0,argmax:1", RowInputs::Ties},
    {"extents=3-17-5 row=1 inputs=7,2,5 steps=multiply:0:1,sum:3,multiply:4:2"},
    {"extents=3-17-5 row=1 inputs=7,6,4 steps=max:0,subtract:0:3,add:4:1,min:5,multiply:6:2,add:7:5"},
    {"extents=37-3-5 row=0 inputs=7,1,3 steps=add:0:1,multiply:3:2,sum:4,absolute:5"},
    {"extents=2-3-2-3-35 row=4 inputs=31,28,3 steps=multiply:0:1,add:3:2,sum:4,subtract:4:5"},
    {"extents=2-1021 row=1 inputs=3,3,3 steps=sum:0,sum:1,sum:2,max:0,add:3:4,add:5:6,subtract:7:8,multiply:9:0"},
    {"extents=2-4099 row=1 inputs=3,2 steps=multiply:0:1,absolute:2,sum:3"},
    {"extents=2-40 row=1 inputs=3,3 steps=subtract:0:1,sum:2,multiply:3:2", RowInputs::Tiny},
    {"extents=33-4 row=1 inputs=3,2,1,0 steps=multiply:0:1,add:4:2,max:5,subtract:5:6,multiply:7:3"},
    {"extents=3-2-60 row=2 inputs=7,5 steps=multiply:0:1,sum:2"},
});

RowProgramDesc program_of(std::string_view text) {
    RowProgramDesc desc = operation_of<RowProgramDesc>().fields.parse(text).value();
    constexpr std::array kNumbers{0.015384615F, 1e-5F, -0.37F, 1.25F};
    std::copy_n(kNumbers.begin(), desc.numbers.size(), desc.numbers.begin());
    return desc;
}

Problems row_program_cases(std::uint64_t seed) {
    Problems problems;
    for (const RowProgramCase& c : kRowProgramCases)
        problems.push_back(std::make_unique<RowProgramProblem>(program_of(c.text), c.inputs, seed + problems.size()));
    return problems;
}

Problems row_program_benchmarks() {
    return problems_of<RowProgramProblem>(
        {program_of("extents=4096-256 row=1 inputs=3,3 steps=multiply:0:1,sum:2"),
         program_of("extents=4096-256 row=1 inputs=3,3 steps=multiply:0:1,sum:2,subtract:1:3,multiply:0:4"),
         program_of("extents=4096-64 row=1 inputs=3,3,2 steps=where:2:0:1,operand:3,max:4,subtract:4:5,exp:6,sum:7,"
                    "reciprocal:8,multiply:7:9")});
}

}  // namespace

const Family& row_program_family() noexcept {
    static constexpr Family kFamily{.name = "row_program",
                                    .exactness = "P",
                                    .cases = &row_program_cases,
                                    .benchmarks = &row_program_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<RowProgramDesc, &make_problem<RowProgramProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
