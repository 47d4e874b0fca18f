// SPDX-License-Identifier: Apache-2.0
#include "kernel_timing.hpp"

#include <array>
#include <optional>

#include "yolk/internal/oracle/guarded.hpp"

namespace yolk::cli {
namespace {

constexpr std::size_t kFinalRounds = 7;

/// A configuration that is ready to run again and again.
struct Prepared {
    BoundProblem bound;
    std::optional<Recorder> recorder;
};

Result<Prepared> prepare_kernel(const ProblemOnDevice& on, const Configuration& configuration) {
    Prepared ready;
    YOLK_TRY(ready.bound, bind_problem(on.device, on.problem, on.filled, configuration));
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.timestamp_count = 2, .label = "bench kernel"}));
    recorder.begin();
    recorder.timestamp(0);
    ready.bound.record(recorder);
    recorder.timestamp(1);
    ready.recorder = std::move(recorder);
    return ready;
}

Result<double> time_run(const ProblemOnDevice& on, Prepared& ready) {
    YOLK_TRY_VOID(on.dispatcher.run(*ready.recorder));
    std::array<double, 2> nanoseconds{};
    YOLK_TRY_VOID(ready.recorder->read_timestamps(nanoseconds));
    return (nanoseconds[1] - nanoseconds[0]) * 1e-9;
}

/// What is wrong with a configuration's results, by twin and oracle, from each poison as `yolk check` has it; empty
/// where they are right.
Result<std::string> find_wrong(const ProblemOnDevice& on, const Configuration& configuration) {
    const oracle::CheckContext context{.device = on.device, .dispatcher = on.dispatcher};
    for (std::size_t poison = 0; poison < oracle::kPoisons.size(); ++poison) {
        YOLK_TRY(const oracle::CheckReport report, on.proof.prove(context, configuration, poison));
        if (!report.passed()) return report.failures.front();
    }
    return std::string();
}

/// The first run of a pipeline compiles it on CPU drivers, so it is not counted.
Result<double> time_once(const ProblemOnDevice& on, const Configuration& configuration) {
    YOLK_TRY(Prepared ready, prepare_kernel(on, configuration));
    YOLK_TRY_VOID(on.warm_up.wake());
    YOLK_TRY_VOID(on.dispatcher.run(*ready.recorder));
    return time_run(on, ready);
}

}  // namespace

Result<FilledBuffers> fill_buffers(Dispatcher& dispatcher, std::span<const oracle::ProblemBuffer> wanted) {
    FilledBuffers filled;
    filled.buffers.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].size_bytes == 0) continue;
        YOLK_TRY(filled.buffers[i],
                 dispatcher.device().create_buffer({.size_bytes = wanted[i].size_bytes, .label = wanted[i].name}));
        if (!wanted[i].contents.empty()) YOLK_TRY_VOID(dispatcher.upload(filled.buffers[i], wanted[i].contents));
    }
    for (const Buffer& buffer : filled.buffers)
        filled.views.push_back(buffer.impl() == nullptr ? BufferView{} : BufferView(buffer));
    return filled;
}

Result<BoundProblem> bind_problem(const Device& device, const oracle::Problem& problem, const FilledBuffers& filled,
                                  const Configuration& configuration) {
    BoundProblem bound;
    YOLK_TRY(bound.plan, problem.plan(device, configuration));
    const std::uint64_t scratch_bytes = bound.plan->scratch().size_bytes;
    if (scratch_bytes != 0) {
        YOLK_TRY(bound.scratch, device.create_buffer({.size_bytes = scratch_bytes, .label = "scratch"}));
    }
    YOLK_TRY(bound.record,
             bound.plan->bind(filled.views, scratch_bytes == 0 ? BufferView{} : BufferView(bound.scratch)));
    return bound;
}

Measured prove_and_time(const ProblemOnDevice& on, const Configuration& configuration) {
    Measured measured{.configuration = configuration, .seconds = {}, .dispatches = 0, .error = {}, .wrong = {}};
    Result<std::string> wrong = find_wrong(on, configuration);
    if (wrong) {
        measured.wrong = *std::move(wrong);
    } else {
        measured.error = wrong.error().message;
    }
    if (!measured.timed()) return measured;
    const Result<double> seconds = time_once(on, configuration);
    if (!seconds) {
        measured.error = seconds.error().message;
    } else if (!(*seconds > 0.0)) {
        measured.error = "It took no time by the device's clock; give a larger problem.";
    } else {
        measured.seconds.push_back(*seconds);
    }
    return measured;
}

Result<void> run_finals(const ProblemOnDevice& on, std::span<Measured* const> finalists) {
    std::vector<Prepared> ready;
    for (Measured* measured : finalists) {
        measured->seconds.clear();
        YOLK_TRY(Prepared prepared, prepare_kernel(on, measured->configuration));
        YOLK_TRY_VOID(on.dispatcher.run(*prepared.recorder));
        measured->dispatches = prepared.recorder->dispatch_count();
        ready.push_back(std::move(prepared));
    }
    YOLK_TRY_VOID(on.warm_up.wake());
    for (std::size_t round = 0; round < kFinalRounds; ++round) {
        for (std::size_t i = 0; i < ready.size(); ++i) {
            YOLK_TRY(const double seconds, time_run(on, ready[i]));
            finalists[i]->seconds.push_back(seconds);
        }
    }
    return {};
}

}  // namespace yolk::cli
