// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/probe.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "arithmetic_probe.hpp"
#include "device_impl.hpp"
#include "loop_probe.hpp"
#include "path_probe.hpp"
#include "rate_probe.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/abi/probe.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

using CaseWords = std::array<std::uint32_t, 4>;

/// One dispatch of a probe's kernel: what it is given, and how many words come back.
struct ProbeRun {
    const Kernel<abi::probe::Params>& kernel;
    std::span<const SpecConstant> constants;
    std::span<const std::byte> given;
    std::uint32_t case_count = 0;
    std::size_t result_count = 0;
    std::uint32_t groups = 0;
};

Result<std::vector<std::uint32_t>> run_probe(Dispatcher& dispatcher, const ProbeRun& run) {
    const Device& device = dispatcher.device();
    std::vector<std::uint32_t> results(run.result_count, 0xA5A5A5A5U);  // what a kernel that writes nothing leaves
    YOLK_TRY(const Buffer given, device.create_buffer({.size_bytes = run.given.size(), .label = "probe cases"}));
    YOLK_TRY(const Buffer made, device.create_buffer({.size_bytes = 4 * results.size(), .label = "probe results"}));
    YOLK_TRY_VOID(dispatcher.upload(given, run.given));
    YOLK_TRY_VOID(dispatcher.upload(made, std::as_bytes(std::span(results))));
    YOLK_TRY(const PipelineOf<abi::probe::Params> pipeline, device.pipeline(run.kernel, run.constants));
    const std::array<BufferView, 2> views{given, made};
    YOLK_TRY(const BindingOf<abi::probe::Params> binding, device.bind(pipeline, views));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "probe"}));
    recorder.begin();
    recorder.dispatch(binding, abi::probe::Params{.case_count = run.case_count}, {.x = run.groups});
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher.run(recorder));
    YOLK_TRY_VOID(dispatcher.download(made, std::as_writable_bytes(std::span(results))));
    return results;
}

/// Runs one probe kernel over its cases and returns a word for each.
Result<std::vector<std::uint32_t>> run_cases(Dispatcher& dispatcher, const Kernel<abi::probe::Params>& kernel,
                                             std::span<const CaseWords> cases, std::uint32_t workgroup) {
    const auto count = static_cast<std::uint32_t>(cases.size());
    return run_probe(dispatcher, {.kernel = kernel,
                                  .constants = {},
                                  .given = std::as_bytes(cases),
                                  .case_count = count,
                                  .result_count = count,
                                  .groups = ceil_div(count, workgroup)});
}

/// Whether anything runs, and how it computes.
struct ArithmeticFindings {
    std::string not_executing_reason;
    std::string inexact_reason;
};

Result<ArithmeticFindings> probe_arithmetic(Dispatcher& dispatcher) {
    const std::vector<ArithmeticCase> cases = arithmetic_cases();
    std::vector<CaseWords> words;
    words.reserve(cases.size());
    for (const ArithmeticCase& given : cases) words.push_back({given.operation, given.a, given.b, given.c});
    YOLK_TRY(const std::vector<std::uint32_t> results, run_cases(dispatcher, kernels::kProbeArithmetic, words, 64));
    if (std::string dead = judge_execution(cases, results); !dead.empty())
        return ArithmeticFindings{std::move(dead), {}};
    return ArithmeticFindings{{}, judge_arithmetic(cases, results)};
}

Result<std::optional<std::uint64_t>> probe_loops(Dispatcher& dispatcher) {
    const std::vector<LoopCase> cases = loop_cases();
    std::vector<CaseWords> words;
    words.reserve(cases.size());
    for (const LoopCase& loop : cases) words.push_back({loop.shape, loop.outer, loop.inner, loop.start});
    YOLK_TRY(const std::vector<std::uint32_t> states, run_cases(dispatcher, kernels::kProbeLoops, words, 1));
    return derive_loop_limit(cases, states);
}

std::optional<MatrixOperands> operands_of(LowPrecisionPath path) {
    switch (path) {
        case LowPrecisionPath::CooperativeMatrix: return MatrixOperands::F16;
        case LowPrecisionPath::CooperativeBf16: return MatrixOperands::BF16;
        case LowPrecisionPath::CooperativeInt8: return MatrixOperands::I8;
        default: return {};
    }
}

const Kernel<abi::probe::Params>& path_kernel(LowPrecisionPath path, const CooperativeShape& shape) {
    switch (path) {
        case LowPrecisionPath::Storage16: return kernels::kProbeStorage16;
        case LowPrecisionPath::IntegerDot: return kernels::kProbeIntegerDot;
        case LowPrecisionPath::CooperativeBf16: return kernels::kProbeCooperativeBf16Khr;
        case LowPrecisionPath::CooperativeInt8: return kernels::kProbeCooperativeI8Khr;
        case LowPrecisionPath::CooperativeMatrix: break;
    }
    return shape.khr ? kernels::kProbeCooperativeKhr : kernels::kProbeCooperativeNv;
}

std::array<SpecConstant, 4> cooperative_constants(const DeviceInfo& info, const CooperativeShape& shape) {
    return {{{abi::probe::kSpecSubgroupSize, info.limits.subgroup_size},
             {abi::probe::kSpecShapeM, shape.m},
             {abi::probe::kSpecShapeN, shape.n},
             {abi::probe::kSpecShapeK, shape.k}}};
}

Result<std::string> probe_cooperative(Dispatcher& dispatcher, LowPrecisionPath path, MatrixOperands operands) {
    const DeviceInfo& info = dispatcher.device().info();
    const CooperativeShape shape = cooperative_shape(info, operands).value_or(CooperativeShape{});
    const std::vector<std::byte> given = cooperative_operands(shape);
    const std::array<SpecConstant, 4> constants = cooperative_constants(info, shape);
    YOLK_TRY(const std::vector<std::uint32_t> results,
             run_probe(dispatcher, {.kernel = path_kernel(path, shape),
                                    .constants = constants,
                                    .given = given,
                                    .case_count = 1,
                                    .result_count = 2 * std::size_t{shape.m} * shape.n,
                                    .groups = 1}));
    return judge_cooperative(shape, results);
}

/// Where nothing runs, all that can be told of a path is whether its kernel compiles; an error says that it does not.
Result<std::string> compile_path(const Device& device, LowPrecisionPath path) {
    const auto operands = operands_of(path);
    const CooperativeShape shape =
        operands ? cooperative_shape(device.info(), *operands).value_or(CooperativeShape{}) : CooperativeShape{};
    const std::array<SpecConstant, 4> constants = cooperative_constants(device.info(), shape);
    const std::size_t used = operands ? constants.size() : 0;
    YOLK_TRY(const auto compiled, device.pipeline(path_kernel(path, shape), std::span(constants).first(used)));
    static_cast<void>(compiled);
    return std::string();
}

/// Why the path gives wrong results; empty where it gives right ones.
Result<std::string> probe_path(Dispatcher& dispatcher, LowPrecisionPath path) {
    if (const auto operands = operands_of(path)) return probe_cooperative(dispatcher, path, *operands);
    const bool dot = path == LowPrecisionPath::IntegerDot;
    const std::vector<ProbeWords> cases = dot ? integer_dot_cases() : storage16_cases();
    YOLK_TRY(const std::vector<std::uint32_t> results, run_cases(dispatcher, path_kernel(path, {}), cases, 64));
    return dot ? judge_integer_dot(cases, results) : judge_storage16(cases, results);
}

/// Once: drivers say the same of each at length.
void warn_of(const DeviceInfo& info, std::span<const WrongPath> wrong) {
    if (wrong.empty()) return;
    std::string names;
    for (const WrongPath& path : wrong)
        names += fmt::format("{}{}",
                             names.empty()                    ? ""
                             : path.path == wrong.back().path ? " and "
                                                              : ", ",
                             to_string(path.path));
    log_warning(fmt::format("Device '{}' does not take the path{} {}{}: {}. The portable form is used instead.",
                            info.name, wrong.size() == 1 ? "" : "s", names,
                            wrong.size() == 1 ? "" : " (`yolk devices` has the reason of each)", wrong.front().reason));
}

/// The open paths that are wrong, or whose kernels the driver does not take. Memory and losses are errors all the same.
Result<std::vector<WrongPath>> probe_paths(Dispatcher& dispatcher, bool executes) {
    const DeviceInfo& info = dispatcher.device().info();
    std::vector<WrongPath> wrong;
    for (const LowPrecisionPath path : kLowPrecisionPaths) {
        if (!path_is_open(info, path)) continue;
        Result<std::string> reason = executes ? probe_path(dispatcher, path) : compile_path(dispatcher.device(), path);
        if (!reason && reason.error().kind != ErrorKind::Driver && reason.error().kind != ErrorKind::Unsupported)
            return reason.error();
        if (reason && reason->empty()) continue;
        wrong.push_back({path, reason ? *reason : reason.error().message});
    }
    warn_of(info, wrong);
    return wrong;
}

/// CPU drivers have no watchdog, and compiling one more kernel in each process would cost more than it gains there.
Result<void> pace_by_rate(Dispatcher& dispatcher) {
    const Device& device = dispatcher.device();
    if (device.info().kind == DeviceKind::Cpu) return {};
    YOLK_TRY(const double rate, measure_rate(dispatcher));
    device.impl()->context.pace.begin_at(rate);
    return {};
}

}  // namespace

Result<DeviceFindings> probe(const Device& device) {
    // Two threads may both get past this; they find the same.
    if (device.findings().probed) return device.findings();
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    DeviceFindings findings{.probed = true};
    YOLK_TRY(ArithmeticFindings arithmetic, probe_arithmetic(dispatcher));
    const bool executes = arithmetic.not_executing_reason.empty();
    findings.not_executing_reason = std::move(arithmetic.not_executing_reason);
    findings.inexact_reason = std::move(arithmetic.inexact_reason);
    if (executes) {
        YOLK_TRY(findings.loop_limit, probe_loops(dispatcher));
        YOLK_TRY_VOID(pace_by_rate(dispatcher));
    }
    YOLK_TRY(findings.wrong_paths, probe_paths(dispatcher, executes));
    device.set_findings(findings);
    return findings;
}

}  // namespace yolk
