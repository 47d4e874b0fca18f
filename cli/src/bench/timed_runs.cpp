// SPDX-License-Identifier: Apache-2.0
#include "timed_runs.hpp"

#include <array>
#include <chrono>
#include <limits>
#include <numeric>

#include "interrupt.hpp"

namespace yolk::cli {
namespace {

/// The longest wait for one run. At SwiftShader's .7 million evaluations per second (docs/kernels/rollout.md) 2^20
/// members take twelve minutes, more than wait() gives by default.
constexpr std::chrono::hours kLongestRun{2};

Result<double> wall_seconds_of_run(Dispatcher& dispatcher, Recorder& recorder) {
    const auto before = std::chrono::steady_clock::now();
    YOLK_TRY(const Submission done, dispatcher.submit(recorder));
    YOLK_TRY_VOID(dispatcher.wait(done, kLongestRun));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

/// Recorded, run, and recorded again while the times that were seen give fewer submissions, as a training run would be
/// after some generations. The first run is the warm-up, too: drivers compile at the first dispatch.
Result<void> record_at_its_pace(Dispatcher& dispatcher, const std::function<void(Recorder&)>& record,
                                Recorder& recorder) {
    std::size_t before = std::numeric_limits<std::size_t>::max();
    for (bool fewer = true; fewer;) {
        recorder.begin();
        recorder.timestamp(0);
        record(recorder);
        recorder.timestamp(1);
        YOLK_TRY_VOID(wall_seconds_of_run(dispatcher, recorder));
        const std::size_t pieces = recorder.submission_count();
        fewer = pieces > 1 && pieces < before;
        before = pieces;
    }
    return {};
}

}  // namespace

bool is_enough(const std::vector<double>& runs, const RunBudget& budget) {
    const double seconds = std::accumulate(runs.begin(), runs.end(), 0.0);
    const bool ends = seconds >= budget.most_seconds || InterruptGuard::requested();
    return !runs.empty() && (ends || (runs.size() >= budget.fewest && seconds >= budget.seconds));
}

Spread::Spread(std::vector<double> values) {
    std::ranges::sort(values);
    low = values[values.size() / 4];
    median = values[values.size() / 2];
    high = values[values.size() * 3 / 4];
}

Result<TimedRuns> time_recording(Dispatcher& dispatcher, const std::function<void(Recorder&)>& record,
                                 const RunBudget& budget) {
    YOLK_TRY(Recorder recorder, Recorder::create(dispatcher.device(), {.timestamp_count = 2, .label = "bench"}));
    YOLK_TRY_VOID(record_at_its_pace(dispatcher, record, recorder));
    YOLK_TRY_VOID(ClockWarmUp(dispatcher.device(), dispatcher).wake());
    TimedRuns runs;
    bool has_timestamps = true;
    while (!is_enough(runs.wall, budget)) {
        YOLK_TRY(runs.wall.emplace_back(), wall_seconds_of_run(dispatcher, recorder));
        std::array<double, 2> nanoseconds{};
        const Result<void> read = recorder.read_timestamps(nanoseconds);
        if (!read && read.error().kind != ErrorKind::Unsupported) return read.error();
        has_timestamps = has_timestamps && read.has_value() && nanoseconds[1] > nanoseconds[0];
        runs.device.push_back((nanoseconds[1] - nanoseconds[0]) * 1e-9);
    }
    if (!has_timestamps) runs.device.clear();
    return runs;
}

Result<TimedRuns> time_calls(const std::function<Result<void>()>& run, const RunBudget& budget) {
    YOLK_TRY_VOID(run());
    TimedRuns runs;
    while (!is_enough(runs.wall, budget)) {
        const auto before = std::chrono::steady_clock::now();
        YOLK_TRY_VOID(run());
        runs.wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    }
    return runs;
}

}  // namespace yolk::cli
