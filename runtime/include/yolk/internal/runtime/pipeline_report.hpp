// SPDX-License-Identifier: Apache-2.0
// What a driver's compiler made of a pipeline, as plain data: its own statistics
// (VK_KHR_pipeline_executable_properties) untouched, and the figures that mean the same on every driver, by a pure
// function. A device keeps reports where DeviceOptions::pipeline_capture asks for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/shaders/kernel.hpp"

namespace yolk {

using StatisticValue = std::variant<bool, std::int64_t, std::uint64_t, double>;

struct PipelineStatistic {
    std::string name;  ///< the driver's: "Spilled VGPRs"
    StatisticValue value;
};

/// A form of the kernel inside the compiler: "NIR Shader(s)", "Assembly".
struct InternalRepresentation {
    std::string name;
    std::string contents;
    bool is_text = true;
};

/// What runs of a pipeline; a compute pipeline has one as a rule.
struct PipelineExecutable {
    std::string name;
    std::uint32_t subgroup_size = 0;  ///< 0: the driver does not say
    std::vector<PipelineStatistic> statistics{};
    std::vector<InternalRepresentation> representations{};
};

struct PipelineReport {
    std::string kernel;
    std::vector<SpecConstant> constants{};  ///< by id
    std::uint64_t identity = 0;             ///< hash of the module's code and the constants: the same in every process
    bool tolerant = false;                  ///< KernelModule::tolerant
    bool specialized = false;               ///< for this driver alone: others are given the module as it is written
    std::vector<std::uint32_t> code{};      ///< what the driver was given; empty without PipelineCapture::Code
    /// Of the module with these constants; nothing where its workgroup is not a constant.
    std::optional<std::uint32_t> workgroup_size{};   ///< invocations
    std::optional<std::uint64_t> declared_shared{};  ///< bytes that the kernel's shared variables take
    double compile_seconds = 0.0;                    ///< on this machine, unrolling included
    std::string refused{};                           ///< the driver's error; empty where the pipeline was made
    std::vector<PipelineExecutable> executables{};   ///< none without DeviceFeatures::pipeline_statistics
};

/// Nothing where the driver does not report it, which is not 0.
struct PipelineFigures {
    std::optional<std::uint64_t> registers{};          ///< general (vector) registers of an invocation
    std::optional<std::uint64_t> spilled_registers{};  ///< of all files, to memory; RADV counts, NVK in its own unit
    std::optional<std::uint64_t> scratch_bytes{};      ///< RADV: of a subgroup; all others: of an invocation
    std::optional<std::uint64_t> shared_bytes{};       ///< of a workgroup, as allocated; else as the kernel declares
    std::optional<std::uint64_t> waves{};              ///< subgroups in flight on a SIMD (AMD), a multiprocessor (NVK)
    std::optional<std::uint64_t> waves_of{};           ///< the most there can be (DeviceLimits::max_resident_subgroups)
    std::optional<double> occupancy{};                 ///< waves over waves_of
    std::optional<std::uint64_t> code_bytes{};
    std::optional<std::uint64_t> instructions{};        ///< of the whole kernel, loops once
    std::optional<std::uint64_t> latency{};             ///< cycles by the compiler's model, which knows no caches
    std::optional<std::uint64_t> inverse_throughput{};  ///< busy cycles of a subgroup, likewise
};

/// By the names of RADV, NVK, Honeykrisp and Turnip (Mesa 26.1.6), and of NVIDIA's own driver. RADV counts waves on
/// RDNA in units of 32 lanes, so that its figure is halved where a subgroup has 64.
[[nodiscard]] PipelineFigures pipeline_figures(const DeviceInfo& device, const PipelineReport& report,
                                               const PipelineExecutable& executable);

/// Those that no figure is made of, in the driver's order.
[[nodiscard]] std::vector<PipelineStatistic> other_statistics(const PipelineExecutable& executable);

/// Nothing where there is no such statistic, in upper or lower case, or it is not a count.
[[nodiscard]] std::optional<std::uint64_t> statistic_count(const PipelineExecutable& executable, std::string_view name);

}  // namespace yolk
