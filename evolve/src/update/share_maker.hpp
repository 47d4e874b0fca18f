// SPDX-License-Identifier: Apache-2.0
// One device of a SharedUpdate: its plan, its buffers, and the share that it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "yolk/internal/evolve/shared_update.hpp"

namespace yolk::evolve {

struct ShareMaker {
    /// Everything that SharedUpdate::create checks of the options has been checked.
    [[nodiscard]] static Result<std::unique_ptr<ShareMaker>> create(const UpdateDevice& on, EsUpdateDesc desc);

    /// Makes the share, and waits for it. `elements`: what it writes, for result().
    [[nodiscard]] Result<void> make(const ShapedGeneration& shaped, const NoiseContext& when,
                                    const EsUpdateShare& share, const ElementSpan& elements);
    /// What came to the host, by element of the parameters: of a gradient fp32, of sums int64.
    template <class T>
    [[nodiscard]] std::span<const T> result() const noexcept {
        const std::span<const std::byte> bytes = readback.mapped();
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }

    UpdateDevice on;
    // Buffers first: what is bound to them goes before they do.
    Buffer weights, summary, made, scratch, host, readback;
    BufferView host_summary, host_weights;
    EsUpdatePlan plan;
    BoundEsUpdate bound;
    std::optional<Recorder> recorder;

    [[nodiscard]] Result<void> create_buffers();
    void record(const NoiseContext& when, const EsUpdateShare& share, const ElementSpan& elements) noexcept;
    [[nodiscard]] bool makes_sums() const noexcept { return plan.desc().output == EsUpdateOutput::Sums; }
    [[nodiscard]] std::uint64_t element_bytes() const noexcept { return makes_sums() ? 8 : 4; }
};

}  // namespace yolk::evolve
