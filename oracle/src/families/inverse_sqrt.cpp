// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "check_tools.hpp"
#include "inverse_sqrt_oracle.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/inverse_sqrt.hpp"

namespace yolk::oracle {
namespace {

/// What a block is.
enum class SpectrumKind {
    Dense,      ///< turned eigenvalues, geometric from 1 down to 1 / condition
    Diagonal,   ///< the same, not turned
    RankOne,    ///< one eigenvalue, turned: positive definite once damped
    Singular,   ///< one eigenvalue, not turned, so that the others are exactly zero
    Identity,   ///< exactly
    Zero,       ///< NotPositive, for any relative damping
    Negative,   ///< its smallest eigenvalue is below zero
    NotNumber,  ///< NaN somewhere
    Infinite,   ///< infinity somewhere
};

struct InverseSqrtCase {
    std::uint32_t n, blocks;
    std::vector<SpectrumKind> kinds{SpectrumKind::Dense};  ///< of the blocks, over and over
    double condition = 10.0;
    float damping = 0.0F;
    float scale = 1.0F;
    std::uint32_t max_iterations = 26;
    bool is_short = false;  ///< for blocks that need more iterations
};

/// A product of reflections, each of a random vector, turns eigenvalues into a dense block.
std::vector<double> dense_block(Draws& draws, std::uint32_t n, const std::vector<double>& eigenvalues) {
    std::vector<double> block(std::size_t{n} * n);
    for (std::uint32_t i = 0; i < n; ++i) block[std::size_t{i} * (n + 1)] = eigenvalues[i];
    for (std::uint32_t reflection = 0; reflection < 3; ++reflection) {
        std::vector<double> v(n);
        double squares = 0.0;
        for (double& x : v) {
            x = static_cast<double>(draws.uniform(-1.0F, 1.0F)) + 1e-3;
            squares += x * x;
        }
        const auto reflect = [&](std::size_t step, std::size_t line) {
            for (std::uint32_t i = 0; i < n; ++i) {
                double along = 0.0;
                for (std::uint32_t k = 0; k < n; ++k) along += block[i * line + k * step] * v[k];
                for (std::uint32_t k = 0; k < n; ++k) block[i * line + k * step] -= 2.0 * along / squares * v[k];
            }
        };
        reflect(1, n);
        reflect(n, 1);
    }
    return block;
}

std::vector<float> make_block(Draws& draws, const InverseSqrtCase& c, SpectrumKind kind) {
    const std::uint32_t n = c.n;
    std::vector<double> eigenvalues(n, 1.0);
    for (std::uint32_t i = 1; i < n; ++i) {
        eigenvalues[i] = std::pow(c.condition, -static_cast<double>(i) / (n - 1.0));
        if (kind == SpectrumKind::RankOne || kind == SpectrumKind::Singular || kind == SpectrumKind::Zero)
            eigenvalues[i] = 0.0;
        if (kind == SpectrumKind::Identity) eigenvalues[i] = 1.0;
    }
    if (kind == SpectrumKind::Zero) eigenvalues[0] = 0.0;
    if (kind == SpectrumKind::Negative) eigenvalues[n - 1] = -0.25;
    const bool turned = kind != SpectrumKind::Diagonal && kind != SpectrumKind::Singular &&
                        kind != SpectrumKind::Identity && kind != SpectrumKind::Zero;
    std::vector<double> values(std::size_t{n} * n);
    if (turned) {
        values = dense_block(draws, n, eigenvalues);
    } else {
        for (std::uint32_t i = 0; i < n; ++i) values[std::size_t{i} * (n + 1)] = eigenvalues[i];
    }
    std::vector<float> block(values.size());
    if (n == 0) return block;
    for (std::size_t i = 0; i < block.size(); ++i) {
        const std::size_t row = i / n;
        const std::size_t column = i % n;
        const double value = row < column ? values[column * n + row] : values[i];
        block[i] = static_cast<float>(value * static_cast<double>(c.scale));
    }
    if (kind == SpectrumKind::NotNumber) block[block.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    if (kind == SpectrumKind::Infinite) block[block.size() / 2] = std::numeric_limits<float>::infinity();
    return block;
}

class InverseSqrtProblem final : public OperationProblem<InverseSqrtDesc> {
   public:
    InverseSqrtProblem(InverseSqrtCase of, std::uint64_t seed)
        : OperationProblem({.n = of.n, .blocks = of.blocks, .damping = of.damping, .max_iterations = of.max_iterations},
                           fmt::format("kind {}, condition {:g}, damping {:g}, scale {:g}",
                                       static_cast<int>(of.kinds[0]), of.condition, of.damping, of.scale)),
          case_(std::move(of)),
          seed_(seed) {}

    [[nodiscard]] std::vector<ByteVector> contents() const override { return {bytes_of_values(make_input())}; }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& made) const override;
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override;
    [[nodiscard]] Work work() const override {
        const double all = static_cast<double>(desc().blocks) * static_cast<double>(elements());
        return {.operations = 6.0 * desc().max_iterations * all * desc().n, .bytes = 8.0 * all};
    }

   private:
    [[nodiscard]] std::size_t elements() const { return std::size_t{desc().n} * desc().n; }
    [[nodiscard]] SpectrumKind kind_of(std::size_t block) const { return case_.kinds[block % case_.kinds.size()]; }
    [[nodiscard]] InverseSqrtStatus right_status(std::size_t block) const;
    [[nodiscard]] std::vector<float> make_input() const {
        std::vector<float> in;
        Draws draws(seed_, 60 + desc().n);
        for (std::size_t b = 0; b < desc().blocks && desc().n > 0; ++b) {
            const std::vector<float> block = make_block(draws, case_, kind_of(b));
            in.insert(in.end(), block.begin(), block.end());
        }
        return in;
    }

    InverseSqrtCase case_;
    std::uint64_t seed_;
};

InverseSqrtStatus InverseSqrtProblem::right_status(std::size_t block) const {
    switch (kind_of(block)) {
        case SpectrumKind::Zero:
        case SpectrumKind::Negative: return InverseSqrtStatus::NotPositive;
        case SpectrumKind::NotNumber:
        case SpectrumKind::Infinite: return InverseSqrtStatus::NotFinite;
        case SpectrumKind::Singular: return InverseSqrtStatus::NotConverged;
        case SpectrumKind::RankOne:
        case SpectrumKind::Dense:
        case SpectrumKind::Diagonal:
        case SpectrumKind::Identity: break;
    }
    if (case_.scale >= 0x1p100F) return InverseSqrtStatus::NotFinite;
    return case_.is_short ? InverseSqrtStatus::NotConverged : InverseSqrtStatus::Converged;
}

std::vector<OracleValues> InverseSqrtProblem::oracle(const HostViews& given, const HostViews& made) const {
    const auto twin_status = made.in<std::uint32_t>(2);
    OracleValues all;
    for (std::size_t b = 0; b < twin_status.size() && elements() > 0; ++b) {
        if (right_status(b) == InverseSqrtStatus::Converged) {
            const auto block = given.in<float>(0).subspan(b * elements(), elements());
            const OracleValues values =
                inverse_sqrt_oracle(desc().n, desc().damping, block, inverse_sqrt_iterations(twin_status[b]));
            all.insert(all.end(), values.begin(), values.end());
            continue;
        }
        // Zeros, or an iterate that is on its way: only the twin knows it.
        const bool failed = right_status(b) > InverseSqrtStatus::NotConverged;
        all.resize(all.size() + elements(), {0.0, failed ? 0.0 : std::numeric_limits<double>::infinity()});
    }
    return {all};
}

void InverseSqrtProblem::verify(CheckReport& report, const std::string& case_name,
                                std::span<const std::vector<std::uint32_t>> outputs) const {
    for (std::size_t b = 0; b < outputs[1].size(); ++b) {
        const InverseSqrtStatus status = inverse_sqrt_status(outputs[1][b]);
        if (status != right_status(b))
            report.fail(fmt::format("{}: the status of block {} is {}; {} is right.", case_name, b,
                                    static_cast<std::uint32_t>(status), static_cast<std::uint32_t>(right_status(b))));
        const auto residual = std::bit_cast<float>(outputs[2][b]);
        if (status == InverseSqrtStatus::Converged && !(residual <= desc().tolerance))
            report.fail(fmt::format("{}: block {} has converged with residual {}.", case_name, b, residual));
        for (std::size_t i = 0; i < elements(); ++i) {
            const std::size_t mirror = i % desc().n * desc().n + i / desc().n;
            if (outputs[0][b * elements() + i] == outputs[0][b * elements() + mirror]) continue;
            report.fail(fmt::format("{}: element {} of block {} is not symmetric.", case_name, i, b));
        }
    }
}

// Nothing, one element, primes, around the tiles; condition numbers up to 1e6, as they are and by damping; scales at
// the ends of the range; blocks that fail between others that do not; too few iterations.
std::vector<InverseSqrtCase> inverse_sqrt_cases() {
    const std::vector<SpectrumKind> mixed{SpectrumKind::Dense,     SpectrumKind::Zero,     SpectrumKind::Dense,
                                          SpectrumKind::NotNumber, SpectrumKind::Negative, SpectrumKind::Infinite,
                                          SpectrumKind::Identity};
    return {
        {.n = 0, .blocks = 3},
        {.n = 3, .blocks = 0},
        {.n = 1,
         .blocks = 3,
         .kinds = {SpectrumKind::Identity, SpectrumKind::Zero, SpectrumKind::Dense},
         .scale = 3.7F},
        {.n = 2, .blocks = 2, .kinds = {SpectrumKind::Diagonal, SpectrumKind::Dense}, .condition = 4.0},
        {.n = 4, .blocks = 301, .condition = 50.0},
        {.n = 5, .blocks = 2, .kinds = {SpectrumKind::Singular, SpectrumKind::Dense}, .scale = 2.0F},
        {.n = 7, .blocks = 7, .kinds = mixed, .condition = 100.0},
        {.n = 8, .blocks = 3, .kinds = {SpectrumKind::RankOne}, .damping = 0x1p-10F},
        {.n = 13, .blocks = 2, .condition = 1e4, .scale = 0x1p80F},
        {.n = 16, .blocks = 4, .condition = 1e3, .scale = 0x1p-60F},
        {.n = 16, .blocks = 2, .condition = 1e6, .max_iterations = 9, .is_short = true},
        {.n = 17, .blocks = 2, .kinds = {SpectrumKind::Diagonal, SpectrumKind::Dense}, .condition = 1e6},
        {.n = 31, .blocks = 1, .condition = 1e5, .damping = 1e-3F},
        {.n = 33, .blocks = 1, .condition = 1e2},
        {.n = 64, .blocks = 1, .condition = 1e4, .max_iterations = 24},
        {.n = 3, .blocks = 1, .scale = 0x1p120F},
    };
}

Problems inverse_sqrt_cases(std::uint64_t seed) {
    Problems problems;
    for (InverseSqrtCase& c : inverse_sqrt_cases())
        problems.push_back(std::make_unique<InverseSqrtProblem>(std::move(c), seed));
    return problems;
}

Problems inverse_sqrt_benchmarks() {
    Problems problems;
    for (const auto& [blocks, n] : {std::array{512U, 32U}, std::array{16U, 128U}, std::array{1U, 512U}}) {
        problems.push_back(std::make_unique<InverseSqrtProblem>(
            InverseSqrtCase{.n = n, .blocks = blocks, .kinds = {SpectrumKind::Dense}, .condition = 1e3}, 1));
    }
    return problems;
}

std::unique_ptr<Problem> make_inverse_sqrt_problem(const InverseSqrtDesc& desc) {
    return std::make_unique<InverseSqrtProblem>(
        InverseSqrtCase{.n = desc.n, .blocks = desc.blocks, .condition = 1e3, .max_iterations = desc.max_iterations},
        1);
}

Problems large_inverse_sqrts() {
    Problems problems;
    problems.push_back(make_inverse_sqrt_problem({.n = 2048, .blocks = 1}));
    return problems;
}

}  // namespace

const Family& inverse_sqrt_family() noexcept {
    static constexpr Family kFamily{.name = "inverse_sqrt",
                                    .exactness = "P",
                                    .cases = &inverse_sqrt_cases,
                                    .benchmarks = &inverse_sqrt_benchmarks,
                                    .each_configuration_once = true,
                                    .operation = &kOperationText<InverseSqrtDesc, &make_inverse_sqrt_problem>,
                                    .large = &large_inverse_sqrts};
    return kFamily;
}

}  // namespace yolk::oracle
