// SPDX-License-Identifier: Apache-2.0
// Writes programs of rows, among them softmax, normalization and means.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/normalize.hpp"
#include "yolk/reduce.hpp"
#include "yolk/row_program.hpp"
#include "yolk/softmax.hpp"

namespace yolk {

/// A program whose values are numbered when it is complete.
class RowProgramWriter {
   public:
    struct Value {
        enum class Kind : std::uint8_t { Input, Number, Step };
        Kind kind = Kind::Input;
        std::uint32_t index = 0;  ///< among those of its kind
    };

    /// `dimensions` as in RowProgramDesc::inputs.
    [[nodiscard]] Value input(std::uint32_t dimensions);
    /// One that has the same bits is taken again.
    [[nodiscard]] Value number(float number);
    [[nodiscard]] Value step(std::variant<ElementwiseOperation, RowOperation> operation, std::vector<Value> operands);
    [[nodiscard]] std::size_t steps() const { return steps_.size(); }

    /// With the bits of plan_softmax, of rows of x.
    [[nodiscard]] Value softmax(Value x, bool logarithm);
    /// With the bits of plan_normalize without scale and bias.
    [[nodiscard]] Value normalized(Value x, NormalizeRule rule, std::uint32_t columns, float epsilon);
    /// Likewise, before RowOperation::Result.
    [[nodiscard]] Value deviation_product(Value x, NormalizeRule rule, std::uint32_t columns, float epsilon);
    /// With the bits of plan_reduce.
    [[nodiscard]] Value reduced(Value x, ReduceOperation operation, std::uint32_t columns);

    /// The last step is the result.
    [[nodiscard]] RowProgramDesc program(std::vector<std::uint32_t> extents, std::uint32_t row) const;

   private:
    struct Step {
        std::variant<ElementwiseOperation, RowOperation> operation{};
        std::vector<Value> operands{};
    };
    std::vector<std::uint32_t> inputs_;
    std::vector<float> numbers_;
    std::vector<Step> steps_;
};

/// These operations as programs, with their configuration. Inputs are in the order of the views.
[[nodiscard]] RowProgramDesc row_program_of(const SoftmaxDesc& desc);
[[nodiscard]] RowProgramDesc row_program_of(const NormalizeDesc& desc);
[[nodiscard]] RowProgramDesc row_program_of(const ReduceDesc& desc);

}  // namespace yolk
