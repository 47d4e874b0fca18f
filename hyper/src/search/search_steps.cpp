// SPDX-License-Identifier: Apache-2.0
#include "search_steps.hpp"

namespace yolk::hyper {
namespace {

Result<void> keep_state(SystemObjective& objective, const SearchSteps& steps) {
    if (objective.options().checkpoint.empty()) return {};
    YOLK_TRY(const CentreState state, steps.state());
    return objective.save_checkpoint(state);
}

Result<void> make_steps(SystemObjective& objective, SearchSteps& steps) {
    while (true) {
        const Perturbations candidates = steps.candidates();
        YOLK_TRY(const std::optional<StepReport> report, steps.make(candidates));
        if (!report || !objective.report(*report, candidates)) return keep_state(objective, steps);
        if (objective.checkpoint_due(steps.done())) YOLK_TRY_VOID(keep_state(objective, steps));
    }
}

}  // namespace

Result<void> run_steps(SystemObjective& objective, SearchSteps& steps) {
    const Result<void> done = make_steps(objective, steps);
    const Result<void> settled = objective.settle();
    return done ? settled : done;
}

}  // namespace yolk::hyper
