// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/wait_notice.hpp"

#include <fmt/format.h>

#include "yolk/log.hpp"

namespace yolk {

std::string duration_text(std::chrono::nanoseconds duration) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    return milliseconds % 1000 == 0 ? fmt::format("{} s", milliseconds / 1000) : fmt::format("{} ms", milliseconds);
}

void WaitNotice::look(std::chrono::nanoseconds waited) {
    if (waited < next_) return;
    // A limit that comes right after needs no notice.
    if (!limit_ || *limit_ > next_) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited);
        log_warning(fmt::format("Waiting for {} for {}{}.", what_(), duration_text(seconds),
                                limit_ ? fmt::format("; given up after {}", duration_text(*limit_)) : std::string()));
    }
    while (next_ <= waited) next_ *= 3;
}

}  // namespace yolk
