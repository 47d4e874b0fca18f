// SPDX-License-Identifier: Apache-2.0
// Each driver call on the way from a plan to its result fails once, where work is cut into many submissions and where a
// family has paths that its smallest problem does not take. All families: family_faults_test.cpp.
#include <functional>
#include <memory>
#include <vector>

#include "yolk/es_update.hpp"
#include "yolk/fitness.hpp"
#include "yolk/internal/abi/fitness_summary.h"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/rollout.hpp"

namespace yolk {
namespace {

using testing::FaultInjector;
using testing::Sweep;

/// Makes the buffers that a path asks for, zeroed, and runs what it binds.
class Bench {
   public:
    static Result<Bench> create(const Device& device) {
        YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
        return Bench(device, std::move(dispatcher));
    }
    [[nodiscard]] const Device& device() const { return *device_; }
    Result<BufferView> buffer(std::uint64_t size_bytes) {
        if (size_bytes == 0) return BufferView{};
        YOLK_TRY(Buffer made, device_->create_buffer({.size_bytes = size_bytes, .label = "of the test"}));
        buffers_.push_back(std::make_unique<Buffer>(std::move(made)));
        const std::vector<std::byte> zeros(size_bytes);
        YOLK_TRY_VOID(dispatcher_.upload(*buffers_.back(), zeros));
        return BufferView{*buffers_.back()};
    }
    Result<BufferView> scratch(const MemoryNeeds& needs) { return buffer(needs.size_bytes); }
    template <class Bound, class... Arguments>
    Result<void> run(const Bound& bound, const Arguments&... arguments) {
        YOLK_TRY(Recorder recorder, Recorder::create(*device_, {.label = "the test's work"}));
        bound.record(recorder, arguments...);
        return dispatcher_.run(recorder);
    }

   private:
    Bench(const Device& device, Dispatcher dispatcher) : device_(&device), dispatcher_(std::move(dispatcher)) {}
    const Device* device_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    Dispatcher dispatcher_;
};

class primitive_faults : public testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(testing::instance()); }  // lives on: no leak of a test's
    using Path = std::function<Result<void>(Bench&)>;
    [[nodiscard]] Result<Device> new_device(std::uint64_t max_submission_cost = 0) const {
        YOLK_TRY(Device device,
                 Device::create(testing::instance(), testing::device_index(device_name()),
                                {.pipeline_cache_folder = {}, .max_submission_cost = max_submission_cost}));
        YOLK_TRY_VOID(probe(device));
        return device;
    }
    /// `kernel`: how the names of its kernels begin, "[noise".
    void sweep(const std::string& kernel, const Path& path) {
        const Sweep sweep{
            .names = {kernel, "[of the test]", "[the test's work]", "[transfer]", "staging]", "timeline semaphore",
                      "descriptor pool"},
            // Names are for debuggers; of memory, less is asked for; how far long work has come is asked again.
            .tolerated = {"vkSetDebugUtilsObjectNameEXT", "vkAllocateMemory", "vkGetSemaphoreCounterValue"}};
        const auto run = [&path](const Device& device) -> Result<void> {
            YOLK_TRY(Bench bench, Bench::create(device));
            return path(bench);
        };
        sweep_kept(faults_, sweep, [&]() -> std::function<Result<void>()> {
            auto device = std::make_shared<const Device>(*new_device());
            return [device, &run] { return run(*device); };
        });
        // Each workgroup that can be is a submission of its own, so that those between the first and the last fail,
        // too.
        ASSERT_OK_AND_ASSIGN(const Device device, new_device(1));
        sweep_calls(faults_, sweep, [&] { return run(device); });
    }
    FaultInjector faults_;
};
YOLK_FOR_EACH_DEVICE(primitive_faults);

constexpr std::uint32_t kMembers = 4;

ParameterTable small_table() {
    return *ParameterTable::create(
        {{.name = "w", .rows = 3, .columns = 2}, {.name = "b", .rows = 3, .perturbation = Perturbation::Vector}});
}

TEST_P(primitive_faults, rollout) {
    const PolicyNetwork network{.widths = {4, 2}};
    const RolloutDesc desc{.network = network,
                           .parameters = *ParameterTable::create(network.parameters()),
                           .members = kMembers,
                           .max_steps = 3};
    sweep("[rollout", [&desc](Bench& bench) -> Result<void> {
        YOLK_TRY(const RolloutPlan plan, plan_rollout(bench.device(), desc));
        YOLK_TRY(const BufferView parameters, bench.buffer(desc.parameters.size_bytes()));
        YOLK_TRY(const BufferView returns, bench.buffer(4 * kMembers));
        YOLK_TRY(const BufferView evaluations, bench.buffer(4 * kEvaluationCounters));
        YOLK_TRY(const BufferView scratch, bench.scratch(plan.scratch()));
        YOLK_TRY(const BoundRollout bound,
                 plan.bind({.parameters = parameters, .returns = returns, .evaluations = evaluations}, scratch));
        return bench.run(bound, NoiseContext{.seed = 1, .sigma = 0.1F});
    });
}

TEST_P(primitive_faults, fitness) {
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::ZScore}) {
        const FitnessDesc desc{.population = kMembers, .rule = rule, .config = {}};
        sweep("[fitness", [&desc](Bench& bench) -> Result<void> {
            YOLK_TRY(const FitnessPlan plan, plan_fitness(bench.device(), desc));
            YOLK_TRY(const BufferView returns, bench.buffer(4 * kMembers));
            YOLK_TRY(const BufferView scores, bench.buffer(4 * kMembers));
            YOLK_TRY(const BufferView weights, bench.buffer(fitness_weights_bytes(desc)));
            YOLK_TRY(const BufferView summary, bench.buffer(sizeof(abi::fitness::Summary)));
            YOLK_TRY(const BufferView scratch, bench.scratch(plan.scratch()));
            YOLK_TRY(
                const BoundFitness bound,
                plan.bind({.returns = returns, .scores = scores, .weights = weights, .summary = summary}, scratch));
            return bench.run(bound);
        });
    }
}

TEST_P(primitive_faults, es_update) {
    const ParameterTable table = small_table();
    for (const FitnessWeights kind : {FitnessWeights::I8, FitnessWeights::F32}) {
        sweep("[es_update", [&table, kind](Bench& bench) -> Result<void> {
            YOLK_TRY(const EsUpdatePlan plan,
                     plan_es_update(bench.device(),
                                    {.parameters = table, .population = kMembers, .weights = kind, .config = {}}));
            YOLK_TRY(const BufferView weights, bench.buffer(4 * kMembers));
            YOLK_TRY(const BufferView summary, bench.buffer(sizeof(abi::fitness::Summary)));
            YOLK_TRY(const BufferView gradient, bench.buffer(table.size_bytes()));
            YOLK_TRY(const BufferView scratch, bench.scratch(plan.scratch()));
            YOLK_TRY(const BoundEsUpdate bound,
                     plan.bind({.weights = weights, .summary = summary, .gradient = gradient}, scratch));
            return bench.run(bound, NoiseContext{.seed = 1, .sigma = 0.1F});
        });
    }
}

}  // namespace
}  // namespace yolk
