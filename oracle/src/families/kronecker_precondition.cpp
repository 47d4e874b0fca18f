// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "check_tools.hpp"
#include "kronecker_precondition_oracle.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/kronecker_precondition.hpp"

namespace yolk::oracle {
namespace {

/// What a block's factors are.
enum class FactorKind {
    Covariances,  ///< of more samples than columns
    FewSamples,   ///< of two: singular without damping
    ZeroIn,       ///< S_in is zero: pi is 1
    NegativeOut,  ///< S_out is minus a covariance
    NanIn,        ///< NaN in S_in
    InfiniteOut,  ///< infinity in S_out
};

struct KroneckerPreconditionCase {
    std::uint32_t n_out, n_in, blocks;
    float damping = 0.0F;
    std::vector<FactorKind> kinds{FactorKind::Covariances};  ///< of the blocks, over and over
    KroneckerFactors factors = KroneckerFactors::Covariances;
    float scale_in = 1.0F;
};

std::vector<float> make_covariance(Draws& draws, std::uint32_t n, std::uint32_t samples, float scale) {
    std::vector<float> covariance(std::size_t{n} * n, 0.0F);
    for (std::uint32_t s = 0; s < samples; ++s) {
        const std::vector<float> x = draws.uniforms(n, -1.0F, 1.0F);
        for (std::uint32_t i = 0; i < n; ++i) {
            for (std::uint32_t j = 0; j < n; ++j)
                covariance[std::size_t{i} * n + j] += x[i] * x[j] * scale / static_cast<float>(samples);
        }
    }
    return covariance;
}

class KroneckerProblem final : public OperationProblem<KroneckerPreconditionDesc> {
   public:
    KroneckerProblem(KroneckerPreconditionCase of, std::uint64_t seed)
        : OperationProblem({.n_out = of.n_out, .n_in = of.n_in, .blocks = of.blocks, .factors = of.factors},
                           fmt::format("kind {}, damping {:g}, S_in times {:g}", static_cast<int>(of.kinds[0]),
                                       of.damping, of.scale_in),
                           of.damping),
          case_(std::move(of)),
          seed_(seed) {}

    [[nodiscard]] std::vector<ByteVector> contents() const override;
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& made) const override {
        return {kronecker_precondition_oracle(
            desc(), {given.in<float>(0), given.in<float>(1), given.in<float>(2), case_.damping},
            made.in<std::uint32_t>(4))};
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        for (std::size_t b = 0; inverts() && b < outputs[1].size(); ++b) {
            const std::uint32_t word = outputs[1][b];
            if (word == right_status(b)) continue;
            report.fail(fmt::format("{}: the status of block {} is {:#x}; {:#x} is right.", case_name, b, word,
                                    right_status(b)));
        }
    }
    [[nodiscard]] Work work() const override {
        const double out = desc().n_out;
        const double in = desc().n_in;
        const double products = 2.0 * out * in * (out + in);
        const double inverses = inverts() ? 2.0 * (out * out * out + in * in * in) : 0.0;
        return {.operations = desc().blocks * (products + inverses),
                .bytes = 4.0 * desc().blocks * (out * out + in * in + 2.0 * out * in)};
    }

   private:
    [[nodiscard]] bool inverts() const { return desc().factors == KroneckerFactors::Covariances; }
    [[nodiscard]] FactorKind kind_of(std::size_t block) const { return case_.kinds[block % case_.kinds.size()]; }
    [[nodiscard]] std::uint32_t right_status(std::size_t block) const {
        const auto word = [](BlockStatus in, BlockStatus out) {
            return (in == BlockStatus::Ok ? 0 : kKroneckerInFailed) |
                   (out == BlockStatus::Ok ? 0 : kKroneckerOutFailed) | static_cast<std::uint32_t>(in) << 8U |
                   static_cast<std::uint32_t>(out) << 16U;
        };
        if (!(case_.damping >= 0.0F)) return word(BlockStatus::NotFinite, BlockStatus::NotFinite);
        const bool is_damped = case_.damping > 0.0F;
        switch (kind_of(block)) {
            case FactorKind::FewSamples: return is_damped ? 0 : word(BlockStatus::Singular, BlockStatus::Singular);
            case FactorKind::ZeroIn: return is_damped ? 0 : word(BlockStatus::Singular, BlockStatus::Ok);
            case FactorKind::NegativeOut: return word(BlockStatus::Ok, BlockStatus::Indefinite);
            case FactorKind::NanIn: return word(BlockStatus::NotFinite, BlockStatus::Ok);
            case FactorKind::InfiniteOut: return word(BlockStatus::Ok, BlockStatus::NotFinite);
            case FactorKind::Covariances: break;
        }
        return 0;
    }

    KroneckerPreconditionCase case_;
    std::uint64_t seed_;
};

std::vector<ByteVector> KroneckerProblem::contents() const {
    std::vector<float> factors_out, factors_in, gradient;
    Draws draws(seed_, 70);
    const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    for (std::size_t b = 0; b < desc().blocks && desc().n_out > 0 && desc().n_in > 0; ++b) {
        const FactorKind kind = kind_of(b);
        const bool few = kind == FactorKind::FewSamples;
        const float sign = kind == FactorKind::NegativeOut ? -1.0F : 1.0F;
        const float in_scale = kind == FactorKind::ZeroIn ? 0.0F : case_.scale_in;
        std::vector<float> out = make_covariance(draws, desc().n_out, few ? 2 : 3 * desc().n_out + 2, sign);
        std::vector<float> in = make_covariance(draws, desc().n_in, few ? 2 : 3 * desc().n_in + 2, in_scale);
        if (kind == FactorKind::NanIn) in[in.size() / 2] = in[0] = std::numeric_limits<float>::quiet_NaN();
        if (kind == FactorKind::InfiniteOut) out[0] = std::numeric_limits<float>::infinity();
        append(factors_out, out);
        append(factors_in, in);
        append(gradient, draws.uniforms(std::size_t{desc().n_out} * desc().n_in, -1.0F, 1.0F));
    }
    return {bytes_of_values(factors_out), bytes_of_values(factors_in), bytes_of_values(gradient)};
}

// Nothing, one element, primes, around the tiles; many blocks; no damping, and damping that singular factors need; pi
// far from 1; blocks that fail between others that do not; a damping that is none; factors that are inverses already.
std::vector<KroneckerPreconditionCase> kronecker_precondition_cases() {
    constexpr auto kInverses = KroneckerFactors::Inverses;
    const std::vector<FactorKind> mixed{FactorKind::Covariances, FactorKind::NanIn,      FactorKind::Covariances,
                                        FactorKind::NegativeOut, FactorKind::FewSamples, FactorKind::InfiniteOut,
                                        FactorKind::ZeroIn};
    return {
        {.n_out = 0, .n_in = 3, .blocks = 2},
        {.n_out = 3, .n_in = 0, .blocks = 2},
        {.n_out = 3, .n_in = 3, .blocks = 0},
        {.n_out = 1, .n_in = 1, .blocks = 1, .damping = 0.25F},
        {.n_out = 1, .n_in = 7, .blocks = 3},
        {.n_out = 5, .n_in = 3, .blocks = 8, .damping = 1e-4F, .kinds = mixed},
        {.n_out = 4, .n_in = 6, .blocks = 2, .kinds = {FactorKind::FewSamples, FactorKind::Covariances}},
        {.n_out = 8, .n_in = 16, .blocks = 4, .damping = 0.01F, .kinds = {FactorKind::ZeroIn, FactorKind::FewSamples}},
        {.n_out = 13, .n_in = 17, .blocks = 2, .damping = 0.1F, .scale_in = 0x1p20F},
        {.n_out = 32, .n_in = 33, .blocks = 1, .damping = 1e-3F},
        {.n_out = 40, .n_in = 12, .blocks = 2},
        {.n_out = 3, .n_in = 2, .blocks = 130, .damping = 1.0F},
        {.n_out = 3, .n_in = 2, .blocks = 3, .damping = -1.0F},
        {.n_out = 3, .n_in = 2, .blocks = 3, .damping = std::numeric_limits<float>::quiet_NaN()},
        {.n_out = 9, .n_in = 65, .blocks = 2, .factors = kInverses},
        {.n_out = 16, .n_in = 8, .blocks = 3, .factors = kInverses},
    };
}

Problems kronecker_precondition_cases(std::uint64_t seed) {
    Problems problems;
    for (KroneckerPreconditionCase& c : kronecker_precondition_cases())
        problems.push_back(std::make_unique<KroneckerProblem>(std::move(c), seed));
    return problems;
}

Problems kronecker_precondition_benchmarks() {
    Problems problems;
    for (const auto& [blocks, n_out, n_in] :
         {std::array{64U, 32U, 32U}, std::array{4U, 128U, 256U}, std::array{1U, 512U, 512U}}) {
        problems.push_back(std::make_unique<KroneckerProblem>(
            KroneckerPreconditionCase{
                .n_out = n_out, .n_in = n_in, .blocks = blocks, .damping = 1e-3F, .kinds = {FactorKind::Covariances}},
            1));
    }
    return problems;
}

std::unique_ptr<Problem> make_kronecker_precondition_problem(const KroneckerPreconditionDesc& desc) {
    return std::make_unique<KroneckerProblem>(KroneckerPreconditionCase{.n_out = desc.n_out,
                                                                        .n_in = desc.n_in,
                                                                        .blocks = desc.blocks,
                                                                        .damping = 1e-3F,
                                                                        .kinds = {FactorKind::Covariances},
                                                                        .factors = desc.factors},
                                              1);
}

Problems large_kronecker_preconditions() {
    Problems problems;
    problems.push_back(make_kronecker_precondition_problem({.n_out = 2048, .n_in = 2048, .blocks = 1}));
    return problems;
}

}  // namespace

const Family& kronecker_precondition_family() noexcept {
    static constexpr Family kFamily{
        .name = "kronecker_precondition",
        .exactness = "P",
        .cases = &kronecker_precondition_cases,
        .benchmarks = &kronecker_precondition_benchmarks,
        .each_configuration_once = true,
        .operation = &kOperationText<KroneckerPreconditionDesc, &make_kronecker_precondition_problem>,
        .large = &large_kronecker_preconditions};
    return kFamily;
}

}  // namespace yolk::oracle
