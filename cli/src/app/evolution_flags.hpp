// SPDX-License-Identifier: Apache-2.0
// The flags of EGGROLL's settings, the same for a policy (`yolk train`, `yolk check --run`) and for any other system
// (`yolk system NAME optimize` and `ablate`).
#pragma once

#include <string>

#include "app.hpp"
#include "yolk/internal/evolve/options.hpp"

namespace yolk::cli {

/// What a command calls the things that the settings are about.
struct EvolutionWords {
    std::string members;     ///< "Members", "Candidates"
    std::string generation;  ///< "generation", "step"
    std::string freeze;      ///< what --freeze names
};

/// All but the episodes, which only a policy has. Defaults are the values at hand; their limits are evolve::validate's.
template <class Options>
void add_evolution_flags(App& app, Options& evolution, const EvolutionWords& words);

}  // namespace yolk::cli
