// SPDX-License-Identifier: Apache-2.0
#include "training/report.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "yolk/internal/tasks/learning_plot.hpp"
#include "yolk/report.hpp"

namespace yolk::python {
namespace {

namespace nb = nanobind;

nb::dict write_report(const std::vector<std::string>& runs, const std::string& page, std::size_t threads) {
    std::optional<Result<tasks::ReportContents>> contents;
    {
        const Interruptible interruptible;
        const nb::gil_scoped_release released;
        const std::vector<std::filesystem::path> paths(runs.begin(), runs.end());
        contents = tasks::write_report(paths, page,
                                       {.threads = threads, .goes_on = [] { return !Interruptible::requested(); }});
    }
    Interruptible::raise_if_requested();
    const tasks::ReportContents shown = unwrap(std::move(*contents));
    nb::dict all;
    all["page"] = page;
    all["runs"] = shown.runs;
    all["tasks"] = shown.tasks;
    all["searches"] = shown.searches;
    all["prompts"] = shown.prompts;
    all["shapes"] = shown.shapes;
    all["rows"] = shown.rows;
    all["bench_rows"] = shown.bench_rows;
    return all;
}

/// `points`: generation, counted from 1; mean; without perturbation. Scores that are not finite are gaps.
std::string learning_picture(const std::string& title, bool trained,
                             const std::vector<std::tuple<std::uint64_t, double, double>>& points) {
    tasks::LearningLog log{.kind = trained ? tasks::LearningLogKind::Training : tasks::LearningLogKind::System,
                           .name = title};
    for (const auto& [generation, mean, policy] : points)
        log.points.push_back({.generation = generation, .mean = mean, .policy = policy});
    return tasks::learning_plot({&log, 1}, tasks::LearningAxis::Generation);
}

}  // namespace

void bind_report(nb::module_& module) {
    module.def("report", &write_report, nb::arg("runs"), nb::arg("page"), nb::arg("threads"));
    module.def("learning_plot", &learning_picture, nb::arg("title"), nb::arg("trained"), nb::arg("points"),
               "What `yolk plot` draws, of points (generation, counted from 1; mean; without perturbation).");
}

}  // namespace yolk::python
