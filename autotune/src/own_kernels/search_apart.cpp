// SPDX-License-Identifier: Apache-2.0
// The caller's side of a worker's search.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "search_messages.hpp"
#include "user_kernel_search.hpp"
#include "yolk/internal/autotune/search_task.hpp"
#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/wait_notice.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

// Beside what a driver's threads take for their stacks and arenas, and the copies of buffers of proofs and sets.
constexpr std::uint64_t kMemoryBytes = std::uint64_t{6} << 30U;
constexpr std::uint64_t kBytesPerThread = std::uint64_t{128} << 20U;
constexpr double kCopies = 24.0;
constexpr std::chrono::seconds kSlack{60};

/// What a worker does and since when, which a thread of its own tells where it takes long.
class WorkerStage {
   public:
    WorkerStage(std::string who, std::chrono::nanoseconds limit) : who_(std::move(who)), limit_(limit) {}
    void is(std::string stage) {
        const std::lock_guard lock(mutex_);
        stage_ = std::move(stage);
        begun_ = KernelClock::now();
        ++number_;
    }
    [[nodiscard]] std::string text() const {
        const std::lock_guard lock(mutex_);
        return stage_;
    }
    void watch(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        for (std::uint64_t seen = number_; !stop.stop_requested(); seen = number_) {
            WaitNotice notice([this] { return fmt::format("{}, which is {},", who_, stage_); }, limit_);
            while (seen == number_ && !stop.stop_requested()) {
                notice.look(KernelClock::now() - begun_);
                ended_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
            }
        }
    }

   private:
    std::string who_;
    std::chrono::nanoseconds limit_;
    mutable std::mutex mutex_;
    std::condition_variable_any ended_;
    std::string stage_;  ///< guarded by the mutex, and so are the others
    KernelClock::time_point begun_ = KernelClock::now();
    std::uint64_t number_ = 0;
};

/// The search over all its workers.
class SearchApart {
   public:
    SearchApart(const UserKernelTuning& run, const DeviceInfo& info)
        : run_(run),
          info_(info),
          stage_(fmt::format("the worker that tunes '{}' on '{}'", shown(run.kernel.files().shader), shown(info.name)),
                 silence()) {}

    Result<TuneLiveOutcome> search() {
        for (int lost = 0;;) {
            Result<WorkerAnswer> answer = call();
            if (run_.options.ended) run_.options.ended();
            if (answer && !answer->failure) return finished(answer->last);
            if (answer) {
                YOLK_TRY_VOID(quarantine(*answer->failure));
            } else {
                // The worker has quarantined what took its device, unless that was the reference.
                const bool by_reference = stage_.text() == kRunsReference;
                if (answer.error().kind != ErrorKind::DeviceLost || by_reference || ++lost > kMostLostDevices)
                    return answer.error();
                ++measured_;
                ++rejected_;
                log_warning(fmt::format("A configuration lost the device and is quarantined; the search continues. {}",
                                        answer.error().message));
            }
            const bool stopped = run_.options.goes_on && !run_.options.goes_on();
            if (stopped || stopped_ || KernelClock::now() >= run_.end) return unfinished(stopped || stopped_);
        }
    }

   private:
    Result<WorkerAnswer> call() {
        measured_here_ = rejected_here_ = 0;
        stage_.is("opening the device");
        const std::chrono::duration<double> left = std::max(run_.end - KernelClock::now(), KernelClock::duration(1));
        const SearchRequest request{.files = run_.kernel.files(),
                                    .table = run_.file.path(),
                                    .kernel = run_.key.shape.variant,
                                    .device_index = info_.index,
                                    .device_uuid = info_.uuid,
                                    .device_name = info_.name,
                                    .strategy = run_.options.strategy,
                                    .budget = run_.options.budget,
                                    .seed = run_.options.seed,
                                    .again = run_.options.again && !begun_,
                                    .seconds = left.count(),
                                    .hang_milliseconds = run_.options.hang_limit.count()};
        const std::jthread watch([this](const std::stop_token& stop) { stage_.watch(stop); });
        Result<WorkerAnswer> answer = call_worker(kSearchTask, message_of(request), limits(left), {},
                                                  [this](const WorkerMessage& asked) { return reply(asked); });
        begun_ = true;
        measured_ += measured_here_;
        rejected_ += rejected_here_;
        return answer;
    }

    [[nodiscard]] std::chrono::milliseconds hang_limit() const {
        return run_.options.hang_limit.count() > 0
                   ? run_.options.hang_limit
                   : std::chrono::duration_cast<std::chrono::milliseconds>(DispatcherOptions{}.hang_limit);
    }
    [[nodiscard]] std::chrono::milliseconds silence() const { return 3 * hang_limit() + kSlack; }

    [[nodiscard]] WorkerLimits limits(std::chrono::duration<double> left) const {
        const double buffers = kCopies * run_.kernel.buffer_bytes().all;
        return {.memory_bytes = kMemoryBytes + kBytesPerThread * std::thread::hardware_concurrency() +
                                static_cast<std::uint64_t>(buffers),
                .time = std::chrono::ceil<std::chrono::milliseconds>(left) + 2 * hang_limit() + kSlack,
                .silence = silence(),
                .writes_files = true};
    }

    Result<WorkerMessage> reply(const WorkerMessage& asked) {
        if (asked.size() == 2 && asked.front() == kStage) {
            stage_.is(asked.back());
            return WorkerMessage{std::string(kGoOn)};
        }
        YOLK_TRY(LiveProgress progress, live_progress(asked));
        stage_.is("searching");
        ++measured_here_;
        rejected_here_ = progress.rejected;
        progress.rejected += rejected_;
        const bool goes_on =
            !run_.options.progress || run_.options.progress(shape_text(run_.key.family, run_.key.shape), progress);
        stopped_ = stopped_ || !goes_on;
        return WorkerMessage{std::string(goes_on ? kGoOn : kEnd)};
    }

    /// What the worker was running when it ended; an error where that was no configuration.
    Result<void> quarantine(const WorkerFailure& failure) {
        const KnownEnd end{.key = run_.key, .reason = fmt::format("The worker that ran it {}.", failure.how)};
        YOLK_TRY(const std::size_t count, recover_journals(run_.file, &end));
        if (count == 0)
            return Error{ErrorKind::Failed,
                         fmt::format("The worker that tunes '{}' on '{}' {}, while {}.",
                                     shown(run_.kernel.files().shader), shown(info_.name), failure.how, stage_.text())};
        ++measured_;
        ++rejected_;
        return {};
    }

    Result<TuneLiveOutcome> finished(const WorkerMessage& message) const {
        YOLK_TRY(TuneLiveOutcome outcome, live_outcome(message, run_.key));
        // measured_ has those of the last worker, too.
        outcome.rejected += rejected_ - rejected_here_;
        outcome.measured += measured_ - measured_here_;
        return outcome;
    }
    [[nodiscard]] TuneLiveOutcome unfinished(bool interrupted) const {
        TuneLiveOutcome outcome;
        outcome.choice.key = run_.key;
        outcome.interrupted = interrupted;
        outcome.measured = measured_;
        outcome.rejected = rejected_;
        return outcome;
    }

    const UserKernelTuning& run_;
    const DeviceInfo& info_;
    WorkerStage stage_;
    std::size_t measured_ = 0, rejected_ = 0;            ///< by all workers
    std::size_t measured_here_ = 0, rejected_here_ = 0;  ///< by the last one
    bool begun_ = false;                                 ///< what earlier runs measured is believed from then on
    bool stopped_ = false;
};

}  // namespace

Result<TuneLiveOutcome> search_apart(const UserKernelTuning& run, const DeviceInfo& info) {
    return SearchApart(run, info).search();
}

}  // namespace yolk::autotune
