// SPDX-License-Identifier: Apache-2.0
#include "validation_log.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk::testing {
namespace {

/// A message that is not our fault. None is known; an entry needs the layer's or the driver's mistake in `reason`.
struct AllowedMessage {
    std::string_view id;
    std::string_view driver;
    std::string_view reason;
};
constexpr std::array<AllowedMessage, 0> kAllowed{};

std::string_view validation_variable() {
    const char* value = std::getenv("YOLK_TEST_VALIDATION");  // NOLINT(concurrency-mt-unsafe): nothing sets it
    return value != nullptr ? value : "";
}

std::mutex mutex;
std::vector<ValidationMessage> messages;

}  // namespace

bool validation_is_on() { return validation_variable() != "off"; }

std::string check_validation_variable() {
    const std::string_view value = validation_variable();
    if (value.empty() || value == "on" || value == "off") return "";
    return "YOLK_TEST_VALIDATION is '" + std::string(value) + "'; it may be 'on', 'off', or unset, which is 'on'.\n";
}

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
