// SPDX-License-Identifier: Apache-2.0
#include "shared_devices.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "validation_log.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/drivers.hpp"

namespace yolk::testing {
namespace {

struct TestDevice {
    std::string name;
    std::uint32_t index = 0;
};

struct Shared {
    std::optional<Instance> instance;
    std::map<std::tuple<std::string, MemoryPolicy, bool>, std::unique_ptr<SharedDevice>> devices;
    std::vector<TestDevice> present;
};

Shared& shared() {
    static Shared state;
    return state;
}

/// No test can go on without its device, and none may be skipped.
[[noreturn]] void give_up(const std::string& message) {
    std::fprintf(stderr, "FAILED: %s\n", message.c_str());
    std::fflush(nullptr);
    std::_Exit(1);
}

template <class T>
T required(Result<T> result) {
    if (!result) give_up(result.error().message);
    return *std::move(result);
}

/// The name that tests know a device by.
std::string test_name(const DeviceInfo& device) {
    if (device.driver_name == "llvmpipe") return "lavapipe";
    if (device.name.starts_with("SwiftShader")) return "swiftshader";
    std::string name;
    for (const char c : device.name) {
        const bool digit = c >= '0' && c <= '9';
        const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (digit || (small >= 'a' && small <= 'z')) {
            name += small;
        } else if (!name.empty() && name.back() != '_') {
            name += '_';
        }
    }
    while (!name.empty() && name.back() == '_') name.pop_back();
    return name.empty() ? "unnamed" : name;
}

/// Equal devices (two GPUs of one kind) run as one: the first. Another driver's of the same name, say another version
/// of lavapipe, gets a number.
std::vector<TestDevice> devices_of(std::span<const DeviceInfo> infos) {
    std::vector<TestDevice> devices;
    std::map<std::string, std::vector<std::pair<std::uint32_t, std::string>>> drivers;  // by name, those so far
    for (const DeviceInfo& info : infos) {
        auto& before = drivers[test_name(info)];
        std::pair<std::uint32_t, std::string> driver{info.driver_version, info.driver_info};
        if (std::find(before.begin(), before.end(), driver) != before.end()) continue;
        before.push_back(std::move(driver));
        const std::string number = before.size() == 1 ? "" : "_" + std::to_string(before.size());
        devices.push_back({.name = test_name(info) + number, .index = info.index});
    }
    return devices;
}

/// In the loader's order.
const std::vector<TestDevice>& present_devices() {
    std::vector<TestDevice>& present = shared().present;
    if (!present.empty()) return present;
    // Names need no layer, which may not load, or may crash where a process ends with its instance alive.
    const std::optional<Instance>& made = shared().instance;
    const Instance instance = made.has_value() ? *made : required(Instance::create());
    present = devices_of(instance.devices());
    return present;
}

SharedDevice& opened_device(const std::string& name, MemoryPolicy policy, bool again) {
    const MemoryPolicy settled = required(settled_policy(policy));
    std::unique_ptr<SharedDevice>& made = shared().devices[{name, settled, again}];
    if (made == nullptr) {
        // A fixed size of submissions: it would follow the times, a driver's first compilation among them, and tests
        // count dispatches.
        constexpr std::uint64_t kSubmissionCost = std::uint64_t{1} << 30U;
        const Instance& on = instance();
        Device device = required(Device::create(on, device_index(name),
                                                {.memory_policy = settled,
                                                 .pipeline_cache_folder = kernels_folder(),
                                                 .max_submission_cost = kSubmissionCost}));
        static_cast<void>(required(probe(device)));  // plans respect what it finds
        // Below the watchdog's. lavapipe takes 40 s to compile the widest unrolled roll-out; a busy machine three times
        // that.
        Dispatcher dispatcher = required(Dispatcher::create(device, {.hang_limit = std::chrono::seconds(200)}));
        made = std::make_unique<SharedDevice>(SharedDevice{std::move(device), std::move(dispatcher)});
    }
    return *made;
}

}  // namespace

// They are most of the start of a process (hyper: 2 of 12 minutes for all). Hashes of a kernel, its constants and the
// specializer tell one from another.
std::filesystem::path kernels_folder() {
    const char* const folder = std::getenv("YOLK_TEST_KERNELS");  // NOLINT(concurrency-mt-unsafe): nothing sets it
    return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

const Instance& instance() {
    std::optional<Instance>& made = shared().instance;
    if (!made.has_value()) {
        Result<Instance> created =
            Instance::create({.validation = validation_is_on(), .on_message = record_validation_message});
        if (!created)
            give_up(created.error().message + " (YOLK_TEST_VALIDATION=off runs the tests without the layer.)");
        made = *std::move(created);
    }
    return *made;
}

std::vector<std::string> devices() {
    // Known without opening anything, which listing the tests may do where a driver is missing.
    if (drivers_asked_for().empty()) return {"lavapipe", "swiftshader"};
    std::vector<std::string> names;
    for (const TestDevice& device : present_devices()) names.push_back(device.name);
    if (names.empty()) {
        give_up("The drivers of YOLK_TEST_DRIVERS (" + std::string(drivers_asked_for()) +
                ") have no Vulkan device here. VK_LOADER_DEBUG=error,driver tells what the loader makes of them.");
    }
    return names;
}

const std::string& first_device_name() {
    static const std::string name = devices().front();
    return name;
}

const std::string& other_device_name() {
    static const std::string name = devices().size() > 1 ? devices()[1] : first_device_name();
    return name;
}

std::uint32_t device_index(const std::string& name) {
    std::string present;
    for (const TestDevice& device : present_devices()) {
        if (device.name == name) return device.index;
        present += " " + device.name;
    }
    give_up("The device '" + name + "' is not there; those present are:" + (present.empty() ? " none" : present) +
            ". YOLK_TEST_DRIVERS runs the tests on other drivers than lavapipe and SwiftShader.");
}

SharedDevice& shared_device(const std::string& name, MemoryPolicy policy) { return opened_device(name, policy, false); }

SharedDevice& first_device() { return shared_device(first_device_name()); }

SharedDevice& device_beside(const std::string& name) {
    for (const std::string& other : devices()) {
        if (other != name) return shared_device(other);
    }
    return opened_device(name, MemoryPolicy::Automatic, true);
}

SharedDevice& other_device() { return device_beside(first_device_name()); }

void destroy_shared_devices() {
    shared().devices.clear();
    shared().present.clear();
    shared().instance.reset();
}

std::vector<ValidationMessage> take_validation_messages() { return take_recorded_messages(); }

}  // namespace yolk::testing
