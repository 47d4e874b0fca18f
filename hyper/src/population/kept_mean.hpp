// SPDX-License-Identifier: Apache-2.0
// The best mean of a search, kept on the device until somebody asks for it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

/// One thread at a time.
class KeptMean {
   public:
    /// Copies the mean on the device, on the device and without waiting for it: what the same queue is given later
    /// comes after the copy; the mean's buffer stays until settle(). Of `host_rows` the values are the host's
    /// (Perturbations::mean). Errors: no memory, the driver's.
    [[nodiscard]] Result<void> keep(Dispatcher& dispatcher, const Perturbations& around,
                                    std::span<const ParameterId> host_rows);
    /// Waits for the copy.
    [[nodiscard]] Result<void> settle(Dispatcher& dispatcher);
    [[nodiscard]] bool is_kept() const noexcept { return kept_; }
    void forget() noexcept { kept_ = false; }
    /// What was kept last, [element_count]. Blocks. Errors: the driver's.
    [[nodiscard]] Result<std::vector<float>> fetch(Dispatcher& dispatcher);

   private:
    struct HostRow {
        std::uint32_t first = 0;
        std::vector<float> values;
    };
    [[nodiscard]] Result<void> record(Dispatcher& dispatcher, const BufferView& mean);

    Buffer buffer_;
    std::optional<Recorder> recorder_;
    BufferView from_;  ///< what the recording copies
    std::optional<Submission> submission_;
    std::vector<HostRow> host_rows_;
    bool kept_ = false;
};

}  // namespace yolk::hyper
