// SPDX-License-Identifier: Apache-2.0
#include "devices_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "device_resources.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/instance.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/runtime/sharing.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

/// A device with what running on it told; the findings are an error where it is below the floor or its driver fails.
struct Examined {
    const DeviceInfo* info;
    std::vector<std::string> missing;
    Result<DeviceFindings> findings;
};

Result<DeviceFindings> find_out(const Instance& instance, const DeviceInfo& info, const CommonFlags& flags) {
    YOLK_TRY(const Context context, Context::create(instance, {.device = std::to_string(info.index),
                                                               .tuning = false,
                                                               .hang_limit = hang_limit_of(flags),
                                                               .may_not_execute = true}));
    return context.device().findings();
}

std::vector<Examined> examine(const Instance& instance, const CommonFlags& flags) {
    std::vector<Examined> all;
    for (const DeviceInfo& info : instance.devices()) {
        std::vector<std::string> missing = missing_from_floor(info);
        Result<DeviceFindings> findings = missing.empty()
                                              ? find_out(instance, info, flags)
                                              : Result<DeviceFindings>(unsupported("below the portable floor"));
        all.push_back({&info, std::move(missing), std::move(findings)});
    }
    return all;
}

std::string findings_text(const Examined& device) {
    if (!device.missing.empty())
        return fmt::format("not run; below the portable floor: {}", fmt::join(device.missing, ", "));
    if (!device.findings) return fmt::format("the probes failed: {}", device.findings.error().message);
    if (!device.findings->not_executing_reason.empty()) {
        return fmt::format("NOTHING CAN BE RUN: {}; plans can be made, and `yolk inspect` shows their pipelines",
                           device.findings->not_executing_reason);
    }
    const std::string arithmetic = device.findings->inexact_reason.empty()
                                       ? "exact arithmetic (exact mode is open)"
                                       : "exact mode is closed: " + device.findings->inexact_reason;
    const std::string loops = device.findings->loop_limit
                                  ? fmt::format("loops end after {} iterations", *device.findings->loop_limit)
                                  : "no loop limit";
    return arithmetic + "; " + loops;
}

/// The self-check of a path: "right", or why it is not taken.
std::optional<std::string> wrong_reason(const Examined& device, LowPrecisionPath path) {
    for (const WrongPath& wrong : device.findings->wrong_paths) {
        if (wrong.path == path) return wrong.reason;
    }
    return std::nullopt;
}

std::string self_checks_text(const Examined& device) {
    if (!device.missing.empty() || !device.findings) return "not run";
    std::vector<std::string> texts;
    for (const LowPrecisionPath path : kLowPrecisionPaths) {
        if (!path_is_open(*device.info, path)) continue;
        const std::optional<std::string> wrong = wrong_reason(device, path);
        if (!device.findings->not_executing_reason.empty()) {
            texts.push_back(wrong ? fmt::format("{} does not compile and is closed: {}", to_string(path), *wrong)
                                  : fmt::format("{} compiles (not run)", to_string(path)));
            continue;
        }
        const bool slow = path == LowPrecisionPath::IntegerDot && !device.info->features.integer_dot_accelerated;
        texts.push_back(wrong ? fmt::format("{} WRONG and closed: {}", to_string(path), *wrong)
                              : fmt::format("{} right{}", to_string(path), slow ? " (not accelerated)" : ""));
    }
    return texts.empty() ? "none open" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string shape_text(const CooperativeShape& s) {
    return fmt::format("{}x{}x{} {}*{}+{}={} ({})", s.m, s.n, s.k, to_string(s.a), to_string(s.b), to_string(s.c),
                       to_string(s.result), s.khr ? "KHR" : "NV");
}

std::string shapes_text(const DeviceInfo& info) {
    std::vector<std::string> texts;
    for (const CooperativeShape& shape : info.cooperative_shapes) texts.push_back(shape_text(shape));
    return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string limits_text(const DeviceLimits& limits) {
    return fmt::format(
        "workgroup {}, shared {}, push constants {} B, storage binding {}, uniform {}, subgroup {}, timestamps {}",
        limits.max_workgroup_invocations, bytes_text(limits.max_shared_memory_size), limits.max_push_constants_size,
        bytes_text(limits.max_storage_buffer_range), bytes_text(limits.max_uniform_buffer_range), limits.subgroup_size,
        limits.timestamp_period_ns > 0.0 ? fmt::format("of {:.3g} ns", limits.timestamp_period_ns) : "none");
}

std::string paths_text(const DeviceInfo& info, bool open) {
    std::vector<std::string> texts;
    for (const OptionalPath& path : optional_paths(info)) {
        if (path.open == open) texts.push_back(open ? path.name : fmt::format("{} (needs {})", path.name, path.needs));
    }
    return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

void print_device(const Examined& device, bool chosen, MemoryPolicy policy) {
    const DeviceInfo& info = *device.info;
    print_line("{} {}  {}", chosen ? '*' : ' ', info.index, info.name);
    print_line(table({{"     kind", fmt::format("{}, {} ({:#06x}:{:#06x})", to_string(info.kind), info.vendor,
                                                info.vendor_id, info.device_id)},
                      {"     driver", fmt::format("{} (version {:#x}), Vulkan {}", driver_text(info),
                                                  info.driver_version, version_text(info.api_version))},
                      {"     uuid", info.uuid},
                      {"     memory", memory_text(info, policy)},
                      {"     queue", queue_text(info)},
                      {"     limits", limits_text(info.limits)},
                      {"     open paths", paths_text(info, true)},
                      {"     closed paths", paths_text(info, false)},
                      {"     self-checks", self_checks_text(device)},
                      {"     matrix units", shapes_text(info)},
                      {"     sharing", sharing_text(info.sharing)},
                      {"     findings", findings_text(device)}}));
}

Json limits_json(const DeviceLimits& limits) {
    return {{"max_storage_buffer_range", limits.max_storage_buffer_range},
            {"max_uniform_buffer_range", limits.max_uniform_buffer_range},
            {"min_storage_buffer_offset_alignment", limits.min_storage_buffer_offset_alignment},
            {"min_uniform_buffer_offset_alignment", limits.min_uniform_buffer_offset_alignment},
            {"non_coherent_atom_size", limits.non_coherent_atom_size},
            {"max_memory_allocation_size", limits.max_memory_allocation_size},
            {"max_memory_allocation_count", limits.max_memory_allocation_count},
            {"max_push_constants_size", limits.max_push_constants_size},
            {"max_shared_memory_size", limits.max_shared_memory_size},
            {"max_workgroup_invocations", limits.max_workgroup_invocations},
            {"max_workgroup_size", limits.max_workgroup_size},
            {"max_workgroup_count", limits.max_workgroup_count},
            {"max_storage_buffers_per_stage", limits.max_storage_buffers_per_stage},
            {"max_texel_buffer_elements", limits.max_texel_buffer_elements},
            {"subgroup_size", limits.subgroup_size},
            {"max_resident_subgroups", limits.max_resident_subgroups},
            {"compute_units", limits.compute_units},
            {"timestamp_period_ns", limits.timestamp_period_ns}};
}

Json cooperative_shapes_json(const DeviceInfo& info) {
    Json shapes = Json::array();
    for (const CooperativeShape& s : info.cooperative_shapes) {
        shapes.push_back({{"m", s.m},
                          {"n", s.n},
                          {"k", s.k},
                          {"a", to_string(s.a)},
                          {"b", to_string(s.b)},
                          {"c", to_string(s.c)},
                          {"result", to_string(s.result)},
                          {"form", s.khr ? "KHR" : "NV"}});
    }
    return shapes;
}

Json sharing_json(const SharingSupport& sharing) {
    const auto ways = [](const HandleSupport& support) {
        return Json{{"export", support.can_export}, {"import", support.can_import}};
    };
    return {{"opaque_fd", ways(sharing.opaque_fd)},
            {"dma_buf", ways(sharing.dma_buf)},
            {"host_pointer", ways(sharing.host_pointer)},
            {"timeline_semaphore", ways(sharing.timeline)},
            {"host_pointer_alignment", sharing.host_pointer_alignment}};
}

/// Of every path of low precision: whether it is open by its features, and what its self-check found.
Json self_checks_json(const Examined& device) {
    Json checks = Json::array();
    const bool executes = device.findings->not_executing_reason.empty();
    for (const LowPrecisionPath path : kLowPrecisionPaths) {
        const std::optional<std::string> wrong = wrong_reason(device, path);
        const bool open = path_is_open(*device.info, path);
        checks.push_back({{"path", to_string(path)},
                          {"result", !open      ? "closed"
                                     : wrong    ? "wrong"
                                     : executes ? "right"
                                                : "compiles"},
                          {"reason", wrong.value_or("")}});
    }
    return checks;
}

Json device_json(const Examined& device) {
    const DeviceInfo& info = *device.info;
    Json paths = Json::array();
    for (const OptionalPath& path : optional_paths(info))
        paths.push_back({{"name", path.name}, {"open", path.open}, {"needs", path.needs}});
    Json json = {{"index", info.index},
                 {"name", info.name},
                 {"kind", to_string(info.kind)},
                 {"vendor", info.vendor},
                 {"vendor_id", info.vendor_id},
                 {"device_id", info.device_id},
                 {"uuid", info.uuid},
                 {"driver", driver_text(info)},
                 {"driver_uuid", info.driver_uuid},
                 {"driver_version", info.driver_version},
                 {"api_version", version_text(info.api_version)},
                 {"limits", limits_json(info.limits)},
                 {"heaps", heaps_json(info)},
                 {"memory_types", memory_types_json(info)},
                 {"queue_families", queue_families_json(info)},
                 {"paths", paths},
                 {"integer_dot_accelerated", info.features.integer_dot_accelerated},
                 {"cooperative_shapes", cooperative_shapes_json(info)},
                 {"sharing", sharing_json(info.sharing)},
                 {"missing_from_floor", device.missing}};
    if (device.findings) {
        json["self_checks"] = self_checks_json(device);
        json["executes"] = device.findings->not_executing_reason.empty();
        json["not_executing_reason"] = device.findings->not_executing_reason;
        json["exact_arithmetic"] = json["executes"] && device.findings->inexact_reason.empty();
        json["inexact_reason"] = device.findings->inexact_reason;
        json["loop_limit"] = device.findings->loop_limit ? Json(*device.findings->loop_limit) : Json();
    } else if (device.missing.empty()) {
        json["probe_error"] = device.findings.error().message;
    }
    return json;
}

Json devices_json(std::span<const Examined> devices, const DeviceChoice& choice) {
    Json list = Json::array();
    Json chosen;
    for (const Examined& device : devices) {
        list.push_back(device_json(device));
        if (device.info->index == choice.index)
            chosen = {{"index", choice.index}, {"name", device.info->name}, {"uuid", device.info->uuid}};
    }
    Json rejections = Json::array();
    for (const Rejection& rejection : choice.rejections) {
        rejections.push_back({{"index", rejection.index}, {"name", rejection.name}, {"reason", rejection.reason}});
    }
    return {{"devices", list}, {"chosen", chosen}, {"rejections", rejections}};
}

Result<int> run_devices(const CommonFlags& flags) {
    YOLK_TRY(const MemoryPolicy policy, settled_policy(MemoryPolicy::Automatic));
    YOLK_TRY(const Instance instance, Instance::create());
    const Result<DeviceChoice> choice = choose_device(instance.devices(), requested_device(flags.device));
    // Where no device is good enough, people want to see what each lacks; a request that names none is just an error.
    if (!choice && (flags.json || instance.devices().empty() || choice.error().kind == ErrorKind::BadInput)) {
        return choice.error();
    }
    const std::vector<Examined> devices = examine(instance, flags);
    if (flags.json) {
        print_json(devices_json(devices, *choice));
        return 0;
    }
    for (const Examined& device : devices) print_device(device, choice && choice->index == device.info->index, policy);
    if (!choice) return choice.error();
    const auto used =
        std::ranges::find(devices, choice->index, [](const Examined& device) { return device.info->index; });
    const bool executes = !used->findings || used->findings->not_executing_reason.empty();
    print_line("* is what commands {} here{} (--device or YOLK_DEVICE chooses another)", executes ? "use" : "would use",
               executes ? "" : "; `yolk inspect` alone can");
    for (const Rejection& rejection : choice->rejections) {
        print_line("  not {} ({}): {}", rejection.index, rejection.name, rejection.reason);
    }
    return 0;
}

}  // namespace

Command add_devices_command(App& app) {
    const auto flags = std::make_shared<CommonFlags>();
    App* command = app.add_subcommand("devices", "Show every Vulkan device, what it can do, and which one is used");
    add_device_choice(*command, *flags);
    command->add_flag("--json", flags->json, "Standard output is one JSON object");
    return {command, [flags] { return run_devices(*flags); }};
}

}  // namespace yolk::cli
