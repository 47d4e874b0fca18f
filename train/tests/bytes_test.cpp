// SPDX-License-Identifier: Apache-2.0
// Runs of the byte model: one state on devices, by the twin, over ranks, resumed and replayed.
#include "yolk/bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "byte_step.hpp"
#include "temporary_folder.hpp"
#include "yolk/exact/exact_bytes.h"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/reference/byte_model.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

class bytes : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] ByteOptions small_run(const std::string& out = {}, std::uint32_t feedback = 0) const {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "the cat sat on the mat, and the dog ran; ";
        write_text(folder_.path() / "text", text);
        return {.data = folder_.path() / "text",
                .settings = {.width = 8, .population = 16, .group = 4, .steps = 6, .context = 2, .feedback = feedback},
                .generations = 5,
                .evaluate_every = 2,
                .checkpoint_every = 2,
                .out = out.empty() ? std::filesystem::path() : folder_.path() / out};
    }
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(bytes);

/// The hash of each generation.
Result<std::vector<std::string>> hashes_of_run(const evolve::Devices& devices, const ByteOptions& options) {
    std::vector<std::string> hashes;
    YOLK_TRY(const ByteOutcome outcome, train_bytes(devices, options, [&](const ByteReport& report) {
                 hashes.push_back(report.state_hash);
                 return true;
             }));
    if (outcome.state_hash != hashes.back()) return failed_work("The outcome has another state than the last report.");
    return hashes;
}

TEST_P(bytes, has_the_twins_states) {
    for (const std::uint32_t feedback : {0U, 20U}) {
        ByteOptions options = small_run("", feedback);
        options.settings.symmetric = feedback == 0;
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> twin, train_bytes_twin(options));
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> made, hashes_of_run(device(), options));
        EXPECT_EQ(made, twin);
    }
}

TEST_P(bytes, resumes_and_replays_to_the_same_state) {
    ByteOptions options = small_run("whole", 20);
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> whole, hashes_of_run(device(), options));
    ASSERT_OK_AND_ASSIGN(const std::string replayed, replay_bytes(device(), options.out));
    EXPECT_EQ(replayed, whole.back());
    ASSERT_OK_AND_ASSIGN(const std::string third, replay_bytes(device(), options.out, 3));
    EXPECT_EQ(third, whole[2]);

    options.out = folder_.path() / "parts";
    options.generations = 3;
    EXPECT_OK(train_bytes(device(), options));
    options.generations = 5;
    options.resume = true;
    // The model, the log beyond the model, and the log alone.
    std::filesystem::copy_file(options.out / "log.yolk", folder_.path() / "log");
    ASSERT_OK_AND_ASSIGN(const ByteOutcome resumed, train_bytes(device(), options));
    EXPECT_EQ(resumed.resumed_from, 3U);
    EXPECT_EQ(resumed.state_hash, whole.back());
    std::filesystem::remove(options.out / "model.safetensors");
    options.generations = 6;
    ASSERT_OK_AND_ASSIGN(const ByteOutcome by_log, train_bytes(device(), options));
    EXPECT_EQ(by_log.resumed_from, 5U);

    options.settings.seed = 2;
    EXPECT_TRUE(expect_error(train_bytes(device(), options), ErrorKind::BadInput, "has another seed than this one, 2"));
}

class bytes_together : public bytes {};
INSTANTIATE_TEST_SUITE_P(, bytes_together, ::testing::Values(::yolk::testing::first_device_name()));

TEST_P(bytes_together, devices_and_ranks_give_one_state) {
    const ByteOptions options = small_run();
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> twin, train_bytes_twin(options));
    const std::vector<Device> both{::yolk::testing::other_device().device, ::yolk::testing::first_device().device};
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> together, hashes_of_run(both, options));
    EXPECT_EQ(together, twin);
    ::yolk::testing::on_ranks<evolve::Exchange>(2, [&](evolve::Exchange& exchange) {
        const evolve::Devices on = evolve::Devices(both[exchange.rank()]).with(exchange);
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> ranks, hashes_of_run(on, options));
        EXPECT_EQ(ranks, twin);
    });
}

TEST_P(bytes_together, learns) {
    ByteOptions options = small_run();
    options.settings.population = 64;
    options.settings.steps = 16;
    options.generations = 60;
    ASSERT_OK_AND_ASSIGN(const ByteOutcome outcome, train_bytes(device(), options));
    options.generations = 1;
    ASSERT_OK_AND_ASSIGN(const ByteOutcome first, train_bytes(device(), options));
    EXPECT_LT(outcome.held_out, first.held_out - 2.0);
}

TEST_P(bytes_together, samples_the_same_text_again) {
    const ByteOptions options = small_run("model");
    ASSERT_OK_AND_ASSIGN(const ByteOutcome outcome, train_bytes(device(), options));
    ASSERT_OK_AND_ASSIGN(const std::string text, sample_bytes(outcome.model, {.length = 50, .seed = 3}));
    EXPECT_EQ(text.size(), 50U);
    ASSERT_OK_AND_ASSIGN(const std::string again, sample_bytes(outcome.model, {.length = 50, .seed = 3}));
    EXPECT_EQ(again, text);
    ASSERT_OK_AND_ASSIGN(const std::string other, sample_bytes(outcome.model, {.length = 50, .seed = 4}));
    EXPECT_NE(other, text);
    ASSERT_OK_AND_ASSIGN(const std::string likeliest, sample_bytes(outcome.model, {.length = 50, .temperature = 0}));
    ASSERT_OK_AND_ASSIGN(const std::string cold,
                         sample_bytes(outcome.model, {.length = 50, .temperature = 0, .seed = 9}));
    EXPECT_EQ(cold, likeliest);
    EXPECT_TRUE(expect_error(sample_bytes(outcome.model, {.temperature = 257}), ErrorKind::BadInput, "257 sixteenths"));
    EXPECT_TRUE(expect_error(sample_bytes(options.data), ErrorKind::BadInput, "byte model"));
    EXPECT_TRUE(expect_error(evaluate_policy(device(), outcome.model), ErrorKind::BadInput, "policy"));
}

TEST_P(bytes_together, refuses_bad_input) {
    const auto refused = [&](auto change, const char* says) {
        ByteOptions options = small_run();
        change(options);
        EXPECT_TRUE(expect_error(train_bytes(device(), options), ErrorKind::BadInput, says));
    };
    refused([](ByteOptions& o) { o.settings.width = 264; }, "width of the byte model is 264; it must be from 8 to 256");
    refused([](ByteOptions& o) { o.settings.width = 12; }, "width of the byte model is 12; it must be a multiple of 8");
    refused([](ByteOptions& o) { o.settings.width = 256, o.settings.rank = 16; }, "may reach");
    refused([](ByteOptions& o) { o.settings.rank = 2; }, "may be 1, 4 or 16");
    refused([](ByteOptions& o) { o.settings.population = 15; }, "group has 4 members; members come in pairs");
    refused([](ByteOptions& o) { o.settings.population = 40'000; }, "population of the byte model is 40000");
    refused([](ByteOptions& o) { o.settings.held_out = 0; }, "held-out share in percent of the byte model is 0");
    refused([](ByteOptions& o) { o.settings.steps = 4000; }, "Give a longer text, or fewer steps");
    refused([](ByteOptions& o) { o.generations = 0; }, "generations is 0");
    refused([](ByteOptions& o) { o.minutes = std::nan(""); }, "minutes are nan");
    refused([](ByteOptions& o) { o.resume = true; }, "give its output folder");
    write_text(folder_.path() / "empty", "");
    refused([&](ByteOptions& o) { o.data = folder_.path() / "empty"; }, "is empty");
    ByteOptions missing = small_run();
    missing.data = folder_.path() / "nowhere";
    EXPECT_TRUE(expect_error(train_bytes(device(), missing), ErrorKind::Io, "nowhere"));
}

// bench/peers/byte_model_numpy.py prints these.
TEST(byte_model, has_numpys_logits) {
    constexpr std::array<std::array<int, 32>, 2> kLogits{
        {{28, -10, -11, 16, 21,  -10, 26, -13, -13, 14, 18,  -12, 3,  -14, -15, 7,
          17, -13, -1,  -1, -18, 4,   13, -27, -2,  -4, -19, 1,   11, -29, -5,  11},
         {29, -15, -12, 16, 23,  -9, 27, -17, -13, 14, 21,  -11, 0,  -19, -16, 8,
          19, -14, -1,  -5, -18, 6,  17, -25, -4,  -7, -21, 2,   15, -27, -6,  13}}};
    constexpr std::array<int, 2> kSums{-72, -67};
    std::vector<float> parameters;
    for (const ParameterDesc& p : byte_model_parameters(16, 1)) {
        for (std::uint32_t i = 0; i < p.rows * p.columns; ++i)
            parameters.push_back(static_cast<float>(7 * parameters.size() % 61) - 30.0F);
    }
    reference::ByteModel model({.width = 16, .layers = 1}, parameters);
    for (const std::size_t side : {0U, 1U}) {
        model.become(6 + static_cast<std::int32_t>(side), {.seed = 42, .generation = 7, .time = 7, .sigma = 1.0F});
        for (const char c : std::string_view("\0Yolk", 5)) model.read(static_cast<std::uint8_t>(c));
        const std::array<std::int8_t, 256> logits = model.logits();
        for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(logits[i], kLogits[side][i]) << side << " " << i;
        int sum = 0;
        for (const std::int8_t logit : logits) sum += logit;
        EXPECT_EQ(sum, kSums[side]);
    }
}

/// Every numerator at each divisor, both roundings.
TEST(byte_model, quotients_are_exact) {
    const auto rounded = [](double x, std::uint32_t symmetric) {
        const double whole = symmetric == 0 ? std::floor(x) : std::copysign(std::floor(std::abs(x) + 0.5), x);
        return static_cast<int>(std::clamp(whole, -127.0, 127.0));
    };
    for (std::uint32_t divisor = 1; divisor <= 32; ++divisor) {
        const std::uint32_t magic = exact::byte_scale_magic(divisor);
        const int most = static_cast<int>(2100 * divisor);
        for (int sum = -most; sum <= most; ++sum) {
            for (const std::uint32_t symmetric : {0U, 1U}) {
                ASSERT_EQ(exact::byte_scale(sum, divisor, magic, symmetric),
                          rounded(sum / (16.0 * divisor), symmetric));
            }
        }
    }
    for (std::uint32_t mean = 1; mean <= 127; ++mean) {
        const std::uint32_t magic = exact::byte_mean_magic(mean);
        for (int product = -16129; product <= 16129; ++product) {
            for (const std::uint32_t symmetric : {0U, 1U}) {
                ASSERT_EQ(exact::byte_normalize(product, 1, mean, magic, symmetric),
                          rounded(product / static_cast<double>(mean), symmetric));
            }
        }
    }
}

TEST(byte_model, logarithm_has_the_257_thresholds) {
    for (int j = 128; j <= 384; ++j) {
        const auto threshold = static_cast<std::uint32_t>(std::ceil(16.0 * std::exp2(j / 16.0)));
        EXPECT_EQ(exact::byte_log(threshold), j);
        EXPECT_EQ(exact::byte_log(threshold - 1), j - 1);
    }
    for (int z = -128; z <= 127; ++z)
        EXPECT_EQ(exact::byte_power(z), static_cast<std::uint32_t>(std::floor(16.0 * std::exp2((z + 128) / 16.0))));
}

// erfc gives alpha of z; the table is its inverse.
TEST(byte_model, significance_is_the_normal_quantile) {
    for (std::uint32_t generation = 0; generation < 100'000; generation += 97) {
        const double alpha = 1.0 / (0.015 * generation + 1.0);
        const std::uint32_t level = byte_significance(15, generation);
        EXPECT_GE(std::erfc(level / 16.0 / std::sqrt(2.0)), alpha * (1.0 - 1e-9)) << generation;
        EXPECT_LT(std::erfc((level + 1) / 16.0 / std::sqrt(2.0)), alpha * (1.0 + 1e-9)) << generation;
    }
    EXPECT_EQ(byte_significance(15, 0), 0U);
    EXPECT_EQ(byte_significance(1'000'000, 0xFFFFFFFF), 80U);
}

/// At 16 pairs the deviation of a sum is 4 * 256 / 16 of 3 |sum|: 21.3 for a matrix of rank 1, 2.3 for a vector.
TEST(byte_model, weights_move_by_one_where_a_sum_is_significant) {
    ASSERT_OK_AND_ASSIGN(const ParameterTable table,
                         ParameterTable::create({{.name = "m", .rows = 1, .columns = 4},
                                                 {.name = "v", .rows = 2, .perturbation = Perturbation::Vector}}));
    ByteSettings settings{.population = 32, .alpha_rate = 1000};
    ASSERT_EQ(byte_significance(1000, 1), 10U);  // alpha .5: 16 * .674
    // 48 |sum| >= 10 * 1024 from 214 on, 448 |sum| from 23 on.
    const std::vector<float> sums{214.0F, -213.0F, -214.0F, 900.0F, 23.0F, -22.0F};
    std::vector<float> weights{1.0F, 2.0F, -127.0F, 5.0F, 6.0F, 7.0F};
    step_bytes(settings, table, sums, 1, weights, {});
    EXPECT_EQ(weights, (std::vector<float>{2.0F, 2.0F, -127.0F, 6.0F, 7.0F, 7.0F}));

    settings.feedback = 16;
    std::vector<float> residual{0.0F, -7.0F, 3.0F, 0.0F, 0.0F, 0.0F};
    weights = {1.0F, 2.0F, 3.0F, 5.0F, 6.0F, 7.0F};
    step_bytes(settings, table, sums, 1, weights, residual);
    EXPECT_EQ(weights, (std::vector<float>{1.0F, 1.0F, 3.0F, 6.0F, 6.0F, 7.0F}));
    EXPECT_EQ(residual, (std::vector<float>{10.0F, -1.0F, -7.0F, 26.0F, 10.0F, -10.0F}));
}

}  // namespace
}  // namespace yolk::train
