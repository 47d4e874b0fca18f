// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// The group `bench`, with one subcommand per thing that can be timed.
[[nodiscard]] Command add_bench_command(App& app);

}  // namespace yolk::cli
