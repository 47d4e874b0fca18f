// SPDX-License-Identifier: Apache-2.0
// The digest that stands for a generation: what tells states apart, and that the device makes it without bringing the
// state to the host.
#include "yolk/internal/evolve/state_digest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "fixtures.hpp"
#include "yolk/internal/abi/digest.h"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr std::array kFew{1.0F, -0.5F, 0.25F, 2.0F, -3.0F};
constexpr std::array kFewState{0.0F, 1.0F, 0.5F, 0.125F, 8.0F};

// Computed by a program of its own, in another language, from docs/kernels/digest.md.
TEST(state_digest, known_answers) {
    EXPECT_EQ(*state_digest(std::array{1.0F}, {}, 0), "bba496f86671aef11fdb300d589aa88a");
    EXPECT_EQ(*state_digest(kFew, kFewState, (std::uint64_t{1} << 32U) + 7), "1d5a47f1584621e96517a83de7e902d3");
}

// Every single bit of 40 values, every pair of values exchanged, opposite changes of two values, a value that moves to
// the other array, zeros at the end, another generation: no two have one digest.
TEST(state_digest, tells_small_changes_apart) {
    std::vector<float> values(40);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5F + static_cast<float>(i);
    std::set<std::string> seen;
    std::size_t tried = 0;
    const auto expect_new = [&](std::span<const float> parameters, std::span<const float> state,
                                std::uint64_t generations) {
        seen.insert(state_digest(parameters, state, generations).value());
        ++tried;
    };
    expect_new(values, {}, 3);
    for (std::size_t i = 0; i < values.size(); ++i) {
        for (unsigned bit = 0; bit < 32; ++bit) {
            std::vector<float> changed = values;
            changed[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(changed[i]) ^ (1U << bit));
            if (std::isfinite(changed[i])) expect_new(changed, {}, 3);
        }
        for (std::size_t j = 0; j < i; ++j) {
            std::vector<float> changed = values;
            std::swap(changed[i], changed[j]);
            expect_new(changed, {}, 3);
            changed = values;
            changed[i] += 0.25F;
            changed[j] -= 0.25F;
            expect_new(changed, {}, 3);
        }
        expect_new(std::span(values).first(i), std::span(values).subspan(i), 3);
    }
    for (std::size_t zeros = 1; zeros < 6; ++zeros) {
        std::vector<float> longer = values;
        longer.resize(values.size() + zeros, 0.0F);
        expect_new(longer, {}, 3);
    }
    for (const std::uint64_t generations : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{3} << 32U})
        expect_new(values, {}, generations);
    EXPECT_EQ(seen.size(), tried);
    EXPECT_GT(tried, 2800U);
}

TEST(state_digest, refuses_what_is_not_finite) {
    const std::array bad{1.0F, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()};
    EXPECT_TRUE(expect_error(state_digest(bad, {}, 3), ErrorKind::Failed, "After 3 generations 2 values"));
    EXPECT_TRUE(expect_error(state_digest(kFew, bad, 3), ErrorKind::Failed, "has diverged"));
}

class device_digest : public ::yolk::testing::DeviceTest {
   protected:
    static constexpr std::uint32_t kMembers = 8;

    [[nodiscard]] static Result<Evolution> create(const Device& device, Dispatcher& dispatcher, OptimizerRule rule,
                                                  const ParameterTable& table,
                                                  std::optional<std::vector<ElementRange>> host_elements = {}) {
        const EvolutionOptions options{.population = kMembers, .optimizer = rule};
        EvolutionParts parts{.parameters = table,
                             .initial = initial_parameters(table, options.seed),
                             .host_elements = std::move(host_elements),
                             .digest = true};
        YOLK_TRY(parts.evaluator, PreparedScores::create(device, dispatcher, drawn_scores(kMembers)));
        return Evolution::create(device, dispatcher, std::move(parts), options);
    }
    static std::string on_the_host(const Evolution& run) {
        return state_digest(run.parameters(), run.optimizer_state(), run.generations()).value();
    }
};
YOLK_FOR_EACH_DEVICE(device_digest);

TEST_P(device_digest, is_that_of_the_host_after_each_step) {
    for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam}) {
        ASSERT_OK_AND_ASSIGN(Evolution run, create(device(), dispatcher(), rule, layered_table(3)));
        EXPECT_EQ(*run.state_digest(), on_the_host(run));  // of the first values
        std::set<std::string> seen;
        for (int step = 0; step < 3; ++step) {
            ASSERT_OK(run.step());
            EXPECT_EQ(*run.state_digest(), on_the_host(run));
            seen.insert(*run.state_digest());
        }
        EXPECT_EQ(seen.size(), 3U);
        std::vector<float> values(run.parameters().begin(), run.parameters().end());
        std::swap(values[0], values[1]);
        ASSERT_OK(run.set_parameters(values));
        EXPECT_EQ(*run.state_digest(), on_the_host(run));
        EXPECT_FALSE(seen.contains(*run.state_digest()));
    }
}

TEST_P(device_digest, is_made_where_it_was_asked_for) {
    const EvolutionOptions options{.population = kMembers};
    EvolutionParts parts{.parameters = layered_table(1), .initial = std::vector<float>(36, 0.0F)};
    ASSERT_OK_AND_ASSIGN(parts.evaluator, PreparedScores::create(device(), dispatcher(), drawn_scores(kMembers)));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(device(), dispatcher(), std::move(parts), options));
    EXPECT_TRUE(expect_error(run.state_digest(), ErrorKind::BadInput, "EvolutionParts::digest"));
}

// A generation of a million parameters: the summary, the counters, the digest and the count of skipped elements come to
// the host, 1 KB, and the state only where it is asked for. In discrete memory, too, where all of it is a copy.
TEST_P(device_digest, stands_for_a_state_that_stays_on_the_device) {
    ASSERT_OK_AND_ASSIGN(const ParameterTable table,
                         ParameterTable::create({{.name = "w", .rows = 1000, .columns = 1000}}));
    constexpr std::uint64_t kState = std::uint64_t{2} * 4 * 1000 * 1000;  // with momentum
    constexpr std::uint64_t kSmall =
        sizeof(abi::fitness::Summary) + 4 * kEvaluationCounters + 4 * abi::digest::kSumWords + sizeof(std::uint32_t);
    for (const bool discrete : {false, true}) {
        const Device& on = discrete ? discrete_device() : device();
        Dispatcher& by = discrete ? discrete_dispatcher() : dispatcher();
        const auto brought = [&on] {
            const OperationCounts counts = on.counts();
            return counts.bytes_read_back + counts.bytes_downloaded;
        };
        ASSERT_OK_AND_ASSIGN(Evolution mirrored, create(on, by, OptimizerRule::Momentum, table));
        std::uint64_t before = brought();
        ASSERT_OK(mirrored.step());
        EXPECT_EQ(brought() - before, kSmall + kState);
        ASSERT_OK_AND_ASSIGN(Evolution run,
                             create(on, by, OptimizerRule::Momentum, table, std::vector<ElementRange>()));
        before = brought();
        ASSERT_OK(run.step());
        EXPECT_EQ(*run.state_digest(), *mirrored.state_digest());
        EXPECT_EQ(brought() - before, kSmall);
        ASSERT_OK(run.refresh());
        EXPECT_EQ(*run.state_digest(), *mirrored.state_digest());
        EXPECT_EQ(*run.state_hash(), *mirrored.state_hash());
    }
}

}  // namespace
}  // namespace yolk::evolve
