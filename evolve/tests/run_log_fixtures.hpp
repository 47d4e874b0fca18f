// SPDX-License-Identifier: Apache-2.0
// Logs of made-up generations, and the folder that they are in.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "yolk/run_log.hpp"

namespace yolk::evolve {

class InLogFolder : public ::testing::Test {
   protected:
    void SetUp() override {
        static int count = 0;
        folder_ = std::filesystem::temp_directory_path() /
                  ("yolk-run-log-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path file(const std::string& name = "log.yolk") const { return folder_ / name; }

   private:
    std::filesystem::path folder_;
};

inline std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}
inline void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline constexpr std::uint32_t kLoggedWeights = 5;

inline RunLogHeader example_header(FitnessWeights weights = FitnessWeights::I8, std::uint32_t first = 0) {
    return {.settings = {{"task", "none"}, {"sigma", "0.2"}},
            .weights = weights,
            .weight_count = kLoggedWeights,
            .element_count = 7,
            .first_generation = first,
            .first_digest = std::string(31, '0') + "a"};
}
/// Every generation has a digest, a mean or the mark of a solved task where the others have none.
inline LoggedGeneration example_generation(std::uint32_t g, FitnessWeights weights = FitnessWeights::I8) {
    LoggedGeneration logged{.generation = g, .solved = g % 3 == 2};
    logged.shaped.summary.coefficient = 0.5F + static_cast<float>(g);
    logged.shaped.summary.best = 3;
    logged.shaped.summary.finite_count = 10;
    for (std::uint32_t i = 0; i < kLoggedWeights; ++i) {
        if (weights == FitnessWeights::I8) {
            logged.shaped.integer_weights.push_back(static_cast<std::int8_t>(g * 7 + i - 100));
        } else {
            logged.shaped.float_weights.push_back(0.25F * static_cast<float>(i) - static_cast<float>(g));
        }
    }
    if (g % 2 == 0) logged.digest = "00000000000000ff" + std::string(15, 'b') + "123456789a"[g % 10];
    if (g % 3 != 0) logged.policy_mean = 20.5F;
    return logged;
}
/// Writes generations from the header's first on.
inline Result<void> write_log(const std::filesystem::path& path, std::uint32_t count,
                              FitnessWeights weights = FitnessWeights::I8, std::uint32_t first = 0) {
    RunLogWriter log = RunLogWriter::replace(path, example_header(weights, first));
    for (std::uint32_t g = first; g < first + count; ++g) YOLK_TRY_VOID(log.append(example_generation(g, weights)));
    return log.sync();
}
inline void expect_example(const RunLogReader& log, std::uint32_t generations) {
    EXPECT_EQ(log.generations(), generations);
    for (std::uint32_t g = log.header().first_generation; g < generations; ++g) {
        const Result<LoggedGeneration> read = log.read(g);
        ASSERT_TRUE(read) << read.error().message;
        const LoggedGeneration wanted = example_generation(g, log.header().weights);
        EXPECT_EQ(read->generation, g);
        EXPECT_EQ(read->shaped, wanted.shaped);
        EXPECT_EQ(read->policy_mean, wanted.policy_mean);
        EXPECT_EQ(read->solved, wanted.solved);
        EXPECT_EQ(read->digest, wanted.digest);
    }
}

}  // namespace yolk::evolve
