// SPDX-License-Identifier: Apache-2.0
#include "yolk/stop.hpp"

#include <atomic>

namespace yolk {
namespace {

// A signal handler can reach nothing but globals.
std::atomic<bool> requested{false};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void request_stop() noexcept { requested = true; }
void clear_stop() noexcept { requested = false; }
bool stop_requested() noexcept { return requested; }

}  // namespace yolk
