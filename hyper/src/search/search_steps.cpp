// SPDX-License-Identifier: Apache-2.0
#include "search_steps.hpp"

namespace yolk::hyper {
namespace {

Result<void> keep_state(Objective& objective, const SearchSteps& steps) {
    if (objective.options().checkpoint.empty()) return {};
    YOLK_TRY(const CentreState state, steps.state());
    return objective.save_checkpoint(state);
}

Result<void> make_steps(Objective& objective, SearchSteps& steps) {
    while (true) {
        const Perturbations candidates = steps.candidates();
        YOLK_TRY(const std::optional<StepReport> report, steps.evaluate(candidates));
        const bool goes_on = report && objective.report(*report, candidates);
        YOLK_TRY(const bool stands, steps.stands(report.has_value()));
        if (!stands) continue;
        if (!goes_on) return keep_state(objective, steps);
        YOLK_TRY(const bool is_updated, steps.update());
        if (is_updated && objective.checkpoint_due(steps.done())) YOLK_TRY_VOID(keep_state(objective, steps));
    }
}

}  // namespace

Result<void> run_steps(Objective& objective, SearchSteps& steps) {
    const Result<void> done = make_steps(objective, steps);
    const Result<void> settled = objective.settle();
    return done ? settled : done;
}

}  // namespace yolk::hyper
