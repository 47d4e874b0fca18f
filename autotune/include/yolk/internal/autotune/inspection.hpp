// SPDX-License-Identifier: Apache-2.0
// What the driver's compiler made of the pipelines of a plan. Nothing is run, so that a device will do which compiles
// kernels and executes none.
#pragma once

#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/runtime/pipeline_report.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

struct InspectedPlan {
    std::vector<PipelineReport> pipelines{};  ///< in the order in which the plan makes them; the last may be refused
    std::string refused{};  ///< why there is no plan although no driver refused a pipeline; else empty
};

/// Makes the plan, with pipelines that end with this call; each is compiled, though an earlier plan had the same.
/// `device`: opened with DeviceOptions::pipeline_capture; one thread at a time. Errors: a lost device, a caller who
/// asked for an end (CompileWatch). What a plan or the driver refuses is part of the answer.
[[nodiscard]] Result<InspectedPlan> inspect_plan(const Device& device, const oracle::Problem& problem,
                                                 const Configuration& configuration);

/// The same for a caller who has begun temporary pipelines: what an earlier plan had is not compiled again, and is not
/// part of the answer.
[[nodiscard]] Result<InspectedPlan> inspect_new_pipelines(const Device& device, const oracle::Problem& problem,
                                                          const Configuration& configuration);

}  // namespace yolk::autotune
