// SPDX-License-Identifier: Apache-2.0
// What the tests of kernels on rows share: guarded buffers, and a configuration of each kind.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/primitives/row_config.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {

/// One of each kind, and the largest.
[[nodiscard]] inline std::array<RowConfig, 6> row_configs() {
    return {RowConfig{},          RowConfig{0, 8}, RowConfig{0, 2, 64},
            RowConfig{0, 1, 256}, RowConfig{1, 1}, RowConfig{1, 256}};
}

/// For EXPECT_TRUE: a plan of rows one longer than the loop limit of lavapipe 22.3 allows, refused where the device has
/// that limit and made elsewhere.
template <class T>
[[nodiscard]] ::testing::AssertionResult refused_by_loops(const Device& device, const Result<T>& plan,
                                                          std::string_view part) {
    return device.findings().loop_limit ? testing::expect_error(plan, ErrorKind::Unsupported, part)
                                        : testing::expect_ok(plan);
}

/// One thread at a time; the device and its dispatcher must outlive it.
struct RowBuffers {
    const Device& device;
    Dispatcher& dispatcher;

    [[nodiscard]] Result<oracle::GuardedBuffer> empty(std::uint64_t size_bytes, std::string label) const {
        return oracle::GuardedBuffer::create(device, dispatcher, size_bytes, oracle::kPoisons[0], std::move(label));
    }
    template <class T>
    [[nodiscard]] Result<oracle::GuardedBuffer> filled(const std::vector<T>& values, std::string label) const {
        YOLK_TRY(oracle::GuardedBuffer buffer, empty(sizeof(T) * values.size(), std::move(label)));
        YOLK_TRY_VOID(buffer.upload(values));
        return buffer;
    }
    template <class Bound>
    [[nodiscard]] Result<void> run(const Bound& bound) const {
        YOLK_TRY(Recorder recorder, Recorder::create(device));
        recorder.begin();
        bound.record(recorder);
        return dispatcher.run(recorder);
    }
};

}  // namespace yolk
