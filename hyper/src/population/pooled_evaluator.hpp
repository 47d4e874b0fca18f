// SPDX-License-Identifier: Apache-2.0
// Populations over a pool of devices: each has an evaluator of its own, and candidates are dealt out to them
// (docs/adr/0019-members-are-dealt.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device_evaluator.hpp"
#include "exact_twin.hpp"
#include "yolk/internal/evolve/device_pool.hpp"

namespace yolk::hyper::population {

/// One thread at a time. After an error it can be used again, with the devices that are left.
class PooledEvaluator {
   public:
    /// What it is given must outlive it. A device that cannot plan the evaluation is dropped. Errors: none is left.
    [[nodiscard]] static Result<std::unique_ptr<PooledEvaluator>> create(evolve::DevicePool& devices, HostPool& pool,
                                                                         const ExampleSet& examples,
                                                                         const PopulationOptions& options);

    /// Errors: no device is left; a mean on a device.
    [[nodiscard]] Result<PopulationOutputs> evaluate(const Question& question);
    /// Plans on every device what this question's candidates need; the value is how many the least device evaluates in
    /// one submission. A device that cannot is dropped. So no rate contains what compiling takes.
    [[nodiscard]] Result<std::uint32_t> warm_up(const Question& question);
    /// Some of the candidates, on a worker's thread, by its device or, where it has none, the exact twin. `memory` may
    /// be null.
    [[nodiscard]] Result<PopulationOutputs> evaluate_on(std::size_t worker, const Question& question,
                                                        const evolve::MemberRange& part, HostMemory* memory);
    [[nodiscard]] const PopulationTwin& twin() const noexcept { return twin_; }
    /// Of any device that is left, which all have the same.
    [[nodiscard]] Result<DeviceEvaluator*> any_device();

   private:
    PooledEvaluator(evolve::DevicePool& devices, HostPool& pool, const ExampleSet& examples, bool mean_outputs)
        : devices_(&devices), examples_(&examples), mean_outputs_(mean_outputs), twin_(&pool, examples, mean_outputs) {}
    using DeviceWork = std::function<Result<void>(std::size_t worker, DeviceEvaluator& evaluator)>;
    /// Calls it for each device, on its thread; those that fail are dropped. Errors: others than a device's.
    [[nodiscard]] Result<void> on_each_device(const DeviceWork& work);

    evolve::DevicePool* devices_;
    const ExampleSet* examples_;
    bool mean_outputs_;
    PopulationTwin twin_;
    std::vector<std::unique_ptr<DeviceEvaluator>> evaluators_;  // by worker; null: it has no device, or was dropped
    /// By key of the questions that all devices are ready for: candidates in one submission, on the least device.
    std::map<std::string, std::uint32_t> per_chunk_;
};

}  // namespace yolk::hyper::population
