// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/reference/row_sum.hpp"
#include "yolk/inverse_sqrt.hpp"
#include "yolk/matmul.hpp"

namespace yolk::reference {
namespace {

using exact::exact_flush;

constexpr auto kInfiniteResidual = std::numeric_limits<float>::infinity();

/// One block, as the kernels see it.
class TwinBlock {
   public:
    TwinBlock(const InverseSqrtDesc& desc, std::span<const float> in)
        : desc_(desc), n_(desc.n), in_(in.begin(), in.end()) {
        damp();
        start();
    }

    void iterate(std::uint32_t iteration) {
        if (status_ != InverseSqrtStatus::NotConverged) return;
        std::vector<float> zy = product(z_, y_);
        decide(zy, iteration);
        // What has failed is not looked at again.
        if (status_ > InverseSqrtStatus::NotConverged) return;
        for (std::size_t i = 0; i < zy.size(); ++i) {
            const float half_product = 0.5F * zy[i];
            zy[i] = (is_diagonal(i) ? 1.5F : 0.0F) - half_product;
        }
        y_ = product(y_, zy);
        z_ = product(zy, z_);
    }

    void write(std::size_t block, const HostViews& views) const {
        const auto out = views.out<float>(1).subspan(block * z_.size(), z_.size());
        const bool failed = status_ > InverseSqrtStatus::NotConverged;
        for (std::size_t i = 0; i < z_.size(); ++i) {
            const std::size_t mirror = i % n_ * n_ + i / n_;
            const float sum = 0.5F * frozen(z_[i]) + 0.5F * frozen(z_[mirror]);
            const float scaled = sum * root_;
            out[i] = failed ? 0.0F : exact_flush(scaled);
        }
        const auto status = views.out<std::uint32_t>(2);
        const auto residual = views.out<float>(3);
        if (!status.empty()) status[block] = static_cast<std::uint32_t>(status_) | iterations_ << 8U;
        if (!residual.empty()) residual[block] = residual_;
    }

   private:
    [[nodiscard]] bool is_diagonal(std::size_t i) const { return i / n_ == i % n_; }
    /// A product with the identity, as blocks that iterate no more make them, takes operands below 2^-40 for zero.
    [[nodiscard]] float frozen(float value) const {
        return iterations_ < desc_.max_iterations ? exact::exact_flush_operand(value) + 0.0F : value;
    }
    [[nodiscard]] std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b) const {
        std::vector<float> out(a.size());
        run_twin(MatmulDesc{.m = desc_.n, .n = desc_.n, .k = desc_.n}, {a, b, {}, {}, out});
        return out;
    }

    void damp() {
        const float trace = row_sum<float>(n_, [&](std::size_t k) { return exact_flush(in_[k * (n_ + 1)]); });
        const float weighted = trace * static_cast<float>(static_cast<double>(desc_.damping) / desc_.n);
        const float shift = exact_flush(weighted);
        for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = exact_flush(in_[i]) + (is_diagonal(i) ? shift : 0.0F);
    }

    void start() {
        std::uint32_t norm = 0;
        for (std::size_t row = 0; row < n_; ++row) {
            const float sum = row_sum<float>(n_, [&](std::size_t k) { return std::abs(in_[row * n_ + k]); });
            norm = std::max(norm, std::bit_cast<std::uint32_t>(sum));
        }
        z_.assign(in_.size(), 0.0F);
        for (std::size_t k = 0; k < n_; ++k) z_[k * (n_ + 1)] = 1.0F;
        y_ = z_;
        residual_ = kInfiniteResidual;
        if (norm < std::bit_cast<std::uint32_t>(0x1p-100F)) status_ = InverseSqrtStatus::NotPositive;
        if (norm >= std::bit_cast<std::uint32_t>(0x1p100F)) status_ = InverseSqrtStatus::NotFinite;
        if (status_ != InverseSqrtStatus::NotConverged) return;
        const int exponent = std::ilogb(std::bit_cast<float>(norm));
        const int e = exponent >= 0 ? (exponent + 1) / 2 : -(-exponent / 2);
        root_ = std::ldexp(1.0F, -e);
        const float scale = std::ldexp(1.0F, -2 * e);
        for (std::size_t i = 0; i < in_.size(); ++i) {
            const float scaled = in_[i] * scale;
            y_[i] = exact_flush(scaled);
        }
    }

    void decide(const std::vector<float>& zy, std::uint32_t iteration) {
        const auto square = [&](std::size_t i) {
            const float difference = zy[i] - (is_diagonal(i) ? 1.0F : 0.0F);
            const float kept = exact_flush(difference);
            const float product = kept * kept;
            return exact_flush(product);
        };
        std::vector<float> row_sums;
        for (std::size_t row = 0; row < n_; ++row)
            row_sums.push_back(row_sum<float>(n_, [&](std::size_t k) { return square(row * n_ + k); }));
        const float total = row_sum<float>(n_, [&](std::size_t k) { return row_sums[k]; });
        const float scaled = total * static_cast<float>(1.0 / desc_.n);
        const float mean_square = exact_flush(scaled);
        const float root = exact::exact_sqrt(mean_square < 0x1p100F ? mean_square : 0x1p100F);
        iterations_ = iteration;
        residual_ = root;
        status_ = root <= desc_.tolerance ? InverseSqrtStatus::Converged : InverseSqrtStatus::NotConverged;
        if (mean_square >= 4.0F) status_ = InverseSqrtStatus::NotPositive;
        if (std::isfinite(mean_square)) return;
        status_ = InverseSqrtStatus::NotFinite;
        residual_ = kInfiniteResidual;
    }

    const InverseSqrtDesc& desc_;
    std::size_t n_;
    std::vector<float> in_, y_, z_;
    float root_ = 1.0F;
    InverseSqrtStatus status_ = InverseSqrtStatus::NotConverged;
    std::uint32_t iterations_ = 0;
    float residual_ = 0.0F;
};

}  // namespace

/// Matmul's products and the order of rows.glsl.
void run_twin(const InverseSqrtDesc& desc, const HostViews& views) {
    const std::size_t elements = std::size_t{desc.n} * desc.n;
    for (std::size_t b = 0; elements > 0 && b < desc.blocks; ++b) {
        TwinBlock block(desc, views.in<float>(0).subspan(b * elements, elements));
        for (std::uint32_t iteration = 1; iteration <= desc.max_iterations; ++iteration) block.iterate(iteration);
        block.write(b, views);
    }
}
template struct Twin<InverseSqrtDesc>;

}  // namespace yolk::reference
