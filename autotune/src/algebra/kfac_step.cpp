// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/kfac_step.hpp"

#include <array>
#include <bit>
#include <optional>

#include "staged_work.hpp"
#include "step_checks.hpp"
#include "yolk/core/memory.hpp"

namespace yolk::autotune {
namespace {

constexpr const char* kKfacCall = "kfac_step";

Result<void> check_lengths(const KfacStepInput<float>& input, const KfacStepOutput<float>& output) {
    YOLK_TRY(const StepSizes sizes, step_sizes(input.count, input.n, sizeof(float), kKfacCall));
    YOLK_TRY_VOID(check_length(input.blocks.size(), sizes.matrices, kKfacCall, "input blocks"));
    YOLK_TRY_VOID(check_length(output.inverses.size(), sizes.matrices, kKfacCall, "output inverses"));
    YOLK_TRY_VOID(check_length(output.status.size(), input.count, kKfacCall, "output status"));
    return check_length(output.residuals.size(), input.count, kKfacCall, "output residuals");
}

}  // namespace

struct KfacStepScratch::Impl {
    /// What the plan of a scratch was made for.
    struct Shape {
        std::uint32_t count = 0;
        std::uint32_t n = 0;
        std::uint32_t retries = 0;
        std::uint32_t damping_bits = 0;
        friend bool operator==(const Shape&, const Shape&) = default;
    };

    StagedWork work;  // before what is bound to its buffers
    BoundBlockInverse bound;
    std::optional<Shape> shape;
    std::array<StagedArray, 4> arrays;  ///< blocks; inverses, residuals, status
    StepCounts counts;

    Result<void> prepare(const Device& device, const KfacStepInput<float>& input);
};

Result<void> KfacStepScratch::Impl::prepare(const Device& device, const KfacStepInput<float>& input) {
    shape.reset();
    bound = {};
    YOLK_TRY(const BlockInversePlan plan,
             plan_block_inverse(
                 device, {.n = input.n, .blocks = input.count, .damping = input.damping, .retries = input.retries}));
    const std::uint64_t matrices = input.blocks.size_bytes();
    const std::uint64_t words = sizeof(float) * std::uint64_t{input.count};
    YOLK_TRY_VOID(work.reserve(device, kKfacCall, {matrices}, {matrices, words, words}, arrays));
    YOLK_TRY(const BufferView scratch, work.reserve_scratch(device, kKfacCall, plan.scratch()));
    YOLK_TRY(bound, plan.bind({.in = work.input(arrays[0]),
                               .out = work.output(arrays[1]),
                               .status = work.output(arrays[3]),
                               .residual = work.output(arrays[2])},
                              scratch));
    bound.record(work.begin_recording());
    work.finish_recording();
    shape = Shape{input.count, input.n, input.retries, std::bit_cast<std::uint32_t>(input.damping)};
    ++counts.plans;
    return {};
}

KfacStepScratch::KfacStepScratch() : impl_(std::make_unique<Impl>()) {}
KfacStepScratch::~KfacStepScratch() = default;
KfacStepScratch::KfacStepScratch(KfacStepScratch&&) noexcept = default;
KfacStepScratch& KfacStepScratch::operator=(KfacStepScratch&&) noexcept = default;
StepCounts KfacStepScratch::counts() const noexcept { return impl_ ? impl_->counts : StepCounts{}; }
StepFootprint KfacStepScratch::footprint() const noexcept { return impl_ ? impl_->work.footprint() : StepFootprint{}; }

Result<StepCounts> kfac_step_with_scratch_into(Dispatcher& dispatcher, const KfacStepInput<float>& input,
                                               KfacStepScratch& scratch, const KfacStepOutput<float>& output) {
    YOLK_TRY_VOID(check_lengths(input, output));
    KfacStepScratch::Impl& own = scratch.impl();
    const KfacStepScratch::Impl::Shape wanted{input.count, input.n, input.retries,
                                              std::bit_cast<std::uint32_t>(input.damping)};
    const std::uint64_t plans_before = own.counts.plans;
    if (own.shape != wanted || !own.work.on(dispatcher.device()))
        YOLK_TRY_VOID(own.prepare(dispatcher.device(), input));
    own.work.write(own.arrays[0], std::as_bytes(input.blocks));
    YOLK_TRY(StepCounts done, own.work.run(dispatcher));
    own.work.read(own.arrays[1], std::as_writable_bytes(output.inverses));
    own.work.read(own.arrays[2], std::as_writable_bytes(output.residuals));
    own.work.read(own.arrays[3], std::as_writable_bytes(output.status));
    done.plans = own.counts.plans - plans_before;
    own.counts.calls += done.calls;
    own.counts.submissions += done.submissions;
    own.counts.dispatches += done.dispatches;
    return done;
}

Result<StepCounts> kfac_step_into(Dispatcher& dispatcher, const KfacStepInput<float>& input,
                                  const KfacStepOutput<float>& output) {
    KfacStepScratch scratch;
    return kfac_step_with_scratch_into(dispatcher, input, scratch, output);
}

Result<KfacStepResult<float>> kfac_step(Dispatcher& dispatcher, const KfacStepInput<float>& input) {
    // Before memory is made by them: sizes may be absurd.
    YOLK_TRY(const StepSizes sizes, step_sizes(input.count, input.n, sizeof(float), kKfacCall));
    YOLK_TRY_VOID(check_length(input.blocks.size(), sizes.matrices, kKfacCall, "input blocks"));
    KfacStepResult<float> result;
    YOLK_TRY(result.inverses, allocate<float>(sizes.matrices, "the inverses of kfac_step"));
    YOLK_TRY(result.status, allocate<std::uint32_t>(input.count, "the status of kfac_step"));
    YOLK_TRY(result.residuals, allocate<float>(input.count, "the residuals of kfac_step"));
    YOLK_TRY(result.counts,
             kfac_step_into(dispatcher, input,
                            {.inverses = result.inverses, .status = result.status, .residuals = result.residuals}));
    return result;
}

}  // namespace yolk::autotune
