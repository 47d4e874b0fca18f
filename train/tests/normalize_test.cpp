// SPDX-License-Identifier: Apache-2.0
// Runs whose observations are normalized by what all members have seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <tuple>

#include "observation_sums.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/safetensors.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

constexpr std::uint64_t kMiddleStep = std::uint64_t{1} << 31U;  // of a value of 0

/// Of values given in steps of 2^-16.
ObservationSums sums_of_steps(std::initializer_list<std::int64_t> values) {
    ObservationSums sums;
    for (const std::int64_t value : values) {
        const auto step = static_cast<std::uint64_t>(value + static_cast<std::int64_t>(kMiddleStep));
        ++sums.count;
        sums.steps += step;
        sums.squares += ObservationSum{step} * step;
    }
    return sums;
}

TEST(normalizer, shift_is_the_mean_and_scale_one_over_the_deviation) {
    EXPECT_EQ(scale_of({}), (ObservationScale{0.0F, 1.0F}));
    EXPECT_EQ(scale_of(sums_of_steps({65536, 3 * 65536})), (ObservationScale{2.0F, 1.0F}));
    EXPECT_EQ(scale_of(sums_of_steps({-65536, -3 * 65536})), (ObservationScale{-2.0F, 1.0F}));
    EXPECT_EQ(scale_of(sums_of_steps({0, 32768})), (ObservationScale{0.25F, 4.0F}));
    // One value, and one that deviates by half a step: left on its scale. Two steps are enough.
    EXPECT_EQ(scale_of(sums_of_steps({32768, 32768, 32768})), (ObservationScale{0.5F, 1.0F}));
    EXPECT_EQ(scale_of(sums_of_steps({0, 1})).scale, 1.0F);
    EXPECT_EQ(scale_of(sums_of_steps({0, 4})), (ObservationScale{0x1p-15F, 32768.0F}));
    // The bounds, as often each as can be: 2^47 values in all.
    ObservationSums most{.count = std::uint64_t{1} << 47U};
    most.steps = ObservationSum{most.count / 2} * 0xFFFFFFFFU;
    most.squares = ObservationSum{most.count / 2} * 0xFFFFFFFFU * 0xFFFFFFFFU;
    EXPECT_FLOAT_EQ(scale_of(most).scale, 0x1p-15F);
    EXPECT_NEAR(scale_of(most).shift, -0x1p-17, 0x1p-30);
}

TEST(normalizer, digits_hold_the_sums) {
    const std::vector<ObservationSums> sums{sums_of_steps({}), sums_of_steps({1, -70000, 2147483647, -2147483648}),
                                            sums_of_steps({123456789})};
    const std::vector<float> normalizer = normalizer_of(sums);
    ASSERT_EQ(normalizer.size(), 13U * 3U);
    EXPECT_EQ(sums_of(normalizer), sums);
    for (const float digit : {0.5F, -1.0F, 0x1p24F, INFINITY, std::nanf("")}) {
        std::vector<float> damaged = normalizer;
        damaged[6] = digit;  // of the first value's count
        EXPECT_EQ(sums_of(damaged), std::nullopt) << digit;
    }
    // Sums that no values have: of none, squares too small for the mean, and too large for the count.
    constexpr std::size_t kSecondSquares = 6 + kObservationDigits + 6;
    for (const auto& [first, count, digit] :
         {std::tuple{std::size_t{8}, std::size_t{1}, 1.0F}, std::tuple{kSecondSquares, std::size_t{5}, 0.0F},
          std::tuple{kSecondSquares + 4, std::size_t{1}, 12345.0F}}) {
        std::vector<float> damaged = normalizer;
        std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(first), count, digit);
        EXPECT_EQ(sums_of(damaged), std::nullopt) << first;
    }
}

TEST(normalizer, a_generation_adds_what_its_members_counted) {
    const std::vector<float> before = normalizer_of(std::vector{sums_of_steps({5, 7}), sums_of_steps({-3, 3})});
    // Words are summed over members one by one, so that low ones may be past 32 bits.
    const ObservationSums more = sums_of_steps({1000, 100, 10});
    std::vector<std::uint64_t> words(12);
    words[0] = more.count;
    words[1] = static_cast<std::uint64_t>(more.steps);
    words[3] = static_cast<std::uint64_t>(more.squares);
    words[4] = static_cast<std::uint64_t>(more.squares >> 64U) << 32U;
    const std::vector<float> after = normalizer_after(before, words);
    EXPECT_EQ(after, normalizer_of(std::vector{sums_of_steps({5, 7, 1000, 100, 10}), sums_of_steps({-3, 3})}));
}

TEST(normalizer, episodes_add_up_with_their_carries) {
    std::array<std::uint32_t, 12> sum{1, 0xFFFFFFFF, 1, 0xFFFFFFFF, 0xFFFFFFFF, 2, 9, 0, 0, 5, 0, 0};
    const std::array<std::uint32_t, 12> more{2, 1, 3, 1, 0, 4, 1, 7, 8, 0xFFFFFFFF, 0xFFFFFFFF, 1};
    add_observations(sum, more);
    EXPECT_THAT(sum, ::testing::ElementsAre(3, 0, 5, 0, 0, 7, 10, 7, 8, 4, 0, 2));
}

class normalized_run : public ::testing::Test {
   protected:
    static std::vector<Device> both() { return {testing::other_device().device, testing::first_device().device}; }
    [[nodiscard]] TrainOptions options(const std::string& folder = {}) const {
        return {.evolution = {.population = 34, .rank = 2, .optimizer = OptimizerRule::Adam, .seed = 3, .episodes = 3},
                .network = {.widths = {4, 8, 2}, .normalized = true},
                .generations = 5,
                .stop_when_solved = false,
                .max_steps = 140,  // more than one dispatch
                .out = folder.empty() ? std::filesystem::path() : folder_.path() / folder,
                .evaluation_episodes = 20,
                .rollout_config = RolloutConfig{.unrolled = false}};
    }
    [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
    TemporaryFolder folder_;
};

TEST_F(normalized_run, has_one_hash_on_devices_ranks_and_the_twin) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> twin, train_twin(options()));
    const std::vector<Device> devices = both();
    for (const Device& device : devices) {
        ASSERT_OK_AND_ASSIGN(const TrainOutcome alone, train(device, options()));
        EXPECT_EQ(alone.state_hash, twin.back());
    }
    TrainOptions audited = options();
    ASSERT_OK_AND_ASSIGN(const TrainOutcome together, train(devices, audited));
    EXPECT_EQ(together.state_hash, twin.back());
    audited.audit = 1.0;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome checked, train(devices, audited));
    EXPECT_EQ(checked.state_hash, twin.back());
    EXPECT_TRUE(checked.losses.empty());
    ::yolk::testing::on_ranks<evolve::Exchange>(2, [&](evolve::Exchange& exchange) {
        const evolve::Devices on = evolve::Devices(devices[exchange.rank()]).with(exchange);
        ASSERT_OK_AND_ASSIGN(const TrainOutcome ranks, train(on, options()));
        EXPECT_EQ(ranks.state_hash, twin.back());
    });
    TrainOptions plain = options();
    plain.network.normalized = false;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> other, train_twin(plain));
    EXPECT_NE(other.back(), twin.back());
}

/// Every step of every member is counted, and nothing of the unperturbed policy.
TEST_F(normalized_run, counts_each_evaluation_once) {
    std::uint64_t evaluations = 0;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome outcome,
                         train(both()[0], options("counted"), [&](const GenerationReport& report) {
                             evaluations += report.evaluations;
                             return true;
                         }));
    ASSERT_OK_AND_ASSIGN(const Policy policy, load_policy(outcome.policy));
    EXPECT_TRUE(policy.network.normalized);
    const auto normalizer = std::span(policy.parameters).last(policy.network.normalizer_elements());
    const auto sums = sums_of(normalizer);
    ASSERT_TRUE(sums.has_value());
    for (const ObservationSums& each : *sums) EXPECT_EQ(each.count, evaluations);
    EXPECT_NE(normalizer[4], 1.0F);  // a scale
    // Evaluated twice from the file: with the same normalizer.
    ASSERT_OK_AND_ASSIGN(const EvalOutcome first, evaluate_policy(both()[0], outcome.policy));
    ASSERT_OK_AND_ASSIGN(const EvalOutcome second, evaluate_policy(both()[1], outcome.policy));
    EXPECT_EQ(first.mean_return, second.mean_return);
}

TEST_F(normalized_run, goes_on_and_is_replayed_in_the_same_bits) {
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(both()[0], options("whole")));
    TrainOptions parts = options("parts");
    parts.checkpoint_every = 2;
    ASSERT_OK(train(both()[0], parts, [](const GenerationReport& report) { return report.generation < 2; }));
    // As a kill leaves it: the log is ahead of the checkpoint, or there is none.
    std::filesystem::remove(file("parts") / "checkpoint.yolk");
    parts.resume = true;
    parts.generations = 4;
    ASSERT_OK(train(both()[1], parts));
    std::filesystem::remove(file("parts") / "log.yolk");
    parts.generations = 5;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(both(), parts));
    EXPECT_EQ(resumed.state_hash, whole.state_hash);
    EXPECT_EQ(text_of(file("parts") / "policy.safetensors"), text_of(file("whole") / "policy.safetensors"));

    ASSERT_OK_AND_ASSIGN(const ReplayOutcome on_device, replay(both()[1], file("whole"), {.out = file("replayed")}));
    EXPECT_EQ(on_device.state_hash, whole.state_hash);
    EXPECT_EQ(text_of(file("replayed") / "policy.safetensors"), text_of(file("whole") / "policy.safetensors"));
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome on_host, replay(evolve::Devices::none(), file("whole")));
    EXPECT_EQ(on_host.state_hash, whole.state_hash);
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome middle, replay(both()[1], file("whole"), {.generation = 2}));
    EXPECT_NE(middle.state_hash, whole.state_hash);
}

TEST_F(normalized_run, is_not_resumed_as_another_one) {
    TrainOptions given = options("one");
    given.generations = 1;
    ASSERT_OK(train(both()[0], given));
    given.generations = 2;
    given.resume = true;
    given.network.normalized = false;
    EXPECT_TRUE(expect_error(train(both()[0], given), ErrorKind::BadInput, "with --normalize"));
    given.out = file("other");
    given.resume = false;
    given.generations = 1;
    ASSERT_OK(train(both()[0], given));
    given.resume = true;
    given.generations = 2;
    given.network.normalized = true;
    EXPECT_TRUE(expect_error(train(both()[0], given), ErrorKind::BadInput, "without --normalize"));
}

TEST_F(normalized_run, a_policy_whose_tensors_contradict_each_other_is_refused) {
    Policy policy{.task = "cartpole", .network = {.widths = {4, 2}, .normalized = true}, .parameters = {}};
    policy.parameters.assign(10, 0.25F);
    const std::vector<float> normalizer = normalizer_of(
        std::vector{sums_of_steps({1, 5}), sums_of_steps({}), sums_of_steps({9000}), sums_of_steps({-70000, 65536})});
    policy.parameters.insert(policy.parameters.end(), normalizer.begin(), normalizer.end());
    ASSERT_OK(save_policy(file("p"), policy));
    ASSERT_OK_AND_ASSIGN(const Policy read, load_policy(file("p")));
    EXPECT_EQ(read.parameters, policy.parameters);
    const auto load_with = [&](const std::function<void(TensorFile&)>& change) -> Result<Policy> {
        YOLK_TRY(const std::vector<std::byte> bytes, read_file(file("p"), 1U << 20U));
        YOLK_TRY(TensorFile tensors, decode_safetensors(bytes, "'x'"));
        change(tensors);
        YOLK_TRY(const std::vector<std::byte> changed, encode_safetensors(tensors));
        YOLK_TRY_VOID(write_file_atomically(file("q"), changed));
        return load_policy(file("q"));
    };
    const auto tensor = [](TensorFile& tensors, std::string_view name) -> StoredTensor& {
        return *std::ranges::find(tensors.tensors, name, &StoredTensor::name);
    };
    EXPECT_OK(load_with([](TensorFile&) {}));
    const auto scaled = load_with([&](TensorFile& t) { tensor(t, "observation.scale").values[0] *= 2.0F; });
    EXPECT_TRUE(expect_error(scaled, ErrorKind::BadInput, "do not follow from its 'observation.sums'"));
    const auto shifted = load_with([&](TensorFile& t) { tensor(t, "observation.shift").values[3] += 1.0F; });
    EXPECT_TRUE(expect_error(shifted, ErrorKind::BadInput, "do not follow from its 'observation.sums'"));
    const auto damaged = load_with([&](TensorFile& t) { tensor(t, "observation.sums").values[5] = 0.5F; });
    EXPECT_TRUE(expect_error(damaged, ErrorKind::BadInput, "digits that no observations sum to"));
    const auto missing = load_with([](TensorFile& t) {
        std::erase_if(t.tensors, [](const StoredTensor& each) { return each.name == "observation.shift"; });
    });
    EXPECT_TRUE(expect_error(missing, ErrorKind::BadInput, "has no tensor 'observation.shift'"));
    const auto untold = load_with(
        [](TensorFile& t) { std::erase_if(t.metadata, [](const auto& each) { return each.first == "normalize"; }); });
    EXPECT_TRUE(expect_error(untold, ErrorKind::BadInput, "its network has"));
}

/// Seen 1000 times larger than it is, and normalized.
class Drift final : public HostEnvironment {
   public:
    explicit Drift(std::uint32_t lanes) : positions_(lanes) {
        info_ = {.name = "drift",
                 .lanes = lanes,
                 .observation_count = 2,
                 .actions = HostActions{.count = 2},
                 .max_steps = 12};
    }
    [[nodiscard]] const HostEnvironmentInfo& info() const noexcept override { return info_; }
    [[nodiscard]] Result<void> reset(std::span<const std::uint32_t> seeds, std::span<float> observations) override {
        for (std::size_t i = 0; i < positions_.size(); ++i) {
            positions_[i] = static_cast<float>(seeds[i] % 64U) - 32.0F;
            show(i, observations);
        }
        return {};
    }
    [[nodiscard]] Result<void> step(const HostStep& step) override {
        for (std::size_t i = 0; i < positions_.size(); ++i) {
            positions_[i] += 2.0F * step.actions[i] - 1.0F;
            step.rewards[i] = -std::abs(positions_[i]);
            step.terminated[i] = std::abs(positions_[i]) > 36.0F ? 1 : 0;
            show(i, step.observations);
        }
        return {};
    }

   private:
    void show(std::size_t lane, std::span<float> observations) const {
        observations[2 * lane] = 1000.0F * positions_[lane];
        observations[2 * lane + 1] = 7.0F;
    }
    HostEnvironmentInfo info_;
    std::vector<float> positions_;
};

HostEnvironments drifts(std::size_t copies, std::uint32_t lanes) {
    HostEnvironments all;
    for (std::size_t i = 0; i < copies; ++i) all.push_back(std::make_shared<Drift>(lanes));
    return all;
}

TEST_F(normalized_run, of_a_policy_with_a_memory_has_one_hash_too) {
    TrainOptions recurrent = options();
    recurrent.network.recurrent = 3;
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> twin, train_twin(recurrent));
    recurrent.out = file("recurrent");
    ASSERT_OK_AND_ASSIGN(const TrainOutcome together, train(both(), recurrent));
    EXPECT_EQ(together.state_hash, twin.back());
    ASSERT_OK_AND_ASSIGN(const ReplayOutcome on_host, replay(evolve::Devices::none(), file("recurrent")));
    EXPECT_EQ(on_host.state_hash, twin.back());
    ASSERT_OK_AND_ASSIGN(const Policy policy, load_policy(together.policy));
    EXPECT_TRUE(policy.network.normalized);
    EXPECT_EQ(policy.network.recurrent, 3U);

    recurrent.out.clear();
    recurrent.network.widths = {2, 6, 2};
    recurrent.max_steps = 0;
    recurrent.host_environments = drifts(1, 34);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome at_once, train(both()[0], recurrent));
    recurrent.host_environments = drifts(3, 5);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome by_turns, train(both()[1], recurrent));
    EXPECT_EQ(at_once.state_hash, by_turns.state_hash);
}

TEST_F(normalized_run, environments_on_the_host_count_the_same_however_they_are_stepped) {
    TrainOptions on_host = options("host");
    on_host.network.widths = {2, 6, 2};
    on_host.max_steps = 0;
    on_host.host_environments = drifts(1, 34);
    std::uint64_t evaluations = 0;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome whole, train(both()[0], on_host, [&](const GenerationReport& report) {
                             evaluations += report.evaluations;
                             return true;
                         }));
    ASSERT_OK_AND_ASSIGN(const Policy policy, load_policy(whole.policy));
    const auto normalizer = std::span(policy.parameters).last(policy.network.normalizer_elements());
    const auto sums = sums_of(normalizer);
    ASSERT_TRUE(sums.has_value());
    EXPECT_EQ((*sums)[0].count, evaluations);
    EXPECT_EQ((*sums)[1].count, evaluations);
    EXPECT_LT(normalizer[2], 0.001F);  // of thousands
    EXPECT_EQ(normalizer[1], 7.0F);    // what never changes is 0, on its scale
    EXPECT_EQ(normalizer[3], 1.0F);
    on_host.out.clear();
    on_host.host_environments = drifts(3, 5);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome again, train(both()[1], on_host));
    EXPECT_EQ(again.state_hash, whole.state_hash);
    on_host.host_environments = drifts(2, 8);
    ASSERT_OK_AND_ASSIGN(const TrainOutcome together, train(both(), on_host));
    EXPECT_EQ(together.state_hash, whole.state_hash);
    EXPECT_EQ(together.eval_mean_return, whole.eval_mean_return);
    ASSERT_OK_AND_ASSIGN(const EvalOutcome evaluated,
                         evaluate_policy(both()[0], whole.policy, {.host_environments = drifts(1, 16)}));
    EXPECT_EQ(evaluated.not_finite, 0U);
}

}  // namespace
}  // namespace yolk::train
