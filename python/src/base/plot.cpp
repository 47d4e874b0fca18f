// SPDX-License-Identifier: Apache-2.0
#include "base/plot.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "yolk/internal/evolve/learning_plot.hpp"

namespace yolk::python {

void bind_plot(nanobind::module_& module) {
    module.def(
        "learning_plot",
        [](const std::string& title, bool trained,
           const std::vector<std::tuple<std::uint64_t, double, double>>& points) {
            evolve::LearningLog log{
                .kind = trained ? evolve::LearningLogKind::Training : evolve::LearningLogKind::System, .name = title};
            for (const auto& [generation, mean, policy] : points)
                log.points.push_back({.generation = generation, .mean = mean, .policy = policy});
            return evolve::learning_plot({&log, 1}, evolve::LearningAxis::Generation);
        },
        nanobind::arg("title"), nanobind::arg("trained"), nanobind::arg("points"),
        "What `yolk plot` draws, of points (generation, counted from 1; mean; without perturbation).");
}

}  // namespace yolk::python
