// SPDX-License-Identifier: Apache-2.0
// Products that read their operands, and write their results, where equations that move elements would have put them:
// those move nothing then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement.hpp"
#include "strided_view.hpp"
#include "yolk/matmul.hpp"

namespace yolk::hyper::population {

/// Where the elements of one variable lie among those of another one.
struct VariableView {
    VariableId in{};
    std::uint64_t elements = 0;  ///< of that one
    StridedView view{};
};
struct ProductViews {
    /// By variable: what is read in another one, and never made; of a product what is written into another one.
    std::vector<std::optional<VariableView>> read, written;
    std::vector<bool> is_idle;  ///< by equation: it moves nothing
};

/// A product of matrices for all members and examples, as its rule sees it.
struct ProductEquation {
    const Operand &a, &b;
    Shape out{};
    bool per_example = false;  ///< of out
    std::uint32_t members = 1;
    std::uint32_t examples = 1;
    /// Matrices that lie in one stride, in each operand and in out; groups of them lie in another one.
    std::uint64_t inner = 1;

    /// One matrix b for all members, or for each of them: a's matrices are one tall matrix.
    [[nodiscard]] bool is_tall() const;
    [[nodiscard]] std::uint64_t leading() const;  ///< matrices of out, of one member and example
    /// The view's variable, of all members and examples.
    [[nodiscard]] StridedRun all_of(const VariableView& view) const;
    /// What `inner` may be: those of one member and example, or along the last of their dimensions alone.
    [[nodiscard]] std::array<std::uint64_t, 2> inner_choices() const;
    /// With the first choice that `fits`.
    template <class Fits>
    [[nodiscard]] std::optional<ProductEquation> with_inner(Fits fits) const {
        for (const std::uint64_t choice : inner_choices()) {
            ProductEquation chosen = *this;
            chosen.inner = choice;
            if (fits(chosen)) return chosen;
        }
        return {};
    }
};
/// How operand 0 or 1 lies where a view has it. Nothing where its rows, its matrices or their groups do not lie in
/// strides, or where it has to be repeated.
[[nodiscard]] std::optional<MatrixLayout> operand_layout(const ProductEquation& product, std::size_t operand,
                                                         const VariableView& view);
/// The same of out. A transposed one is the product of the transposed operands, in the other order.
[[nodiscard]] std::optional<MatrixLayout> out_layout(const ProductEquation& product, const VariableView& view);

/// What decides, as ElementQuestion.
struct ProductQuestion {
    const Graph& graph;
    const PlacedGraph& placed;
    std::span<const Source> sources;
    IsUniform is_uniform;
    std::uint32_t examples = 1;
    /// By equation: those of one number are in one phase and may be left out together.
    std::span<const std::size_t> places;
    /// By equation: another one's kernel computes it.
    const std::vector<bool>& joined;
    /// By variable: something else than an equation on the device takes it.
    const std::vector<bool>& taken;
};
[[nodiscard]] ProductViews find_product_views(const ProductQuestion& question);

}  // namespace yolk::hyper::population
