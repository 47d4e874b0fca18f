// SPDX-License-Identifier: Apache-2.0
// Kernel families at the shapes of their benchmarks, and what a dispatch costs.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "kernel_timing.hpp"
#include "suite_row.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/problem_memory.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kSmallKernels = 1000;

/// What a plan of the problem takes on this device: the table's choice, else the default.
Configuration configuration_of(const Device& device, const oracle::Problem& problem) {
    const TuningSpace space = problem.space(device.info());
    if (const auto table = device.tuning_table(); table != nullptr) {
        if (const auto found = table->find(space)) return found->configuration;
    }
    return problem.default_configuration(device.info());
}

/// As a rate of what is nearer to its limit, operations or bytes; of operations where their limit is not known.
Result<void> set_beside_limits(SuiteRow& row, SuiteLimits& limits, Dispatcher& dispatcher, const oracle::Work& work,
                               ArithmeticUnit unit) {
    double of_operations = 0.0, of_bytes = 0.0, operations = 0.0, bytes = 0.0;
    const double seconds = Spread(row.runs.best_known()).median;
    if (work.operations > 0.0 && unit != ArithmeticUnit::Other) {
        YOLK_TRY(operations, limits.operations(dispatcher, unit));
        if (operations > 0.0) of_operations = work.operations / seconds / operations;
    }
    if (work.bytes > 0.0) {
        YOLK_TRY(bytes, limits.bytes(dispatcher, work.bytes));
        of_bytes = work.bytes / seconds / bytes;
    }
    const bool computes =
        work.bytes == 0.0 || (work.operations > 0.0 && (operations == 0.0 || of_operations > of_bytes));
    row.unit = computes ? "G operations/s" : "GB/s";
    row.items = 1e-9 * (computes ? work.operations : work.bytes);
    row.limit = 1e-9 * (computes ? operations : bytes);
    row.limit_of = computes ? "multiply-adds" : "memory";
    return {};
}

Result<SuiteRow> measure_kernel(const Context& on, const RunBudget& budget, const oracle::Problem& problem,
                                SuiteLimits& limits) {
    const Device& device = on.device();
    YOLK_TRY_VOID(oracle::check_memory(problem, device.info()));
    YOLK_TRY(const FilledBuffers filled, fill_buffers(on.dispatcher(), problem.buffers()));
    const Configuration configuration = configuration_of(device, problem);
    YOLK_TRY(const BoundProblem bound, bind_problem(device, problem, filled, configuration));
    SuiteRow row;
    YOLK_TRY(row.runs, time_recording(on.dispatcher(), bound.record, budget));
    YOLK_TRY_VOID(set_beside_limits(row, limits, on.dispatcher(), problem.work(),
                                    problem.unit(device.usable_info(), configuration)));
    return row;
}

/// A thousand copies of 256 numbers with a barrier after each.
Result<SuiteRow> measure_dispatches(const Context& on, const RunBudget& budget) {
    constexpr std::uint32_t kNumbers = 256;
    const Device& device = on.device();
    YOLK_TRY(const Buffer from, device.create_buffer({.size_bytes = 4 * kNumbers, .label = "from"}));
    YOLK_TRY(const Buffer to, device.create_buffer({.size_bytes = 4 * kNumbers, .label = "to"}));
    YOLK_TRY(const ElementwisePlan plan, plan_elementwise(device, one_step(ElementwiseOperation::Copy, {kNumbers})));
    const std::array<BufferView, 1> inputs{from};
    YOLK_TRY(const BoundElementwise copy, plan.bind({.inputs = inputs, .out = to}));
    SuiteRow row{.group = {}, .name = {}, .unit = "kernels/s", .items = kSmallKernels};
    YOLK_TRY(row.runs, time_recording(
                           on.dispatcher(),
                           [&](Recorder& recorder) {
                               for (std::uint32_t i = 0; i < kSmallKernels; ++i) {
                                   copy.record(recorder);
                                   recorder.barrier(Barrier::ComputeToCompute);
                               }
                           },
                           budget));
    return row;
}

}  // namespace

std::vector<SuiteJob> kernel_jobs(SuiteLimits& limits) {
    std::vector<SuiteJob> jobs;
    for (const oracle::Family* family : oracle::families()) {
        bool first = true;
        for (std::unique_ptr<oracle::Problem>& made : family->benchmarks()) {
            const std::shared_ptr<const oracle::Problem> problem = std::move(made);
            const std::string shape = problem->name();
            jobs.push_back(
                {"kernels", shape.starts_with(family->name) ? shape : fmt::format("{}: {}", family->name, shape),
                 std::exchange(first, false), [problem, &limits](const Context& on, const RunBudget& budget) {
                     return measure_kernel(on, budget, *problem, limits);
                 }});
        }
    }
    return jobs;
}

std::vector<SuiteJob> dispatch_jobs() {
    return {{"dispatch", fmt::format("{} small kernels", kSmallKernels), true, &measure_dispatches}};
}

}  // namespace yolk::cli
