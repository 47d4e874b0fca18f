// SPDX-License-Identifier: Apache-2.0
// Whether a pool shares its updates out or leaves them to the lead: by trying both. What sharing gains depends on the
// devices, on the sizes and on what they share themselves (CPU drivers have the same cores), so it is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "yolk/evolution.hpp"

namespace yolk::evolve {

/// A pure state machine: no clock, no device.
class UpdateTrial {
   public:
    explicit UpdateTrial(UpdateBy by) : by_(by) {}

    /// Whether the next update is to be shared.
    [[nodiscard]] bool shares() const noexcept;
    /// What the last one took, done as shares() said. The first of each way is a warm-up.
    void took(double seconds) noexcept;
    /// This worker's device cannot make a share (its memory is full, say). It goes on evaluating.
    void leave_out(std::size_t worker);
    [[nodiscard]] bool takes_part(std::size_t worker) const noexcept;
    /// Sharing does not work here: no more of it.
    void give_up() noexcept { by_ = UpdateBy::Lead; }

   private:
    struct Way {
        std::uint32_t count = 0;
        std::optional<double> seconds{};  // of the last one that was no warm-up
    };
    [[nodiscard]] bool faster_shares() const noexcept;

    UpdateBy by_;
    Way lead_, shared_;
    std::vector<std::size_t> left_out_;
    bool has_had_short_one_ = false;   // on the lead
    std::uint32_t long_in_a_row_ = 0;  // likewise
    std::uint32_t since_trial_ = 0;    // updates since the slower way was tried last
};

}  // namespace yolk::evolve
