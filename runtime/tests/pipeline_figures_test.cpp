// SPDX-License-Identifier: Apache-2.0
// Statistics as drivers gave them (Mesa 26.1.6, on null devices), and what they mean.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "yolk/internal/runtime/pipeline_report.hpp"

namespace yolk {

static std::ostream& operator<<(std::ostream& out, const PipelineFigures& f) {
    const auto put = [&out](const char* name, const auto& value) {
        out << name << " ";
        if (value) {
            out << *value << ", ";
        } else {
            out << "none, ";
        }
    };
    put("registers", f.registers);
    put("spilled", f.spilled_registers);
    put("scratch", f.scratch_bytes);
    put("shared", f.shared_bytes);
    put("waves", f.waves);
    put("of", f.waves_of);
    put("occupancy", f.occupancy);
    put("code", f.code_bytes);
    put("instructions", f.instructions);
    put("latency", f.latency);
    put("inverse throughput", f.inverse_throughput);
    return out;
}

static bool operator==(const PipelineFigures& a, const PipelineFigures& b) {
    return a.registers == b.registers && a.spilled_registers == b.spilled_registers &&
           a.scratch_bytes == b.scratch_bytes && a.shared_bytes == b.shared_bytes && a.waves == b.waves &&
           a.waves_of == b.waves_of && a.occupancy == b.occupancy && a.code_bytes == b.code_bytes &&
           a.instructions == b.instructions && a.latency == b.latency && a.inverse_throughput == b.inverse_throughput;
}

namespace {

/// What of a device the figures depend on.
struct Gpu {
    std::uint32_t vendor = 0;
    std::uint32_t min_subgroup = 0;
    std::uint32_t most_waves = 0;

    [[nodiscard]] DeviceInfo info() const {
        DeviceInfo device;
        device.vendor_id = vendor;
        device.limits.min_subgroup_size = min_subgroup;
        device.limits.max_resident_subgroups = most_waves;
        return device;
    }
};

struct Recorded {
    const char* what = "";
    Gpu gpu{};
    std::uint32_t subgroup_size = 0;
    std::uint64_t declared_shared = 0;
    const char* statistics = "";  ///< "VGPRs 48, Early preamble false", in the driver's order
    PipelineFigures expected{};
};

std::vector<PipelineStatistic> parse_statistics(const std::string& text) {
    std::vector<PipelineStatistic> all;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(", ", at), text.size());
        const std::size_t blank = text.rfind(' ', end - 1);
        const std::string value = text.substr(blank + 1, end - blank - 1);
        const bool is_flag = value == "true" || value == "false";
        all.push_back({text.substr(at, blank - at),
                       is_flag ? StatisticValue(value == "true") : StatisticValue(std::uint64_t{std::stoull(value)})});
        at = end + 2;
    }
    return all;
}

PipelineFigures figures_of(const Recorded& recorded) {
    const PipelineReport report{.kernel = recorded.what, .declared_shared = recorded.declared_shared};
    const PipelineExecutable executable{.name = "compute",
                                        .subgroup_size = recorded.subgroup_size,
                                        .statistics = parse_statistics(recorded.statistics)};
    return pipeline_figures(recorded.gpu.info(), report, executable);
}

constexpr Recorded kRecorded[]{
    {.what = "AMD Radeon Graphics (RADV NAVI31), softmax_by_group",
     .gpu = {.vendor = 0x1002, .min_subgroup = 32, .most_waves = 16},
     .subgroup_size = 64,
     .declared_shared = 0,
     .statistics =
         "Driver pipeline hash 11587917760847270277, SGPRs 108, VGPRs 24, Spilled SGPRs 0, Spilled VGPRs 0, "
         "Code size 1904, LDS size 1024, Scratch size 0, Subgroups per SIMD 32, Combined inputs 0, Combined "
         "outputs 0, Hash 3057759184, Instructions 351, Copies 45, Branches 20, Latency 11639, Inverse "
         "Throughput 979, VMEM Clause 4, SMEM Clause 3, Pre-Sched SGPRs 22, Pre-Sched VGPRs 13, VALU 141, SALU "
         "42, VMEM 4, SMEM 3, VOPD 0",
     .expected = {.registers = 24,
                  .spilled_registers = 0,
                  .scratch_bytes = 0,
                  .shared_bytes = 1024,
                  .waves = 16,
                  .waves_of = 16,
                  .occupancy = 16.0 / 16.0,
                  .code_bytes = 1904,
                  .instructions = 351,
                  .latency = 11639,
                  .inverse_throughput = 979}},
    {.what = "AMD Radeon Graphics (RADV NAVI31), rollout_cartpole_unrolled",
     .gpu = {.vendor = 0x1002, .min_subgroup = 32, .most_waves = 16},
     .subgroup_size = 32,
     .declared_shared = 0,
     .statistics =
         "Driver pipeline hash 11701081467252689118, SGPRs 108, VGPRs 256, Spilled SGPRs 0, Spilled VGPRs 27, "
         "Code size 40808, LDS size 4096, Scratch size 0, Subgroups per SIMD 5, Combined inputs 0, Combined "
         "outputs 0, Hash 3587677801, Instructions 7776, Copies 59, Branches 8, Latency 35921, Inverse "
         "Throughput 26688, VMEM Clause 4, SMEM Clause 35, Pre-Sched SGPRs 67, Pre-Sched VGPRs 283, VALU 5131, "
         "SALU 1490, VMEM 6, SMEM 37, VOPD 651",
     .expected = {.registers = 256,
                  .spilled_registers = 27,
                  .scratch_bytes = 0,
                  .shared_bytes = 4096,
                  .waves = 5,
                  .waves_of = 16,
                  .occupancy = 5.0 / 16.0,
                  .code_bytes = 40808,
                  .instructions = 7776,
                  .latency = 35921,
                  .inverse_throughput = 26688}},
    {.what = "AMD Radeon RX 5700 XT (RADV NAVI10), block_inverse_residual",
     .gpu = {.vendor = 0x1002, .min_subgroup = 32, .most_waves = 20},
     .subgroup_size = 64,
     .declared_shared = 0,
     .statistics = "Driver pipeline hash 3541673728937855973, SGPRs 108, VGPRs 84, Spilled SGPRs 0, Spilled VGPRs 0, "
                   "Code size 7308, LDS size 0, Scratch size 0, Subgroups per SIMD 12, Combined inputs 0, Combined "
                   "outputs 0, Hash 1469061392, Instructions 1266, Copies 39, Branches 26, Latency 32601, Inverse "
                   "Throughput 17770, VMEM Clause 24, SMEM Clause 4, Pre-Sched SGPRs 49, Pre-Sched VGPRs 76, VALU 996, "
                   "SALU 145, VMEM 40, SMEM 5, VOPD 0",
     .expected = {.registers = 84,
                  .spilled_registers = 0,
                  .scratch_bytes = 0,
                  .shared_bytes = 0,
                  .waves = 6,
                  .waves_of = 20,
                  .occupancy = 6.0 / 20.0,
                  .code_bytes = 7308,
                  .instructions = 1266,
                  .latency = 32601,
                  .inverse_throughput = 17770}},
    {.what = "AMD Radeon RX Vega (RADV VEGA10), block_inverse_residual",
     .gpu = {.vendor = 0x1002, .min_subgroup = 64, .most_waves = 10},
     .subgroup_size = 64,
     .declared_shared = 0,
     .statistics =
         "Driver pipeline hash 685804747789340964, SGPRs 64, VGPRs 84, Spilled SGPRs 0, Spilled VGPRs 0, Code "
         "size 7244, LDS size 0, Scratch size 0, Subgroups per SIMD 3, Combined inputs 0, Combined outputs 0, "
         "Hash 2735614584, Instructions 1300, Copies 86, Branches 26, Latency 48777, Inverse Throughput 35573, "
         "VMEM Clause 24, SMEM Clause 4, Pre-Sched SGPRs 48, Pre-Sched VGPRs 76, VALU 1005, SALU 183, VMEM 40, "
         "SMEM 5, VOPD 0",
     .expected = {.registers = 84,
                  .spilled_registers = 0,
                  .scratch_bytes = 0,
                  .shared_bytes = 0,
                  .waves = 3,
                  .waves_of = 10,
                  .occupancy = 3.0 / 10.0,
                  .code_bytes = 7244,
                  .instructions = 1300,
                  .latency = 48777,
                  .inverse_throughput = 35573}},
    {.what = "AMD Radeon RX 580 Series (RADV POLARIS10), softmax_by_group",
     .gpu = {.vendor = 0x1002, .min_subgroup = 64, .most_waves = 8},
     .subgroup_size = 64,
     .declared_shared = 0,
     .statistics =
         "Driver pipeline hash 3723682667848417818, SGPRs 32, VGPRs 16, Spilled SGPRs 0, Spilled VGPRs 0, Code "
         "size 1788, LDS size 1024, Scratch size 0, Subgroups per SIMD 8, Combined inputs 0, Combined outputs "
         "0, Hash 1502100958, Instructions 321, Copies 74, Branches 20, Latency 12788, Inverse Throughput "
         "2780, VMEM Clause 4, SMEM Clause 4, Pre-Sched SGPRs 22, Pre-Sched VGPRs 13, VALU 140, SALU 65, VMEM "
         "4, SMEM 4, VOPD 0",
     .expected = {.registers = 16,
                  .spilled_registers = 0,
                  .scratch_bytes = 0,
                  .shared_bytes = 1024,
                  .waves = 8,
                  .waves_of = 8,
                  .occupancy = 8.0 / 8.0,
                  .code_bytes = 1788,
                  .instructions = 321,
                  .latency = 12788,
                  .inverse_throughput = 2780}},
    {.what = "NVK, rollout_cartpole_unrolled",
     .gpu = {.vendor = 0x10DE, .min_subgroup = 32, .most_waves = 48},
     .subgroup_size = 32,
     .declared_shared = 0,
     .statistics = "Instruction count 5938, Static cycle count 172529, Max warps/SM 16, Spills to memory 0, Fills from "
                   "memory 0, Spills to reg 0, Fills from reg 0, Code size 95008, Number of GPRs 128, SLM size 828",
     .expected = {.registers = 128,
                  .spilled_registers = 0,
                  .scratch_bytes = 828,
                  .shared_bytes = 0,
                  .waves = 16,
                  .waves_of = 48,
                  .occupancy = 16.0 / 48.0,
                  .code_bytes = 95008,
                  .instructions = 5938}},
    {.what = "NVK, softmax_by_group",
     .gpu = {.vendor = 0x10DE, .min_subgroup = 32, .most_waves = 32},
     .subgroup_size = 32,
     .declared_shared = 1024,
     .statistics = "Instruction count 415, Static cycle count 10228, Max warps/SM 32, Spills to memory 0, Fills from "
                   "memory 0, Spills to reg 2, Fills from reg 3, Code size 6640, Number of GPRs 24, SLM size 0",
     .expected = {.registers = 24,
                  .spilled_registers = 0,
                  .scratch_bytes = 0,
                  .shared_bytes = 1024,
                  .waves = 32,
                  .waves_of = 32,
                  .occupancy = 32.0 / 32.0,
                  .code_bytes = 6640,
                  .instructions = 415}},
    {.what = "Apple M1 (G13G A0), rollout_cartpole_unrolled",
     .gpu = {.vendor = 0x10005, .min_subgroup = 32, .most_waves = 0},
     .subgroup_size = 32,
     .declared_shared = 0,
     .statistics = "Instructions 4802, ALU 4306, FSCIB 4306, IC 776, Code size 31748, GPRs 183, Uniforms 346, Scratch "
                   "832, Threads 576, Loops 5, Spills 29, Fills 52, Preamble instructions 214",
     .expected = {.registers = 183,
                  .spilled_registers = 29,
                  .scratch_bytes = 832,
                  .shared_bytes = 0,
                  .code_bytes = 31748,
                  .instructions = 4802}},
    {.what = "Turnip Adreno (TM) 630, block_inverse_residual",
     .gpu = {.vendor = 0x5143, .min_subgroup = 64, .most_waves = 0},
     .subgroup_size = 64,
     .declared_shared = 0,
     .statistics =
         "Max Waves Per Core 6, Instruction Count 1661, Code size 2562, NOPs Count 412, MOV Count 42, COV "
         "Count 0, Registers used 32, Half-registers used 0, Last interpolation instruction 0, Last helper "
         "instruction 0, Instructions with SS sync bit 5, Instructions with SY sync bit 13, Estimated cycles "
         "stalled on SS 0, Estimated cycles stalled on SY 461, cat0 instructions 449, cat1 instructions 42, "
         "cat2 instructions 772, cat3 instructions 358, cat4 instructions 0, cat5 instructions 16, cat6 "
         "instructions 24, cat7 instructions 0, Loops 2, STP Count 0, LDP Count 0, Preamble Instruction Count "
         "95, Early preamble false, Const file size 12",
     .expected = {.registers = 32, .shared_bytes = 0, .waves = 6, .code_bytes = 10248, .instructions = 1661}},
};

TEST(pipeline_figures, of_recorded_statistics) {
    for (const Recorded& one : kRecorded) EXPECT_EQ(figures_of(one), one.expected) << one.what;
}

struct Waves {
    const char* what;
    Gpu gpu;
    std::uint32_t subgroup_size;
    const char* statistics;
    std::uint64_t waves;
    std::optional<double> occupancy;
};

TEST(pipeline_figures, occupancy_by_architecture) {
    constexpr Gpu kGcn{0x1002, 64, 10}, kPolaris{0x1002, 64, 8}, kRdna1{0x1002, 32, 20}, kRdna3{0x1002, 32, 16};
    constexpr Gpu kTuring{0x10DE, 32, 32}, kVolta{0x10DE, 32, 64}, kAmpere{0x10DE, 32, 48}, kUnknown{0x10DE, 32, 0};
    constexpr Gpu kAdreno{0x5143, 64, 0};
    const Waves all[]{
        {"GCN", kGcn, 64, "Subgroups per SIMD 3", 3, 0.3},
        {"Polaris", kPolaris, 64, "Subgroups per SIMD 8", 8, 1.0},
        {"RDNA 1, 32", kRdna1, 32, "Subgroups per SIMD 20", 20, 1.0},
        {"RDNA 1, 64", kRdna1, 64, "Subgroups per SIMD 12", 6, 0.3},
        {"RDNA 3, 32", kRdna3, 32, "Subgroups per SIMD 5", 5, 0.3125},
        {"RDNA 3, 64", kRdna3, 64, "Subgroups per SIMD 32", 16, 1.0},
        {"RDNA 3, 64, an odd number", kRdna3, 64, "Subgroups per SIMD 5", 2, 0.125},
        {"Turing", kTuring, 32, "Max warps/SM 16", 16, 0.5},
        {"Volta", kVolta, 32, "Max warps/SM 16", 16, 0.25},
        {"Ampere", kAmpere, 32, "Max warps/SM 48", 48, 1.0},
        {"a driver that does not say how many fit", kUnknown, 32, "Max warps/SM 12", 12, std::nullopt},
        {"Adreno", kAdreno, 64, "Max Waves Per Core 6", 6, std::nullopt},
    };
    for (const Waves& one : all) {
        const PipelineFigures figures = figures_of(
            {.what = one.what, .gpu = one.gpu, .subgroup_size = one.subgroup_size, .statistics = one.statistics});
        EXPECT_EQ(figures.waves, one.waves) << one.what;
        EXPECT_EQ(figures.occupancy, one.occupancy) << one.what;
    }
}

// By its names alone, for nothing was recorded there. Local memory is two numbers in one, 144 bytes high and 16 low.
TEST(pipeline_figures, of_nvidias_own_driver_in_any_case) {
    constexpr Gpu kHopper{0x10DE, 32, 64};
    const PipelineFigures expected{
        .registers = 168, .scratch_bytes = 160, .shared_bytes = 4096, .waves_of = 64, .code_bytes = 16384};
    for (const char* statistics :
         {"Register Count 168, Binary Size 16384, Stack Size 0, Local Memory Size 618475290640",
          "register count 168, BINARY SIZE 16384, Stack size 0, local memory size 618475290640, Shared memory size "
          "4096"})
        EXPECT_EQ(figures_of({.what = "NVIDIA H100",
                              .gpu = kHopper,
                              .subgroup_size = 32,
                              .declared_shared = 4096,
                              .statistics = statistics}),
                  expected);
    const PipelineFigures by_stack = figures_of({.what = "NVIDIA", .gpu = kHopper, .statistics = "Stack Size 48"});
    EXPECT_EQ(by_stack.scratch_bytes, 48U) << "where there is no other word for it";
}

TEST(pipeline_figures, other_statistics_are_shown_as_they_are) {
    const PipelineExecutable executable{
        .name = "compute",
        .statistics = parse_statistics("Register Count 168, Max warps per scheduler 12, vgprs 3, Uses barrier true")};
    std::vector<std::string> others;
    for (const PipelineStatistic& statistic : other_statistics(executable)) others.push_back(statistic.name);
    EXPECT_EQ(others, (std::vector<std::string>{"Max warps per scheduler", "Uses barrier"}));
}

TEST(pipeline_figures, nothing_is_made_up) {
    EXPECT_EQ(figures_of({.what = "a driver without statistics"}), (PipelineFigures{.shared_bytes = 0}))
        << "shared memory is what the kernel declares";
    const PipelineExecutable no_counts{
        .name = "compute", .statistics = {{"VGPRs", std::int64_t{-1}}, {"Code size", 12.5}, {"Latency", true}}};
    EXPECT_EQ(pipeline_figures(DeviceInfo{}, PipelineReport{.kernel = "noise"}, no_counts), PipelineFigures{});
}

}  // namespace
}  // namespace yolk
