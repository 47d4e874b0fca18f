// SPDX-License-Identifier: Apache-2.0
#include "base/devices.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <system_error>

#include "base/errors.hpp"
#include "base/lock.hpp"
#include "base/options.hpp"
#include "yolk/context.hpp"
#include "yolk/internal/evolve/default_context.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/instance.hpp"

namespace yolk::python {
namespace {

/// The process that has opened a device; 0: none has.
std::atomic<pid_t> opened_by{0};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// One of the machine's, whether it can be used or not.
struct ListedDevice {
    DeviceInfo info;
    std::vector<std::string> missing;  ///< of the portable floor
};

const char* kind_of(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::Integrated: return "integrated GPU";
        case DeviceKind::Discrete: return "discrete GPU";
        case DeviceKind::Virtual: return "virtual GPU";
        case DeviceKind::Cpu: return "CPU";
        case DeviceKind::Other: break;
    }
    return "other";
}

/// All devices; `reason` says why none can be used, and is empty if one can.
struct Listing {
    std::vector<ListedDevice> devices;
    std::string reason;
};

/// Which device a request gets, and why: "Intel ... asked for by its name", "the best of 2: SwiftShader has a lower
/// score".
std::string why_of(const std::string& request, const char* by) {
    const WithoutLock released;
    const Instance instance = unwrap(Instance::create());
    const DeviceChoice choice = unwrap(choose_device(instance.devices(), request));
    std::string text;
    for (const DeviceInfo& info : instance.devices())
        if (info.index == choice.index) text = info.name + ", ";
    if (!request.empty()) return text + fmt::format("asked for by {} as '{}'", by, request);
    text += choice.rejections.empty() ? "the only one" : "the best one";
    for (const Rejection& other : choice.rejections) text += fmt::format("; not {}: {}", other.name, other.reason);
    return text;
}

Listing list_devices() {
    const WithoutLock released;
    Result<Instance> instance = Instance::create();
    if (!instance) return {.devices = {}, .reason = instance.error().message};
    Listing listing;
    for (const DeviceInfo& info : instance->devices()) listing.devices.push_back({info, missing_from_floor(info)});
    if (const auto chosen = choose_device(instance->devices(), ""); !chosen) listing.reason = chosen.error().message;
    return listing;
}

std::vector<std::string> requests_of(nb::handle wanted) {
    if (wanted.is_none()) return {""};
    const auto request = [](nb::handle one) {
        if (PyIndex_Check(one.ptr())) return std::to_string(whole_number("device", one, UINT32_MAX));
        if (nb::isinstance<ListedDevice>(one)) return std::to_string(nb::cast<const ListedDevice&>(one).info.index);
        return text("device", one);
    };
    if (!nb::isinstance<nb::list>(wanted) && !nb::isinstance<nb::tuple>(wanted)) return {request(wanted)};
    std::vector<std::string> requests;
    for (const nb::handle one : wanted) requests.push_back(request(one));
    if (requests.empty())
        throw Raised(bad_input("device is an empty list; name at least one device, or leave it out."));
    return requests;
}

/// Contexts that are open, under their guard. They end with the interpreter, and in a fork never.
struct Opened {
    std::mutex guard;
    std::map<std::string, Context> contexts;
};
Opened& opened() {
    static auto* const all = new Opened();  // NOLINT(cppcoreguidelines-owning-memory)
    return *all;
}

/// Of a device as it is now: another table of tuned kernels, or folder for compiled ones, is another context.
std::string key_of(const DeviceInfo& info, bool tuning) {
    std::error_code none;
    const std::filesystem::path table = tuning ? default_table_path() : std::filesystem::path();
    const auto written =
        table.empty() ? std::filesystem::file_time_type::min() : std::filesystem::last_write_time(table, none);
    return fmt::format("{} {} {} {} {} {}", info.uuid, info.name, tuning, table.string(),
                       written.time_since_epoch().count(), default_cache_folder().string());
}

Result<Context> context_of(const Instance& instance, std::uint32_t index, bool tuning) {
    const auto info = std::ranges::find(instance.devices(), index, &DeviceInfo::index);
    const std::string key = key_of(*info, tuning);
    Opened& all = opened();
    {
        const std::scoped_lock lock(all.guard);
        if (const auto known = all.contexts.find(key); known != all.contexts.end()) return known->second;
    }
    YOLK_TRY(Context context, Context::create(instance, {.device = std::to_string(index), .tuning = tuning}));
    const std::scoped_lock lock(all.guard);
    return all.contexts.emplace(key, std::move(context)).first->second;
}

Result<std::vector<Device>> open_each(const std::vector<std::string>& requests, bool tuning) {
    YOLK_TRY_VOID(check_not_forked());
    YOLK_TRY(const Instance instance, Instance::create());
    std::vector<std::uint32_t> indices;
    for (const std::string& request : requests) {
        if (request == "all") {
            YOLK_TRY_VOID(choose_device(instance.devices(), ""));
            for (const DeviceInfo& info : instance.devices())
                if (missing_from_floor(info).empty()) indices.push_back(info.index);
            continue;
        }
        YOLK_TRY(const DeviceChoice choice, choose_device(instance.devices(), requested_device(request)));
        indices.push_back(choice.index);
    }
    std::vector<Device> devices;
    for (const std::uint32_t index : indices) {
        // One that is named twice is two devices.
        const bool again = std::ranges::count(indices, index) > 1;
        YOLK_TRY(const Context context,
                 again ? Context::create(instance, {.device = std::to_string(index), .tuning = tuning})
                       : context_of(instance, index, tuning));
        devices.push_back(context.device());
    }
    return devices;
}

std::string repr_of(const ListedDevice& device) {
    const DeviceInfo& info = device.info;
    return fmt::format("<yolk.Device {}: {}, {}, {}{}>", info.index, info.name, kind_of(info.kind), info.driver_name,
                       device.missing.empty() ? "" : ", below the portable floor");
}

}  // namespace

Result<void> check_not_forked() {
    const pid_t process = ::getpid();
    pid_t before = 0;
    if (opened_by.compare_exchange_strong(before, process) || before == process) return {};
    return unsupported(
        "This process was forked from one that has opened a device, and drivers do not survive that. Start processes "
        "with "
        "multiprocessing.get_context(\"spawn\"), or fork before the first use of a device.");
}

nb::list names_of(const std::vector<Device>& devices) {
    nb::list names;
    for (const Device& device : devices) names.append(device.info().name);
    return names;
}

Result<Context> open_context(const std::string& request) {
    YOLK_TRY_VOID(check_not_forked());
    YOLK_TRY(const Instance instance, Instance::create());
    YOLK_TRY(const DeviceChoice choice, choose_device(instance.devices(), requested_device(request)));
    return context_of(instance, choice.index, true);
}

void forget_devices() {
    if (!check_not_forked()) return;
    std::map<std::string, Context> gone;
    const std::scoped_lock lock(opened().guard);
    gone.swap(opened().contexts);
}

std::vector<Device> open_devices(nb::handle wanted, bool tuning) {
    const std::vector<std::string> requests = requests_of(wanted);
    const WithoutLock released;
    return unwrap(open_each(requests, tuning));
}

void bind_devices(nb::module_& module) {
    evolve::open_default_context_by([] { return open_context(""); });
    nb::class_<ListedDevice>(module, "Device", "A Vulkan device of this machine, as `yolk.devices()` lists them.")
        .def_prop_ro(
            "index", [](const ListedDevice& d) { return d.info.index; }, "What `device=` takes.")
        .def_prop_ro("name", [](const ListedDevice& d) { return d.info.name; })
        .def_prop_ro(
            "kind", [](const ListedDevice& d) { return std::string(kind_of(d.info.kind)); },
            "'discrete GPU', 'integrated GPU', 'virtual GPU', 'CPU' or 'other'.")
        .def_prop_ro("driver", [](const ListedDevice& d) { return d.info.driver_name; })
        .def_prop_ro("uuid", [](const ListedDevice& d) { return d.info.uuid; })
        .def_prop_ro(
            "missing", [](const ListedDevice& d) { return d.missing; },
            "What it lacks of the portable floor; empty: it can be used.")
        .def_prop_ro("usable", [](const ListedDevice& d) { return d.missing.empty(); })
        .def("__repr__", &repr_of);
    module.def(
        "pipelines_made",
        [] {
            const std::scoped_lock lock(opened().guard);
            std::uint64_t made = 0;
            for (const auto& [key, context] : opened().contexts) made += context.device().counts().pipelines_created;
            return made;
        },
        "Kernels that were compiled on the devices that are kept open.");
    module.def("why_device", [](const std::string& request, bool named) {
        return why_of(requested_device(request), named ? "device=" : "$YOLK_DEVICE");
    });
    module.def(
        "list_devices",
        [] {
            Listing listing = list_devices();
            return nb::make_tuple(std::move(listing.devices), listing.reason);
        },
        "All Vulkan devices, and why none can be used ('' where one can).");
}

}  // namespace yolk::python
