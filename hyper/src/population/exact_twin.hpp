// SPDX-License-Identifier: Apache-2.0
// A population without a device: every equation by its exact twin, with the bits of a device in exact mode. It judges
// between devices that disagree, and is what a pool's workers without a device run.
#pragma once

#include "candidates.hpp"
#include "host_calls.hpp"

namespace yolk::hyper::population {

/// What it is given must outlive it. Threads may share it.
class PopulationTwin {
   public:
    PopulationTwin(HostPool* pool, const ExampleSet& examples, bool mean_outputs = false)
        : pool_(pool), examples_(&examples), mean_outputs_(mean_outputs) {}
    /// Some of the candidates. Errors of host functions are per candidate. `memory` may be null.
    [[nodiscard]] Result<PopulationOutputs> evaluate(const Question& question, const evolve::MemberRange& part,
                                                     HostMemory* memory) const;

   private:
    HostPool* pool_;
    const ExampleSet* examples_;
    bool mean_outputs_;
};

}  // namespace yolk::hyper::population
