// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/device_selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace yolk {
namespace {

constexpr const char* kInstallHint =
    "Install a Vulkan driver: for an NVIDIA GPU NVIDIA's own driver package; for AMD and Intel GPUs, and for the CPU "
    "driver lavapipe, mesa-vulkan-drivers on Debian and Ubuntu. If one is installed, VK_ICD_FILENAMES or "
    "VK_DRIVER_FILES may be hiding it.";

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

bool is_lavapipe(const DeviceInfo& device) { return device.driver_name == "llvmpipe"; }

std::string one_line(const DeviceInfo& device) {
    return fmt::format("{}: {} ({}, {})", device.index, device.name, to_string(device.kind), device.uuid);
}

std::string list_of(std::span<const DeviceInfo> devices) {
    std::string text;
    for (const DeviceInfo& device : devices) text += (text.empty() ? "" : "; ") + one_line(device);
    return text;
}

/// Up to two digits are an index and nothing else; more are a part of a name ("3080"), so that an index out of range is
/// refused instead of being found in some driver's version.
std::optional<std::uint32_t> as_index(const std::string& request) {
    if (request.empty() || request.size() > 2) return std::nullopt;
    std::uint32_t value = 0;
    for (const char c : request) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return value;
}

/// 32 hexadecimal digits, dashes ignored; nothing where `request` is no UUID.
std::optional<std::string> as_uuid(const std::string& request) {
    std::string digits;
    for (const char c : lower(request)) {
        if (c == '-') continue;
        const bool hexadecimal = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (!hexadecimal) return std::nullopt;
        digits += c;
    }
    if (digits.size() != 32) return std::nullopt;
    return digits;
}

/// The device's name; the driver's and the vendor's name count as well, and lavapipe by the name people know it by.
bool name_matches(const DeviceInfo& device, const std::string& wanted) {
    const std::string searched = fmt::format("{}\n{}\n{}\n{}", device.name, device.driver_name, device.vendor,
                                             is_lavapipe(device) ? "lavapipe" : "");
    return lower(searched).find(wanted) != std::string::npos;
}

/// Whether each device is what was asked for. A UUID is tried first: one of digits alone must not be read as an index.
std::vector<bool> matches(std::span<const DeviceInfo> devices, const std::string& request) {
    std::vector<bool> result(devices.size(), request.empty());
    if (request.empty()) return result;
    const std::optional<std::string> uuid = as_uuid(request);
    const std::optional<std::uint32_t> index = as_index(request);
    const std::string name = lower(request);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (uuid.has_value()) {
            result[i] = devices[i].uuid == *uuid;
        } else if (index.has_value()) {
            result[i] = devices[i].index == *index;
        } else {
            result[i] = name_matches(devices[i], name);
        }
    }
    return result;
}

std::string below_floor(const DeviceInfo& device) {
    return fmt::format("below the portable floor: {}", fmt::join(missing_from_floor(device), ", "));
}

Error nothing_usable(std::span<const DeviceInfo> devices, const std::vector<bool>& wanted, const std::string& request) {
    std::string lacking;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!wanted[i]) continue;
        lacking += fmt::format("{}[{}] {} is {}", lacking.empty() ? "" : "; ", devices[i].index, devices[i].name,
                               below_floor(devices[i]));
    }
    const std::string asked =
        request.empty() ? "No device can be used" : fmt::format("Device '{}' cannot be used", request);
    return unsupported("{}: {}. A newer driver may help; otherwise choose another device. {}", asked, lacking,
                       kInstallHint);
}

/// Loading a driver fails without a word where there are no addresses for it: lavapipe's libraries take 300 MB.
std::string address_space_hint() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
    return fmt::format(
        " The address space of this process is limited to {} MiB (ulimit -v): where there are drivers, they may find "
        "too "
        "little. Raise the limit.",
        limit.rlim_cur >> 20U);
}

}  // namespace

std::uint64_t score(const DeviceInfo& device) {
    if (!missing_from_floor(device).empty()) return 0;
    std::uint64_t rank = 1;
    switch (device.kind) {
        case DeviceKind::Discrete: rank = 6; break;
        case DeviceKind::Integrated: rank = 5; break;
        case DeviceKind::Virtual: rank = 4; break;
        // lavapipe was measured at several times SwiftShader's speed in every kernel; both report the same memory.
        case DeviceKind::Cpu: rank = is_lavapipe(device) ? 3 : 2; break;
        case DeviceKind::Other: rank = 1; break;
    }
    std::uint64_t local_bytes = 0;
    for (const MemoryHeapInfo& heap : device.heaps) {
        if (heap.device_local) local_bytes = std::max(local_bytes, heap.size_bytes);
    }
    return rank << 56U | std::min(local_bytes >> 10U, (std::uint64_t{1} << 56U) - 1);
}

Result<DeviceChoice> choose_device(std::span<const DeviceInfo> devices, const std::string& request) {
    if (devices.empty()) return unsupported("There is no Vulkan device. {}{}", kInstallHint, address_space_hint());
    const std::vector<bool> wanted = matches(devices, request);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) {
        return bad_input("There is no device '{}'. Give an index, a part of a name, or a UUID of one of these: {}.",
                         request, list_of(devices));
    }
    std::size_t best = devices.size();
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (!wanted[i] || score(devices[i]) == 0) continue;
        if (best == devices.size() || score(devices[i]) > score(devices[best])) best = i;
    }
    if (best == devices.size()) return nothing_usable(devices, wanted, request);

    DeviceChoice choice{.index = devices[best].index, .rejections = {}};
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (i == best) continue;
        std::string reason = fmt::format("lower score than {}", devices[best].name);
        if (!wanted[i]) reason = fmt::format("not what was asked for ('{}')", request);
        if (score(devices[i]) == 0) reason = below_floor(devices[i]);
        choice.rejections.push_back({devices[i].index, devices[i].name, std::move(reason)});
    }
    return choice;
}

}  // namespace yolk
