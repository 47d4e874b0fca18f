// SPDX-License-Identifier: Apache-2.0
#include "device_posterior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace yolk::autotune {
namespace {

constexpr std::uint32_t kFirstCapacity = 256;
constexpr std::uint32_t kColumnsAtOnce = 16;  ///< columns that one submission of a rebuild uploads
constexpr std::uint64_t kAligned = kViewAlignment / sizeof(float);
constexpr float kKnown = 1e30F;  ///< a prior mean that nothing is expected of
constexpr std::size_t kFewChanges = 16;

constexpr std::uint64_t aligned(std::uint64_t count) { return (count + kAligned - 1) / kAligned * kAligned; }
BufferView floats(const Buffer& buffer, std::uint64_t offset, std::uint64_t count) {
    return {buffer, sizeof(float) * offset, sizeof(float) * count};
}
Result<Buffer> buffer_of(const Device& device, std::uint64_t count, const char* label,
                         MemoryDomain domain = MemoryDomain::Device) {
    return device.create_buffer({.size_bytes = sizeof(float) * count, .domain = domain, .label = label});
}

/// Where things lie in the upload buffer, in floats.
struct Staging {
    std::uint64_t columns = 0, vectors = 0, pivots = 0, prior = 0, variances = 0, matrix = 0, end = 0;
};
Staging staging_of(std::uint64_t padded, std::uint64_t capacity) {
    Staging s;
    s.vectors = kColumnsAtOnce * padded;
    s.pivots = s.vectors + kScoreRows * capacity;
    s.prior = s.pivots + kAligned;
    s.variances = s.prior + padded;
    s.matrix = s.variances + padded;
    s.end = s.matrix + capacity * capacity;
    return s;
}
/// And in the readback buffer.
struct Returned {
    std::uint64_t bounds = 0, leaders = 0, weights = 0, status = 0, end = 0;
};
Returned returned_of(std::uint64_t groups, std::uint64_t capacity) {
    Returned r;
    r.leaders = aligned(groups);
    r.weights = r.leaders + aligned(groups);
    r.status = r.weights + kScoreRows * capacity;
    r.end = r.status + kAligned;
    return r;
}

}  // namespace

DevicePosterior::DevicePosterior(Dispatcher& dispatcher, std::size_t candidates)
    : dispatcher_(dispatcher), candidates_(candidates), padded_(padded_candidates(candidates)) {}

Result<std::unique_ptr<DevicePosterior>> DevicePosterior::create(Dispatcher& dispatcher, std::size_t candidates) {
    if (candidates == 0 || candidates > (std::size_t{1} << 28U)) {
        return bad_input(fmt::format("{} candidates on a device; 1 to 2^28 are allowed.", candidates));
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

/// Room for so many measurements. Growing forgets what is there.
Result<void> DevicePosterior::reserve(std::uint32_t measurements) {
    if (measurements <= capacity_) return {};
    if (measurements > kMostMeasurements) {
        return unsupported(
            fmt::format("{} measurements are more than the {} of the largest block that block_inverse "
                        "takes.",
                        measurements, kMostMeasurements));
    }
    std::uint32_t capacity = std::max(capacity_, kFirstCapacity);
    while (capacity < measurements) capacity *= 2;
    const Device& device = dispatcher_.device();
    buckets_.clear();
    bucket_ = nullptr;
    done_ = 0;
    capacity_ = 0;  // until all is there
    const std::uint64_t square = std::uint64_t{capacity} * capacity;
    const std::uint64_t groups = padded_ / kCandidatesPerGroup;
    YOLK_TRY(columns_, buffer_of(device, capacity * wide(), "covariances"));
    YOLK_TRY(products_, buffer_of(device, capacity * wide(), "covariances times inverse"));
    YOLK_TRY(inverses_, buffer_of(device, 2 * square, "inverses"));
    YOLK_TRY(weights_, buffer_of(device, std::uint64_t{kScoreRows} * capacity, "weights"));
    YOLK_TRY(rows_, buffer_of(device, kScoreRows * wide(), "scores"));
    YOLK_TRY(vectors_, buffer_of(device, std::uint64_t{kScoreRows} * capacity, "right-hand sides"));
    YOLK_TRY(candidates_data_, buffer_of(device, 3 * wide(), "prior, variances, gains"));
    YOLK_TRY(groups_, buffer_of(device, 2 * aligned(groups), "bounds"));
    YOLK_TRY(inverse_data_, buffer_of(device, square + 2 * kAligned, "covariance of the measured"));
    YOLK_TRY(upload_, buffer_of(device, staging_of(wide(), capacity).end, "upload", MemoryDomain::Upload));
    YOLK_TRY(readback_, buffer_of(device, returned_of(groups, capacity).end, "readback", MemoryDomain::Readback));
    if (!recorder_) {
        YOLK_TRY(recorder_, Recorder::create(device, {.label = "posterior"}));
    }
    const ReduceDesc desc{
        .operation = ReduceOperation::Max, .outer = static_cast<std::uint32_t>(groups), .columns = kCandidatesPerGroup};
    ReduceDesc place = desc;
    place.operation = ReduceOperation::Argmax;
    YOLK_TRY(largest_, plan_reduce(device, desc));
    YOLK_TRY(place_, plan_reduce(device, place));
    const BufferView gains = floats(candidates_data_, 2 * wide(), wide());
    YOLK_TRY(bound_largest_, largest_.bind({.in = gains, .out = floats(groups_, 0, groups)}));
    YOLK_TRY(bound_place_, place_.bind({.in = gains, .out = floats(groups_, aligned(groups), groups)}));
    plans_made_ += 2;
    capacity_ = capacity;
    // What is multiplied by zero must be finite.
    begin_recording();
    for (const Buffer* buffer : {&columns_, &weights_, &rows_, &vectors_, &candidates_data_})
        recorder_->fill(*buffer, 0);
    prior_.assign(padded_, 0.0F);
    return run();
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

Result<void> DevicePosterior::make_bucket(std::uint32_t n) {
    std::unique_ptr<Bucket>& bucket = buckets_[n];
    if (bucket == nullptr) {
        auto made = std::make_unique<Bucket>();
        made->n = n;
        YOLK_TRY_VOID(plan_bucket(*made));
        YOLK_TRY_VOID(bind_bucket(*made));
        bucket = std::move(made);
    }
    bucket_ = bucket.get();
    return {};
}

Result<void> DevicePosterior::plan_bucket(Bucket& bucket) {
    const Device& device = dispatcher_.device();
    const std::uint32_t n = bucket.n;
    YOLK_TRY(bucket.solve, plan_natural_gradient(device, {.n = n}));
    YOLK_TRY(bucket.border, plan_matmul(device, {.m = n, .n = n, .k = 1, .has_residual = true}));
    YOLK_TRY(bucket.scores, plan_matmul(device, {.m = kScoreRows, .n = padded_, .k = n}));
    YOLK_TRY(bucket.quadratic, plan_matmul(device, {.m = n, .n = padded_, .k = n}));
    YOLK_TRY(bucket.inverse, plan_block_inverse(device, {.n = n, .blocks = 1, .retries = 0}));
    YOLK_TRY(bucket.step,
             plan_expected_improvement(device, {.count = padded_, .stride = padded_, .steps = kStepsAtOnce}));
    YOLK_TRY(bucket.whole, plan_expected_improvement(device, {.count = padded_, .stride = padded_, .steps = n}));
    plans_made_ += 7;
    bucket.plans = {.scores = bucket.scores.config(),
                    .border = bucket.border.config(),
                    .quadratic = bucket.quadratic.config(),
                    .inverse = bucket.inverse.config(),
                    .improvement = bucket.step.config()};
    return {};
}

Result<void> DevicePosterior::bind_bucket(Bucket& bucket) {
    const std::uint64_t n = bucket.n;
    const std::uint64_t square = n * n;
    const std::uint64_t most = std::uint64_t{capacity_} * capacity_;
    const std::array inverses{floats(inverses_, 0, square), floats(inverses_, most, square)};
    const BufferView all_columns = floats(columns_, 0, n * wide());
    const BufferView all_products = floats(products_, 0, n * wide());
    const BufferView scores = floats(rows_, 0, 2 * wide());
    const BufferView steps = floats(rows_, 2 * wide(), kStepsAtOnce * wide());
    const BufferView prior = floats(candidates_data_, 0, wide());
    const BufferView variances = floats(candidates_data_, wide(), wide());
    const BufferView gains = floats(candidates_data_, 2 * wide(), wide());
    const std::uint64_t scratch_bytes =
        std::max({bucket.inverse.scratch().size_bytes, bucket.scores.scratch().size_bytes,
                  bucket.quadratic.scratch().size_bytes, bucket.border.scratch().size_bytes});
    if (scratch_bytes > scratch_.size_bytes()) {
        // Bound plans of other buckets hold the scratch that is replaced.
        std::erase_if(buckets_, [](const auto& entry) { return entry.second != nullptr; });
        YOLK_TRY(scratch_, dispatcher_.device().create_buffer({.size_bytes = scratch_bytes, .label = "scratch"}));
    }
    const auto scratch_for = [this](std::uint64_t bytes) {
        return bytes == 0 ? BufferView{} : BufferView{scratch_, 0, bytes};
    };
    for (std::size_t x = 0; x < 2; ++x) {
        for (std::uint32_t r = 0; r < kScoreRows; ++r) {
            YOLK_TRY(bucket.bound_solve[x][r],
                     bucket.solve.bind({.preconditioner = inverses[x],
                                        .gradient = floats(vectors_, std::uint64_t{r} * capacity_, n),
                                        .step = floats(weights_, r * n, n)}));
        }
        for (std::uint32_t s = 0; s < kStepsAtOnce; ++s) {
            const BufferView row = floats(weights_, (2 + s) * n, n);
            YOLK_TRY(bucket.bound_border[x][s],
                     bucket.border.bind({.a = row, .b = row, .out = inverses[1 - x], .residual = inverses[x]},
                                        scratch_for(bucket.border.scratch().size_bytes)));
        }
    }
    YOLK_TRY(bucket.bound_scores, bucket.scores.bind({.a = floats(weights_, 0, kScoreRows * n),
                                                      .b = all_columns,
                                                      .out = floats(rows_, 0, kScoreRows * wide())},
                                                     scratch_for(bucket.scores.scratch().size_bytes)));
    YOLK_TRY(bucket.bound_quadratic, bucket.quadratic.bind({.a = inverses[0], .b = all_columns, .out = all_products},
                                                           scratch_for(bucket.quadratic.scratch().size_bytes)));
    YOLK_TRY(bucket.bound_inverse, bucket.inverse.bind({.in = floats(inverse_data_, 0, square),
                                                        .out = inverses[0],
                                                        .status = floats(inverse_data_, most, 1),
                                                        .residual = floats(inverse_data_, most + kAligned, 1)},
                                                       scratch_for(bucket.inverse.scratch().size_bytes)));
    YOLK_TRY(
        bucket.bound_step,
        bucket.step.bind(
            {.scores = scores, .left = steps, .right = steps, .prior = prior, .variances = variances, .out = gains}));
    YOLK_TRY(bucket.bound_whole, bucket.whole.bind({.scores = scores,
                                                    .left = all_columns,
                                                    .right = all_products,
                                                    .prior = prior,
                                                    .variances = variances,
                                                    .out = gains}));
    return {};
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
