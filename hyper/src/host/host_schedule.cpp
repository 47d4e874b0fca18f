// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "host_pool.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"
#include "yolk/stop.hpp"

namespace yolk::hyper {
namespace {

Error timeout_error(const HostOptions& options) {
    return io_error(fmt::format("no result within {} ms; it was asked to stop and is waited for no longer. Raise its "
                                "time-out, or let it look at its stop token.",
                                options.timeout.count()),
                    ETIMEDOUT);
}

/// A function may notice by itself that it takes too long.
HostOutcome outcome_of(const Result<Value>& result) {
    if (result) return HostOutcome::Result;
    const Error& error = result.error();
    return error.kind == ErrorKind::Io && error.native == ETIMEDOUT ? HostOutcome::Timeout : HostOutcome::Error;
}

std::atomic<std::chrono::milliseconds> stop_grace{};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
constexpr std::chrono::milliseconds kBetweenLooks{50};

bool needs_the_time(const HostOptions& options) {
    return options.timeout.count() > 0 || options.retries > 0 || stop_grace.load().count() > 0;
}

/// A call that may be given up outlives what its caller has.
void own_once(HostJob& job) {
    if (job.owned.empty() && job.owned_text.empty()) own_parameters(job);
}

}  // namespace

void give_up_host_calls_after(std::chrono::milliseconds grace) noexcept { stop_grace = grace; }

/// Hands out what is final, without the mutex.
void HostPool::Impl::flush(Lock& lock) {
    while (!outbox.empty()) {
        std::vector<Delivery> ready = std::move(outbox);
        outbox.clear();
        lock.unlock();
        for (Delivery& delivery : ready) delivery.job->done(std::move(delivery.result));
        ready.clear();
        lock.lock();
    }
}

bool HostPool::Impl::start_worker() {
    const std::uint64_t id = next_worker;
    try {
        workers.emplace(id, std::thread([self = shared_from_this(), id] { self->work_loop(id); }));
    } catch (const std::system_error&) {
        return false;
    }
    ++next_worker;
    ++idle;
    return true;
}

/// Wakes or starts as many workers as can run now. Where not a single thread can be had, what waits fails.
void HostPool::Impl::provide() {
    std::size_t runnable = 0;
    for (const auto& [function, lane] : lanes) {
        runnable += std::min<std::size_t>(lane.waiting.size(), limit(*function) - lane.running);
    }
    bool started = true;
    while (started && idle < runnable && workers.size() < options.threads) started = start_worker();
    if (started || !workers.empty()) {
        for (std::size_t i = 0; i < std::min(runnable, idle); ++i) work.notify_one();
        return;
    }
    for (auto& [function, lane] : lanes) {
        for (const HostJobPtr& job : lane.waiting) {
            outbox.push_back({job, final_error(*job, io_error("no thread could be started for it.", EAGAIN))});
        }
        lane.waiting.clear();
    }
}

bool HostPool::Impl::start_keeper() {
    if (keeper.joinable()) return true;
    try {
        keeper = std::thread([self = shared_from_this()] { self->time_loop(); });
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

void HostPool::Impl::submit(std::vector<HostJobPtr> jobs) {
    Lock lock(mutex);
    for (HostJobPtr& job : jobs) {
        if (job->task.function == nullptr || !job->task.function->run) {
            const std::string label = job->task.label;
            outbox.push_back(
                {std::move(job), bad_input("A task{} has no host function.", label.empty() ? "" : " (" + label + ")")});
            continue;
        }
        job->number = next_job++;
        job->models = models_in_force();
        if (needs_the_time(job->task.function->options) && !start_keeper()) {
            outbox.push_back({job, final_error(*job, io_error("no thread could be started for it.", EAGAIN))});
            continue;
        }
        const HostFunction* const function = job->task.function.get();
        lanes[function].waiting.push_back(std::move(job));
    }
    provide();
    flush(lock);
}

/// The oldest job whose function may run once more; null for none.
HostJobPtr HostPool::Impl::pick() {
    auto chosen = lanes.end();
    for (auto lane = lanes.begin(); lane != lanes.end(); ++lane) {
        if (lane->second.waiting.empty() || lane->second.running >= limit(*lane->first)) continue;
        if (chosen == lanes.end() || lane->second.waiting.front()->number < chosen->second.waiting.front()->number) {
            chosen = lane;
        }
    }
    if (chosen == lanes.end()) return nullptr;
    HostJobPtr job = std::move(chosen->second.waiting.front());
    chosen->second.waiting.pop_front();
    ++chosen->second.running;
    return job;
}

HostAttemptPtr HostPool::Impl::begin(const HostJobPtr& job, std::uint64_t worker) {
    auto attempt = std::make_shared<HostAttempt>();
    attempt->job = job;
    attempt->begun = Clock::now();
    attempt->worker = worker;
    running.insert(attempt);
    ++job->attempts;
    const std::chrono::milliseconds timeout = job->task.function->options.timeout;
    if (timeout.count() > 0) {
        deadlines.emplace(attempt->begun + timeout, attempt);
    }
    if (timeout.count() > 0 || stop_grace.load().count() > 0) own_once(*job);
    if (timeout.count() > 0 || running.size() == 1) time.notify_one();
    return attempt;
}

/// A call has ended or was given up: it frees its place; its job has its result, or comes back later.
void HostPool::Impl::settle(const HostAttemptPtr& attempt, Result<Value> result, HostOutcome outcome) {
    const HostJobPtr job = attempt->job;
    const HostFunction& function = *job->task.function;
    const Clock::time_point now = Clock::now();
    running.erase(attempt);
    if (function.options.timeout.count() > 0) deadlines.erase({attempt->begun + function.options.timeout, attempt});
    const auto lane = lanes.find(&function);
    --lane->second.running;
    const bool counts = !function.name.empty();
    if (counts) counters[function.name].add(outcome, std::chrono::duration<double>(now - attempt->begun).count());
    const bool was_ended = !result && result.error().kind == ErrorKind::Cancelled;
    if (!result && !closing && !was_ended && job->attempts <= function.options.retries) {
        if (counts) ++counters[function.name].retries;
        delayed.emplace(now + retry_delay(function.options, job->attempts, job->number, options.seed), job);
        time.notify_one();
    } else {
        if (!result) result = final_error(*job, std::move(result).error());
        outbox.push_back({job, std::move(result)});
    }
    if (lane->second.waiting.empty() && lane->second.running == 0) lanes.erase(lane);
    if (running.empty()) finished.notify_all();
}

void HostPool::Impl::work_loop(std::uint64_t id) {
    Lock lock(mutex);
    --idle;
    while (true) {
        const HostJobPtr job = pick();
        if (job == nullptr) {
            if (closing) return;
            ++idle;
            work.wait(lock);
            --idle;
            continue;
        }
        const HostAttemptPtr attempt = begin(job, id);
        if (abandoned >= most_abandoned(options)) {
            settle(attempt, bad_input("it was not called: {} calls that timed out have not returned yet.", abandoned),
                   HostOutcome::Error);
            flush(lock);
            continue;
        }
        const HostCall call{.parameters = job->task.parameters,
                            .operands = job->task.operands,
                            .stop = attempt->stop.get_token(),
                            .text = job->task.text,
                            .numbers = job->task.numbers};
        lock.unlock();
        Result<Value> result = [&] {
            const ModelScope models(job->models);
            return run_guarded(*job->task.function, call);
        }();
        lock.lock();
        if (attempt->abandoned) {
            --abandoned;
            return;  // another thread has taken its place
        }
        const HostOutcome outcome = outcome_of(result);
        settle(attempt, std::move(result), outcome);
        flush(lock);
    }
}

void HostPool::Impl::give_up(const HostAttemptPtr& attempt, Error error, HostOutcome outcome,
                             std::vector<std::stop_source>& stops) {
    attempt->abandoned = true;
    ++abandoned;
    const auto worker = workers.find(attempt->worker);
    worker->second.detach();
    workers.erase(worker);
    stops.push_back(attempt->stop);
    settle(attempt, std::move(error), outcome);
}

void HostPool::Impl::give_up_at_stop(Clock::time_point now, std::vector<std::stop_source>& stops) {
    const std::chrono::milliseconds grace = stop_grace;
    if (grace.count() == 0) return;
    if (!stop_requested()) {
        asked_to_stop = {};
        return;
    }
    if (asked_to_stop == Clock::time_point{}) asked_to_stop = now;
    const Error ended{
        ErrorKind::Cancelled,
        fmt::format("the work was asked to end; after {} ms calls are waited for no longer.", grace.count())};
    const std::size_t before = stops.size();
    const std::set<HostAttemptPtr> all = running;
    for (const HostAttemptPtr& attempt : all) {
        if (now - std::max(asked_to_stop, attempt->begun) >= grace) give_up(attempt, ended, HostOutcome::Error, stops);
    }
    if (stops.size() == before) return;
    // Those that wait would block as these did.
    for (auto& [function, lane] : lanes) {
        for (const HostJobPtr& job : lane.waiting) outbox.push_back({job, final_error(*job, ended)});
        lane.waiting.clear();
    }
    std::erase_if(lanes, [](const auto& each) { return each.second.running == 0; });
}

/// What is due: calls past their deadline are given up, delayed jobs wait in their lanes again.
std::vector<std::stop_source> HostPool::Impl::advance(Clock::time_point now) {
    std::vector<std::stop_source> stops;
    while (!deadlines.empty() && deadlines.begin()->first <= now) {
        const HostAttemptPtr attempt = deadlines.begin()->second;
        give_up(attempt, timeout_error(attempt->job->task.function->options), HostOutcome::Timeout, stops);
    }
    give_up_at_stop(now, stops);
    while (!delayed.empty() && delayed.begin()->first <= now) {
        const HostJobPtr job = delayed.begin()->second;
        delayed.erase(delayed.begin());
        lanes[job->task.function.get()].waiting.push_back(job);
    }
    return stops;
}

void HostPool::Impl::time_loop() {
    Lock lock(mutex);
    while (!keeper_stops) {
        std::vector<std::stop_source> stops = advance(Clock::now());
        provide();
        if (!stops.empty() || !outbox.empty()) {
            lock.unlock();
            for (std::stop_source& stop : stops) stop.request_stop();
            lock.lock();
            flush(lock);
            continue;
        }
        Clock::time_point next = Clock::time_point::max();
        if (!deadlines.empty()) next = deadlines.begin()->first;
        if (!delayed.empty()) next = std::min(next, delayed.begin()->first);
        if (!running.empty() && stop_grace.load().count() > 0) next = std::min(next, Clock::now() + kBetweenLooks);
        if (next == Clock::time_point::max()) {
            time.wait(lock);
        } else {
            time.wait_until(lock, next);
        }
    }
}

/// Calls that run are asked to stop and waited for, unless they were given up or are now; what waits fails.
void HostPool::Impl::close() {
    Lock lock(mutex);
    closing = true;
    std::vector<HostJobPtr> waiting;
    for (auto& [function, lane] : lanes) waiting.insert(waiting.end(), lane.waiting.begin(), lane.waiting.end());
    for (auto& [function, lane] : lanes) lane.waiting.clear();
    for (auto& [when, job] : delayed) waiting.push_back(job);
    delayed.clear();
    for (const HostJobPtr& job : waiting) {
        outbox.push_back({job, final_error(*job, bad_input("its pool was destroyed before it was called."))});
    }
    std::vector<std::stop_source> stops;
    for (const HostAttemptPtr& attempt : running) stops.push_back(attempt->stop);
    flush(lock);
    lock.unlock();
    for (std::stop_source& stop : stops) stop.request_stop();
    lock.lock();
    work.notify_all();
    finished.wait(lock, [this] { return running.empty(); });
    keeper_stops = true;
    time.notify_all();
    std::thread last_keeper = std::move(keeper);
    lock.unlock();
    if (last_keeper.joinable()) last_keeper.join();
    lock.lock();
    std::map<std::uint64_t, std::thread> last_workers = std::move(workers);
    workers.clear();
    lock.unlock();
    for (auto& [id, thread] : last_workers) thread.join();
}

}  // namespace yolk::hyper
