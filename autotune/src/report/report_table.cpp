// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "yolk/internal/autotune/report.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/oracle/named_problem.hpp"

namespace yolk::autotune {
namespace {

/// A shape that can be made here.
struct ProblemHere {
    const DeviceInfo* device = nullptr;
    std::unique_ptr<oracle::Problem> problem;
    KnownShape known;
};

std::optional<ProblemHere> problem_here(const TuningKey& key, std::span<const DeviceInfo> devices) {
    const auto device =
        std::ranges::find_if(devices, [&](const DeviceInfo& info) { return device_key(info) == key.device; });
    if (device == devices.end()) return std::nullopt;
    auto problem = oracle::make_shape_problem(key.family, key.shape);
    if (!problem) return std::nullopt;
    KnownShape known{(*problem)->space(*device), (*problem)->default_configuration(*device)};
    return ProblemHere{&*device, *std::move(problem), std::move(known)};
}

Result<void> add_pipelines(ReportedTime& time, const ProblemHere& here, const PlanInspector& inspect) {
    YOLK_TRY(const InspectedPlan plan, inspect(*here.device, *here.problem, time.values));
    if (!plan.refused.empty()) return unsupported(plan.refused);
    for (const PipelineReport& report : plan.pipelines) {
        if (!report.refused.empty()) return unsupported(report.refused);
        for (const PipelineExecutable& executable : report.executables) {
            time.pipelines.push_back({.kernel = report.kernel,
                                      .subgroup_size = executable.subgroup_size,
                                      .figures = pipeline_figures(*here.device, report, executable)});
        }
    }
    return {};
}

void add_all_pipelines(ShapeReport& shape, const ProblemHere& here, const PlanInspector& inspect) {
    if (!inspect || !here.device->features.pipeline_statistics) return;
    for (ReportedTime& time : shape.times) {
        if (time.values.size() != here.known.space.knobs().size()) continue;
        if (const Result<void> added = add_pipelines(time, here, inspect); !added) {
            shape.notes.push_back(fmt::format("What the compiler makes of the configuration '{}' is not known: {}",
                                              shown(time.name), added.error().message));
        }
    }
}

}  // namespace

Result<std::vector<ShapeReport>> table_reports(const TuningFile& file, std::span<const DeviceInfo> devices,
                                               const PlanInspector& inspect) {
    YOLK_TRY(const std::vector<TuningKey> keys, file.keys());
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    YOLK_TRY(const std::vector<Quarantined> quarantined, file.quarantined());
    std::vector<ShapeReport> reports;
    for (const TuningKey& key : keys) {
        YOLK_TRY(const std::vector<TuningSample> samples, file.samples(key));
        const auto choice = std::ranges::find(choices, key, &TuningChoice::key);
        const std::optional<ProblemHere> here = problem_here(key, devices);
        reports.push_back(shape_report(key, samples, quarantined, choice == choices.end() ? nullptr : &*choice,
                                       here ? &here->known : nullptr));
        if (here) add_all_pipelines(reports.back(), *here, inspect);
    }
    return reports;
}

}  // namespace yolk::autotune
