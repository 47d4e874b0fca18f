// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/parameter_setup.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

ParameterTable small_table() {
    return *ParameterTable::create({{.name = "w", .rows = 3, .columns = 5},
                                    {.name = "b", .rows = 3, .perturbation = Perturbation::Vector},
                                    {.name = "column", .rows = 7, .columns = 1}});
}
std::vector<Perturbation> perturbations(const ParameterTable& table) {
    std::vector<Perturbation> all;
    for (const ParameterDesc& p : table.parameters()) all.push_back(p.perturbation);
    return all;
}

TEST(parameter_setup, freezes_vectors_and_those_that_are_named) {
    using enum Perturbation;
    EvolutionOptions options;
    EXPECT_EQ(perturbations(*trained_parameters(small_table(), options)), (std::vector{LowRank, Vector, LowRank}));
    options.freeze_vectors = true;
    EXPECT_EQ(perturbations(*trained_parameters(small_table(), options)), (std::vector{LowRank, Frozen, LowRank}));
    options.freeze = {"column", "column"};
    EXPECT_EQ(perturbations(*trained_parameters(small_table(), options)), (std::vector{LowRank, Frozen, Frozen}));
}
TEST(parameter_setup, unknown_name_to_freeze_is_refused) {
    EvolutionOptions options;
    options.freeze = {"w", "layer9"};
    EXPECT_TRUE(expect_error(trained_parameters(small_table(), options), ErrorKind::BadInput,
                             "'layer9' to freeze; there are w, b, column"));
}
TEST(parameter_setup, nothing_left_to_train_is_refused) {
    EvolutionOptions options;
    options.freeze = {"w", "column"};
    options.freeze_vectors = true;
    EXPECT_TRUE(expect_error(trained_parameters(small_table(), options), ErrorKind::BadInput, "nothing to train"));
}

TEST(initialization, is_the_noise_of_its_stream_over_root_fan_in) {
    const ParameterTable table = small_table();
    const std::vector<float> values = initial_parameters(table, 42);
    ASSERT_EQ(values.size(), table.element_count());
    for (std::uint32_t id = 0; id < 3; ++id) {
        const ParameterDesc& p = table.parameters()[id];
        const NoiseStream stream{.seed = 42, .parameter = id, .domain = Domain::Initialization, .pair = 0, .time = 0};
        for (std::uint32_t i = 0; i < p.rows * p.columns; ++i) {
            const double wanted =
                p.perturbation == Perturbation::Vector
                    ? 0.0
                    : noise_element(stream, i) / std::sqrt(85.0) / std::sqrt(static_cast<double>(p.columns));
            // Five roundings: the constant, the root, the reciprocal, and two products, each of half an ulp (2^-24).
            EXPECT_NEAR(values[table.offset(ParameterId{id}) + i], wanted, 5 * 0x1p-24 * std::abs(wanted))
                << p.name << " " << i;
        }
    }
}
TEST(initialization, has_unit_variance_per_output) {
    const ParameterTable table = *ParameterTable::create({{.name = "w", .rows = 200, .columns = 100}});
    double squares = 0.0;
    for (const float value : initial_parameters(table, 7)) squares += double{value} * value;
    // 20,000 draws of kurtosis below 3: the relative deviation of their mean square is below sqrt(2 / 20,000) = .01;
    // five of them.
    EXPECT_NEAR(squares / 200.0, 1.0, 0.05);
}
TEST(initialization, follows_the_seed) {
    EXPECT_EQ(initial_parameters(small_table(), 3), initial_parameters(small_table(), 3));
    EXPECT_NE(initial_parameters(small_table(), 3), initial_parameters(small_table(), 4));
    EXPECT_NE(initial_parameters(small_table(), 3), initial_parameters(small_table(), 3 + (std::uint64_t{1} << 32U)));
}

TEST(state_hash, is_over_parameters_then_state_then_count) {
    const std::vector<float> parameters{1.0F, -2.5F};
    const std::vector<float> state{0.25F};
    const std::uint64_t count = 9;
    std::vector<std::byte> bytes(20);
    std::memcpy(bytes.data(), parameters.data(), 8);
    std::memcpy(bytes.data() + 8, state.data(), 4);
    std::memcpy(bytes.data() + 12, &count, 8);
    EXPECT_EQ(*state_hash(parameters, state, count), Hasher().add(bytes).hex());
    EXPECT_NE(*state_hash(parameters, state, 10), *state_hash(parameters, state, count));
}
// The twelve bytes 00 00 80 3f and eight zeros, as libxxhash itself hashes them (XXH3_128bits, canonical form).
TEST(state_hash, known_answer) {
    const std::vector<float> one{1.0F};
    EXPECT_EQ(*state_hash(one, {}, 0), "db06461f4cf40e02c1ab0cb69ba3bc48");
}
TEST(state_hash, refuses_what_is_not_finite) {
    const std::vector<float> good{1.0F}, bad{1.0F, std::numeric_limits<float>::quiet_NaN()};
    EXPECT_TRUE(expect_error(state_hash(bad, {}, 3), ErrorKind::Failed, "element 1 of the parameters"));
    EXPECT_TRUE(expect_error(state_hash(good, bad, 3), ErrorKind::Failed, "optimizer's state"));
}

}  // namespace
}  // namespace yolk::evolve
