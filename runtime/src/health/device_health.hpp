// SPDX-License-Identifier: Apache-2.0
// Whether a device still runs work (docs/adr/0006-abandon-a-hung-device.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "yolk/result.hpp"

namespace yolk {

/// DispatcherOptions::hang_limit where nothing else is said.
inline constexpr std::chrono::seconds kHangLimit{120};

/// Why a wait for a device was given up.
struct GivenUp {
    std::chrono::nanoseconds after{0};  ///< without progress
    bool was_asked_to_end = false;      ///< the process, and that made the limit shorter
};

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
    void mark_hung(const std::string& work, const GivenUp& given_up) noexcept;

    /// The error of every call after the failure. `what` completes "Cannot ...".
    [[nodiscard]] Error error(const std::string& what, const std::string& device) const;

   private:
    std::atomic<State> state_{State::Good};
    mutable std::mutex mutex_;  ///< of the texts
    std::string work_;
    GivenUp given_up_;
};

/// "120 s", "50 ms", for messages.
}  // namespace yolk
