// SPDX-License-Identifier: Apache-2.0
// Pipelines of users' code on drivers of the processor: a worker compiles them first, with limits (docs/adr/0039,
// 0060).
#pragma once

#include <span>
#include <string_view>

#include "yolk/device.hpp"
#include "yolk/internal/core/worker.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Call it before Device::pipeline() of a module that a user wrote. On a driver of the processor a worker makes the
/// pipeline and has it compiled to its end, once in a process and, with a folder of the pipeline cache, once for all
/// processes, for each module, its constants and the driver; elsewhere nothing happens, and in a worker neither.
/// Errors: Driver where the driver's compiler ended the worker or passed its limits, else what Device::pipeline() says
/// there, or what call_worker() does.
[[nodiscard]] Result<void> try_foreign_pipeline(const Device& device, const KernelModule& kernel,
                                                std::span<const SpecConstant> constants);

/// What yolk-worker does for it.
inline constexpr std::string_view kPipelineTask = "pipeline";
[[nodiscard]] Result<WorkerMessage> pipeline_task(WorkerCall& call);

}  // namespace yolk
