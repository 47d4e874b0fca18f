// SPDX-License-Identifier: Apache-2.0
// Environments that Python steps, as the library's environments on the host.
#pragma once

#include <nanobind/nanobind.h>

#include "tracing/callables.hpp"
#include "yolk/host_environment.hpp"

namespace yolk::python {
namespace nb = nanobind;

/// Each of `objects` has `told`, a dict (name, lanes, observations, actions, max_steps, solved_return), `reset(seeds)`
/// and `step(actions, live)` (yolk/_gymnasium/environment.py). They may be called on any thread. `raised` keeps what
/// they raise, and must outlive them.
[[nodiscard]] train::HostEnvironments environments_of(const nb::list& objects, Callback& raised);

}  // namespace yolk::python
