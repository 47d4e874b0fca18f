// SPDX-License-Identifier: Apache-2.0
// The names by which drivers report their compilers' work. What is not here a driver does not report, or nobody has
// seen it do so. Names are compared without regard to case: NVIDIA's are known from what programs do with them, not
// from a driver that was asked.
#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <span>

#include "yolk/internal/runtime/pipeline_report.hpp"

namespace yolk {
namespace {

using Count = std::optional<std::uint64_t>;

constexpr std::uint32_t kAmdVendor = 0x1002;

using Names = std::span<const std::string_view>;

// Of RADV, NVK, Honeykrisp, Turnip, NVIDIA's own driver.
constexpr std::array<std::string_view, 5> kRegisters{"VGPRs", "Number of GPRs", "GPRs", "Registers used",
                                                     "Register Count"};
constexpr std::array<std::string_view, 2> kSpillsOfFiles{"Spilled VGPRs", "Spilled SGPRs"};
constexpr std::array<std::string_view, 2> kSpills{"Spills to memory", "Spills"};
constexpr std::array<std::string_view, 3> kScratch{"Scratch size", "SLM size", "Scratch"};
constexpr std::array<std::string_view, 2> kNvidiasScratch{"Local Memory Size", "Stack Size"};
constexpr std::array<std::string_view, 2> kShared{"LDS size", "Shared Memory Size"};
constexpr std::array<std::string_view, 3> kWaves{"Subgroups per SIMD", "Max warps/SM", "Max Waves Per Core"};
constexpr std::array<std::string_view, 2> kCode{"Code size", "Binary Size"};
constexpr std::array<std::string_view, 3> kInstructions{"Instructions", "Instruction count", "Instruction Count"};
constexpr std::array<std::string_view, 1> kLatency{"Latency"};
constexpr std::array<std::string_view, 1> kInverseThroughput{"Inverse Throughput"};

bool is_same_name(std::string_view a, std::string_view b) noexcept {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// The first that the driver has.
Count first_of(const PipelineExecutable& executable, Names names) {
    for (const std::string_view name : names)
        if (const Count count = statistic_count(executable, name)) return count;
    return std::nullopt;
}

/// RADV tells vector and scalar registers apart.
Count spills_of(const PipelineExecutable& executable) {
    const Count vector = statistic_count(executable, kSpillsOfFiles[0]);
    const Count scalar = statistic_count(executable, kSpillsOfFiles[1]);
    if (vector || scalar) return vector.value_or(0) + scalar.value_or(0);
    return first_of(executable, kSpills);
}

/// NVIDIA's driver puts two sizes into one number, those of the high and of the low part of local memory.
Count scratch_of(const PipelineExecutable& executable) {
    if (const Count scratch = first_of(executable, kScratch)) return scratch;
    const Count local = statistic_count(executable, kNvidiasScratch[0]);
    if (!local) return statistic_count(executable, kNvidiasScratch[1]);
    return (*local >> 32U) + (*local & UINT32_MAX);
}

/// Turnip counts code in words of 32 bits.
Count code_bytes_of(const PipelineExecutable& executable) {
    const Count size = first_of(executable, kCode);
    const bool in_words = statistic_count(executable, kWaves[2]).has_value();
    return size && in_words ? Count(*size * 4) : size;
}

/// AMD's GPUs from RDNA on have subgroups of 32 or 64; before, 64 alone.
Count waves_of_pipeline(const DeviceInfo& device, const PipelineExecutable& executable) {
    const Count radv = statistic_count(executable, kWaves[0]);
    if (!radv) return first_of(executable, kWaves);
    const bool has_32 = device.vendor_id == kAmdVendor && device.limits.min_subgroup_size == 32;
    return has_32 && executable.subgroup_size == 64 ? *radv / 2 : *radv;
}

}  // namespace

std::optional<std::uint64_t> statistic_count(const PipelineExecutable& executable, std::string_view name) {
    const auto found = std::ranges::find_if(executable.statistics, [name](const PipelineStatistic& statistic) {
        return is_same_name(statistic.name, name);
    });
    if (found == executable.statistics.end()) return std::nullopt;
    if (const auto* count = std::get_if<std::uint64_t>(&found->value)) return *count;
    if (const auto* whole = std::get_if<std::int64_t>(&found->value); whole != nullptr && *whole >= 0)
        return static_cast<std::uint64_t>(*whole);
    return std::nullopt;
}

PipelineFigures pipeline_figures(const DeviceInfo& device, const PipelineReport& report,
                                 const PipelineExecutable& executable) {
    PipelineFigures figures{.registers = first_of(executable, kRegisters),
                            .spilled_registers = spills_of(executable),
                            .scratch_bytes = scratch_of(executable),
                            .shared_bytes = first_of(executable, kShared),
                            .waves = waves_of_pipeline(device, executable),
                            .code_bytes = code_bytes_of(executable),
                            .instructions = first_of(executable, kInstructions),
                            .latency = first_of(executable, kLatency),
                            .inverse_throughput = first_of(executable, kInverseThroughput)};
    if (!figures.shared_bytes) figures.shared_bytes = report.declared_shared;
    if (const std::uint32_t most = device.limits.max_resident_subgroups; most != 0) {
        figures.waves_of = most;
        if (figures.waves) figures.occupancy = static_cast<double>(*figures.waves) / most;
    }
    return figures;
}

std::vector<PipelineStatistic> other_statistics(const PipelineExecutable& executable) {
    std::vector<PipelineStatistic> others;
    for (const PipelineStatistic& statistic : executable.statistics) {
        const auto has = [&](Names names) {
            return std::ranges::any_of(names, [&](auto name) { return is_same_name(statistic.name, name); });
        };
        const std::initializer_list<Names> all{
            kRegisters, kSpillsOfFiles, kSpills,       kScratch, kNvidiasScratch,   kShared,
            kWaves,     kCode,          kInstructions, kLatency, kInverseThroughput};
        if (std::ranges::none_of(all, has)) others.push_back(statistic);
    }
    return others;
}

}  // namespace yolk
