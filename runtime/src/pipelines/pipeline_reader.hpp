// SPDX-License-Identifier: Apache-2.0
// Asks a driver what its compiler made of a pipeline.
#pragma once

#include <volk.h>

#include <vector>

#include "device_context.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/runtime/pipeline_report.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Of a pipeline that was made with the flags of `capture`, on a device with the extension enabled. Errors: driver.
[[nodiscard]] Result<std::vector<PipelineExecutable>> read_executables(const DeviceContext& context,
                                                                       VkPipeline pipeline, PipelineCapture capture);

/// What the flags of vkCreateComputePipelines add for it.
[[nodiscard]] VkPipelineCreateFlags capture_flags(PipelineCapture capture) noexcept;

}  // namespace yolk
