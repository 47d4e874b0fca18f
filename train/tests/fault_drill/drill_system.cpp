// SPDX-License-Identifier: Apache-2.0
// The drill's search over a system, which makes its steps as a policy's run makes its generations.
#include <cstdio>
#include <optional>

#include "drill_child.hpp"
#include "learning_systems.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/optimize.hpp"

namespace yolk::train {

Result<std::string> drill_system(const std::filesystem::path& out, bool resume, const Strike& strike) {
    hyper::Task task = hyper::rotation_task(1);
    evolve::Devices devices;
    std::optional<Dispatcher> dispatcher;
    if (strike.devices.size() > 1) {
        YOLK_TRY(devices,
                 evolve::DevicePool::create(strike.devices, {.hang_limit = strike.hang_limit, .audit = strike.audit}));
    } else {
        YOLK_TRY(dispatcher, Dispatcher::create(strike.devices.front(), {.hang_limit = strike.hang_limit}));
        devices = *dispatcher;
    }
    task.system.use(strike.exchange != nullptr ? devices.with(*strike.exchange) : devices);
    hyper::OptimizeOptions options{.evolution = {.population = 64,
                                                 .sigma = 0.5F,
                                                 .learning_rate = 0.5F,
                                                 .optimizer = OptimizerRule::Momentum,
                                                 .seed = 5},
                                   .generations = 8};
    options.checkpoint = out / "checkpoint.yolk";
    options.checkpoint_every = 3;
    options.run_log = out / "log.yolk";
    options.resume = resume;
    if (strike.on_generation) {
        options.on_generation = [&](const hyper::GenerationReport& report) {
            strike.on_generation(report.generation + 1);
            return true;
        };
    }
    YOLK_TRY(const hyper::OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
    for (const std::string& note : outcome.notes)
        std::printf("%s: %s\n", note.find("dropped") == std::string::npos ? "note" : "dropped", note.c_str());
    return outcome.state_hash;
}

}  // namespace yolk::train
