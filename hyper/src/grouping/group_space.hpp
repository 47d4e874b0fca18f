// SPDX-License-Identifier: Apache-2.0
// Where the elements of equations lie that one kernel may compute together: in one space of members, examples and
// dimensions that all their shapes are cut from. Where one of them works along rows, values are elements of the space,
// or one for each row.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "placement.hpp"

namespace yolk::hyper::population {

struct PlacedExamples {
    const Graph& graph;
    const PlacedGraph& placed;
    std::uint32_t count = 1;
    IsUniform is_uniform;
};

/// What an equation is to a kernel that computes several.
enum class Part : std::uint8_t {
    None,       ///< a kernel of its own
    Renaming,   ///< the same elements in another shape, or repeated
    Element,    ///< elementwise
    Reduction,  ///< of rows, one value each
    Row,        ///< of rows, an element for each of theirs: softmax, normalization
};
[[nodiscard]] Part part_of(const Equation& equation);

class GroupSpace {
   public:
    /// Nothing where the equations have no such space. The last one's result is the group's.
    [[nodiscard]] static std::optional<GroupSpace> of(const PlacedExamples& examples,
                                                      std::span<const std::size_t> equations);

    /// Members (1), examples, those of tensors; outermost first.
    [[nodiscard]] const std::vector<std::uint32_t>& extents() const { return extents_; }
    [[nodiscard]] bool has_rows() const { return rows_.columns > 0; }
    [[nodiscard]] std::uint32_t columns() const { return static_cast<std::uint32_t>(rows_.columns); }
    /// Rows lie along this dimension; 0 if there are no rows.
    [[nodiscard]] std::uint32_t row() const;
    /// Of a shape that is one element for each row.
    [[nodiscard]] bool is_of_rows(const Shape& shape) const;
    /// Bit d where `from`, repeated to `to`, moves along the space's dimension d; members and examples left out.
    /// Nothing where it moves along a part of each row.
    [[nodiscard]] std::optional<std::uint32_t> dimensions(const Shape& from, const Shape& to) const;
    /// Those of a value that is one for each row and the same for none.
    [[nodiscard]] std::uint32_t dimensions_of_rows() const;

   private:
    /// Elements of an example, of a row, and between two of a row.
    struct Rows {
        std::uint64_t elements = 0, columns = 0, inner = 0;
        [[nodiscard]] std::uint64_t end() const { return inner * columns; }
        friend bool operator==(const Rows&, const Rows&) = default;
    };
    [[nodiscard]] static std::optional<Rows> rows_of(const Graph& graph, const Equation& equation);
    bool find_rows(const Graph& graph, std::span<const std::size_t> equations);
    bool add(const Shape& shape);
    bool lay_out(std::uint32_t examples);
    [[nodiscard]] std::uint32_t dimension(std::size_t product) const;

    Rows rows_;
    std::set<std::uint64_t> cuts_;
    std::vector<std::uint64_t> products_;  // of the last extents: ascending, from 1
    std::vector<std::uint32_t> extents_;
};

}  // namespace yolk::hyper::population
