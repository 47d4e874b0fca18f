// SPDX-License-Identifier: Apache-2.0
#include "yolk/runtime/probe.hpp"

#include <array>
#include <span>
#include <vector>

#include "arithmetic_probe.hpp"
#include "loop_probe.hpp"
#include "yolk/abi/probe.h"
#include "yolk/core/shape.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

using CaseWords = std::array<std::uint32_t, 4>;

/// Runs one probe kernel over its cases and returns a word for each.
Result<std::vector<std::uint32_t>> run_cases(Dispatcher& dispatcher, const Kernel<abi::probe::Params>& kernel,
                                             std::span<const CaseWords> cases, std::uint32_t workgroup) {
    const Device& device = dispatcher.device();
    std::vector<std::uint32_t> results(cases.size(), 0xA5A5A5A5U);  // what a kernel that writes nothing leaves behind
    YOLK_TRY(const Buffer given, device.create_buffer({.size_bytes = cases.size_bytes(), .label = "probe cases"}));
    YOLK_TRY(const Buffer made, device.create_buffer({.size_bytes = 4 * cases.size(), .label = "probe results"}));
    YOLK_TRY_VOID(dispatcher.upload(given, std::as_bytes(cases)));
    YOLK_TRY_VOID(dispatcher.upload(made, std::as_bytes(std::span(results))));
    YOLK_TRY(const PipelineOf<abi::probe::Params> pipeline, device.pipeline(kernel, {}));
    const std::array<BufferView, 2> views{given, made};
    YOLK_TRY(const BindingOf<abi::probe::Params> binding, device.bind(pipeline, views));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "probe"}));
    const auto count = static_cast<std::uint32_t>(cases.size());
    recorder.begin();
    recorder.dispatch(binding, abi::probe::Params{.case_count = count}, {.x = ceil_div(count, workgroup)});
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher.run(recorder));
    YOLK_TRY_VOID(dispatcher.download(made, std::as_writable_bytes(std::span(results))));
    return results;
}

Result<std::string> probe_arithmetic(Dispatcher& dispatcher) {
    const std::vector<ArithmeticCase> cases = arithmetic_cases();
    std::vector<CaseWords> words;
    words.reserve(cases.size());
    for (const ArithmeticCase& given : cases) words.push_back({given.operation, given.a, given.b, given.c});
    YOLK_TRY(const std::vector<std::uint32_t> results, run_cases(dispatcher, kernels::kProbeArithmetic, words, 64));
    return judge_arithmetic(cases, results);
}

Result<std::optional<std::uint64_t>> probe_loops(Dispatcher& dispatcher) {
    const std::vector<LoopCase> cases = loop_cases();
    std::vector<CaseWords> words;
    words.reserve(cases.size());
    for (const LoopCase& loop : cases) words.push_back({loop.shape, loop.outer, loop.inner, loop.start});
    YOLK_TRY(const std::vector<std::uint32_t> states, run_cases(dispatcher, kernels::kProbeLoops, words, 1));
    return derive_loop_limit(cases, states);
}

}  // namespace

Result<DeviceFindings> probe(const Device& device) {
    // Two threads may both get past this; they find the same.
    if (device.findings().probed) return device.findings();
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    DeviceFindings findings{.probed = true};
    YOLK_TRY(findings.inexact_reason, probe_arithmetic(dispatcher));
    YOLK_TRY(findings.loop_limit, probe_loops(dispatcher));
    device.set_findings(findings);
    return findings;
}

}  // namespace yolk
