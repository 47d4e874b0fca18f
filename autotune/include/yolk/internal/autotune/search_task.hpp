// SPDX-License-Identifier: Apache-2.0
// What yolk-worker does for tune_user_kernel on CPU drivers (docs/adr/0039).
#pragma once

#include <string_view>

#include "yolk/internal/core/worker.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

inline constexpr std::string_view kSearchTask = "search";
[[nodiscard]] Result<WorkerMessage> search_task(WorkerCall& call);

}  // namespace yolk::autotune
