// SPDX-License-Identifier: Apache-2.0
// Populations on one device: the programs that were asked for, kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "candidates.hpp"
#include "host_calls.hpp"
#include "program.hpp"

namespace yolk::hyper::population {

/// Of what is left of the largest heap, where the driver says so: what a program may take where nobody says.
[[nodiscard]] std::uint64_t quarter_of_the_heap(const Device& device);

/// One thread at a time. After an error it can be used again.
class DeviceEvaluator {
   public:
    /// What it is given must outlive it; `pool` and `memory` may be null, and the dispatcher where nothing runs on a
    /// device. `kept_plans`: for so many numbers of candidates, per program.
    DeviceEvaluator(Dispatcher* dispatcher, HostPool* pool, const ExampleSet& examples,
                    const PopulationOptions& options, std::uint32_t kept_plans)
        : dispatcher_(dispatcher), pool_(pool), examples_(&examples), options_(options), kept_plans_(kept_plans) {}

    /// Errors: no memory for a single candidate.
    [[nodiscard]] Result<Program*> program_for(const Question& question);
    /// Some of the candidates. Errors: the driver's, no memory. Host functions' errors are per candidate.
    [[nodiscard]] Result<PopulationOutputs> evaluate(const Question& question, const evolve::MemberRange& part,
                                                     HostMemory* memory = nullptr);
    /// PopulationEvaluator::evaluate_into.
    [[nodiscard]] Result<PopulationOutputs> evaluate_into(const Question& question, const BufferView& means);
    [[nodiscard]] std::vector<std::string> fallbacks() const;  ///< sorted

   private:
    struct Known {
        std::string key;
        std::unique_ptr<Program> program;
        std::uint64_t version = 0;  ///< of the examples whose data is on the device
    };
    Dispatcher* dispatcher_;
    HostPool* pool_;
    const ExampleSet* examples_;
    PopulationOptions options_;
    std::uint32_t kept_plans_;
    std::vector<Known> programs_;  // the latest last
};

}  // namespace yolk::hyper::population
