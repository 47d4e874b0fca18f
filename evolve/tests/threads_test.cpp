// SPDX-License-Identifier: Apache-2.0
// Two runs on two threads share a device and a dispatcher, and neither is seen in the other's bits.
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

class threads : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<std::string> hash_of_a_run(std::uint64_t seed) const {
        const EvolutionOptions options{.population = 64, .seed = seed};
        EvolutionParts parts;
        YOLK_TRY(parts.parameters, trained_parameters(layered_table(2), options));
        parts.initial.assign(parts.parameters.element_count(), 0.0F);
        const auto scores = drawn_scores(options.population, static_cast<std::uint32_t>(seed));
        YOLK_TRY(parts.evaluator, PreparedScores::create(device(), dispatcher(), scores));
        YOLK_TRY(Evolution evolution, Evolution::create(device(), dispatcher(), std::move(parts), options));
        for (int generation = 0; generation < 10; ++generation) YOLK_TRY_VOID(evolution.step());
        return evolution.state_hash();
    }
};
YOLK_FOR_EACH_DEVICE(threads);

TEST_P(threads, run_side_by_side_as_alone) {
    std::array<Result<std::string>, 2> alone{hash_of_a_run(1), hash_of_a_run(2)};
    std::array<Result<std::string>, 2> together{bad_input("not run"), bad_input("not run")};
    {
        std::vector<std::jthread> running;
        for (std::uint32_t i = 0; i < 2; ++i) running.emplace_back([&, i] { together[i] = hash_of_a_run(i + 1); });
    }
    for (std::size_t i = 0; i < 2; ++i) {
        ASSERT_OK(alone[i]);
        ASSERT_OK(together[i]);
        EXPECT_EQ(*together[i], *alone[i]);
    }
    EXPECT_NE(*alone[0], *alone[1]);
}

}  // namespace
}  // namespace yolk::evolve
