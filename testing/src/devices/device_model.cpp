// SPDX-License-Identifier: Apache-2.0
#include "device_model.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <span>

#include "yolk/internal/core/hash.hpp"

namespace yolk::testing {
namespace {

constexpr const char* kModel = "YOLK_DEVICE_MODEL";
constexpr const char* kDraw = "YOLK_TEST_DISCRETE";

std::string_view value_of(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no test runs
    return value != nullptr ? value : "";
}

bool& draws() {
    static bool state = false;
    return state;
}

}  // namespace

bool is_drawn(std::string_view test) { return hash64(std::as_bytes(std::span(test))) % 10 == 0; }

std::string read_device_model() {
    const std::string_view draw = value_of(kDraw);
    if (!draw.empty() && draw != "tenth") return fmt::format("{} is '{}'; it may be 'tenth', or unset.\n", kDraw, draw);
    draws() = draw == "tenth" && value_of(kModel).empty();
    return "";
}

// Between tests, when no thread of a test is left that could read the environment.
void set_device_model(const std::string& test) {
    if (!draws()) return;
    if (!is_drawn(test)) {
        unsetenv(kModel);  // NOLINT(concurrency-mt-unsafe)
        return;
    }
    setenv(kModel, "discrete", 1);  // NOLINT(concurrency-mt-unsafe)
    std::printf("[ discrete ] %s\n", test.c_str());
}

}  // namespace yolk::testing
