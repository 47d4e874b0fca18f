// SPDX-License-Identifier: Apache-2.0
#include "byte_baselines.hpp"

#include <zlib.h>

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

}  // namespace

ByteBaselines byte_baselines(const ByteText& text, const std::filesystem::path& file) {
    std::vector<std::uint8_t> whole = *text.training;
    whole.insert(whole.end(), text.held_out->begin(), text.held_out->end());
    const auto size = static_cast<double>(whole.size());
    ByteBaselines found{.unigram = unigram_bits(*text.training, *text.held_out),
                        .bigram = bigram_bits(*text.training, *text.held_out)};
    uLongf packed = compressBound(whole.size());
    std::vector<Bytef> out(packed);
    if (compress2(out.data(), &packed, whole.data(), whole.size(), Z_BEST_COMPRESSION) == Z_OK)
        found.gzip = 8.0 * static_cast<double>(packed) / size;
    ChildProgram xz{.command = {"xz", "-9", "--stdout", "--", std::filesystem::absolute(file).string()}};
    xz.max_output_bytes = whole.size() + (1U << 20U);
    if (const Result<ProgramRun> run = run_program(xz, ""); run && run->status == 0)
        found.xz = 8.0 * static_cast<double>(run->output.size()) / size;
    return found;
}

}  // namespace yolk::train
