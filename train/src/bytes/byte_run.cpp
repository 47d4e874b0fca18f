// SPDX-License-Identifier: Apache-2.0
#include "byte_run.hpp"

#include "byte_step.hpp"

namespace yolk::train {

ByteStart beginning_of(const ByteSetup& setup) {
    return {.weights = setup.initial,
            .residual = std::vector<float>(setup.settings.feedback == 0 ? 0 : setup.initial.size(), 0.0F)};
}

Result<evolve::Evolution> byte_evolution(const evolve::Devices& devices, const Device& device, Dispatcher& dispatcher,
                                         const ByteSetup& setup, const ByteStart& start, const SharedBytes& text) {
    YOLK_TRY(std::shared_ptr<ByteSums> sums, byte_sums(device, dispatcher, setup));
    evolve::PoolParts parts{.parameters = setup.table, .initial = start.weights};
    const ByteModelDesc desc = byte_members_desc(setup.settings, text ? text->size() : 0);
    parts.members = [desc, text](const Device* on,
                                 Dispatcher* with) -> Result<std::unique_ptr<evolve::MemberEvaluator>> {
        if (!text) return evolve::host_members({});
        if (on == nullptr) return byte_twin_members(desc, text);
        return byte_members(*on, *with, desc, text);
    };
    if (text) parts.judge = byte_twin_members(desc, text);
    parts.stages.update = [sums](const evolve::ShapedGeneration& shaped, const NoiseContext& when) {
        return sums->of(shaped.integer_weights, when);
    };
    parts.stages.optimize = [&setup](const evolve::Stages::Step& step) -> Result<void> {
        step_bytes(setup.settings, setup.table, step.gradient, step.generation, step.parameters, step.state);
        return {};
    };
    parts.digest = true;
    parts.keep_weights = true;
    parts.optimizer_state = start.residual;
    parts.generation = start.generation;
    return evolve::Evolution::create(devices, std::move(parts), setup.evolution);
}

}  // namespace yolk::train
