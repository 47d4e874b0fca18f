// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "block_inverse_oracle.hpp"
#include "check_tools.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

enum class Blocks {
    Fisher,     ///< means of n + 4 squares of standard vectors
    Deficient,  ///< of n / 2
    Wide,       ///< Fisher, its variables in units from 2^-9 to 2^9
    Mixed,      ///< by turns: Fisher, zeros, NaN, infinity, indefinite, deficient, of 1e-30, of 1e30
    Any,        ///< symmetric, elements in [-1, 1), every third diagonal element 0
    AnyMixed,   ///< by turns: those, zeros, NaN, a repeated row, of 1e-30, of 1e30
};
constexpr std::array kNames{"Fisher", "deficient", "wide", "mixed", "any symmetric", "mixed symmetric"};
constexpr float kNanElement = std::numeric_limits<float>::quiet_NaN();

/// A symmetric block, its lower triangle set, NaN above it.
class DrawnBlock {
   public:
    DrawnBlock(std::uint32_t n, std::uint64_t seed, std::uint32_t stream)
        : n_(n), draws_(seed, stream), values_(std::size_t{n} * n, kNanElement) {}

    [[nodiscard]] std::vector<float> values() && { return std::move(values_); }
    float& at(std::uint32_t i, std::uint32_t j) { return values_[std::size_t{i} * n_ + j]; }

    void fill_fisher(std::uint32_t samples) {
        const std::vector<float> x = draws_.uniforms(std::size_t{samples} * n_, -1.7320508F, 1.7320508F);
        for (std::uint32_t i = 0; i < n_; ++i) {
            for (std::uint32_t j = 0; j <= i; ++j) {
                double sum = 0.0;
                for (std::uint32_t s = 0; s < samples; ++s)
                    sum += static_cast<double>(x[s * n_ + i]) * static_cast<double>(x[s * n_ + j]);
                at(i, j) = static_cast<float>(sum / samples);
            }
        }
    }
    void fill_any() {
        for (std::uint32_t i = 0; i < n_; ++i) {
            for (std::uint32_t j = 0; j <= i; ++j) at(i, j) = draws_.uniform(-1.0F, 1.0F);
            if (i % 3 == 0 && n_ > 1) at(i, i) = 0.0F;
        }
    }
    void fill_zeros() { scale(0.0F); }
    void scale(float factor) {
        for (std::uint32_t i = 0; i < n_; ++i) {
            for (std::uint32_t j = 0; j <= i; ++j) at(i, j) = factor == 0.0F ? 0.0F : at(i, j) * factor;
        }
    }
    void set_units() {
        for (std::uint32_t i = 0; i < n_; ++i) {
            for (std::uint32_t j = 0; j <= i; ++j) at(i, j) = std::ldexp(at(i, j), unit(i) + unit(j));
        }
    }
    /// Row n - 1 becomes row 0, and the columns likewise.
    void repeat_row() {
        if (n_ == 1) return fill_zeros();
        for (std::uint32_t j = 0; j + 1 < n_; ++j) at(n_ - 1, j) = at(j, 0);
        at(n_ - 1, n_ - 1) = at(0, 0);
    }

   private:
    [[nodiscard]] static int unit(std::uint32_t i) { return static_cast<int>(i * 7 % 19) - 9; }

    std::uint32_t n_;
    Draws draws_;
    std::vector<float> values_;
};

void fill_mixed(DrawnBlock& block, std::uint32_t n, std::uint32_t turn) {
    block.fill_fisher(turn == 5 ? (n + 1) / 2 : n + 4);
    if (turn == 1) block.fill_zeros();
    if (turn == 2) block.at(n - 1, 0) = kNanElement;
    if (turn == 3) block.at(n / 2, n / 2) = std::numeric_limits<float>::infinity();
    if (turn == 4) block.at(n - 1, n - 1) *= -1.0F;
    if (turn == 6) block.scale(1e-30F);
    if (turn == 7) block.scale(1e30F);
}

void fill_any_mixed(DrawnBlock& block, std::uint32_t n, std::uint32_t turn) {
    block.fill_any();
    if (turn == 1) block.fill_zeros();
    if (turn == 2) block.at(n - 1, 0) = kNanElement;
    if (turn == 3) block.repeat_row();
    if (turn == 4) block.scale(1e-30F);
    if (turn == 5) block.scale(1e30F);
}

class BlockInverseProblem final : public OperationProblem<BlockInverseDesc> {
   public:
    explicit BlockInverseProblem(const BlockInverseDesc& desc, Blocks blocks = Blocks::Fisher, std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("{}, damping {}{}", kNames[static_cast<std::size_t>(blocks)], desc.damping,
                                             desc.damping_per_block ? " and its own" : "")),
          blocks_(blocks),
          seed_(seed) {}

    [[nodiscard]] std::vector<ByteVector> contents() const override;
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& made) const override {
        if (desc().mode != InverseMode::Spd) return {};
        return {block_inverse_oracle(desc(), given.in<float>(0), given.in<float>(1), made.in<std::uint32_t>(3))};
    }
    [[nodiscard]] Work work() const override {
        const double n = desc().n;
        return {.operations = 2.0 * desc().blocks * (5.0 / 6.0 + 1.0) * n * n * n,
                .bytes = 8.0 * desc().blocks * n * n};
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override;

   private:
    void verify_block(CheckReport& report, const std::string& case_name, std::uint32_t b,
                      const std::vector<double>& matrix, std::span<const std::uint32_t> out, float residual) const;

    Blocks blocks_;
    std::uint64_t seed_;
};

std::vector<ByteVector> BlockInverseProblem::contents() const {
    std::vector<float> in, damping;
    for (std::uint32_t b = 0; b < desc().blocks && desc().n > 0; ++b) {
        DrawnBlock block(desc().n, seed_, b);
        switch (blocks_) {
            case Blocks::Fisher: block.fill_fisher(desc().n + 4); break;
            case Blocks::Deficient: block.fill_fisher((desc().n + 1) / 2); break;
            case Blocks::Wide:
                block.fill_fisher(desc().n + 4);
                block.set_units();
                break;
            case Blocks::Mixed: fill_mixed(block, desc().n, b % 8); break;
            case Blocks::Any: block.fill_any(); break;
            case Blocks::AnyMixed: fill_any_mixed(block, desc().n, b % 6); break;
        }
        const std::vector<float> values = std::move(block).values();
        in.insert(in.end(), values.begin(), values.end());
        if (desc().damping_per_block) damping.push_back(std::ldexp(1.0F, -static_cast<int>(b % 13)));
    }
    return {bytes_of_values(in), bytes_of_values(damping)};
}

/// The residual is the one that double precision finds, but for its own roundings; an inverse of Symmetric is as good
/// as complete pivoting promises: n roundings of the largest elements on the way, which are at most 8 times those of
/// matrix and inverse.
void BlockInverseProblem::verify_block(CheckReport& report, const std::string& case_name, std::uint32_t b,
                                       const std::vector<double>& matrix, std::span<const std::uint32_t> out,
                                       float residual) const {
    const std::size_t n = desc().n;
    std::vector<float> inverse(n * n);
    for (std::size_t e = 0; e < n * n; ++e) inverse[e] = std::bit_cast<float>(out[e]);
    double sizes = 0.0;  // of |A| |X|
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double sum = 0.0;
            for (std::size_t k = 0; k < n; ++k)
                sum += std::abs(matrix[i * n + k]) * std::abs(static_cast<double>(inverse[k * n + j]));
            sizes += sum * sum;
        }
    }
    const double roundings = static_cast<double>(2 * n + 8) * 0x1p-24 * std::sqrt(sizes / static_cast<double>(n));
    const double known = residual_in_double(matrix, inverse, desc().n);
    if (!(std::abs(known - static_cast<double>(residual)) <= roundings + 0x1p-20 * known + 0x1p-30)) {
        report.fail(fmt::format("{}: the residual of block {} is {}; double precision finds {}.", case_name, b,
                                residual, known));
    }
    if (desc().mode == InverseMode::Symmetric && !(known <= 8.0 * roundings * std::sqrt(static_cast<double>(n)))) {
        report.fail(fmt::format("{}: block {} leaves a residual of {}; {} is the most.", case_name, b, known,
                                8.0 * roundings * std::sqrt(static_cast<double>(n))));
    }
}

void BlockInverseProblem::verify(CheckReport& report, const std::string& case_name,
                                 std::span<const std::vector<std::uint32_t>> outputs) const {
    const HostMemory given = inputs();
    const std::size_t size = std::size_t{desc().n} * desc().n;
    if (size == 0) return;
    for (std::uint32_t b = 0; b < desc().blocks; ++b) {
        const std::uint32_t status = outputs[1][b];
        if (!is_inverted(status)) continue;
        verify_block(report, case_name, b,
                     damped_block(desc(), given.in<float>(0).subspan(b * size, size),
                                  desc().damping_per_block ? given.in<float>(1)[b] : 0.0F, retries_of(status)),
                     std::span(outputs[0]).subspan(b * size, size), std::bit_cast<float>(outputs[2][b]));
    }
}

struct BlockInverseCase {
    std::uint32_t n, blocks;
    Blocks kind;
    float damping = 0.0F;
    bool own_damping = false;
    std::uint32_t retries = 4;
};

// Nothing; around each size of the registers' kernels and of a panel; every status; scales; each kind of damping.
constexpr auto kSpdCases = std::to_array<BlockInverseCase>({
    {0, 3, Blocks::Fisher},
    {5, 0, Blocks::Fisher},
    {1, 1, Blocks::Fisher},
    {1, 17, Blocks::Mixed, 1e-3F},
    {2, 19, Blocks::Mixed},
    {3, 9, Blocks::Deficient},
    {4, 13, Blocks::Wide, 1e-6F},
    {5, 8, Blocks::Mixed, 1e-4F, false, 0},
    {7, 16, Blocks::Mixed, 0.0F, true},
    {8, 11, Blocks::Deficient, 1e-3F},
    {9, 9, Blocks::Mixed},
    {16, 8, Blocks::Mixed, 1e-2F},
    {17, 5, Blocks::Deficient, 0.0F, false, 8},
    {23, 3, Blocks::Wide},
    {24, 4, Blocks::Fisher, 1e-5F},
    {25, 8, Blocks::Mixed, 0.0F, false, 1},
    {32, 3, Blocks::Fisher},
    {33, 8, Blocks::Mixed},
    {40, 2, Blocks::Wide, 0.0F, true},
    {67, 2, Blocks::Deficient, 1e-4F},
});
constexpr auto kSymmetricCases = std::to_array<BlockInverseCase>({
    {1, 7, Blocks::AnyMixed},
    {2, 13, Blocks::AnyMixed},
    {3, 6, Blocks::Any, 1e-3F},
    {5, 4, Blocks::Any, 0.0F, true},
    {8, 7, Blocks::AnyMixed},
    {17, 3, Blocks::Any},
    {33, 2, Blocks::Fisher},
});

BlockInverseDesc desc_of(const BlockInverseCase& c, InverseMode mode) {
    return {.n = c.n,
            .blocks = c.blocks,
            .mode = mode,
            .damping = c.damping,
            .damping_per_block = c.own_damping,
            .retries = c.retries};
}

Problems block_inverse_cases(std::uint64_t seed) {
    Problems problems;
    for (const BlockInverseCase& c : kSpdCases)
        problems.push_back(std::make_unique<BlockInverseProblem>(desc_of(c, InverseMode::Spd), c.kind, seed));
    for (const BlockInverseCase& c : kSymmetricCases)
        problems.push_back(std::make_unique<BlockInverseProblem>(desc_of(c, InverseMode::Symmetric), c.kind, seed));
    return problems;
}

Problems block_inverse_benchmarks() {
    return problems_of<BlockInverseProblem>({{.n = 8, .blocks = 1024, .damping = 1e-3F},
                                             {.n = 16, .blocks = 1024, .damping = 1e-3F},
                                             {.n = 32, .blocks = 1024, .damping = 1e-3F},
                                             {.n = 64, .blocks = 256, .damping = 1e-3F},
                                             {.n = 128, .blocks = 64, .damping = 1e-3F}});
}

/// Of text and keys, which tell no damping: what training takes.
std::unique_ptr<Problem> make_damped_block_inverse(const BlockInverseDesc& desc) {
    BlockInverseDesc damped = desc;
    damped.damping = 1e-3F;
    return make_problem<BlockInverseProblem>(damped);
}

Problems large_block_inverses() {
    Problems problems;
    for (const std::uint32_t n : {8U, 512U}) {
        for (const InverseMode mode : {InverseMode::Spd, InverseMode::Symmetric})
            problems.push_back(make_problem<BlockInverseProblem>({.n = n, .blocks = 1024, .mode = mode}));
    }
    return problems;
}

}  // namespace

const Family& block_inverse_family() noexcept {
    static constexpr Family kFamily{.name = "block_inverse",
                                    .exactness = "P",
                                    .cases = &block_inverse_cases,
                                    .benchmarks = &block_inverse_benchmarks,
                                    .each_configuration_once = true,
                                    .operation = &kOperationText<BlockInverseDesc, &make_damped_block_inverse>,
                                    .large = &large_block_inverses};
    return kFamily;
}

}  // namespace yolk::oracle
