// SPDX-License-Identifier: Apache-2.0
#include "kept_mean.hpp"

#include <algorithm>
#include <utility>

namespace yolk::hyper {

Result<void> KeptMean::record(Dispatcher& dispatcher, const BufferView& mean) {
    if (buffer_.size_bytes() != mean.size_bytes) {
        YOLK_TRY(buffer_, dispatcher.device().create_buffer({.size_bytes = mean.size_bytes, .label = "best mean"}));
    }
    YOLK_TRY(recorder_, Recorder::create(dispatcher.device(), {.label = "best mean"}));
    recorder_->begin();
    // After what made the mean, and the copy before this one.
    recorder_->barrier(Barrier::ComputeToTransfer);
    recorder_->barrier(Barrier::TransferToTransfer);
    recorder_->copy(mean, buffer_);
    from_ = mean;
    return {};
}

Result<void> KeptMean::keep(Dispatcher& dispatcher, const Perturbations& around,
                            std::span<const ParameterId> host_rows) {
    const BufferView mean = around.device_mean.part(0, around.table.size_bytes());
    // A recording may not be used again while it runs. By the next step it has long ended.
    YOLK_TRY_VOID(settle(dispatcher));
    const bool recorded = recorder_ && from_.buffer == mean.buffer && from_.offset_bytes == mean.offset_bytes;
    if (!recorded) YOLK_TRY_VOID(record(dispatcher, mean));
    YOLK_TRY(submission_, dispatcher.submit(*recorder_));
    host_rows_.clear();
    for (const ParameterId row : host_rows) {
        const ParameterDesc& desc = around.table.parameters()[row.value];
        const std::uint32_t first = around.table.offset(row);
        const std::span<const float> values = around.mean.subspan(first, std::size_t{desc.rows} * desc.columns);
        host_rows_.push_back({.first = first, .values = {values.begin(), values.end()}});
    }
    kept_ = true;
    return {};
}

Result<void> KeptMean::settle(Dispatcher& dispatcher) {
    if (!submission_) return {};
    const Submission last = *std::exchange(submission_, {});
    return dispatcher.wait(last);
}

Result<std::vector<float>> KeptMean::fetch(Dispatcher& dispatcher) {
    YOLK_TRY_VOID(settle(dispatcher));
    std::vector<float> values(buffer_.size_bytes() / sizeof(float));
    YOLK_TRY_VOID(dispatcher.download(buffer_, std::as_writable_bytes(std::span(values))));
    for (const HostRow& row : host_rows_) std::ranges::copy(row.values, values.begin() + row.first);
    return values;
}

}  // namespace yolk::hyper
