// SPDX-License-Identifier: Apache-2.0
// The names by which drivers report their compilers' work. What is not here a driver does not report, or nobody has
// seen it do so.
#include <algorithm>
#include <array>
#include <span>

#include "yolk/runtime/pipeline_report.hpp"

namespace yolk {
namespace {

using Count = std::optional<std::uint64_t>;

constexpr std::uint32_t kAmdVendor = 0x1002;

/// The first that the driver has: RADV's, NVK's, Honeykrisp's, Turnip's.
Count first_of(const PipelineExecutable& executable, std::span<const std::string_view> names) {
    for (const std::string_view name : names)
        if (const Count count = statistic_count(executable, name)) return count;
    return std::nullopt;
}

/// RADV tells vector and scalar registers apart.
Count spills_of(const PipelineExecutable& executable) {
    constexpr std::array<std::string_view, 2> kNames{"Spills to memory", "Spills"};
    const Count vector = statistic_count(executable, "Spilled VGPRs");
    const Count scalar = statistic_count(executable, "Spilled SGPRs");
    if (vector || scalar) return vector.value_or(0) + scalar.value_or(0);
    return first_of(executable, kNames);
}

/// Turnip counts code in words of 32 bits.
Count code_bytes_of(const PipelineExecutable& executable) {
    const Count size = statistic_count(executable, "Code size");
    const bool in_words = statistic_count(executable, "Max Waves Per Core").has_value();
    return size && in_words ? Count(*size * 4) : size;
}

/// AMD's GPUs from RDNA on have subgroups of 32 or 64; before, 64 alone.
Count waves_of_pipeline(const DeviceInfo& device, const PipelineExecutable& executable) {
    constexpr std::array<std::string_view, 2> kNames{"Max warps/SM", "Max Waves Per Core"};
    const Count radv = statistic_count(executable, "Subgroups per SIMD");
    if (!radv) return first_of(executable, kNames);
    const bool has_32 = device.vendor_id == kAmdVendor && device.limits.min_subgroup_size == 32;
    return has_32 && executable.subgroup_size == 64 ? *radv / 2 : *radv;
}

}  // namespace

std::optional<std::uint64_t> statistic_count(const PipelineExecutable& executable, std::string_view name) {
    const auto found = std::ranges::find(executable.statistics, name, &PipelineStatistic::name);
    if (found == executable.statistics.end()) return std::nullopt;
    if (const auto* count = std::get_if<std::uint64_t>(&found->value)) return *count;
    if (const auto* whole = std::get_if<std::int64_t>(&found->value); whole != nullptr && *whole >= 0)
        return static_cast<std::uint64_t>(*whole);
    return std::nullopt;
}

PipelineFigures pipeline_figures(const DeviceInfo& device, const PipelineReport& report,
                                 const PipelineExecutable& executable) {
    constexpr std::array<std::string_view, 4> kRegisters{"VGPRs", "Number of GPRs", "GPRs", "Registers used"};
    constexpr std::array<std::string_view, 3> kScratch{"Scratch size", "SLM size", "Scratch"};
    constexpr std::array<std::string_view, 3> kInstructions{"Instructions", "Instruction count", "Instruction Count"};
    PipelineFigures figures{.registers = first_of(executable, kRegisters),
                            .spilled_registers = spills_of(executable),
                            .scratch_bytes = first_of(executable, kScratch),
                            .shared_bytes = statistic_count(executable, "LDS size"),
                            .waves = waves_of_pipeline(device, executable),
                            .code_bytes = code_bytes_of(executable),
                            .instructions = first_of(executable, kInstructions),
                            .latency = statistic_count(executable, "Latency"),
                            .inverse_throughput = statistic_count(executable, "Inverse Throughput")};
    if (!figures.shared_bytes) figures.shared_bytes = report.declared_shared;
    if (const std::uint32_t most = device.limits.max_resident_subgroups; most != 0) {
        figures.waves_of = most;
        if (figures.waves) figures.occupancy = static_cast<double>(*figures.waves) / most;
    }
    return figures;
}

}  // namespace yolk
