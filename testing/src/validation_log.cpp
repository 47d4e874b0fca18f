// SPDX-License-Identifier: Apache-2.0
#include "validation_log.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <utility>

namespace yolk::testing {
namespace {

/// A message that is not our fault. None is known; an entry needs the layer's or the driver's mistake in `reason`.
struct AllowedMessage {
    std::string_view id;
    std::string_view driver;
    std::string_view reason;
};
constexpr std::array<AllowedMessage, 0> kAllowed{};

std::mutex mutex;
std::vector<ValidationMessage> messages;

}  // namespace

void record_validation_message(const ValidationMessage& message) {
    const auto same = [&](const AllowedMessage& allowed) { return allowed.id == message.id; };
    if (std::any_of(kAllowed.begin(), kAllowed.end(), same)) return;
    const std::scoped_lock lock(mutex);
    messages.push_back(message);
}

std::vector<ValidationMessage> take_recorded_messages() {
    const std::scoped_lock lock(mutex);
    return std::exchange(messages, {});
}

}  // namespace yolk::testing
