// SPDX-License-Identifier: Apache-2.0
// Whether the process was asked to end. Whoever catches the signal says so here; long work and long waits look at it.
#pragma once

namespace yolk {

/// May be called by a signal handler.
void request_stop() noexcept;
/// A new piece of work begins, which nobody has asked to end yet.
void clear_stop() noexcept;
[[nodiscard]] bool stop_requested() noexcept;

}  // namespace yolk
