// SPDX-License-Identifier: Apache-2.0
#include "counts_in_force.hpp"

#include "models_in_force.hpp"

namespace yolk::hyper {

ModelCounts counts_in_force() {
    ModelCounts sum;
    for (const ModelLayer* layer = models_in_force().get(); layer != nullptr; layer = layer->beneath.get()) {
        const ModelCounts counts = layer->models.counts();
        sum.calls += counts.calls;
        sum.failed += counts.failed;
        sum.from_cache += counts.from_cache;
        sum.prompt_tokens += counts.prompt_tokens;
        sum.completion_tokens += counts.completion_tokens;
        sum.cost += counts.cost;
    }
    return sum;
}

ModelCounts operator-(const ModelCounts& now, const ModelCounts& before) {
    return {.calls = now.calls - before.calls,
            .failed = now.failed - before.failed,
            .from_cache = now.from_cache - before.from_cache,
            .prompt_tokens = now.prompt_tokens - before.prompt_tokens,
            .completion_tokens = now.completion_tokens - before.completion_tokens,
            .cost = now.cost - before.cost};
}

}  // namespace yolk::hyper
