// SPDX-License-Identifier: Apache-2.0
// Products: d(a b) = da b + a db, and the transposed products back.
#include <array>

#include "derivatives.hpp"

namespace yolk::hyper {
namespace {

std::vector<Tangent> push_bilinear(Site& site, Tangents operands) {
    EquationWriter& emit = site.emit;
    const std::string_view name = site.equation.operation->name;
    Tangent moved;
    if (operands[0]) moved = emit(name, {*operands[0], site.operands[1]});
    if (operands[1]) {
        const Atom second = emit(name, {site.operands[0], *operands[1]});
        moved = moved ? emit.add(*moved, second) : second;
    }
    return {moved};
}

std::vector<Tangent> pull_matmul(Site& site, Tangents results, const std::vector<bool>& wanted) {
    EquationWriter& emit = site.emit;
    const Atom &a = site.operands[0], &b = site.operands[1], &t = *results[0];
    std::vector<Tangent> moved(2);
    if (wanted[0]) moved[0] = gathered_back(emit, emit("matmul", {t, emit.transposed(b)}), site.type(0));
    if (wanted[1]) moved[1] = gathered_back(emit, emit("matmul", {emit.transposed(a), t}), site.type(1));
    return moved;
}

/// [rows, columns] of a tensor seen along its last dimension.
Atom as_rows(EquationWriter& emit, const Atom& x) {
    const Shape shape = emit.shape(x);
    if (emit.failed() || shape.rank() == 2) return x;
    const std::uint64_t columns = shape[shape.rank() - 1];
    std::uint64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
    return emit.reshape(x, {rows, columns});
}

template <bool kTransposed>
std::vector<Tangent> pull_linear(Site& site, Tangents results, const std::vector<bool>& wanted) {
    EquationWriter& emit = site.emit;
    const Atom &weight = site.operands[0], &x = site.operands[1], &t = *results[0];
    std::vector<Tangent> moved(2);
    if (wanted[0]) {
        // [out, in]: rows of what is on the weight's side of out, times rows of what is on that of in.
        const Atom out = as_rows(emit, kTransposed ? x : t), in = as_rows(emit, kTransposed ? t : x);
        moved[0] = emit("matmul", {emit.transposed(out), in});
    }
    if (wanted[1]) moved[1] = emit(kTransposed ? "linear" : "linear_transposed", {weight, t});
    return moved;
}

constexpr std::array kMatrixDerivatives{
    Derivative{"matmul", push_bilinear, pull_matmul},
    Derivative{"linear", push_bilinear, pull_linear<false>},
    Derivative{"linear_transposed", push_bilinear, pull_linear<true>},
};

}  // namespace

std::span<const Derivative> matrix_derivatives() noexcept { return kMatrixDerivatives; }

}  // namespace yolk::hyper
