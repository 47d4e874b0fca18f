// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `bench`: the suite, with one subcommand per part that can be timed by itself.
[[nodiscard]] Command add_bench_command(App& app);

}  // namespace yolk::cli
