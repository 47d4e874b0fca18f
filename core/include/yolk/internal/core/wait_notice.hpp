// SPDX-License-Identifier: Apache-2.0
// A wait that takes long is told: what for, for how long, and what ends it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace yolk {

/// "40 ms", "5 s".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

/// One thread at a time.
class WaitNotice {
   public:
    static constexpr std::chrono::seconds kFirst{5};  ///< then after three times as long, each time

    /// `what` completes "Waiting for ..."; it is asked when there is something to tell. `limit`: what ends the wait.
    explicit WaitNotice(std::function<std::string()> what, std::optional<std::chrono::nanoseconds> limit = std::nullopt)
        : what_(std::move(what)), limit_(limit) {}
    /// To be called every second or so.
    void look(std::chrono::nanoseconds waited);

   private:
    std::function<std::string()> what_;
    std::optional<std::chrono::nanoseconds> limit_;
    std::chrono::nanoseconds next_ = kFirst;
};

}  // namespace yolk
