// SPDX-License-Identifier: Apache-2.0
#include "derivatives.hpp"

#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {

std::int64_t Site::integer(std::string_view name, std::int64_t otherwise) const {
    if (find_attribute(equation, name) == nullptr) return otherwise;
    return emit.take(integer_attribute(equation, name), otherwise);
}

std::vector<std::int64_t> Site::integers(std::string_view name) const {
    return emit.take(integers_attribute(equation, name));
}

std::size_t Site::dimension() const {
    return static_cast<std::size_t>(integer("dimension", static_cast<std::int64_t>(shape(0).rank()) - 1));
}

std::vector<Tangent> push_same(Site& site, Tangents operands) {
    Equation moved = site.equation;
    moved.operands.clear();
    for (std::size_t i = 0; i < operands.size(); ++i) moved.operands.push_back(or_zero(operands[i], site.type(i)));
    const std::vector<Atom> results = site.emit.all(std::move(moved), site.results.size());
    return {results.begin(), results.end()};
}

std::vector<Tangent> push_nothing(Site& site, Tangents) { return std::vector<Tangent>(site.results.size()); }

}  // namespace yolk::hyper
