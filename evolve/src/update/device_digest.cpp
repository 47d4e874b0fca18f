// SPDX-License-Identifier: Apache-2.0
#include "device_digest.hpp"

#include "yolk/internal/abi/digest.h"
#include "yolk/internal/evolve/state_digest.hpp"

namespace yolk::evolve {
namespace {

DigestDesc words_of(const BufferView& view) { return {.count = static_cast<std::uint32_t>(view.size_bytes / 4)}; }

}  // namespace

Result<DeviceDigest> DeviceDigest::create(const Device& device, const BufferView& parameters, const BufferView& state) {
    DeviceDigest digest;
    YOLK_TRY(digest.sums_, device.create_buffer({.size_bytes = std::uint64_t{4} * abi::digest::kSumWords,
                                                 .label = "generation digest"}));
    YOLK_TRY(digest.of_parameters_, plan_digest(device, words_of(parameters)));
    YOLK_TRY(digest.parameters_, digest.of_parameters_.bind({.in = parameters, .sums = digest.sums_}, {}));
    digest.has_state_ = !state.empty();
    if (!digest.has_state_) return digest;
    YOLK_TRY(digest.of_state_, plan_digest(device, words_of(state)));
    YOLK_TRY(digest.state_, digest.of_state_.bind({.in = state, .sums = digest.sums_}, {}));
    return digest;
}

void DeviceDigest::begin(Recorder& recorder) const noexcept {
    if (sums_.size_bytes() != 0) recorder.fill(sums_, 0);
}

void DeviceDigest::add(Recorder& recorder) const noexcept {
    if (sums_.size_bytes() == 0) return;
    parameters_.record(recorder, kDigestOfParameters);
    if (has_state_) state_.record(recorder, kDigestOfOptimizer);
}

}  // namespace yolk::evolve
