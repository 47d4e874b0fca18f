// SPDX-License-Identifier: Apache-2.0
// What the pool's files and its tests share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host_statistics.hpp"
#include "models_in_force.hpp"
#include "yolk/internal/hyper/executor.hpp"

namespace yolk::hyper {

/// Before retry number `retry` (from 1) of call `call`: the back-off doubled with each retry, times a factor drawn from
/// [1/2, 1), so that calls that failed together do not come back together. At most an hour.
[[nodiscard]] std::chrono::nanoseconds retry_delay(const HostOptions& options, std::uint32_t retry, std::uint64_t call,
                                                   std::uint64_t seed);

/// The call in this thread; what it throws becomes an error.
[[nodiscard]] Result<Value> run_guarded(const HostFunction& function, const HostCall& call);

/// Calls that were given up and still run take memory and a thread each; beyond so many the pool makes no new ones.
[[nodiscard]] std::uint64_t most_abandoned(const HostPool::Options& options) noexcept;

/// One task and what is to be done with its result. Calls that were given up keep it alive.
struct HostJob {
    HostTask task;
    std::vector<float> owned{};  ///< the parameters, where the caller may not wait for the call
    std::string owned_text{};    ///< likewise
    std::vector<double> owned_numbers{};
    HostPool::Done done;
    ModelLayers models{};  ///< in force where it was submitted
    std::uint64_t number = 0;
    std::uint32_t attempts = 0;
};
using HostJobPtr = std::shared_ptr<HostJob>;
/// What the task points to is the job's own from here on. Once: a call may be reading it.
void own_parameters(HostJob& job);

struct HostAttempt {
    HostJobPtr job;
    std::chrono::steady_clock::time_point begun;
    std::uint64_t worker = 0;
    std::stop_source stop{};
    bool abandoned = false;
};
using HostAttemptPtr = std::shared_ptr<HostAttempt>;

/// The error that its caller sees: it names the function, the label, the number of attempts.
[[nodiscard]] Error final_error(const HostJob& job, Error error);

/// One mutex guards everything. Threads: workers, each runs one call at a time; one that keeps the time (deadlines and
/// back-off), started with the first function that needs it. Calls, stop requests and deliveries are made without the
/// mutex.
struct HostPool::Impl : std::enable_shared_from_this<HostPool::Impl> {
    using Clock = std::chrono::steady_clock;
    using Lock = std::unique_lock<std::mutex>;
    /// The jobs of one function. They hold it, so that its address stays its own.
    struct Lane {
        std::deque<HostJobPtr> waiting;
        std::uint32_t running = 0;
    };
    struct Delivery {
        HostJobPtr job;
        Result<Value> result;
    };

    explicit Impl(const Options& chosen) : options(chosen) {}

    const Options options;
    std::mutex mutex;
    std::condition_variable work;      ///< for workers
    std::condition_variable time;      ///< for the time keeper
    std::condition_variable finished;  ///< for close()
    std::map<const HostFunction*, Lane> lanes;
    std::multimap<Clock::time_point, HostJobPtr> delayed;
    std::set<HostAttemptPtr> running;
    std::set<std::pair<Clock::time_point, HostAttemptPtr>> deadlines;
    Clock::time_point asked_to_stop{};  ///< when a stop request was first seen; the epoch: there is none
    std::map<std::uint64_t, std::thread> workers;
    std::thread keeper;
    std::vector<Delivery> outbox;  ///< results that are final; flush() hands them out
    std::map<std::string, HostCounters> counters;
    std::size_t idle = 0;  ///< workers that wait, or have been started and not begun
    std::uint64_t next_worker = 0;
    std::uint64_t next_job = 0;
    std::uint64_t abandoned = 0;
    bool closing = false;
    bool keeper_stops = false;

    [[nodiscard]] std::uint32_t limit(const HostFunction& function) const {
        const std::uint32_t own = function.options.max_concurrency;
        return own == 0 ? options.threads : std::min(own, options.threads);
    }

    void submit(std::vector<HostJobPtr> jobs);
    void close();

   private:
    void flush(Lock& lock);
    void provide();
    bool start_worker();
    bool start_keeper();
    [[nodiscard]] HostJobPtr pick();
    [[nodiscard]] HostAttemptPtr begin(const HostJobPtr& job, std::uint64_t worker);
    void settle(const HostAttemptPtr& attempt, Result<Value> result, HostOutcome outcome);
    void work_loop(std::uint64_t id);
    void time_loop();
    [[nodiscard]] std::vector<std::stop_source> advance(Clock::time_point now);
    void give_up_at_stop(Clock::time_point now, std::vector<std::stop_source>& stops);
    void give_up(const HostAttemptPtr& attempt, Error error, HostOutcome outcome, std::vector<std::stop_source>& stops);
};

}  // namespace yolk::hyper
