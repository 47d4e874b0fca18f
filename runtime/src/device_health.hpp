// SPDX-License-Identifier: Apache-2.0
// Whether a device still runs work (docs/adr/0006-abandon-a-hung-device.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "yolk/core/result.hpp"

namespace yolk {

/// Thread-safe. The first failure stays: what comes after it follows from it.
class DeviceHealth {
   public:
    enum class State : std::uint8_t {
        Good,
        Lost,  ///< the driver said so; handles are destroyed as ever, since its work counts as finished
        Hung,  ///< work was given up; what it may still use can neither be destroyed nor waited for
    };

    [[nodiscard]] State state() const noexcept { return state_.load(); }
    [[nodiscard]] bool good() const noexcept { return state() == State::Good; }
    [[nodiscard]] bool hung() const noexcept { return state() == State::Hung; }

    /// `work` names what ran: "submission 3 of the recorder [generation], last labelled work [rollout]".
    void mark_lost(const std::string& work) noexcept;
    void mark_hung(const std::string& work, std::chrono::nanoseconds limit) noexcept;

    /// The error of every call after the failure. `what` completes "Cannot ...".
    [[nodiscard]] Error error(const std::string& what, const std::string& device) const;

   private:
    std::atomic<State> state_{State::Good};
    mutable std::mutex mutex_;  ///< of the texts
    std::string work_;
    std::chrono::nanoseconds limit_{0};
};

/// "120 s", "50 ms", for messages.
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace yolk
