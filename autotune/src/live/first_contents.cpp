// SPDX-License-Identifier: Apache-2.0
#include "first_contents.hpp"

namespace yolk::autotune {

Result<FirstContents> FirstContents::create(const Device& device, Dispatcher& dispatcher,
                                            std::span<const oracle::ProblemBuffer> buffers) {
    FirstContents contents;
    for (const oracle::ProblemBuffer& buffer : buffers) {
        Buffer& first = contents.first_.emplace_back();
        if (buffer.role != oracle::BufferRole::InOut || buffer.contents.empty()) continue;
        YOLK_TRY(first, device.create_buffer({.size_bytes = buffer.contents.size(), .label = buffer.name}));
        YOLK_TRY_VOID(dispatcher.upload(first, buffer.contents));
        contents.any_ = true;
    }
    return contents;
}

void FirstContents::put_back(Recorder& recorder, std::span<const BufferView> views) const noexcept {
    if (!any_) return;
    recorder.barrier(Barrier::ComputeToTransfer);
    for (std::size_t i = 0; i < first_.size(); ++i) {
        if (first_[i].impl() != nullptr) recorder.copy(first_[i], views[i]);
    }
}

}  // namespace yolk::autotune
