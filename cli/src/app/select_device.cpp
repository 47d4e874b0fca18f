// SPDX-License-Identifier: Apache-2.0
#include "select_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "compile_notice.hpp"
#include "numbers.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/instance.hpp"
#include "yolk/internal/train/rank_devices.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

bool is_set(const char* variable) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing of ours sets variables
    return value != nullptr && *value != '\0';
}

/// A place that the user named is right or an error. What lies in the default one is a cache: a notice is enough.
Result<void> check_named_cache() {
    const std::filesystem::path folder = default_cache_folder();
    std::error_code failed;
    if (is_set("YOLK_CACHE") && std::filesystem::exists(folder, failed) &&
        !std::filesystem::is_directory(folder, failed)) {
        return bad_input("$YOLK_CACHE is '{}', which is not a folder. Name a folder, which need not be there yet.",
                         shown(folder));
    }
    return {};
}

Result<std::vector<std::uint32_t>> indices_above_floor(const Instance& instance) {
    // With nothing usable, choosing says why: no driver, or what each device lacks.
    YOLK_TRY_VOID(choose_device(instance.devices(), ""));
    std::vector<std::uint32_t> indices;
    for (const DeviceInfo& info : instance.devices()) {
        if (missing_from_floor(info).empty()) {
            indices.push_back(info.index);
        } else {
            log_warning("leaving out '" + info.name + "', which is below the portable floor (see yolk devices)");
        }
    }
    return indices;
}

Result<std::vector<std::uint32_t>> indices_of(const Instance& instance, const std::string& list,
                                              const std::string& flag) {
    if (list == "all") return indices_above_floor(instance);
    std::vector<std::uint32_t> indices;
    const std::string requests = list.empty() ? requested_device(flag) : list;
    const std::vector<std::string_view> parts =
        list.empty() ? std::vector<std::string_view>{requests} : split_commas(requests);
    for (const std::string_view part : parts) {
        if (!list.empty() && part.empty())
            return bad_input("--devices contains an empty entry; give 'all' or a list such as 0,1.");
        YOLK_TRY(const DeviceChoice choice, choose_device(instance.devices(), std::string(part)));
        if (std::find(indices.begin(), indices.end(), choice.index) != indices.end()) {
            return bad_input("--devices names '{}' twice (the second time by '{}'); name each device once.",
                             instance.devices()[choice.index].name, part);
        }
        indices.push_back(choice.index);
    }
    return indices;
}

/// GPUs above the floor.
Result<std::vector<std::uint32_t>> gpu_indices(const Instance& instance) {
    YOLK_TRY(std::vector<std::uint32_t> indices, indices_above_floor(instance));
    std::erase_if(indices, [&](std::uint32_t index) { return instance.devices()[index].kind == DeviceKind::Cpu; });
    return indices;
}

/// Where many are asked for, a device that cannot be opened, hangs at its probe or executes nothing is left out with a
/// notice; else it is an error.
Result<std::vector<Device>> open_each(const Instance& instance, std::span<const std::uint32_t> indices,
                                      const CommonFlags& flags, bool may_be_left_out) {
    std::vector<Device> devices;
    std::string failures;
    for (const std::uint32_t index : indices) {
        const std::string& name = instance.devices()[index].name;
        const Result<Context> context = Context::create(instance, {.device = std::to_string(index),
                                                                   .tuning = !flags.no_tuning,
                                                                   .hang_limit = hang_limit_of(flags),
                                                                   .may_not_execute = may_be_left_out});
        if (!context) {
            if (!may_be_left_out || !evolve::is_of_device(context.error())) return context.error();
            log_warning("leaving out '" + name + "', which cannot be used: " + context.error().message);
            failures += (failures.empty() ? "" : " ") + context.error().message;
            continue;
        }
        if (!context->device().findings().not_executing_reason.empty()) {
            log_warning("leaving out '" + name + "', which compiles kernels and executes none (see yolk devices)");
            continue;
        }
        devices.push_back(context->device());
    }
    if (devices.empty() && !failures.empty()) return unsupported("None of the devices can be used. {}", failures);
    return devices;
}

/// What the ranks of a machine share, or this process alone has.
Result<std::vector<Device>> open_shared(const Instance& instance, const std::string& list, const CommonFlags& flags,
                                        const DealtTo& dealt) {
    if (dealt.local_ranks > 1 && list.empty() && requested_device(flags.device).empty()) {
        YOLK_TRY(const std::vector<std::uint32_t> gpus, gpu_indices(instance));
        YOLK_TRY(std::vector<Device> devices, open_each(instance, gpus, flags, true));
        if (!devices.empty()) return devices;
    }
    YOLK_TRY(const std::vector<std::uint32_t> indices, indices_of(instance, list, flags.device));
    return open_each(instance, indices, flags, list == "all");
}

}  // namespace

Result<Context> open_context(const CommonFlags& flags, ContextOptions options) {
    YOLK_TRY_VOID(check_named_cache());
    options.device = flags.device;
    options.tuning = !flags.no_tuning;
    options.hang_limit = hang_limit_of(flags);
    YOLK_TRY(Context context, Context::create(options));
    watch_compilation(context.device(), flags);
    return context;
}

Result<Device> open_device(const CommonFlags& flags) {
    YOLK_TRY(const Context context, open_context(flags));
    return context.device();
}

Result<Device> open_untuned(CommonFlags flags) {
    flags.no_tuning = true;
    return open_device(flags);
}

Result<std::vector<Device>> open_devices(const std::string& list, const CommonFlags& flags, const DealtTo& dealt) {
    YOLK_TRY_VOID(check_named_cache());
    YOLK_TRY(const Instance instance, Instance::create());
    // Dealt only now, when it is known which of them execute: a rank may not get one that does not.
    YOLK_TRY(const std::vector<Device> shared, open_shared(instance, list, flags, dealt));
    std::vector<Device> devices;
    for (const std::size_t place : train::dealt_devices(shared.size(), dealt.local_rank, dealt.local_ranks))
        devices.push_back(shared[place]);
    for (const Device& device : devices) watch_compilation(device, flags);
    if (devices.empty())
        return unsupported(
            "No device here executes kernels; `yolk devices` lists what there is, and `yolk inspect` works on it.");
    return devices;
}

std::string names_of(std::span<const Device> devices, bool with_drivers) {
    std::string text;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (i > 0) text += i + 1 < devices.size() ? ", " : " and ";
        text += devices[i].info().name;
        if (with_drivers) text += " (" + driver_text(devices[i].info()) + ")";
    }
    return text;
}

std::string drivers_of(std::span<const Device> devices) {
    std::string text;
    for (const Device& device : devices) text += (text.empty() ? "" : ", ") + driver_text(device.info());
    return text;
}

std::string driver_text(const DeviceInfo& info) {
    return info.driver_info.empty() ? info.driver_name : info.driver_name + " " + info.driver_info;
}

}  // namespace yolk::cli
