// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "fixtures.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

// Whole runs of CartPole, cut short: the hash of the state after every generation must be the same on each device and
// on the host.
constexpr std::uint32_t kComparedGenerations = 5;

RolloutDesc cartpole(const EvolutionOptions& options, std::uint32_t workgroup_size) {
    RolloutDesc desc;
    desc.parameters = *trained_parameters(*ParameterTable::create(desc.network.parameters()), options);
    desc.members = options.population;
    desc.episodes = options.episodes;
    desc.max_steps = 30;
    desc.rank = options.rank;
    desc.config = RolloutConfig{.workgroup_size = workgroup_size};
    return desc;
}
std::vector<float> cartpole_start(const EvolutionOptions& options) {
    return initial_parameters(*ParameterTable::create(PolicyNetwork{}.parameters()), options.seed);
}

Result<std::vector<std::string>> twin_hashes(const EvolutionOptions& options) {
    const RolloutDesc desc = cartpole(options, 32);
    PoolParts parts{.parameters = desc.parameters, .initial = cartpole_start(options)};
    parts.members = [desc](const Device*, Dispatcher*) { return Result(rollout_twin_members(desc)); };
    YOLK_TRY(Evolution twin, Evolution::create(Devices::none(), std::move(parts), options));
    std::vector<std::string> hashes;
    for (std::uint32_t g = 0; g < kComparedGenerations; ++g) {
        YOLK_TRY_VOID(twin.step());
        YOLK_TRY(hashes.emplace_back(), twin.state_hash());
    }
    return hashes;
}

class exact_run : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<std::vector<std::string>> device_hashes(const EvolutionOptions& options,
                                                                 std::uint32_t workgroup_size,
                                                                 const EvolutionConfig& config) const {
        const RolloutDesc desc = cartpole(options, workgroup_size);
        EvolutionParts parts{.parameters = desc.parameters, .initial = cartpole_start(options), .config = config};
        YOLK_TRY(parts.evaluator, rollout_evaluator(device(), desc));
        YOLK_TRY(Evolution run, Evolution::create(device(), dispatcher(), std::move(parts), options));
        std::vector<std::string> hashes;
        for (std::uint32_t g = 0; g < kComparedGenerations; ++g) {
            YOLK_TRY_VOID(run.step());
            YOLK_TRY(hashes.emplace_back(), run.state_hash());
        }
        return hashes;
    }
    /// `other_rollout`: of a roll-out with other tiles; that its bits do not depend on them is a test of primitives,
    /// and drivers take seconds to make one.
    void expect_equal_hashes(const EvolutionOptions& options, std::uint32_t other_rollout = 32) const {
        const Result<std::vector<std::string>> wanted = twin_hashes(options);
        ASSERT_OK(wanted);
        EXPECT_NE(wanted->front(), wanted->back());
        const Result<std::vector<std::string>> defaults = device_hashes(options, 32, {});
        ASSERT_OK(defaults);
        EXPECT_EQ(*defaults, *wanted);
        const EvolutionConfig other{.fitness = FitnessConfig{.workgroup_size = 16},
                                    .es_update = EsUpdateConfig{.workgroup_size = 64, .pairs_per_slice = 24},
                                    .optimizer = OptimizerConfig{.workgroup_size = 256}};
        const Result<std::vector<std::string>> tiled = device_hashes(options, other_rollout, other);
        ASSERT_OK(tiled);
        EXPECT_EQ(*tiled, *wanted);
    }
};
YOLK_FOR_EACH_DEVICE(exact_run);

TEST_P(exact_run, sgd) { expect_equal_hashes({.population = 256, .seed = 5}, 64); }
TEST_P(exact_run, adam_rank_4_ranks_reused_noise) {
    expect_equal_hashes({.population = 64,
                         .rank = 4,
                         .sigma_decay = 0.97F,
                         .learning_rate_decay = 0.9F,
                         .noise_reuse = 2,
                         .fitness = FitnessRule::CentredRank,
                         .optimizer = OptimizerRule::Adam,
                         .seed = 0x123456789ABCDEFU,
                         .episodes = 2});
}
TEST_P(exact_run, momentum_pair_sign_frozen) {
    expect_equal_hashes({.population = 64,
                         .fitness = FitnessRule::PairSign,
                         .optimizer = OptimizerRule::Momentum,
                         .freeze_vectors = true,
                         .freeze = {"layer1.weight"}});
}
TEST_P(exact_run, members_of_their_own_an_odd_number) {
    expect_equal_hashes({.population = 33, .antithetic = false, .rank = 2, .fitness = FitnessRule::CentredRank});
}
TEST_P(exact_run, robust_pair_difference) { expect_equal_hashes({.population = 64, .robust = true}); }

TEST(host_run, refuses_what_has_no_twin) {
    EXPECT_TRUE(expect_error(Evolution::create(Devices::none(), {}, {.determinism = Determinism::Fast}),
                             ErrorKind::BadInput, "exact"));
    EXPECT_TRUE(expect_error(Evolution::create(Devices::none(), {}, {.population = 3}), ErrorKind::BadInput, "even"));
    EXPECT_TRUE(expect_error(Evolution::create(Devices::none(), {.parameters = layered_table(1)}, {}),
                             ErrorKind::BadInput, "initial values"));
}

TEST(host_run, refuses_values_that_do_not_fit) {
    PoolParts parts{.parameters = layered_table(1)};
    parts.initial.assign(parts.parameters.element_count(), 0.5F);
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(Devices::none(), std::move(parts), {}));
    std::vector<float> values(run.parameters().size(), 0.25F);
    EXPECT_TRUE(expect_error(run.set_parameters(std::span(values).first(1)), ErrorKind::BadInput, "1 values for"));
    EXPECT_TRUE(expect_error(run.set_elements(1, values), ErrorKind::BadInput, "from element 1 on"));
    values.back() = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(expect_error(run.set_parameters(values), ErrorKind::BadInput, "would be nan"));
    EXPECT_EQ(run.parameters().front(), 0.5F);
    EXPECT_TRUE(expect_error(run.apply({}), ErrorKind::BadInput, "0 int8"));
}

// A tanh layer [kOut, kIn] over kSamples inputs, against a teacher's outputs; the score is minus the mean squared
// error. Its gradient is known.
constexpr std::uint32_t kOut = 10, kIn = 12, kSamples = 24;
struct Regression {
    std::vector<float> inputs, targets;

    Regression() : inputs(drawn_scores(kSamples * kIn, 5)), targets(drawn_scores(kSamples * kOut, 6)) {
        for (float& x : inputs) x = 4.0F * x - 2.0F;
        for (float& y : targets) y = 1.8F * y - 0.9F;
    }
    /// The score, and where `gradient` is given, its derivative by the weights.
    double score(std::span<const double> weights, std::vector<double>* gradient = nullptr) const {
        double loss = 0.0;
        for (std::uint32_t s = 0; s < kSamples; ++s) {
            for (std::uint32_t o = 0; o < kOut; ++o) {
                double sum = 0.0;
                for (std::uint32_t i = 0; i < kIn; ++i) sum += weights[o * kIn + i] * inputs[s * kIn + i];
                const double output = std::tanh(sum), error = output - targets[s * kOut + o];
                loss += error * error / kSamples;
                if (gradient == nullptr) continue;
                for (std::uint32_t i = 0; i < kIn; ++i) {
                    (*gradient)[o * kIn + i] -= 2.0 * error * (1.0 - output * output) * inputs[s * kIn + i] / kSamples;
                }
            }
        }
        return -loss;
    }
};

/// Scores of rank-1 members with W + side * sigma * A B^T written out.
Result<std::uint64_t> evaluate_members(const Regression& task, const HostQuestion& question, std::span<float> returns) {
    const NoiseContext& when = question.when;
    for (std::uint32_t member = 0; member < question.members.count; ++member) {
        NoiseStream stream{
            .seed = when.seed, .parameter = 0, .domain = Domain::A, .pair = member / 2, .time = when.time};
        std::vector<double> a(kOut), b(kIn), weights(question.parameters.begin(), question.parameters.end());
        for (std::uint32_t o = 0; o < kOut; ++o) a[o] = noise_element(stream, o) / std::sqrt(85.0);
        stream.domain = Domain::B;
        for (std::uint32_t i = 0; i < kIn; ++i) b[i] = noise_element(stream, i) / std::sqrt(85.0);
        const double step = (member % 2 == 0 ? 1.0 : -1.0) * when.sigma;
        for (std::uint32_t e = 0; e < kOut * kIn; ++e) weights[e] += step * a[e / kIn] * b[e % kIn];
        returns[member] = static_cast<float>(task.score(weights));
    }
    return question.members.count;
}

double mean_cosine(std::uint32_t pairs) {
    constexpr int kRepeats = 8;
    const Regression task;
    const ParameterTable table = *ParameterTable::create({{.name = "w", .rows = kOut, .columns = kIn}});
    double sum = 0.0;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const EvolutionOptions options{
            .population = 2 * pairs, .sigma = 0.05F, .seed = 100 + static_cast<std::uint64_t>(repeat)};
        const std::vector<float> start = initial_parameters(table, options.seed);
        PoolParts parts{.parameters = table, .initial = start, .keep_weights = true};
        parts.members = [&task](const Device*, Dispatcher*) {
            return Result(host_members([&task](const HostQuestion& question, std::span<float> returns) {
                return evaluate_members(task, question, returns);
            }));
        };
        Result<Evolution> twin = Evolution::create(Devices::none(), std::move(parts), options);
        EXPECT_OK(twin);
        EXPECT_OK(twin->step());
        const std::vector<float> gradient = gradient_by_twin(0, table, options, *twin->shaped());
        std::vector<double> truth(start.size(), 0.0);
        static_cast<void>(task.score(std::vector<double>(start.begin(), start.end()), &truth));
        double dot = 0.0, norm_a = 0.0, norm_b = 0.0;
        for (std::size_t e = 0; e < truth.size(); ++e) {
            dot += truth[e] * gradient[e];
            norm_a += truth[e] * truth[e];
            norm_b += double{gradient[e]} * gradient[e];
        }
        sum += dot / std::sqrt(norm_a * norm_b);
    }
    return sum / kRepeats;
}

// One pair's estimate of a gradient M [m, n] is (a M b) a b^T. Its mean is M; its mean square is |M|^2 (m + k - 1)(n +
// k - 1), where k is the kurtosis of an element (E[a_i^2 a_j^2] is 1, and k where i = j): 2.70 for the sum of four
// nibbles (each 1.791, so 3 - 1.209 / 4). So N pairs reach the cosine sqrt(N / (N + (m + k - 1)(n + k - 1) - 1)), up to
// curvature (sigma is small) and int8 (1e-5). One cosine deviates by about (1 - c^2) / sqrt(m n), at most .07, the mean
// of eight by .024; the seeds are fixed, so the outcome is, too.
TEST(gradient_estimate, points_along_the_true_gradient) {
    constexpr double kKurtosis = 2.70;
    for (const std::uint32_t pairs : {60U, 240U, 960U}) {
        const double spread = (kOut + kKurtosis - 1.0) * (kIn + kKurtosis - 1.0) - 1.0;
        EXPECT_NEAR(mean_cosine(pairs), std::sqrt(pairs / (pairs + spread)), 0.03) << pairs << " pairs";
    }
}

}  // namespace
}  // namespace yolk::evolve
