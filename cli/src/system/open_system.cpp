// SPDX-License-Identifier: Apache-2.0
#include "open_system.hpp"

#include <vector>

#include "ranks.hpp"
#include "select_device.hpp"
#include "yolk/internal/hyper/state_file.hpp"

namespace yolk::cli {
namespace {

/// Of this rank, where there are others.
Result<std::vector<Device>> open_its_devices(const SystemFlags& flags) {
    return ranks() == nullptr ? open_devices(flags.devices, flags.common)
                              : open_devices_of_rank(flags.devices, flags.common, *ranks());
}

Result<void> open_pool(OpenSystem& open, const SystemFlags& flags, const evolve::EvolutionOptions& options) {
    YOLK_TRY(const std::vector<Device> devices, open_its_devices(flags));
    const bool audits_alone = flags.devices == "all";  // however many of them could be opened
    if (devices.size() == 1 && flags.audit > 0.0 && !audits_alone) {
        return bad_input("--audit {} needs a second device to evaluate candidates again; --devices gives only {}.",
                         flags.audit, devices.front().info().name);
    }
    if (speaks_for_ranks()) open.remember.emplace(devices);
    YOLK_TRY(evolve::DevicePool pool, evolve::DevicePool::create(devices, {.determinism = options.determinism,
                                                                           .audit = flags.audit,
                                                                           .audits_alone = audits_alone,
                                                                           .seed = options.seed}));
    const evolve::Devices together(std::move(pool));
    open.task.system->use(ranks() == nullptr ? together : together.with(*ranks()));
    return {};
}

Result<void> open_one(OpenSystem& open, const SystemFlags& flags) {
    Result<Context> context = open_context(flags.common);
    // A system without tensor work needs none; one that does says so when it comes to it.
    if (!context && flags.common.device.empty()) return {};
    if (!context) return std::move(context).error();
    open.remember.emplace(context->device());
    open.task.system->use(*context);
    return {};
}

}  // namespace

Option* add_load_flag(App& app, SystemFlags& flags) {
    return app.add_option("--load", flags.load, "Begin with the parameters of this file")->type_name("FILE");
}

void add_system_flags(App& app, SystemFlags& flags) {
    add_device_flag(app, flags.common);
    add_output_flags(app, flags.common);
    add_load_flag(app, flags);
}

void add_population_flags(App& app, PopulationFlags& flags) {
    const Option* const devices = add_devices_flag(app, flags.devices);
    add_number(app, "--audit", flags.audit,
               "Share of the candidates, 0 to 1, that a second device evaluates again; one that computes wrongly is "
               "dropped")
        ->default_str("0")
        ->only(with(devices));
}

Result<std::unique_ptr<OpenSystem>> open_system(const MakeSystemTask& make, const SystemFlags& flags,
                                                const evolve::EvolutionOptions& options, bool calls) {
    auto open = std::make_unique<OpenSystem>();
    YOLK_TRY(open->task, make());
    const bool is_pooled = !flags.devices.empty() || ranks() != nullptr;
    if (flags.on_host) {
        open->task.system->use(evolve::Devices::none());
    } else {
        YOLK_TRY_VOID(is_pooled ? open_pool(*open, flags, options) : open_one(*open, flags));
    }
    if (open->task.examples.empty()) return bad_input("The system has no examples, so there is nothing to do.");
    // Registers what the function calls.
    if (calls || !flags.load.empty()) YOLK_TRY_VOID(open->task.system->trace(open->task.examples.front(), 0));
    if (!flags.load.empty()) YOLK_TRY_VOID(hyper::load_state(*open->task.system, flags.load));
    return open;
}

}  // namespace yolk::cli
