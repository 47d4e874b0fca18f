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
#include <utility>

#include "drivers.hpp"
#include "validation_log.hpp"
#include "yolk/runtime/probe.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk::testing {
namespace {

struct Shared {
    std::optional<Instance> instance;
    std::map<std::pair<std::string, MemoryPolicy>, std::unique_ptr<SharedDevice>> devices;
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

/// Where the tests of a module keep specialized kernels, which are most of the start of a process (hyper: 2 of 12
/// minutes for all); empty: nowhere. Hashes of a kernel, its constants and the specializer tell one from another.
std::filesystem::path kernels_folder() {
    const char* const folder = std::getenv("YOLK_TEST_KERNELS");  // NOLINT(concurrency-mt-unsafe): nothing sets it
    return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

}  // namespace

const Instance& instance() {
    std::optional<Instance>& made = shared().instance;
    if (!made.has_value()) {
        made = required(Instance::create({.validation = true, .on_message = record_validation_message}));
    }
    return *made;
}

std::vector<std::string> devices() {
    std::vector<std::string> names;
    if (device_set() != DeviceSet::Found) names = {"lavapipe", "swiftshader"};
    if (device_set() == DeviceSet::Required) return names;
    for (const DeviceInfo& device : instance().devices()) {
        // Two devices of one name (two equal GPUs) run as one: the first.
        if (std::find(names.begin(), names.end(), test_name(device)) == names.end()) names.push_back(test_name(device));
    }
    return names;
}

std::uint32_t device_index(const std::string& name) {
    std::string present;
    for (const DeviceInfo& device : instance().devices()) {
        if (test_name(device) == name) return device.index;
        present += " " + test_name(device);
    }
    give_up("The device '" + name + "' is not there; those present are:" + (present.empty() ? " none" : present) +
            ". VK_ICD_FILENAMES must name the files of lavapipe and SwiftShader, or be unset.");
}

SharedDevice& shared_device(const std::string& name, MemoryPolicy policy) {
    const MemoryPolicy settled = required(settled_policy(policy));
    std::unique_ptr<SharedDevice>& made = shared().devices[{name, settled}];
    if (made == nullptr) {
        // A fixed size of submissions: it would follow the times, a driver's first compilation among them, and tests
        // count dispatches.
        constexpr std::uint64_t kSubmissionCost = std::uint64_t{1} << 30U;
        Device device = required(Device::create(instance(), device_index(name),
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

void destroy_shared_devices() {
    shared().devices.clear();
    shared().instance.reset();
}

std::vector<ValidationMessage> take_validation_messages() { return take_recorded_messages(); }

}  // namespace yolk::testing
