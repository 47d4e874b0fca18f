// SPDX-License-Identifier: Apache-2.0
// Updates that several devices make together: the bits of one device, whatever the shares.
#include "yolk/internal/evolve/shared_update.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "fixtures.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/twin.hpp"

namespace yolk::evolve {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

constexpr NoiseContext kWhen{.seed = 21, .generation = 4, .time = 4, .sigma = 0.3F};
constexpr std::array kBoth{UpdateSharing::Parameters, UpdateSharing::Pairs};

ParameterTable table_with_frozen() {
    return *ParameterTable::create({{.name = "first", .rows = 3, .perturbation = Perturbation::Frozen},
                                    {.name = "w", .rows = 37, .columns = 19},
                                    {.name = "fixed", .rows = 2, .columns = 5, .perturbation = Perturbation::Frozen},
                                    {.name = "v", .rows = 21, .perturbation = Perturbation::Vector},
                                    {.name = "u", .rows = 10, .columns = 3}});
}

ShapedGeneration drawn_generation(std::uint32_t pairs) {
    ShapedGeneration shaped;
    shaped.summary.coefficient = 0.0123F;
    shaped.summary.finite_count = pairs;
    for (std::uint32_t pair = 0; pair < pairs; ++pair)
        shaped.integer_weights.push_back(static_cast<std::int8_t>(pair * 101 % 255 - 127));
    return shaped;
}

std::vector<float> expected_gradient(const ParameterTable& table, const EvolutionOptions& options,
                                     const ShapedGeneration& shaped) {
    const EsUpdateDesc desc{
        .parameters = table, .population = options.population, .rank = options.rank, .antithetic = options.antithetic};
    return reference::twin_result<float>(desc, {shaped.integer_weights, shaped.summary}, kWhen);
}

class shared_update : public ::yolk::testing::DeviceTest {
   protected:
    /// The test's device, the first other, the test's again.
    [[nodiscard]] std::vector<UpdateDevice> three_devices() const {
        auto& beside = ::yolk::testing::device_beside(device_name());
        return {{.device = &device(), .dispatcher = &dispatcher()},
                {.device = &beside.device, .dispatcher = &beside.dispatcher},
                {.device = &device(), .dispatcher = &dispatcher(), .config = EsUpdateConfig{.pairs_per_slice = 5}}};
    }
    void expect_same(const ParameterTable& table, const EvolutionOptions& options,
                     const std::vector<std::vector<double>>& all_rates) const {
        const std::uint32_t pairs = options.antithetic ? options.population / 2 : options.population;
        const ShapedGeneration shaped = drawn_generation(pairs);
        const std::vector<float> twin = expected_gradient(table, options, shaped);
        for (const UpdateSharing sharing : kBoth) {
            SCOPED_TRACE(to_string(sharing));
            ASSERT_OK_AND_ASSIGN(SharedUpdate update, SharedUpdate::create(three_devices(), table, options, sharing));
            EXPECT_EQ(update.sharing(), sharing);
            for (const std::vector<double>& rates : all_rates) {
                std::vector<float> gradient(table.element_count(), -1.0F);
                ASSERT_OK(update.gradient(shaped, kWhen, rates, gradient));
                EXPECT_THAT(gradient, ElementsAreArray(twin)) << rates[0] << ", " << rates[1] << ", " << rates[2];
                for (std::size_t d = 0; d < rates.size(); ++d)
                    EXPECT_TRUE(rates[d] > 0.0 || update.seconds()[d] == 0.0) << d;
                EXPECT_GT(*std::ranges::max_element(update.seconds()), 0.0);
            }
        }
    }
};
YOLK_FOR_EACH_DEVICE(shared_update);

const std::vector<std::vector<double>> kRates{{1, 1, 1}, {70, 1, 3}, {0, 5, 0}, {1, 0, 1}, {1e-9, 1, 0}};

TEST_P(shared_update, has_the_bits_of_one_device) {
    expect_same(table_with_frozen(), {.population = 90}, kRates);
    expect_same(table_with_frozen(),
                {.population = 37, .antithetic = false, .rank = 3, .fitness = FitnessRule::CentredRank}, kRates);
    expect_same(*ParameterTable::create({{.name = "u", .rows = 37, .columns = 19, .rank = 4},
                                         {.name = "v", .rows = 21, .perturbation = Perturbation::Vector},
                                         {.name = "w", .rows = 10, .columns = 9},
                                         {.name = "x", .rows = 17, .columns = 5, .rank = 32},
                                         {.name = "y", .rows = 9, .columns = 9, .rank = 4}}),
                {.population = 90, .rank = 2}, kRates);
}

TEST_P(shared_update, of_less_than_there_are_devices) {
    expect_same(*ParameterTable::create({{.name = "w", .rows = 2, .columns = 3}}), {.population = 4}, kRates);
    expect_same(*ParameterTable::create({{.name = "w", .rows = 9, .columns = 1}}),
                {.population = 3, .antithetic = false, .fitness = FitnessRule::CentredRank}, kRates);
}

TEST_P(shared_update, goes_into_a_generation_of_its_bits) {
    const EvolutionOptions options{.population = 34, .optimizer = OptimizerRule::Adam};
    const auto make = [&]() -> Result<Evolution> {
        EvolutionParts parts{.parameters = table_with_frozen()};
        parts.initial = initial_parameters(parts.parameters, options.seed);
        return Evolution::create(device(), dispatcher(), std::move(parts), options);
    };
    ASSERT_OK_AND_ASSIGN(Evolution alone, make());
    ASSERT_OK_AND_ASSIGN(Evolution together, make());
    ASSERT_OK_AND_ASSIGN(SharedUpdate update, SharedUpdate::create(three_devices(), table_with_frozen(), options));
    Schedule schedule(options);
    const ShapedGeneration shaped = drawn_generation(17);
    std::vector<float> gradient(together.table().element_count());
    for (int generation = 0; generation < 2; ++generation) {
        ASSERT_OK(update.gradient(shaped, schedule.noise_time(), std::array{2.0, 1.0, 1.0}, gradient));
        ASSERT_OK(alone.apply(shaped));
        ASSERT_OK(together.apply(shaped, gradient));
        schedule.advance();
    }
    ASSERT_OK_AND_ASSIGN(const std::string hash, alone.state_hash());
    ASSERT_OK_AND_ASSIGN(const std::string shared_hash, together.state_hash());
    EXPECT_EQ(shared_hash, hash);
}

// Devices of one driver with one configuration: the same slices, and so the same bits of floats.
TEST_P(shared_update, of_float_weights_is_one_devices) {
    const EvolutionOptions options{.population = 90, .fitness = FitnessRule::ZScore, .determinism = Determinism::Fast};
    const UpdateDevice on{.device = &device(), .dispatcher = &dispatcher(), .config = EsUpdateConfig{}};
    ShapedGeneration shaped = drawn_generation(45);
    shaped.float_weights.assign(shaped.integer_weights.begin(), shaped.integer_weights.end());
    shaped.integer_weights.clear();
    ASSERT_OK_AND_ASSIGN(SharedUpdate update, SharedUpdate::create({on, on}, table_with_frozen(), options));
    EXPECT_EQ(update.sharing(), UpdateSharing::Parameters);
    std::vector<float> whole(table_with_frozen().element_count());
    std::vector<float> shared(whole.size());
    ASSERT_OK(update.gradient(shaped, kWhen, std::array{1.0, 0.0}, whole));
    ASSERT_OK(update.gradient(shaped, kWhen, std::array{2.0, 3.0}, shared));
    EXPECT_THAT(shared, ElementsAreArray(whole));
    EXPECT_TRUE(expect_error(SharedUpdate::create({on}, table_with_frozen(), options, UpdateSharing::Pairs),
                             ErrorKind::BadInput, "its weights are floats"));
}

TEST_P(shared_update, says_by_which_rates_to_go_on) {
    ASSERT_OK_AND_ASSIGN(SharedUpdate update,
                         SharedUpdate::create(three_devices(), table_with_frozen(), {.population = 90}));
    EXPECT_THAT(update.next_rates(), ::testing::IsEmpty());
    std::vector<float> gradient(table_with_frozen().element_count());
    ASSERT_OK(update.gradient(drawn_generation(45), kWhen, std::array{1.0, 1.0, 0.0}, gradient));
    ASSERT_EQ(update.next_rates().size(), 3U);
    EXPECT_EQ(std::ranges::max(update.next_rates()), 1.0);
    EXPECT_EQ(update.next_rates()[2], 0.0) << "left out by the caller";
    const bool first_is_faster = update.seconds()[0] < update.seconds()[1];
    EXPECT_EQ(update.next_rates()[first_is_faster ? 0 : 1], 1.0);
}

TEST_P(shared_update, runs_on_the_callers_threads) {
    ASSERT_OK_AND_ASSIGN(SharedUpdate update,
                         SharedUpdate::create(three_devices(), table_with_frozen(), {.population = 90}));
    const ShapedGeneration shaped = drawn_generation(45);
    std::vector<float> gradient(table_with_frozen().element_count(), 7.0F);
    std::size_t calls = 0;
    const auto backwards = [&](const std::function<void(std::size_t)>& make_share) {
        for (std::size_t d = 3; d-- > 0; ++calls) make_share(d);
    };
    ASSERT_OK(update.gradient(shaped, kWhen, std::array{1.0, 0.0, 1.0}, gradient, backwards));
    EXPECT_EQ(calls, 3U);
    EXPECT_THAT(update.seconds(), ElementsAre(Gt(0.0), 0.0, Gt(0.0)));
    const std::vector<float> good = gradient;
    std::ranges::fill(gradient, 7.0F);
    const auto only_first = [](const std::function<void(std::size_t)>& make_share) { make_share(0); };
    EXPECT_TRUE(expect_error(update.gradient(shaped, kWhen, std::array{1.0, 1.0, 1.0}, gradient, only_first),
                             ErrorKind::BadInput, "device 1"));
    ASSERT_EQ(update.failed().size(), 2U);
    EXPECT_EQ(update.failed()[0].device, 1U);
    EXPECT_EQ(update.failed()[1].device, 2U);
    EXPECT_THAT(update.failed()[0].error.message, HasSubstr("share of device 1"));
    EXPECT_THAT(update.failed()[1].error.message, HasSubstr("share of device 2"));
    EXPECT_THAT(gradient, ::testing::Each(7.0F));
    ASSERT_OK(update.gradient(shaped, kWhen, std::array{1.0, 1.0, 1.0}, gradient));
    EXPECT_THAT(update.failed(), ::testing::IsEmpty());
    EXPECT_THAT(gradient, ElementsAreArray(good));
}

TEST_P(shared_update, refuses_what_does_not_fit) {
    EXPECT_TRUE(expect_error(SharedUpdate::create({}, table_with_frozen(), {.population = 90}), ErrorKind::BadInput,
                             "no devices"));
    std::vector<UpdateDevice> devices = three_devices();
    devices[2].dispatcher = nullptr;
    EXPECT_TRUE(expect_error(SharedUpdate::create(devices, table_with_frozen(), {.population = 90}),
                             ErrorKind::BadInput, "Device 2 of a shared update is given without"));
    devices = three_devices();
    devices[1].config = EsUpdateConfig{.workgroup_size = 3000};
    EXPECT_TRUE(expect_error(SharedUpdate::create(devices, table_with_frozen(), {.population = 90}),
                             ErrorKind::BadInput, "share of device 1"));
    devices[2].config = devices[1].config;
    std::vector<FailedShare> failed;
    EXPECT_TRUE(expect_error(SharedUpdate::create(devices, table_with_frozen(), {.population = 90}, {}, &failed),
                             ErrorKind::BadInput, "share of device 1"));
    ASSERT_EQ(failed.size(), 2U);
    EXPECT_EQ(failed[1].device, 2U);
    EXPECT_THAT(failed[1].error.message, HasSubstr("share of device 2"));
    ASSERT_OK_AND_ASSIGN(SharedUpdate update,
                         SharedUpdate::create(three_devices(), table_with_frozen(), {.population = 90}));
    std::vector<float> gradient(table_with_frozen().element_count());
    const std::array rates{1.0, 1.0, 1.0};
    EXPECT_TRUE(expect_error(update.gradient(drawn_generation(44), kWhen, rates, gradient), ErrorKind::BadInput,
                             "There are 44 int8"));
    EXPECT_TRUE(expect_error(update.gradient(drawn_generation(45), kWhen, std::array{1.0}, gradient),
                             ErrorKind::BadInput, "1 rates for 3 devices"));
    gradient.pop_back();
    EXPECT_TRUE(
        expect_error(update.gradient(drawn_generation(45), kWhen, rates, gradient), ErrorKind::BadInput, "room for"));
}

class shared_update_faults : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(::yolk::testing::instance()); }  // lives on: no leak of a test's
    [[nodiscard]] Result<Device> new_device() const {
        return Device::create(::yolk::testing::instance(), ::yolk::testing::device_index(device_name()));
    }
    ::yolk::testing::FaultInjector faults_;
};
YOLK_FOR_EACH_DEVICE(shared_update_faults);

Result<void> share_on_two(const Device& left, const Device& right, UpdateSharing sharing) {
    YOLK_TRY(Dispatcher first, Dispatcher::create(left));
    YOLK_TRY(Dispatcher second, Dispatcher::create(right));
    // One tile: with less scratch than all of it nothing works, so that a failure to get it shows.
    const ParameterTable table = *ParameterTable::create({{.name = "w", .rows = 6, .columns = 5}});
    const EvolutionOptions options{.population = 8};
    YOLK_TRY(SharedUpdate update,
             SharedUpdate::create({{.device = &left, .dispatcher = &first}, {.device = &right, .dispatcher = &second}},
                                  table, options, sharing));
    const ShapedGeneration shaped = drawn_generation(4);
    std::vector<float> gradient(table.element_count(), 7.0F);
    const OnEachDevice in_turn = [](const std::function<void(std::size_t)>& make_share) {
        make_share(0);
        make_share(1);
    };
    const Result<void> made = update.gradient(shaped, kWhen, std::array{1.0, 1.0}, gradient, in_turn);
    if (made) {
        EXPECT_THAT(gradient, ElementsAreArray(expected_gradient(table, options, shaped)));
        return {};
    }
    EXPECT_THAT(gradient, ::testing::Each(7.0F));
    EXPECT_EQ(update.failed().size(), 1U);
    // The other one goes on alone, with the same bits.
    std::array rates{1.0, 1.0};
    rates[update.failed()[0].device] = 0.0;
    YOLK_TRY_VOID(update.gradient(shaped, kWhen, rates, gradient, in_turn));
    EXPECT_THAT(gradient, ElementsAreArray(expected_gradient(table, options, shaped)));
    return made;
}

TEST_P(shared_update_faults, any_call) {
    const ::yolk::testing::Sweep sweep{
        .names = {"[es_update", "[update_share", "parameters of [es_update]]", "of a share]", "[share of an update]",
                  "[scored generation]", "[share on the host]", "[generation scratch]", "[shared update]", "[transfer]",
                  "staging]", "timeline semaphore", "[probe", "[rate]", "of the rate]", "[multiply_add",
                  "descriptor pool"},
        .tolerated = {"vkSetDebugUtilsObjectNameEXT", "vkAllocateMemory"}};
    ASSERT_OK_AND_ASSIGN(const Device left, new_device());
    ASSERT_OK_AND_ASSIGN(const Device right, new_device());
    for (const UpdateSharing sharing : kBoth)
        sweep_calls(faults_, sweep, [&] { return share_on_two(left, right, sharing); });
}

// What a device is like after a hang or a crash of its driver: every call is an error.
TEST_P(shared_update_faults, a_lost_device_is_left_out) {
    ASSERT_OK_AND_ASSIGN(const Device left, new_device());
    ASSERT_OK_AND_ASSIGN(const Device right, new_device());
    ASSERT_OK_AND_ASSIGN(Dispatcher first, Dispatcher::create(left));
    ASSERT_OK_AND_ASSIGN(Dispatcher second, Dispatcher::create(right));
    const ParameterTable table = layered_table(3);
    const EvolutionOptions options{.population = 64};
    ASSERT_OK_AND_ASSIGN(SharedUpdate update, SharedUpdate::create({{.device = &left, .dispatcher = &first},
                                                                    {.device = &right, .dispatcher = &second}},
                                                                   table, options));
    const ShapedGeneration shaped = drawn_generation(32);
    std::vector<float> gradient(table.element_count());
    faults_.fail_nth_call(1, ::yolk::testing::FaultKind::DeviceLost);
    const Result<void> lost = update.gradient(shaped, kWhen, std::array{1.0, 1.0}, gradient);
    faults_.fail_nothing();
    ASSERT_EQ(update.failed().size(), 1U);
    const std::size_t gone = update.failed()[0].device;
    EXPECT_TRUE(expect_error(lost, ErrorKind::DeviceLost, "share of device " + std::to_string(gone)));
    EXPECT_TRUE(expect_error(update.gradient(shaped, kWhen, std::array{1.0, 1.0}, gradient), ErrorKind::DeviceLost,
                             "share of device " + std::to_string(gone)));
    std::array rates{1.0, 1.0};
    rates[gone] = 0.0;
    ASSERT_OK(update.gradient(shaped, kWhen, rates, gradient));
    EXPECT_THAT(gradient, ElementsAreArray(expected_gradient(table, options, shaped)));
}

}  // namespace
}  // namespace yolk::evolve
