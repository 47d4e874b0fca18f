// SPDX-License-Identifier: Apache-2.0
#include "policy_scorer.hpp"

#include <cstring>
#include <numeric>
#include <vector>

namespace yolk::autotune {

Result<std::unique_ptr<PolicyScorer>> PolicyScorer::create(Dispatcher& dispatcher, const PolicyDesc& desc) {
    const Device& device = dispatcher.device();
    std::unique_ptr<PolicyScorer> made(new PolicyScorer(desc));
    YOLK_TRY(made->members_plan_, plan_perturbed_embedding(device, members_of(desc)));
    YOLK_TRY(made->scores_plan_, plan_matmul(device, scores_of(desc)));
    const auto buffer = [&](std::uint64_t elements, const char* label, MemoryDomain domain = MemoryDomain::Device) {
        return device.create_buffer({.size_bytes = sizeof(float) * elements, .domain = domain, .label = label});
    };
    const std::uint64_t own = std::uint64_t{desc.rows} * desc.columns;
    const std::uint64_t all = std::uint64_t{desc.options.population} * desc.candidates->size();
    YOLK_TRY(made->ids_, buffer(desc.rows, "rows of a policy"));
    YOLK_TRY(made->status_, buffer(1, "status of a policy's members"));
    YOLK_TRY(made->matrices_, buffer(desc.options.population * own, "members of a policy"));
    YOLK_TRY(made->columns_, buffer(own * desc.candidates->size(), "candidates of a policy"));
    YOLK_TRY(made->scores_, buffer(all, "scores of candidates"));
    YOLK_TRY(made->readback_, buffer(all, "scores of candidates on the host", MemoryDomain::Readback));
    BufferView scratch;
    if (const std::uint64_t bytes = made->scores_plan_.scratch().size_bytes; bytes > 0) {
        YOLK_TRY(made->scratch_, device.create_buffer({.size_bytes = bytes, .label = "scratch of scores"}));
        scratch = made->scratch_;
    }
    YOLK_TRY(made->product_,
             made->scores_plan_.bind({.a = made->matrices_, .b = made->columns_, .out = made->scores_}, scratch));
    YOLK_TRY(made->recorder_, Recorder::create(device, {.label = "scores of candidates"}));
    YOLK_TRY_VOID(made->upload_columns(dispatcher));
    return made;
}

Result<void> PolicyScorer::upload_columns(Dispatcher& dispatcher) const {
    const CandidateSet& candidates = *desc_.candidates;
    std::vector<std::uint32_t> rows(desc_.rows);
    std::iota(rows.begin(), rows.end(), 0U);
    YOLK_TRY_VOID(dispatcher.upload(ids_, std::as_bytes(std::span(rows))));
    std::vector<float> columns(std::size_t{desc_.rows} * desc_.columns * candidates.size());
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        const ChoiceView choice = candidates[c];
        for (std::size_t row = 0; row < desc_.rows; ++row)
            columns[(row * desc_.columns + choice[row]) * candidates.size() + c] = 1.0F;
    }
    return dispatcher.upload(columns_, std::as_bytes(std::span(columns)));
}

bool PolicyScorer::is_for(const PolicyDesc& desc) const noexcept {
    return desc_.candidates == desc.candidates && desc_.options.population == desc.options.population &&
           desc_.options.rank == desc.options.rank;
}

Result<void> PolicyScorer::bind(const BufferView& logits) {
    YOLK_TRY(members_,
             members_plan_.bind({.weights = logits, .ids = ids_, .output = matrices_, .status = status_}, {}));
    return {};
}

Result<void> PolicyScorer::score(Dispatcher& dispatcher, const NoiseContext& when, std::span<float> out) {
    Recorder& recorder = *recorder_;
    recorder.begin();
    // What was done before is over for the host, but not yet ordered for the device.
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::TransferToTransfer);
    recorder.fill(status_, 0);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.barrier(Barrier::TransferToCompute);
    members_.record(recorder, when);
    recorder.barrier(Barrier::ComputeToCompute);
    product_.record(recorder);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.copy(scores_, readback_);
    recorder.barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher.run(recorder));
    YOLK_TRY_VOID(readback_.invalidate());
    std::memcpy(out.data(), readback_.mapped().data(), out.size_bytes());
    return {};
}

}  // namespace yolk::autotune
