// SPDX-License-Identifier: Apache-2.0
// Environments that Python steps, as the library's environments on the host.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <optional>

#include "yolk/host_environment.hpp"

namespace yolk::python {
namespace nb = nanobind;

/// What an environment raised, until the library has ended its work because of it. Any thread.
class RaisedInside {
   public:
    /// Needs the interpreter's lock. The first is kept.
    void keep(nb::python_error&& error);
    /// Throws it. Needs the interpreter's lock.
    void raise_if_any();

   private:
    std::mutex one_at_a_time_;
    std::optional<nb::python_error> error_;
};

/// Each of `objects` has `told`, a dict (name, lanes, observations, actions, max_steps, solved_return), `reset(seeds)`
/// and `step(actions, live)` (yolk/_gymnasium/environment.py). They may be called on any thread. `raised` must outlive
/// them.
[[nodiscard]] train::HostEnvironments environments_of(const nb::list& objects, RaisedInside& raised);

}  // namespace yolk::python
