// SPDX-License-Identifier: Apache-2.0
#include "training/report.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>
#include <string>
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
    return all;
}

/// Generations counted from 0; scores that are not finite are gaps.
std::string returns_picture(const std::vector<double>& generations, const std::vector<double>& means,
                            const std::vector<double>& policies) {
    std::vector<tasks::LearningLog> logs(1);
    logs[0].name = "Returns";
    for (std::size_t i = 0; i < generations.size(); ++i) {
        logs[0].points.push_back({.generation = static_cast<std::uint64_t>(generations[i]) + 1,
                                  .mean = means.at(i),
                                  .policy = policies.at(i)});
    }
    return tasks::learning_plot(logs, tasks::LearningAxis::Generation);
}

}  // namespace

void bind_report(nb::module_& module) {
    module.def("report", &write_report, nb::arg("runs"), nb::arg("page"), nb::arg("threads"));
    module.def("returns_picture", &returns_picture, nb::arg("generations"), nb::arg("means"), nb::arg("policies"));
}

}  // namespace yolk::python
