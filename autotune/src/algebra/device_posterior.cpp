// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "device_posterior_layout.hpp"

namespace yolk::autotune {
namespace {

constexpr float kKnown = 1e30F;  ///< a prior mean that nothing is expected of
constexpr std::size_t kFewChanges = 16;

}  // namespace

DevicePosterior::DevicePosterior(Dispatcher& dispatcher, std::size_t candidates)
    : dispatcher_(dispatcher), candidates_(candidates), padded_(padded_candidates(candidates)) {}

Result<std::unique_ptr<DevicePosterior>> DevicePosterior::create(Dispatcher& dispatcher, std::size_t candidates) {
    if (candidates == 0 || candidates > (std::size_t{1} << 28U)) {
        return bad_input("{} candidates on a device; 1 to 2^28 are allowed.", candidates);
    }
    std::unique_ptr<DevicePosterior> made(new DevicePosterior(dispatcher, candidates));
    YOLK_TRY_VOID(made->reserve(1));
    return made;
}

std::span<float> DevicePosterior::staged(std::uint64_t offset, std::uint64_t count) const noexcept {
    return {reinterpret_cast<float*>(upload_.mapped().data()) + offset, static_cast<std::size_t>(count)};
}
std::span<const float> DevicePosterior::returned(std::uint64_t offset, std::uint64_t count) const noexcept {
    return {reinterpret_cast<const float*>(readback_.mapped().data()) + offset, static_cast<std::size_t>(count)};
}

void DevicePosterior::begin_recording() noexcept {
    recorder_->begin();
    // What was done before is over for the host, but not yet ordered for the device.
    recorder_->barrier(Barrier::ComputeToTransfer);
    recorder_->barrier(Barrier::TransferToTransfer);
}

Result<void> DevicePosterior::run() {
    recorder_->barrier(Barrier::ToHost);
    YOLK_TRY_VOID(upload_.flush());
    YOLK_TRY_VOID(dispatcher_.run(*recorder_));
    return readback_.invalidate();
}

/// Records X = A^-1 of the first `count` measurements, zeros beyond them.
Result<void> DevicePosterior::invert(const ExactPosterior& exact, std::size_t count) {
    const Staging at = staging_of(wide(), capacity_);
    const std::uint64_t n = bucket_->n;
    const std::span<float> matrix = staged(at.matrix, n * n);
    std::ranges::fill(matrix, 0.0F);
    for (std::size_t i = 0; i < n; ++i) {
        // Only the lower triangle is read. The identity beyond what was measured keeps the block definite.
        if (i >= count) matrix[i * n + i] = 1.0F;
        for (std::size_t j = 0; i < count && j <= i; ++j) matrix[i * n + j] = static_cast<float>(exact.row(i)[j]);
    }
    const std::uint64_t status = std::uint64_t{capacity_} * capacity_;
    recorder_->copy(floats(upload_, at.matrix, n * n), floats(inverse_data_, 0, n * n));
    recorder_->barrier(Barrier::TransferToCompute);
    bucket_->bound_inverse.record(*recorder_);
    recorder_->barrier(Barrier::ComputeToTransfer);
    for (std::uint64_t i = count; i < n; ++i) recorder_->fill(floats(inverses_, i * n + i, 1), 0);
    recorder_->copy(floats(inverse_data_, status, 1),
                    floats(readback_, returned_of(padded_ / kCandidatesPerGroup, capacity_).status, 1));
    recorder_->barrier(Barrier::TransferToCompute);
    x_ = 0;
    ++inversions_;
    return {};
}

Result<void> DevicePosterior::rebuild(ExactPosterior& exact) {
    const Staging at = staging_of(wide(), capacity_);
    const std::size_t count = exact.count();
    for (std::size_t first = 0; first < count; first += kColumnsAtOnce) {
        const std::size_t some = std::min<std::size_t>(kColumnsAtOnce, count - first);
        begin_recording();
        for (std::size_t k = 0; k < some; ++k)
            std::ranges::copy(exact.column(first + k), staged(at.columns + k * wide(), candidates_).begin());
        recorder_->copy(floats(upload_, at.columns, some * wide()), floats(columns_, first * wide(), some * wide()));
        YOLK_TRY_VOID(run());
    }
    const std::span<float> variances = staged(at.variances, wide());
    std::ranges::fill(variances, 1.0F);
    std::ranges::copy(exact.diagonal(), variances.begin());
    begin_recording();
    recorder_->copy(floats(upload_, at.variances, wide()), floats(candidates_data_, wide(), wide()));
    YOLK_TRY_VOID(invert(exact, count));
    bucket_->bound_quadratic.record(*recorder_);
    recorder_->barrier(Barrier::ComputeToCompute);
    bucket_->bound_whole.record(*recorder_, {.steps = bucket_->n});
    YOLK_TRY_VOID(run());
    double sum = 0.0;
    for (std::size_t k = 0; k < count; ++k) sum += exact.measurement(k).value;
    shift_ = sum / static_cast<double>(count);
    done_ = count;
    ++rebuilds_;
    return {};
}

/// Staging and recording of measurements first ... first + count - 1, and of the right-hand sides with all of them.
Result<void> DevicePosterior::record_steps(const ExactPosterior& exact, std::size_t first, std::size_t count) {
    const Staging at = staging_of(wide(), capacity_);
    const std::uint64_t n = bucket_->n;
    const std::span<float> values = staged(at.vectors, n);
    const std::span<float> units = staged(at.vectors + capacity_, n);
    for (std::size_t k = 0; k < n; ++k) {
        const bool there = k < first + count;
        values[k] = there ? static_cast<float>(exact.measurement(k).value - shift_) : 0.0F;
        units[k] = there ? 1.0F : 0.0F;
    }
    for (std::size_t s = 0; s < count; ++s) {
        const std::size_t k = first + s;
        std::ranges::copy(exact.column(k), staged(at.columns + s * wide(), candidates_).begin());
        const std::span<float> side = staged(at.vectors + (2 + s) * capacity_, n);
        std::ranges::fill(side, 0.0F);
        std::ranges::copy(exact.row(k).first(k), side.begin());
        staged(at.pivots, kStepsAtOnce)[s] = static_cast<float>(-1.0 / exact.measurement(k).pivot);
        recorder_->copy(floats(upload_, at.columns + s * wide(), wide()), floats(columns_, k * wide(), wide()));
    }
    for (std::size_t r = 0; r < 2 + count; ++r)
        recorder_->copy(floats(upload_, at.vectors + r * capacity_, n), floats(vectors_, r * capacity_, n));
    for (std::size_t s = 0; s < count; ++s) {
        recorder_->barrier(Barrier::TransferToCompute);
        recorder_->barrier(Barrier::ComputeToCompute);
        bucket_->bound_solve[x_][2 + s].record(*recorder_,
                                               static_cast<float>(-1.0 / exact.measurement(first + s).pivot));
        recorder_->barrier(Barrier::ComputeToTransfer);
        recorder_->copy(floats(upload_, at.pivots + s, 1), floats(weights_, (2 + s) * n + first + s, 1));
        recorder_->barrier(Barrier::TransferToCompute);
        recorder_->barrier(Barrier::ComputeToCompute);
        bucket_->bound_border[x_][s].record(*recorder_);
        x_ = 1 - x_;
    }
    return {};
}

/// Staging and copies of prior means that changed: of candidates that became known, above all.
void DevicePosterior::update_prior(const Acquisition& acquisition) {
    const Staging at = staging_of(wide(), capacity_);
    const std::span<float> staging = staged(at.prior, wide());
    std::array<std::size_t, kFewChanges> changed{};
    std::size_t changes = 0;
    for (std::size_t c = 0; c < padded_; ++c) {
        float prior = kKnown;
        if (c < candidates_ && !acquisition.history->known(c))
            prior = acquisition.prior.empty() ? 0.0F : static_cast<float>(acquisition.prior[c]);
        if (prior == prior_[c]) continue;
        prior_[c] = prior;
        staging[c] = prior;
        if (changes < kFewChanges) changed[changes] = c;
        ++changes;
    }
    if (changes > kFewChanges) {
        std::ranges::copy(prior_, staging.begin());
        recorder_->copy(floats(upload_, at.prior, wide()), floats(candidates_data_, 0, wide()));
        return;
    }
    for (std::size_t i = 0; i < changes; ++i)
        recorder_->copy(floats(upload_, at.prior + changed[i], 1), floats(candidates_data_, changed[i], 1));
}

/// Everything from the solves of the right-hand sides to what comes back.
void DevicePosterior::record_proposal(const Acquisition& acquisition, const Slack& slack, std::uint32_t steps) {
    const std::uint64_t groups = padded_ / kCandidatesPerGroup;
    const Returned back = returned_of(groups, capacity_);
    recorder_->barrier(Barrier::TransferToCompute);
    recorder_->barrier(Barrier::ComputeToCompute);
    for (std::size_t r = 0; r < 2; ++r) bucket_->bound_solve[x_][r].record(*recorder_, -1.0F);
    recorder_->barrier(Barrier::ComputeToCompute);
    bucket_->bound_scores.record(*recorder_);
    recorder_->barrier(Barrier::ComputeToCompute);
    bucket_->bound_step.record(*recorder_, {.steps = steps,
                                            .level = static_cast<float>(acquisition.level - shift_),
                                            .best = static_cast<float>(acquisition.best - shift_),
                                            .deviation = static_cast<float>(acquisition.deviation),
                                            .mean_slack = static_cast<float>(slack.mean),
                                            .variance_slack = static_cast<float>(slack.variance),
                                            .stretch = static_cast<float>(slack.stretch)});
    recorder_->barrier(Barrier::ComputeToCompute);
    bound_largest_.record(*recorder_);
    bound_place_.record(*recorder_);
    recorder_->barrier(Barrier::ComputeToTransfer);
    recorder_->copy(floats(groups_, 0, 2 * aligned(groups)), floats(readback_, back.bounds, 2 * aligned(groups)));
    const std::uint64_t weights = std::uint64_t{kScoreRows} * bucket_->n;
    recorder_->copy(floats(weights_, 0, weights), floats(readback_, back.weights, weights));
}

/// The solves that came back, in double: A x - b in units of b's largest element.
Result<double> DevicePosterior::checked_residual(ExactPosterior& exact, std::size_t first, std::size_t steps) {
    const std::uint64_t n = bucket_->n;
    const std::size_t count = first + steps;
    const Returned back = returned_of(padded_ / kCandidatesPerGroup, capacity_);
    right_.resize(std::max<std::size_t>(right_.size(), capacity_));
    double largest = 1e-3;
    for (std::size_t k = 0; k < count; ++k) {
        right_[k] = exact.measurement(k).value - shift_;
        largest = std::max(largest, std::abs(right_[k]));
    }
    double most = exact.residual(returned(back.weights, count), std::span(right_).first(count)) / largest;
    const auto take = [&most](double other) { most = other <= most ? most : other; };
    std::ranges::fill(right_, 1.0);
    take(exact.residual(returned(back.weights + n, count), std::span(right_).first(count)));
    for (std::size_t s = 0; s < steps; ++s) {
        const std::size_t k = first + s;
        const double pivot = exact.measurement(k).pivot;
        for (std::size_t j = 0; j < k; ++j) right_[j] = exact.row(k)[j] / pivot;
        take(pivot * exact.residual(returned(back.weights + (2 + s) * n, k), std::span(right_).first(k)));
    }
    return most;
}

Result<Screen> DevicePosterior::screen(ExactPosterior& exact, const Acquisition& acquisition, const Slack& slack) {
    const std::size_t count = exact.count();
    if (count == 0) return bad_input("Nothing was measured yet; there is nothing to regress on.");
    if (done_ > count) done_ = 0;
    YOLK_TRY_VOID(reserve(padded_measurements(count)));
    const bool anew = done_ == 0;
    const std::uint32_t before = bucket_ == nullptr ? 0 : bucket_->n;
    YOLK_TRY_VOID(make_bucket(padded_measurements(count)));
    const std::uint64_t groups = padded_ / kCandidatesPerGroup;
    const Returned back = returned_of(groups, capacity_);
    bool inverted = anew;
    const std::size_t known = done_;
    done_ = 0;  // until all of it has gone well
    if (anew) {
        YOLK_TRY_VOID(rebuild(exact));
    } else {
        done_ = known;
    }
    std::size_t first = done_;
    std::size_t steps = 0;
    do {
        first += steps;
        steps = std::min<std::size_t>(kStepsAtOnce, count - first);
        done_ = 0;
        begin_recording();
        if (!anew && before != bucket_->n && !inverted) {
            YOLK_TRY_VOID(invert(exact, first));
            inverted = true;
        }
        update_prior(acquisition);
        YOLK_TRY_VOID(record_steps(exact, first, steps));
        record_proposal(acquisition, slack, static_cast<std::uint32_t>(steps));
        YOLK_TRY_VOID(run());
        done_ = first + steps;
    } while (done_ < count);
    if (inverted) {
        std::uint32_t status = 0;
        std::memcpy(&status, returned(back.status, 1).data(), sizeof(status));
        if (!is_inverted(status)) {
            done_ = 0;
            return Error{
                ErrorKind::Driver,
                fmt::format("block_inverse found no inverse of the {} measurements: status {}.", count, status)};
        }
    }
    YOLK_TRY(const double residual, checked_residual(exact, first, steps));
    const std::span<const float> leaders = returned(back.leaders, groups);
    return Screen{.bounds = returned(back.bounds, groups),
                  .leaders = {reinterpret_cast<const std::uint32_t*>(leaders.data()), leaders.size()},
                  .residual = residual};
}

Result<DevicePosterior::All> DevicePosterior::all() {
    if (audit_.size_bytes() == 0) {
        YOLK_TRY(audit_, buffer_of(dispatcher_.device(), 3 * wide(), "audit", MemoryDomain::Readback));
    }
    begin_recording();
    recorder_->copy(floats(rows_, 0, 2 * wide()), floats(audit_, 0, 2 * wide()));
    recorder_->copy(floats(candidates_data_, wide(), wide()), floats(audit_, 2 * wide(), wide()));
    YOLK_TRY_VOID(run());
    YOLK_TRY_VOID(audit_.invalidate());
    const float* const from = reinterpret_cast<const float*>(audit_.mapped().data());
    return All{.value_scores = {from, candidates_},
               .unit_scores = {from + wide(), candidates_},
               .variances = {from + 2 * wide(), candidates_},
               .shift = shift_};
}

}  // namespace yolk::autotune
