// SPDX-License-Identifier: Apache-2.0
#include "byte_baselines.hpp"
#include <array>
#include <cmath>

#include "yolk/internal/core/child_process.hpp"

namespace yolk::train {
namespace {

constexpr double kPairPrior = 0.05;

double unigram_bits(const std::vector<std::uint8_t>& training, const std::vector<std::uint8_t>& held_out) {
    std::array<double, 256> counts{};
    counts.fill(1.0);
    for (const std::uint8_t byte : training) counts[byte] += 1.0;
    const double all = static_cast<double>(training.size()) + 256.0;
    double bits = 0.0;
    for (const std::uint8_t byte : held_out) bits -= std::log2(counts[byte] / all);
    return bits / static_cast<double>(held_out.size());
}

double bigram_bits(const std::vector<std::uint8_t>& training, const std::vector<std::uint8_t>& held_out) {
    std::vector<double> pairs(256 * 256, kPairPrior);
    std::array<double, 256> firsts{};
    firsts.fill(256.0 * kPairPrior);
    for (std::size_t i = 1; i < training.size(); ++i) {
        pairs[256 * std::size_t{training[i - 1]} + training[i]] += 1.0;
        firsts[training[i - 1]] += 1.0;
    }
    double bits = 0.0;
    for (std::size_t i = 1; i < held_out.size(); ++i)
        bits -= std::log2(pairs[256 * std::size_t{held_out[i - 1]} + held_out[i]] / firsts[held_out[i - 1]]);
    return bits / static_cast<double>(held_out.size() - 1);
}

/// Per byte of a file, by `PROGRAM -9`; nothing where it is not installed.
std::optional<double> bits_of_program(const char* name, const std::filesystem::path& file, std::size_t size_bytes) {
    ChildProgram program{.command = {name, "-9", "--stdout", "--", std::filesystem::absolute(file).string()}};
    program.max_output_bytes = size_bytes + (1U << 20U);
    const Result<ProgramRun> run = run_program(program, "");
    if (!run || run->status != 0) return {};
    return 8.0 * static_cast<double>(run->output.size()) / static_cast<double>(size_bytes);
}

}  // namespace

ByteBaselines byte_baselines(const ByteText& text, const std::filesystem::path& file) {
    const std::size_t size_bytes = text.training->size() + text.held_out->size();
    ByteBaselines found{.unigram = unigram_bits(*text.training, *text.held_out),
                        .bigram = bigram_bits(*text.training, *text.held_out)};
    found.gzip = bits_of_program("gzip", file, size_bytes);
    found.xz = bits_of_program("xz", file, size_bytes);
    return found;
}

}  // namespace yolk::train
