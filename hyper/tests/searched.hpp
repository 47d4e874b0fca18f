// SPDX-License-Identifier: Apache-2.0
// A search and the parameters that it ended with.
#pragma once

#include <functional>
#include <vector>

#include "learning_systems.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {

using MakeTask = std::function<Task()>;
/// Matrices of rank 1, of rank 2, and numbers on the host.
inline std::vector<MakeTask> small_tasks() {
    return {[] { return xor_task(); }, [] { return rotation_task(); }, [] { return temperature_task(); }};
}

struct Searched {
    OptimizeOutcome outcome;
    std::vector<float> values;
};
/// On whatever the system uses.
inline Result<Searched> optimized(Task& task, const OptimizeOptions& options) {
    Searched searched;
    YOLK_TRY(searched.outcome, task.system.optimize(task.examples, task.metric, options));
    for (const ParameterGroup& group : task.system.parameters().groups())
        searched.values.insert(searched.values.end(), group.values.values().begin(), group.values.values().end());
    return searched;
}
/// On the pool, or else on the first device; the first two examples are the held-out ones, too.
inline Result<Searched> search(Task task, OptimizeOptions options, evolve::DevicePool* devices = nullptr) {
    if (devices != nullptr) {
        task.system.use(*devices);
    } else {
        task.system.use(yolk::testing::first_device().dispatcher);
    }
    const std::vector<Example> held_out(task.examples.begin(), task.examples.begin() + 2);
    options.held_out = held_out;
    return optimized(task, options);
}

inline OptimizeOptions few_generations(std::uint32_t steps = 6) {
    return {.evolution = {.population = 32, .sigma = 0.5F, .learning_rate = 0.5F, .optimizer = OptimizerRule::Adam},
            .generations = steps};
}

}  // namespace yolk::hyper
