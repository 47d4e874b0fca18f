// SPDX-License-Identifier: Apache-2.0
// What yolk-worker does for compile_kernel and compile_environment (docs/adr/0039).
#pragma once

#include <string_view>

#include "yolk/internal/core/worker.hpp"
#include "yolk/result.hpp"

namespace yolk {

inline constexpr std::string_view kCompileTask = "compile";
[[nodiscard]] Result<WorkerMessage> compile_task(WorkerCall& call);

}  // namespace yolk
