// SPDX-License-Identifier: Apache-2.0
// Buffers and plans of a DevicePosterior: made anew only where measurements pass what is there.

#include <algorithm>
#include <array>

#include "device_posterior_layout.hpp"

namespace yolk::autotune {
namespace {

constexpr std::uint32_t kFirstCapacity = 256;

}  // namespace

/// Room for so many measurements. Growing forgets what is there.
Result<void> DevicePosterior::reserve(std::uint32_t measurements) {
    if (measurements <= capacity_) return {};
    if (measurements > kMostMeasurements) {
        return unsupported("{} measurements are more than the {} of the largest block that block_inverse takes.",
                           measurements, kMostMeasurements);
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
    YOLK_TRY(inverse_data_, buffer_of(device, square + 2 * kAlignedFloats, "covariance of the measured"));
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
                                                        .residual = floats(inverse_data_, most + kAlignedFloats, 1)},
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

}  // namespace yolk::autotune
