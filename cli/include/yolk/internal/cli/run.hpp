// SPDX-License-Identifier: Apache-2.0
// The `yolk` command as a function.
#pragma once

namespace yolk::cli {

/// Runs the command line and returns the exit code: 0 good, 1 failed work or a failed check, 2 bad input. Errors go to
/// standard error as "yolk: error: <message>"; standard output holds results only.
[[nodiscard]] int run(int argc, const char* const* argv);

}  // namespace yolk::cli
