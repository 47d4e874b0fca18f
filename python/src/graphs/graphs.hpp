// SPDX-License-Identifier: Apache-2.0
// Graphs for Python: traced, run, shown, and turned into other graphs.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "yolk/graph.hpp"

namespace yolk::python {

/// Immutable; threads share it.
struct RawGraph {
    std::shared_ptr<const hyper::Graph> graph{};
    /// Groups that searches change: what is shown then says where equations run. Empty: not shown.
    std::vector<std::string> varying{};

    static RawGraph of(hyper::Graph graph) { return {std::make_shared<const hyper::Graph>(std::move(graph)), {}}; }
};

/// A value of this type, of anything that is one: lists for tensors, whole numbers for numbers. Throws Raised, with
/// `what`, what was given, and the type.
[[nodiscard]] hyper::Value value_as(nanobind::handle object, const hyper::ValueType& type, const std::string& what);

void bind_graphs(nanobind::module_& module);
void bind_transforms(nanobind::class_<RawGraph>& c);

}  // namespace yolk::python
