// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace yolk::testing {

/// $YOLK_TEST_WATCHDOG_SECONDS where it is a positive number, else 120.
[[nodiscard]] std::chrono::seconds watchdog_limit();

/// A stuck shader hangs a CPU driver for good instead of losing the device, and no thread can be cancelled inside it.
/// So a thread of its own aborts the process, with the test's name, when that test has not ended in time.
void start_watchdog(std::chrono::seconds limit);
/// The clock starts for this test.
void watch(const std::string& test);
/// Nothing is running.
void stop_watching();

}  // namespace yolk::testing
