// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/last_level_cache.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include "yolk/internal/core/text_file.hpp"

namespace yolk::autotune {
namespace {

constexpr std::uint64_t kMostSets = 64;
constexpr std::uint64_t kHeapShare = 8;

std::string first_line(const std::filesystem::path& path) {
    const std::string text = read_beginning(path, 4096).value_or(std::string());
    return text.substr(0, text.find('\n'));
}

/// "32768K", "1M".
std::optional<std::uint64_t> parse_size(const std::string& text) {
    std::uint64_t value = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || value > (std::uint64_t{1} << 32U)) return std::nullopt;
    const char unit = stop < text.data() + text.size() ? *stop : ' ';
    if (unit == 'K') return value << 10U;
    if (unit == 'M') return value << 20U;
    return value;
}

}  // namespace

std::optional<std::uint64_t> processor_cache_bytes(const std::filesystem::path& processors) {
    int highest = 0;
    std::uint64_t bytes = 0;
    std::set<std::string> counted;  // a cache is listed by each processor that shares it
    std::error_code failed;
    for (const auto& processor : std::filesystem::directory_iterator(processors, failed)) {
        std::error_code none;
        for (const auto& cache : std::filesystem::directory_iterator(processor.path() / "cache", none)) {
            const std::string level_text = first_line(cache.path() / "level");
            const int level = level_text.size() == 1 ? level_text[0] - '0' : 0;
            const std::optional<std::uint64_t> size = parse_size(first_line(cache.path() / "size"));
            if (level < 1 || level > 9 || !size || first_line(cache.path() / "type") == "Instruction") continue;
            if (level < highest) continue;
            if (level > highest) {
                highest = level;
                bytes = 0;
                counted.clear();
            }
            if (counted.insert(first_line(cache.path() / "shared_cpu_list")).second) bytes += *size;
        }
    }
    return bytes == 0 ? std::nullopt : std::optional(bytes);
}

std::uint64_t last_level_cache_bytes(const DeviceInfo& info) {
    const std::uint64_t processor = processor_cache_bytes().value_or(0);
    if (info.kind == DeviceKind::Cpu) return processor != 0 ? processor : kLargestCacheBytes;
    const std::uint64_t gpu = gpu_cache_bytes(info);
    return info.kind == DeviceKind::Integrated ? std::max(gpu, processor) : gpu;
}

std::size_t buffer_sets(std::uint64_t set_bytes, std::uint64_t cache_bytes, const DeviceInfo& info) {
    if (set_bytes == 0 || cache_bytes == 0) return 1;
    std::uint64_t heap = 0;
    for (const MemoryHeapInfo& of : info.heaps) heap = std::max(heap, of.size_bytes);
    const std::uint64_t passing = cache_bytes / set_bytes + 1;
    const std::uint64_t affordable = heap / kHeapShare / set_bytes;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(std::min(passing, affordable), 1, kMostSets));
}

}  // namespace yolk::autotune
