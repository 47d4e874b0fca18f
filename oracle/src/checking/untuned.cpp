// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/oracle/untuned.hpp"

#include "yolk/internal/primitives/alternatives.hpp"

namespace yolk::oracle {

Result<Configuration> untuned_configuration(const Device& device, const Problem& problem) {
    const DeviceInfo info = device.usable_info();
    const Configuration heuristic = problem.default_configuration(info);
    Configuration taken = heuristic;
    const auto plan = [&](const Configuration& configuration) {
        taken = configuration;
        return problem.plan(device, configuration);
    };
    const Result<std::unique_ptr<PlannedProblem>> planned =
        or_alternative(problem.space(info), heuristic, plan(heuristic), plan);
    if (planned) return taken;
    if (planned.error().kind == ErrorKind::DeviceLost) return planned.error();
    return heuristic;
}

}  // namespace yolk::oracle
