// SPDX-License-Identifier: Apache-2.0
#include "search_generations.hpp"

namespace yolk::hyper {
namespace {

Result<void> keep_state(SystemObjective& objective, const SearchGenerations& search) {
    if (objective.options().checkpoint.empty()) return {};
    YOLK_TRY(const evolve::EvolutionState state, search.state());
    return objective.save_checkpoint(state);
}

Result<void> make_generations(SystemObjective& objective, SearchGenerations& search) {
    while (true) {
        const Perturbations candidates = search.candidates();
        YOLK_TRY(const std::optional<GenerationReport> report, search.make(candidates));
        if (!report || !objective.report(*report, candidates)) return keep_state(objective, search);
        if (objective.checkpoint_due(search.done())) YOLK_TRY_VOID(keep_state(objective, search));
    }
}

}  // namespace

Result<void> run_generations(SystemObjective& objective, SearchGenerations& search) {
    const Result<void> done = make_generations(objective, search);
    const Result<void> settled = objective.settle();
    return done ? settled : done;
}

}  // namespace yolk::hyper
