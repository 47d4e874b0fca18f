// SPDX-License-Identifier: Apache-2.0
// Equations whose bodies call host functions: on the pool, as those calls would be, so that loops of several examples
// or candidates wait at the same time.
#pragma once

#include <vector>

#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {

/// Whether bodies of the equation call host functions, none of which limits how many of its calls run at once.
[[nodiscard]] bool calls_from_bodies(const Equation& equation);
/// The equation as a host function of its operands; its results are a record. It has no name: its errors are those of
/// the equation, and nobody counts it.
[[nodiscard]] HostFunctionPtr as_host_function(const Equation& equation);
[[nodiscard]] std::vector<Value> results_of(const Value& record);

/// While it lives, host functions that this thread calls give their stand-ins (a dry run), those in bodies as well.
class DryRun {
   public:
    explicit DryRun(bool is_dry) noexcept;
    ~DryRun();
    DryRun(const DryRun&) = delete;
    DryRun& operator=(const DryRun&) = delete;
    [[nodiscard]] static bool is_on() noexcept;

   private:
    bool before_;
};

}  // namespace yolk::hyper
