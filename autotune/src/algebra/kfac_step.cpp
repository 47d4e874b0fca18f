// SPDX-License-Identifier: Apache-2.0
#include "yolk/kfac_step.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "staged_call.hpp"
#include "step_checks.hpp"
#include "yolk/internal/core/memory.hpp"

namespace yolk::autotune {
namespace {

constexpr const char* kKfacCall = "kfac_step";
constexpr const char* kKfacHostCall = "kfac_step_on_host";
constexpr double kLeastDamping = 0x1p-40;
constexpr double kMostDamping = 0x1p20;
constexpr std::uint32_t kMostRetries = 8;
/// The damping that retries begin from where there is none, relative to trace / n; as block_inverse's.
constexpr double kRetryDamping = 0x1p-20;
constexpr double kPivotTolerance = 0x1p-50;

/// The parts of the scratch, [n, n] each.
struct BlockScratch {
    std::size_t n = 0;
    std::span<double> damped;   ///< the block, both triangles
    std::span<double> factor;   ///< L below the diagonal, D on it
    std::span<double> inverse;  ///< first of L, then of the block
};

template <class Real>
Result<StepSizes> check_input(const KfacStepInput<Real>& input, const char* call) {
    YOLK_TRY(const StepSizes sizes, step_sizes(input.count, input.n, sizeof(Real), call));
    YOLK_TRY_VOID(check_length(input.blocks.size(), sizes.matrices, call, "input blocks"));
    return sizes;
}

template <class Real>
Result<void> check_lengths(const KfacStepInput<Real>& input, const KfacStepOutput<Real>& output, const char* call) {
    YOLK_TRY(const StepSizes sizes, check_input(input, call));
    YOLK_TRY_VOID(check_length(output.inverses.size(), sizes.matrices, call, "output inverses"));
    YOLK_TRY_VOID(check_length(output.status.size(), input.count, call, "output status"));
    return check_length(output.residuals.size(), input.count, call, "output residuals");
}

/// The input is checked before memory is made by its sizes: they may be absurd.
template <class Real>
Result<KfacStepResult<Real>> result_for(const KfacStepInput<Real>& input, const char* call) {
    YOLK_TRY(const StepSizes sizes, check_input(input, call));
    KfacStepResult<Real> result;
    YOLK_TRY(result.inverses, allocate<Real>(sizes.matrices, "the inverses of kfac_step"));
    YOLK_TRY(result.status, allocate<std::uint32_t>(input.count, "the status of kfac_step"));
    YOLK_TRY(result.residuals, allocate<Real>(input.count, "the residuals of kfac_step"));
    return result;
}

template <class Real>
KfacStepOutput<Real> spans_of(KfacStepResult<Real>& result) {
    return {.inverses = result.inverses, .status = result.status, .residuals = result.residuals};
}

Result<void> check_host_options(const KfacStepInput<double>& input) {
    const bool in_range = input.damping >= kLeastDamping && input.damping <= kMostDamping;
    if (input.damping != 0.0 && !in_range) {
        return bad_input("The damping of [{}] is {}; it is 0, or from 2^-40 to 2^20.", kKfacHostCall, input.damping);
    }
    if (input.retries > kMostRetries) {
        return bad_input("The retries of [{}] are {}; at most {} are allowed.", kKfacHostCall, input.retries,
                         kMostRetries);
    }
    return {};
}

/// The block with `damping` on its diagonal, from its lower triangle. Its trace / n, before.
double load_block(const BlockScratch& work, std::span<const double> block) {
    const std::size_t n = work.n;
    double trace = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) work.damped[i * n + j] = work.damped[j * n + i] = block[i * n + j];
        trace += block[i * n + i];
    }
    return trace / static_cast<double>(n);
}

bool all_finite(std::span<const double> values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

/// Ok, or what stopped it.
BlockStatus factorize(const BlockScratch& work) {
    const std::size_t n = work.n;
    double largest = 0.0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(work.damped[i * n + i]));
    const double tolerance = static_cast<double>(n) * kPivotTolerance * largest;
    for (std::size_t j = 0; j < n; ++j) {
        double pivot = work.damped[j * n + j];
        for (std::size_t k = 0; k < j; ++k) {
            const double below = work.factor[j * n + k];
            pivot -= below * below * work.factor[k * n + k];
        }
        if (pivot < -tolerance) return BlockStatus::Indefinite;
        if (!(pivot > tolerance)) return BlockStatus::Singular;
        work.factor[j * n + j] = pivot;
        for (std::size_t i = j + 1; i < n; ++i) {
            double value = work.damped[i * n + j];
            for (std::size_t k = 0; k < j; ++k)
                value -= work.factor[i * n + k] * work.factor[j * n + k] * work.factor[k * n + k];
            work.factor[i * n + j] = value / pivot;
        }
    }
    return BlockStatus::Ok;
}

/// L^-T D^-1 L^-1, both triangles the same.
void invert(const BlockScratch& work) {
    const std::size_t n = work.n;
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) {
            double value = i == j ? 1.0 : 0.0;
            for (std::size_t k = j; k < i; ++k) value -= work.factor[i * n + k] * work.inverse[k * n + j];
            work.inverse[i * n + j] = i < j ? 0.0 : value;
        }
    }
    // Row by row from the top: row i of the result needs L's inverse from row i on.
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double value = 0.0;
            for (std::size_t k = i; k < n; ++k)
                value += work.inverse[k * n + i] * work.inverse[k * n + j] / work.factor[k * n + k];
            work.inverse[j * n + i] = value;  // not read again: above the diagonal, and the diagonal last
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < i; ++j) work.inverse[i * n + j] = work.inverse[j * n + i];
    }
}

double residual(const BlockScratch& work) {
    const std::size_t n = work.n;
    double squares = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double value = i == j ? -1.0 : 0.0;
            for (std::size_t k = 0; k < n; ++k) value += work.damped[i * n + k] * work.inverse[k * n + j];
            squares += value * value;
        }
    }
    return std::sqrt(squares / static_cast<double>(n));
}

/// Damped, and on and on while it is singular. The status word.
std::uint32_t invert_block(const BlockScratch& work, std::span<const double> block,
                           const KfacStepInput<double>& input) {
    const std::size_t n = work.n;
    const double mean = load_block(work, block);
    if (!all_finite(work.damped) || !std::isfinite(mean)) return static_cast<std::uint32_t>(BlockStatus::NotFinite);
    BlockStatus status = BlockStatus::Singular;
    for (std::uint32_t attempt = 0; attempt <= input.retries; ++attempt) {
        double damping = input.damping;
        if (attempt > 0) damping = std::ldexp(std::max(damping, kRetryDamping), 4 * static_cast<int>(attempt));
        for (std::size_t i = 0; i < n; ++i) work.damped[i * n + i] = block[i * n + i] + damping * mean;
        status = factorize(work);
        if (status == BlockStatus::Singular) continue;
        if (status != BlockStatus::Ok) return static_cast<std::uint32_t>(status);
        invert(work);
        if (!all_finite(work.inverse)) return static_cast<std::uint32_t>(BlockStatus::NotFinite);
        return attempt == 0 ? 0U : static_cast<std::uint32_t>(BlockStatus::Damped) | attempt << 8U;
    }
    return static_cast<std::uint32_t>(status) | input.retries << 8U;
}

}  // namespace

Result<StepCounts> kfac_step(Dispatcher& dispatcher, const KfacStepInput<float>& input, KfacStepScratch& scratch,
                             const KfacStepOutput<float>& output) {
    YOLK_TRY_VOID(check_lengths(input, output, kKfacCall));
    const StagedRequest request{
        .label = kKfacCall,
        .shape = {input.count, input.n, input.retries, std::bit_cast<std::uint32_t>(input.damping)},
        .inputs = {std::as_bytes(input.blocks)},
        .outputs = {{{std::as_writable_bytes(output.inverses), output.inverses.size_bytes()},
                     {std::as_writable_bytes(output.residuals), output.residuals.size_bytes()},
                     {std::as_writable_bytes(output.status), output.status.size_bytes()}}}};
    StagedCall& call = scratch.call();
    const auto bind = [&](const Device& device) -> Result<BoundBlockInverse> {
        YOLK_TRY(
            const auto plan,
            plan_block_inverse(
                device, {.n = input.n, .blocks = input.count, .damping = input.damping, .retries = input.retries}));
        YOLK_TRY(const BufferView room, call.reserve(device, request, plan.scratch()));
        return plan.bind(
            {.in = call.input(0), .out = call.output(0), .status = call.output(2), .residual = call.output(1)}, room);
    };
    return call.run(dispatcher, request, bind,
                    [](const auto& bound, Recorder& recorder, float) { bound.record(recorder); });
}

Result<KfacStepResult<float>> kfac_step(Dispatcher& dispatcher, const KfacStepInput<float>& input) {
    YOLK_TRY(KfacStepResult<float> result, result_for(input, kKfacCall));
    KfacStepScratch scratch;
    YOLK_TRY(result.counts, kfac_step(dispatcher, input, scratch, spans_of(result)));
    return result;
}

Result<void> kfac_step_on_host(const KfacStepInput<double>& input, KfacStepHostScratch& scratch,
                               const KfacStepOutput<double>& output) {
    YOLK_TRY_VOID(check_lengths(input, output, kKfacHostCall));
    YOLK_TRY_VOID(check_host_options(input));
    const std::size_t n = input.n;
    const std::size_t square = n * n;
    if (scratch.work.size() < 3 * square) scratch.work.resize(3 * square);
    const std::span<double> all(scratch.work);
    const BlockScratch work{.n = n,
                            .damped = all.subspan(0, square),
                            .factor = all.subspan(square, square),
                            .inverse = all.subspan(2 * square, square)};
    for (std::size_t block = 0; block < input.count; ++block) {
        const std::uint32_t word = invert_block(work, input.blocks.subspan(block * square, square), input);
        output.status[block] = word;
        output.residuals[block] = is_inverted(word) ? residual(work) : double{kNoResidual};
        if (!is_inverted(word)) std::ranges::fill(work.inverse, 0.0);
        std::ranges::copy(work.inverse, output.inverses.begin() + static_cast<std::ptrdiff_t>(block * square));
    }
    return {};
}

Result<KfacStepResult<double>> kfac_step_on_host(const KfacStepInput<double>& input) {
    YOLK_TRY(KfacStepResult<double> result, result_for(input, kKfacHostCall));
    KfacStepHostScratch scratch;
    YOLK_TRY_VOID(kfac_step_on_host(input, scratch, spans_of(result)));
    return result;
}

}  // namespace yolk::autotune
