// SPDX-License-Identifier: Apache-2.0
#include "suite_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "timed_runs.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/limits.hpp"
#include "yolk/reduce.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kColumns = 1024;
constexpr std::uint64_t kLeastBytes = std::uint64_t{64} << 10U;
constexpr std::uint64_t kMostBytesOfCpus = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostBytesOfGpus = std::uint64_t{256} << 20U;
constexpr RunBudget kMoveBudget{.seconds = 0.1, .fewest = 5, .most_seconds = 2.0};

double fastest(const std::vector<double>& seconds) { return std::ranges::min(seconds); }

/// The fastest copy by a kernel, whose best configuration differs by device.
Result<double> seconds_of_copy(Dispatcher& dispatcher, const BufferView& from, const BufferView& to) {
    const auto rows = static_cast<std::uint32_t>(from.size_bytes / sizeof(float) / kColumns);
    const std::array<BufferView, 1> inputs{from};
    double best = std::numeric_limits<double>::infinity();
    for (const std::uint32_t workgroup : {64U, 256U}) {
        for (const std::uint32_t loads : {1U, 4U}) {
            ElementwiseDesc desc = one_step(ElementwiseOperation::Copy, {rows, kColumns});
            desc.config =
                ElementwiseConfig{.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = 4};
            YOLK_TRY(const ElementwisePlan plan, plan_elementwise(dispatcher.device(), desc));
            YOLK_TRY(const BoundElementwise copy, plan.bind({.inputs = inputs, .out = to}));
            YOLK_TRY(const TimedRuns runs,
                     time_recording(
                         dispatcher, [&](Recorder& recorder) { copy.record(recorder); }, kMoveBudget));
            best = std::min(best, fastest(runs.best_known()));
        }
    }
    return best;
}

Result<double> seconds_of_drivers_copy(Dispatcher& dispatcher, const BufferView& from, const BufferView& to) {
    YOLK_TRY(const TimedRuns runs, time_recording(
                                       dispatcher, [&](Recorder& recorder) { recorder.copy(from, to); }, kMoveBudget));
    return fastest(runs.best_known());
}

Result<double> seconds_of_sum(Dispatcher& dispatcher, const BufferView& from, const BufferView& to) {
    const auto rows = static_cast<std::uint32_t>(from.size_bytes / sizeof(float) / kColumns);
    YOLK_TRY(const ReducePlan plan, plan_reduce(dispatcher.device(), {.outer = rows, .columns = kColumns}));
    YOLK_TRY(const BoundReduce sum,
             plan.bind({.in = from, .out = to.part(0, std::uint64_t{rows} * sizeof(float))}, {}));
    YOLK_TRY(const TimedRuns runs, time_recording(
                                       dispatcher, [&](Recorder& recorder) { sum.record(recorder); }, kMoveBudget));
    return fastest(runs.best_known());
}

/// The fastest way to read, or to read and write, `bytes` in all.
Result<double> measure_bytes_per_second(Dispatcher& dispatcher, std::uint64_t bytes) {
    const Device& device = dispatcher.device();
    YOLK_TRY(const Buffer from, device.create_buffer({.size_bytes = bytes, .label = "read"}));
    YOLK_TRY(const Buffer to, device.create_buffer({.size_bytes = bytes / 2, .label = "written"}));
    const BufferView half = BufferView(from).part(0, bytes / 2);
    YOLK_TRY(const double copied, seconds_of_copy(dispatcher, half, to));
    YOLK_TRY(const double copied_by_driver, seconds_of_drivers_copy(dispatcher, half, to));
    YOLK_TRY(const double summed, seconds_of_sum(dispatcher, from, to));
    return static_cast<double>(bytes) / std::min({copied, copied_by_driver, summed});
}

}  // namespace

Result<double> SuiteLimits::operations(Dispatcher& dispatcher, ArithmeticUnit unit) {
    if (const auto found = operations_.find(unit); found != operations_.end()) return found->second;
    YOLK_TRY(const double rate, measure_multiply_adds_per_second(dispatcher.device(), dispatcher, unit));
    return operations_[unit] = 2.0 * rate;
}

Result<double> SuiteLimits::bytes(Dispatcher& dispatcher, double bytes) {
    const DeviceInfo& info = dispatcher.device().info();
    const std::uint64_t most = std::min(info.kind == DeviceKind::Cpu ? kMostBytesOfCpus : kMostBytesOfGpus,
                                        info.limits.max_storage_buffer_range);
    std::uint64_t size = kLeastBytes;
    while (size * 4 <= most && static_cast<double>(size) * 4.0 <= bytes) size *= 4;
    if (const auto found = bytes_.find(size); found != bytes_.end()) return found->second;
    YOLK_TRY(const double rate, measure_bytes_per_second(dispatcher, size));
    return bytes_[size] = rate;
}

std::vector<SuiteLimits::Known> SuiteLimits::known() const {
    std::vector<Known> all;
    for (const auto& [unit, rate] : operations_) {
        if (rate > 0.0)
            all.push_back({fmt::format("multiply-adds of {}", to_string(unit)), "G operations/s", rate * 1e-9});
    }
    for (const auto& [bytes, rate] : bytes_)
        all.push_back({fmt::format("memory, {} KiB", bytes >> 10U), "GB/s", rate * 1e-9});
    return all;
}

}  // namespace yolk::cli
