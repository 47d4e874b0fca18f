// SPDX-License-Identifier: Apache-2.0
// Each driver call of making an evolution and of a generation fails once.
#include "fixtures.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;
using ::yolk::testing::FaultInjector;
using ::yolk::testing::Sweep;

class evolution_faults : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(::yolk::testing::instance()); }  // lives on: no leak of a test's
    [[nodiscard]] Result<Device> new_device() const {
        return Device::create(::yolk::testing::instance(), ::yolk::testing::device_index(device_name()));
    }
    FaultInjector faults_;
};
YOLK_FOR_EACH_DEVICE(evolution_faults);

/// One tile of partial sums: with less scratch than all of it nothing works, so that a failure to get it shows.
EvolutionOptions small_options() {
    return {.population = 8, .optimizer = OptimizerRule::Momentum, .freeze_vectors = true};
}

Result<Evolution> make(const Device& device, Dispatcher& dispatcher) {
    EvolutionParts parts;
    YOLK_TRY(parts.parameters, trained_parameters(layered_table(1), small_options()));
    parts.initial.assign(parts.parameters.element_count(), 0.5F);
    parts.digest = true;
    YOLK_TRY(parts.evaluator, PreparedScores::create(device, dispatcher, drawn_scores(8)));
    return Evolution::create(device, dispatcher, std::move(parts), small_options());
}

Result<void> two_generations(const Device& device) {
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(Evolution evolution, make(device, dispatcher));
    YOLK_TRY_VOID(evolution.step());
    YOLK_TRY_VOID(evolution.step());
    YOLK_TRY_VOID(evolution.scores());
    return {};
}

const std::vector<std::string> kNames{"[parameters]",
                                      "[optimizer state]",
                                      "[returns]",
                                      "[evaluation counters]",
                                      "[scores]",
                                      "[skipped elements]",
                                      "[fitness",
                                      "[es_update",
                                      "[optimizer",
                                      "[digest",
                                      "[generation digest]",
                                      "parameters of [es_update]]",
                                      "[gradient]",
                                      "[generation scratch]",
                                      "[generation readback]",
                                      "[evolution]",
                                      "[prepared scores]",
                                      "[transfer]",
                                      "staging]",
                                      "timeline semaphore",
                                      "[probe",
                                      "[rate]",
                                      "of the rate]",
                                      "[multiply_add",
                                      "descriptor pool"};

TEST_P(evolution_faults, any_call) {
    const Sweep sweep{.names = kNames, .tolerated = {"vkSetDebugUtilsObjectNameEXT", "vkAllocateMemory"}};
    sweep_kept(faults_, sweep, [&]() -> std::function<Result<void>()> {
        auto device = std::make_shared<const Device>(*new_device());
        return [device] { return two_generations(*device); };
    });
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    sweep_calls(faults_, sweep, [&] { return two_generations(device); });
}

TEST_P(evolution_faults, a_probe_that_fails_is_made_again) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    ASSERT_OK(two_generations(device));
    const DeviceFindings findings = device.findings();
    const Sweep sweep{
        .names = {"[probe", "[rate]", "of the rate]", "[multiply_add", "[transfer]", "staging]", "timeline semaphore"},
        .tolerated = {"vkSetDebugUtilsObjectNameEXT"}};
    sweep_calls(faults_, sweep, [&]() -> Result<void> {
        device.set_findings({});
        YOLK_TRY(const DeviceFindings found, probe(device));
        EXPECT_EQ(found.loop_limit, findings.loop_limit);
        EXPECT_EQ(found.inexact_reason, findings.inexact_reason);
        return {};
    });
}

// Pairs one by one, so that the partial sums of es_update are what needs the most memory.
Result<std::vector<float>> trained_with_long_scratch(const Device& device) {
    const EvolutionOptions options{.population = 256};
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    EvolutionParts parts;
    parts.config.es_update = EsUpdateConfig{.pairs_per_slice = 1};
    YOLK_TRY(parts.parameters, trained_parameters(layered_table(40), options));
    parts.initial.assign(parts.parameters.element_count(), 0.5F);
    YOLK_TRY(parts.evaluator, PreparedScores::create(device, dispatcher, drawn_scores(256)));
    YOLK_TRY(Evolution evolution, Evolution::create(device, dispatcher, std::move(parts), options));
    YOLK_TRY_VOID(evolution.step());
    YOLK_TRY_VOID(evolution.step());
    return std::vector<float>(evolution.parameters().begin(), evolution.parameters().end());
}

TEST_P(evolution_faults, with_less_memory_a_generation_gives_the_same) {
    ASSERT_OK_AND_ASSIGN(const Device plenty, new_device());
    ASSERT_OK_AND_ASSIGN(const std::vector<float> whole, trained_with_long_scratch(plenty));
    // 128 slices of 40 matrices [6, 5], a tile of 256 bytes each, and 40 vectors of 32 bytes: 1.4 MiB.
    faults_.fail_allocations_above(1U << 18U);
    ASSERT_OK_AND_ASSIGN(const Device scarce, new_device());
    ASSERT_OK_AND_ASSIGN(const std::vector<float> pieces, trained_with_long_scratch(scarce));
    EXPECT_EQ(pieces, whole);
    EXPECT_GT(scarce.counts().dispatches, plenty.counts().dispatches);
}

// Not a reason that someone wrote into the findings: the device computes wrongly, and the probe finds it.
TEST_P(evolution_faults, exact_mode_is_refused_on_a_device_that_computes_wrongly) {
    ASSERT_OK_AND_ASSIGN(const Device device, new_device());
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(device));
    faults_.spoil_multiplications(true);
    EXPECT_TRUE(expect_error(make(device, dispatcher), ErrorKind::Unsupported, "cannot run in exact mode:"));
}

}  // namespace
}  // namespace yolk::evolve
