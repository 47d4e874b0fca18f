// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "options.hpp"

namespace yolk::cli {

/// `yolk bench tuner`: what the tuner's own step costs on the host, and on the device before and after the kernels that
/// it runs on were tuned.
[[nodiscard]] Command add_tuner_bench(CLI::App& bench);

}  // namespace yolk::cli
