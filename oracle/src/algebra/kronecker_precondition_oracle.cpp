// SPDX-License-Identifier: Apache-2.0
#include "kronecker_precondition_oracle.hpp"

#include <Eigen/LU>
#include <cmath>
#include <span>

#include "block_inverse_oracle.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {

namespace {

using RowMajorMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

bool inverts(const KroneckerPreconditionDesc& desc) { return desc.factors == KroneckerFactors::Covariances; }

BlockInverseDesc inverse_of(std::uint32_t n, std::uint32_t blocks) {
    return {.n = n, .blocks = blocks, .damping_per_block = true, .retries = 0};
}

/// A factor of a block in double: its inverse, and how far the device's may be off it.
struct FactorOracle {
    RowMajorMatrix damped;
    RowMajorMatrix inverse;
    RowMajorMatrix off;
};

FactorOracle factor_of(std::span<const float> factor, std::uint32_t n, double damping, double damping_off) {
    FactorOracle result;
    result.damped = Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>(factor.data(), n, n).cast<double>();
    result.damped.diagonal().array() += damping;
    result.inverse = result.damped.partialPivLu().inverse();
    const std::vector<Bounded> values =
        block_inverse_oracle(inverse_of(n, 1), factor, std::array{static_cast<float>(damping)}, std::array{0U});
    // The inverse's derivative along the identity is minus its square.
    const RowMajorMatrix magnitude = result.inverse.cwiseAbs();
    result.off = magnitude * magnitude * damping_off * 1.01;
    for (Eigen::Index i = 0; i < result.off.size(); ++i)
        result.off.data()[i] += values[static_cast<std::size_t>(i)].tolerance;
    return result;
}

/// The step of one block.
class BlockOracle {
   public:
    BlockOracle(const KroneckerPreconditionDesc& desc, const KroneckerGiven& inputs, std::size_t block)
        : desc_(desc),
          gradient_(Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>(
                        inputs.gradient.data() + block * desc.n_out * desc.n_in, desc.n_out, desc.n_in)
                        .cast<double>()) {
        const std::size_t in_elements = std::size_t{desc.n_in} * desc.n_in;
        const std::size_t out_elements = std::size_t{desc.n_out} * desc.n_out;
        const auto in = inputs.factor_in.subspan(block * in_elements, in_elements);
        const auto out = inputs.factor_out.subspan(block * out_elements, out_elements);
        if (!inverts(desc)) {
            in_ = as_inverse(in, desc.n_in);
            out_ = as_inverse(out, desc.n_out);
            return;
        }
        const double in_mean = mean_of(in, desc.n_in);
        const double out_mean = mean_of(out, desc.n_out);
        const bool usable = in_mean > 0.0 && out_mean > 0.0;
        const double pi = usable ? std::sqrt(in_mean / out_mean) : 1.0;
        const double root = std::sqrt(static_cast<double>(inputs.damping));
        // Halved by the root: the sums of the traces, their weights and products, a reciprocal, a product; then a
        // square root, a reciprocal of it, a product, and the root of lambda.
        const double off =
            usable ? 0.5 * (row_sum_error(desc.n_in) + row_sum_error(desc.n_out) + 5.0 * kFp32Rounding + 1.3e-7) +
                         1e-7 + 1.3e-7 + 2.0 * kFp32Rounding
                   : 1.3e-7 + 2.0 * kFp32Rounding;
        in_ = factor_of(in, desc.n_in, root * pi, root * pi * off * 1.01);
        out_ = factor_of(out, desc.n_out, root / pi, root / pi * off * 1.01);
    }

    void append_to(std::vector<Bounded>& values) const {
        const RowMajorMatrix step = solved();
        const RowMajorMatrix size_out = out_.inverse.cwiseAbs() + out_.off;
        const RowMajorMatrix size_in = in_.inverse.cwiseAbs() + in_.off;
        const RowMajorMatrix size = gradient_.cwiseAbs();
        const RowMajorMatrix left = size_out * size;
        const double rounded = (desc_.n_in + desc_.n_out + 6.0) * kFp32Rounding * 1.01;
        // What counts as zero in the products: elements of either operand below 2^-40.
        const RowMajorMatrix zero_left = kOperandFloor * (RowMajorMatrix::Ones(desc_.n_out, desc_.n_out) * size +
                                                          size_out * RowMajorMatrix::Ones(desc_.n_out, desc_.n_in));
        const RowMajorMatrix zero_right = kOperandFloor * (RowMajorMatrix::Ones(desc_.n_out, desc_.n_in) * size_in +
                                                           left * RowMajorMatrix::Ones(desc_.n_in, desc_.n_in));
        const RowMajorMatrix off =
            out_.off * size * size_in + left * in_.off + rounded * left * size_in + zero_left * size_in + zero_right;
        for (Eigen::Index i = 0; i < step.size(); ++i) values.push_back({step.data()[i], off.data()[i]});
    }

   private:
    [[nodiscard]] static double mean_of(std::span<const float> factor, std::size_t n) {
        double trace = 0.0;
        for (std::size_t k = 0; k < n; ++k) trace += static_cast<double>(factor[k * (n + 1)]);
        return trace / static_cast<double>(n);
    }
    [[nodiscard]] static FactorOracle as_inverse(std::span<const float> factor, std::uint32_t n) {
        FactorOracle result;
        result.inverse =
            Eigen::Map<const Eigen::Matrix<float, -1, -1, Eigen::RowMajor>>(factor.data(), n, n).cast<double>();
        result.off = RowMajorMatrix::Zero(n, n);
        return result;
    }
    [[nodiscard]] RowMajorMatrix solved() const {
        if (!inverts(desc_)) return out_.inverse * gradient_ * in_.inverse;
        const RowMajorMatrix left = out_.damped.partialPivLu().solve(gradient_);
        return in_.damped.transpose().partialPivLu().solve(left.transpose()).transpose();
    }

    const KroneckerPreconditionDesc& desc_;
    RowMajorMatrix gradient_;
    FactorOracle in_;
    FactorOracle out_;
};

}  // namespace

std::vector<Bounded> kronecker_precondition_oracle(const KroneckerPreconditionDesc& desc, const KroneckerGiven& inputs,
                                                   std::span<const std::uint32_t> status) {
    std::vector<Bounded> values;
    if (inputs.gradient.empty()) return values;
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        const bool failed = inverts(desc) && (status[b] & (kKroneckerInFailed | kKroneckerOutFailed)) != 0;
        if (failed) {
            values.resize(values.size() + std::size_t{desc.n_out} * desc.n_in);
        } else {
            BlockOracle(desc, inputs, b).append_to(values);
        }
    }
    return values;
}

}  // namespace yolk::oracle
