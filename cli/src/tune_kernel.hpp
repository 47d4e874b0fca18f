// SPDX-License-Identifier: Apache-2.0
// `yolk tune --kernel`: the same search on a compute shader of the user's own (docs/own_kernels.md).
#pragma once

#include <string>

#include "options.hpp"
#include "tune_live.hpp"

namespace yolk::cli {

struct KernelFlags {
    std::string kernel;
    std::string space;
    std::string out{};          ///< --out, which is the command's
    float hang_seconds = 0.0F;  ///< 0: the dispatcher's own
};

void add_kernel_flags(App& app, KernelFlags& flags);
/// Of `live`: strategy, budget, seed, seconds, again, record.
[[nodiscard]] Result<int> tune_kernel(const KernelFlags& flags, const LiveFlags& live, const CommonFlags& common);

}  // namespace yolk::cli
