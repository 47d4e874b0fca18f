// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>

#include "yolk/internal/core/text_file.hpp"

namespace yolk {
namespace {

/// Far above any file of the system that is read here.
constexpr std::size_t kSystemText = std::size_t{1} << 20U;

void lower(HostMemory& memory, std::uint64_t available_bytes, const char* limited_by) {
    if (available_bytes < memory.available_bytes) memory = {available_bytes, limited_by};
}

/// MemAvailable and SwapFree of /proc/meminfo, whose numbers are KiB.
void add_system(HostMemory& memory) {
    std::istringstream file(read_text("/proc/meminfo", kSystemText).value_or(std::string()));
    std::optional<std::uint64_t> available;
    std::uint64_t swap = 0;
    std::string unit;
    std::uint64_t kibibytes = 0;
    for (std::string name; file >> name >> kibibytes; std::getline(file, unit)) {
        if (name == "MemAvailable:") available = kibibytes * 1024;
        if (name == "SwapFree:") swap = kibibytes * 1024;
    }
    if (available) lower(memory, *available + swap, "on this machine");
}

std::optional<std::uint64_t> number_in(const std::filesystem::path& path, std::string_view name = {}) {
    std::istringstream file(read_text(path, kSystemText).value_or(std::string()));
    for (std::string word; file >> word;) {
        if (name.empty() || word == name) {
            if (!name.empty() && !(file >> word)) return std::nullopt;
            const bool digits =
                !word.empty() && word.size() < 20 && word.find_first_not_of("0123456789") == std::string::npos;
            return digits ? std::optional<std::uint64_t>(std::stoull(word)) : std::nullopt;  // "max": no limit
        }
    }
    return std::nullopt;
}

/// Each group on the way to the root may have a limit. Pages of files that nobody uses now are given back on demand.
void add_control_groups(HostMemory& memory) {
    std::istringstream file(read_text("/proc/self/cgroup", kSystemText).value_or(std::string()));
    std::string line;
    while (std::getline(file, line) && !line.starts_with("0::")) {}
    if (!line.starts_with("0::/")) return;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (std::filesystem::path group = line.substr(4);; group = group.parent_path()) {
        const std::filesystem::path folder = root / group;
        const std::optional<std::uint64_t> most = number_in(folder / "memory.max");
        const std::optional<std::uint64_t> used = number_in(folder / "memory.current");
        if (most && used) {
            const std::uint64_t idle = number_in(folder / "memory.stat", "inactive_file").value_or(0);
            const std::uint64_t held = *used - std::min(*used, idle);
            lower(memory, *most - std::min(*most, held), "under the limit of the container or control group");
        }
        if (group.empty()) return;
    }
}

void add_address_space(HostMemory& memory) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const std::uint64_t pages = number_in("/proc/self/statm").value_or(0);
    const std::uint64_t used = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t most = limit.rlim_cur;
    lower(memory, most - std::min(most, used), "under the limit on address space (ulimit -v)");
}

}  // namespace

HostMemory host_memory() {
    HostMemory memory;
    add_system(memory);
    add_control_groups(memory);
    add_address_space(memory);
    return memory;
}

std::string size_text(std::uint64_t size_bytes) {
    constexpr std::array<const char*, 7> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(size_bytes);
    std::size_t unit = 0;
    for (; value >= 1024.0 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
    return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

Error detail::no_host_memory(std::uint64_t size_bytes, std::string_view what) {
    const HostMemory memory = host_memory();
    const std::string left = memory.limited_by.empty()
                                 ? std::string("the system refused it")
                                 : fmt::format("{} are left {}", size_text(memory.available_bytes), memory.limited_by);
    return {ErrorKind::OutOfMemory,
            fmt::format("Host memory is too small: {} are needed for {}, and {}. Ask for less, or make more memory "
                        "available.",
                        size_text(size_bytes), what, left),
            0};
}

Result<void> check_host_memory(std::uint64_t size_bytes, std::string_view what) {
    if (size_bytes <= host_memory().available_bytes) return {};
    return detail::no_host_memory(size_bytes, what);
}

}  // namespace yolk
