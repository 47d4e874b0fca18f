// SPDX-License-Identifier: Apache-2.0
// A whole generation (roll-out, fitness, update, optimizer, the unperturbed policy's check, the mirror) after the first
// two allocates nothing from the heap and makes no Vulkan object.
#include "fixtures.hpp"
#include "watch/driver_watch.hpp"
#include "yolk/internal/testing/device_test.hpp"

#if YOLK_COUNTS_THE_HEAP

namespace yolk::evolve {
namespace {

using ::yolk::testing::DriverWatch;
using ::yolk::testing::own_allocations;

constexpr std::uint32_t kWatchedPopulation = 16;
constexpr std::uint32_t kWatchedGenerations = 100;

class steady_state : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<Evolution> create(const EvolutionOptions& options) const {
        RolloutDesc desc{.members = options.population, .max_steps = 5};
        YOLK_TRY(const ParameterTable table, ParameterTable::create(desc.network.parameters()));
        YOLK_TRY(desc.parameters, trained_parameters(table, options));
        EvolutionParts parts{.parameters = desc.parameters, .initial = initial_parameters(table, options.seed)};
        YOLK_TRY(parts.evaluator, rollout_evaluator(device(), desc));
        desc.mean_only = true;
        YOLK_TRY(parts.policy_evaluator, rollout_evaluator(device(), desc, 1U << 30U));
        return Evolution::create(device(), dispatcher(), std::move(parts), options);
    }
};
YOLK_FOR_EACH_DEVICE(steady_state);

TEST_P(steady_state, generations_use_no_heap_and_make_no_objects) {
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Adam}) {
        ASSERT_OK_AND_ASSIGN(Evolution run, create({.population = kWatchedPopulation, .optimizer = rule}));
        const DriverWatch watch(device());
        ASSERT_OK(run.step());
        ASSERT_OK(run.step());
        const std::uint64_t calls = watch.driver_calls();
        const std::uint64_t objects = watch.objects_created();
        const std::uint64_t allocations = own_allocations();
        bool good = true;
        for (std::uint32_t generation = 0; generation < kWatchedGenerations; ++generation)
            good = run.step().has_value() && good;
        EXPECT_EQ(own_allocations(), allocations);
        EXPECT_EQ(watch.objects_created(), objects);
        EXPECT_GE(watch.driver_calls() - calls, std::uint64_t{kWatchedGenerations} * 20);  // the watch saw the work
        EXPECT_TRUE(good);
        EXPECT_EQ(run.generations(), kWatchedGenerations + 2);
    }
}

}  // namespace
}  // namespace yolk::evolve

#endif
