// SPDX-License-Identifier: Apache-2.0
// Single elements of products of matrices: the oracles and twins of matmul and matmul_i8 on one row and one column.
#pragma once

#include <memory>
#include <span>

#include "yolk/oracle/element_oracle.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/primitives/matmul.hpp"
#include "yolk/primitives/matmul_i8.hpp"

namespace yolk::oracle {

/// `desc` without kDense, `buffers` its problem's, which must outlive it. Null where there are none, where they
/// are not one behind the other in out, or are more than sums and a residual: then the whole oracle is the only one.
[[nodiscard]] std::unique_ptr<const ElementOracle> product_elements(const MatmulDesc& desc,
                                                                    std::span<const ProblemBuffer> buffers);
[[nodiscard]] std::unique_ptr<const ElementOracle> product_elements(const MatmulI8Desc& desc,
                                                                    std::span<const ProblemBuffer> buffers);

/// What rounding to 16 bits adds to a tolerance: half a step of the format, of its last place (2^-11 or 2^-8 of the
/// number) or of its denormals. `value` with its tolerance is the fp32 result's.
[[nodiscard]] double rounding_of_half(FloatFormat format, const OracleValue& value) noexcept;

}  // namespace yolk::oracle
