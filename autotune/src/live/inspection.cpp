// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/inspection.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace yolk::autotune {

Result<InspectedPlan> inspect_plan(const Device& device, const oracle::Problem& problem,
                                   const Configuration& configuration) {
    YOLK_TRY(const TemporaryPipelines temporary, TemporaryPipelines::begin(device));
    return inspect_new_pipelines(device, problem, configuration);
}

Result<InspectedPlan> inspect_new_pipelines(const Device& device, const oracle::Problem& problem,
                                            const Configuration& configuration) {
    static_cast<void>(device.take_pipeline_reports());  // of the probes, say
    const Result<std::unique_ptr<oracle::PlannedProblem>> plan = problem.plan(device, configuration);
    InspectedPlan inspected{.pipelines = device.take_pipeline_reports()};
    if (plan) return inspected;
    const ErrorKind kind = plan.error().kind;
    if (kind == ErrorKind::DeviceLost || kind == ErrorKind::Cancelled) return plan.error();
    if (std::ranges::all_of(inspected.pipelines, &std::string::empty, &PipelineReport::refused))
        inspected.refused = plan.error().message;
    return inspected;
}

}  // namespace yolk::autotune
