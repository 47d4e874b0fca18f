// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "twin_source.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/exact/block_scaling.h"
#include "yolk/internal/abi/block_inverse.h"

namespace yolk::reference {

namespace {

namespace abi_bi = abi::block_inverse;

constexpr float kGrowth = std::bit_cast<float>(0x3F23F07BU);

/// One block on its way.
struct BlockTwin {
    const BlockInverseDesc& desc;
    std::span<const float> in;
    std::size_t n;
    float tolerance;
    int exponent = 0;
    float mean = 0.0F;
    float first_damping = 0.0F;
    float added = 0.0F;
    std::vector<int> scales{};
    std::vector<float> solution{};  ///< the scaled inverse

    [[nodiscard]] bool symmetric() const { return desc.mode == InverseMode::Symmetric; }
    [[nodiscard]] float element(std::size_t i, std::size_t j) const { return in[std::max(i, j) * n + std::min(i, j)]; }
    [[nodiscard]] std::uint32_t prepare(float own_damping);
    void scale();
    [[nodiscard]] float scaled(std::size_t i, std::size_t j) const;
    [[nodiscard]] std::uint32_t solve();
    [[nodiscard]] std::uint32_t sweep();
    [[nodiscard]] bool is_held() const;
    [[nodiscard]] std::uint32_t result(std::size_t i, std::size_t j) const {
        return exact::block_result(solution[i * n + j], -exponent - scales[i] - scales[j]);
    }
    [[nodiscard]] float residual() const;
};

/// kLive, or the status of what is never attempted.
std::uint32_t BlockTwin::prepare(float own_damping) {
    std::uint32_t largest = desc.damping_per_block ? std::bit_cast<std::uint32_t>(own_damping) : 0;
    if (largest == exact::kExactSignMask) largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j)
            largest = std::max(largest, exact::exact_bits(element(i, j)) & exact::kExactMagnitudeMask);
    }
    if (largest >= exact::kBlockInfinity) return abi_bi::kStatusNotFinite;
    if (largest < exact::kBlockLeastNormal) return abi_bi::kStatusSingular;
    exponent = exact::block_exponent(std::bit_cast<float>(largest));
    float trace = 0.0F;
    for (std::size_t i = 0; i < n; ++i) trace += exact::block_operand(element(i, i), -exponent);
    mean = exact::exact_flush_operand(exact::exact_flush_operand(trace) * (1.0F / static_cast<float>(n)));
    first_damping = desc.damping_per_block ? exact::block_operand(own_damping, -exponent)
                                           : exact::exact_flush_operand(desc.damping * mean);
    mean = exact::exact_flush_operand(mean + first_damping);
    added = first_damping;
    if (!symmetric() && !(mean > 0.0F)) return abi_bi::kStatusIndefinite;
    return abi_bi::kLive;
}

void BlockTwin::scale() {
    scales.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        const float x = element(i, i);
        const float damped = exact::block_damped(x, exponent, added);
        if (!symmetric()) {
            scales[i] = exact::block_half_scale(damped, mean);
            continue;
        }
        int largest = added == 0.0F ? exact::block_exponent(x) - exponent : exact::block_exponent(damped);
        for (std::size_t j = 0; j < n; ++j) {
            if (i != j) largest = std::max(largest, exact::block_exponent(element(i, j)) - exponent);
        }
        scales[i] = largest < -400 ? 0 : largest >> 1;
    }
}

float BlockTwin::scaled(std::size_t i, std::size_t j) const {
    const float x = element(i, j);
    if (i != j || added == 0.0F) return exact::block_operand(x, -exponent - scales[i] - scales[j]);
    return exact::block_operand(exact::block_damped(x, exponent, added), -2 * scales[i]);
}

bool BlockTwin::is_held() const {
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const std::uint32_t bits = result(i, j) & exact::kExactMagnitudeMask;
            if (bits >= exact::kBlockInfinity || (i == j && bits == 0 && !symmetric())) return false;
        }
    }
    return true;
}

/// L D L^T, then both triangular systems for each column of the identity. The verdict.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): the loops of one elimination
std::uint32_t BlockTwin::solve() {
    std::vector<float> a(n * n);  // below the diagonal L, above it u
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) a[i * n + j] = scaled(i, j);
    }
    std::vector<float> inverse(n);
    for (std::size_t k = 0; k < n; ++k) {
        inverse[k] = exact::block_pivot_inverse(a[k * n + k], tolerance);
        for (std::size_t i = k + 1; i < n; ++i) {
            a[k * n + i] = exact::block_bounded(a[i * n + k]);
            a[i * n + k] = exact::exact_flush_operand(a[k * n + i] * inverse[k]);
        }
        for (std::size_t i = k + 1; i < n; ++i) {
            for (std::size_t j = k + 1; j <= i; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
        }
    }
    std::vector<float> norms(n, 0.0F);
    solution.assign(n * n, 0.0F);
    std::vector<float> column(n);
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) {
            float sum = i == j ? 1.0F : 0.0F;
            for (std::size_t k = j; k < i; ++k) sum -= a[i * n + k] * column[k];
            column[i] = i < j ? 0.0F : exact::exact_flush_operand(sum);
            norms[i] += column[i] * column[i];
        }
        for (std::size_t i = 0; i < n; ++i) column[i] = exact::exact_flush_operand(column[i] * inverse[i]);
        for (std::size_t i = n; i-- > 0;) {
            float sum = column[i];
            for (std::size_t k = n; k-- > i + 1;) sum -= a[k * n + i] * column[k];
            column[i] = exact::exact_flush_operand(sum);
            solution[i * n + j] = column[i];
        }
    }
    for (std::size_t k = 0; k < n; ++k) {
        const float limit = tolerance * norms[k];
        if (a[k * n + k] > limit) continue;
        return a[k * n + k] < -limit ? abi_bi::kPivotNegative : abi_bi::kPivotZero;
    }
    return is_held() ? abi_bi::kPivotGood : abi_bi::kPivotUnheld;
}

/// A symmetric matrix, its lower triangle stored, and which of its rows have been swept.
struct Swept {
    std::size_t n;
    std::vector<float> a;
    std::vector<bool> done;

    float& at(std::size_t i, std::size_t j) { return a[std::max(i, j) * n + std::min(i, j)]; }
    void take(std::size_t p, std::size_t q);
};

void Swept::take(std::size_t p, std::size_t q) {
    float first = 0.0F;
    float cross = 0.0F;
    float last = 0.0F;
    if (p == q) {
        first = exact::exact_reciprocal(at(p, p));
    } else {
        const float inverse_b = exact::exact_reciprocal(at(q, p));
        const float a_part = exact::exact_flush_operand(exact::exact_flush_operand(at(p, p)) * inverse_b);
        const float c_part = exact::exact_flush_operand(exact::exact_flush_operand(at(q, q)) * inverse_b);
        const float scale = exact::exact_reciprocal(a_part * c_part - 1.0F) * inverse_b;
        first = exact::exact_flush_operand(c_part * scale);
        last = exact::exact_flush_operand(a_part * scale);
        cross = -scale;
    }
    std::vector<float> up(n), uq(n), fp(n), fq(n);
    for (std::size_t i = 0; i < n; ++i) {
        if (i != p && i != q) {
            up[i] = exact::exact_flush_operand(at(i, p));
            uq[i] = p == q ? 0.0F : exact::exact_flush_operand(at(i, q));
        }
        fp[i] = exact::exact_flush_operand(up[i] * first + uq[i] * cross);
        fq[i] = exact::exact_flush_operand(up[i] * cross + uq[i] * last);
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) at(i, j) = (at(i, j) - fp[i] * up[j]) - fq[i] * uq[j];
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (p != q) at(i, q) = fq[i];
        at(i, p) = fp[i];
    }
    if (p != q) {
        at(q, q) = -last;
        at(q, p) = -cross;
    }
    at(p, p) = -first;
    done[p] = true;
    done[q] = true;
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): the loops of one elimination
std::uint32_t BlockTwin::sweep() {
    Swept s{.n = n, .a = std::vector<float>(n * n), .done = std::vector<bool>(n, false)};
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) s.at(i, j) = scaled(i, j);
    }
    while (!std::ranges::all_of(s.done, [](bool is_done) { return is_done; })) {
        float on = 0.0F;
        float off = 0.0F;
        std::size_t on_at = SIZE_MAX;
        std::size_t off_at = SIZE_MAX;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                if (s.done[i] || s.done[j]) continue;
                const float own = std::abs(s.at(i, j));
                float& best = i == j ? on : off;
                std::size_t& at = i == j ? on_at : off_at;
                if (own > best || at == SIZE_MAX) {
                    best = own;
                    at = i * n + j;
                }
            }
        }
        if (!(std::max(on, off) > tolerance)) return abi_bi::kPivotZero;
        const std::size_t at = on >= kGrowth * off ? on_at : off_at;
        s.take(at % n, at / n);
    }
    solution.assign(n * n, 0.0F);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) solution[i * n + j] = -s.at(i, j);
    }
    return is_held() ? abi_bi::kPivotGood : abi_bi::kPivotUnheld;
}

float BlockTwin::residual() const {
    std::vector<float> right(n * n);
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t j = 0; j < n; ++j)
            right[k * n + j] =
                exact::block_operand(std::bit_cast<float>(result(k, j)), exponent + scales[k] + scales[j]);
    }
    float total = 0.0F;
    std::vector<float> sums(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::ranges::fill(sums, 0.0F);
        sums[i] = -1.0F;
        for (std::size_t k = 0; k < n; ++k) {
            const float left = scaled(i, k);
            for (std::size_t j = 0; j < n; ++j) sums[j] += left * right[k * n + j];
        }
        float squares = 0.0F;
        for (std::size_t j = 0; j < n; ++j) {
            const float error = exact::block_operand(sums[j], scales[i] - scales[j]);
            squares += error * error;
        }
        total += squares;
    }
    return exact::exact_sqrt(total * (1.0F / static_cast<float>(n)));
}

/// The status word, with retries.
std::uint32_t invert(BlockTwin& twin, float own_damping) {
    const std::uint32_t code = twin.prepare(own_damping);
    if (code != abi_bi::kLive) return code;
    for (std::uint32_t attempt = 0;; ++attempt) {
        twin.added = exact::block_added(attempt, twin.first_damping, twin.mean);
        twin.scale();
        const std::uint32_t verdict = twin.symmetric() ? twin.sweep() : twin.solve();
        const bool again = verdict == abi_bi::kPivotZero && !twin.symmetric() && attempt < twin.desc.retries;
        if (again) continue;
        std::uint32_t status = attempt == 0 ? abi_bi::kStatusOk : abi_bi::kStatusDamped;
        if (verdict == abi_bi::kPivotNegative) status = abi_bi::kStatusIndefinite;
        if (verdict == abi_bi::kPivotZero) status = abi_bi::kStatusSingular;
        if (verdict == abi_bi::kPivotUnheld) status = abi_bi::kStatusNotFinite;
        return status | attempt << abi_bi::kRetriesShift;
    }
}

}  // namespace

void run_twin(const BlockInverseDesc& desc, const HostViews& views) {
    const std::size_t n = desc.n;
    const auto out = views.out<float>(2), residual = views.out<float>(4);
    const auto status = views.out<std::uint32_t>(3);
    for (std::size_t b = 0; n > 0 && b < desc.blocks; ++b) {
        BlockTwin twin{.desc = desc,
                       .in = views.in<float>(0).subspan(b * n * n, n * n),
                       .n = n,
                       .tolerance = static_cast<float>(desc.n + 16) * 0x1p-26F};
        const std::uint32_t code = invert(twin, desc.damping_per_block ? views.in<float>(1)[b] : 0.0F);
        if (!status.empty()) status[b] = code;
        if (!residual.empty()) residual[b] = is_inverted(code) ? twin.residual() : kNoResidual;
        for (std::size_t i = 0; i < n * n; ++i)
            out[b * n * n + i] = is_inverted(code) ? std::bit_cast<float>(twin.result(i / n, i % n)) : 0.0F;
    }
}
template struct Twin<BlockInverseDesc>;

}  // namespace yolk::reference
