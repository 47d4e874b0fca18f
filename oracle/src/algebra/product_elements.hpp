// SPDX-License-Identifier: Apache-2.0
// Elements of products of matrices: the oracles and twins of matmul and matmul_i8 on one row and one column, and where
// in a view they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/internal/oracle/element_oracle.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"
#include "yolk/matmul.hpp"
#include "yolk/matmul_i8.hpp"

namespace yolk::oracle {

/// `desc` without kDense, `buffers` its problem's, which must outlive it. Null where there are none, where they
/// are not one behind the other in out, lie within an inner batch, or are more than sums and a residual: then the whole
/// oracle is the only one.
[[nodiscard]] std::unique_ptr<const ElementOracle> product_elements(const MatmulDesc& desc,
                                                                    std::span<const ProblemBuffer> buffers);
[[nodiscard]] std::unique_ptr<const ElementOracle> product_elements(const MatmulI8Desc& desc,
                                                                    std::span<const ProblemBuffer> buffers);

/// Calls visit(place in out's view, number of the element) for all elements of out. `desc` has no kDense left.
template <class Desc, class Visit>
void for_each_of_out(const Desc& desc, Visit visit) {
    std::size_t number = 0;
    for (std::uint32_t z = 0; z < desc.batch; ++z) {
        for (std::uint32_t row = 0; row < desc.m; ++row) {
            for (std::uint32_t column = 0; column < desc.n; ++column)
                visit(reference::out_element(desc, z, row, column), number++);
        }
    }
}
/// Dense values of out, each where it lies among the `extent` elements of its view.
template <class Desc>
[[nodiscard]] std::vector<Bounded> in_place(const Desc& desc, const std::vector<Bounded>& dense, std::size_t extent) {
    std::vector<Bounded> values(extent);
    for_each_of_out(desc, [&](std::size_t place, std::size_t number) { values[place] = dense[number]; });
    return values;
}
/// Expected::kept of out: what lies between its rows.
template <class Desc>
[[nodiscard]] std::vector<bool> kept_by(const Desc& desc, std::size_t extent) {
    std::vector<bool> kept(extent, true);
    for_each_of_out(desc, [&](std::size_t place, std::size_t /*number*/) { kept[place] = false; });
    return kept;
}

/// What rounding to 16 bits adds to a tolerance: half a step of the format, of its last place (2^-11 or 2^-8 of the
/// number) or of its denormals. `value` with its tolerance is the fp32 result's.
[[nodiscard]] double rounding_of_half(FloatFormat format, const Bounded& value) noexcept;

}  // namespace yolk::oracle
