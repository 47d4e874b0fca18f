// SPDX-License-Identifier: Apache-2.0
// One call of a host function, and the public face of the pool; host_schedule.cpp decides what runs when.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>

#include "equations.hpp"
#include "host_pool.hpp"
#include "yolk/internal/core/philox.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kMostThreads = 4096;

}  // namespace

Error final_error(const HostJob& job, Error error) {
    if (job.task.function->name.empty()) return error;  // it says by itself where it comes from
    const std::string& label = job.task.label;
    error.message =
        fmt::format("{}{}: {}{}", described(*job.task.function), label.empty() ? "" : fmt::format(" ({})", label),
                    error.message, job.attempts > 1 ? fmt::format(" ({} attempts.)", job.attempts) : "");
    return error;
}

std::chrono::nanoseconds retry_delay(const HostOptions& options, std::uint32_t retry, std::uint64_t call,
                                     std::uint64_t seed) {
    const PhiloxCounter words =
        philox4x32({static_cast<std::uint32_t>(call), static_cast<std::uint32_t>(call >> 32), retry, 0},
                   {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const double factor = 0.5 + 0.5 * (static_cast<double>(words[0]) * 0x1p-32);
    const double doubled = std::ldexp(static_cast<double>(std::max<std::int64_t>(options.backoff.count(), 0)) * 1e6,
                                      static_cast<int>(std::min(retry, 64U)) - 1);
    const double hour = std::chrono::duration<double, std::nano>(std::chrono::hours(1)).count();
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(doubled, hour) * factor));
}

Result<Value> run_guarded(const HostFunction& function, const HostCall& call) {
    try {
        return function.run(call);
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::OutOfMemory, "it ran out of host memory."};
    } catch (const std::exception& thrown) {
        return bad_input("it threw an exception: {}", thrown.what());
    } catch (...) {
        return bad_input("it threw something that is not a std::exception.");
    }
}

void own_parameters(HostJob& job) {
    job.owned.assign(job.task.parameters.begin(), job.task.parameters.end());
    job.task.parameters = job.owned;
    job.owned_text = job.task.text;
    job.task.text = job.owned_text;
    job.owned_numbers.assign(job.task.numbers.begin(), job.task.numbers.end());
    job.task.numbers = job.owned_numbers;
}

std::uint64_t most_abandoned(const HostPool::Options& options) noexcept {
    return std::max<std::uint64_t>(64, std::uint64_t{4} * options.threads);
}

HostPool::HostPool(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostPool::HostPool(HostPool&&) noexcept = default;

HostPool& HostPool::operator=(HostPool&& other) noexcept {
    if (this == &other) return *this;
    if (impl_ != nullptr) impl_->close();
    impl_ = std::move(other.impl_);
    return *this;
}

HostPool::~HostPool() {
    if (impl_ != nullptr) impl_->close();
}

Result<HostPool> HostPool::create(const Options& options) {
    if (options.threads == 0 || options.threads > kMostThreads) {
        return bad_input("A pool of {} threads was asked for; give 1 to {}.", options.threads, kMostThreads);
    }
    return HostPool(std::make_shared<Impl>(options));
}

std::vector<Result<Value>> HostPool::run_all(std::span<const HostTask> tasks) {
    struct Batch {
        std::mutex mutex;
        std::condition_variable finished;
        std::vector<Result<Value>> results;
        std::size_t open = 0;
    };
    if (tasks.empty()) return {};
    auto batch = std::make_shared<Batch>();
    batch->results.resize(tasks.size(), Value());
    batch->open = tasks.size();
    std::vector<HostJobPtr> jobs;
    jobs.reserve(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        jobs.push_back(std::make_shared<HostJob>(HostJob{.task = tasks[i], .done = [batch, i](Result<Value> result) {
                                                             const std::lock_guard lock(batch->mutex);
                                                             batch->results[i] = std::move(result);
                                                             if (--batch->open == 0) batch->finished.notify_all();
                                                         }}));
    }
    impl_->submit(std::move(jobs));
    std::unique_lock lock(batch->mutex);
    batch->finished.wait(lock, [&batch] { return batch->open == 0; });
    return std::move(batch->results);
}

void HostPool::start(HostTask task, Done done) {
    auto job = std::make_shared<HostJob>(HostJob{.task = std::move(task), .done = std::move(done)});
    own_parameters(*job);
    impl_->submit({std::move(job)});
}

std::future<Result<Value>> HostPool::run(HostTask task) {
    auto promise = std::make_shared<std::promise<Result<Value>>>();
    std::future<Result<Value>> future = promise->get_future();
    start(std::move(task), [promise](Result<Value> result) { promise->set_value(std::move(result)); });
    return future;
}

std::vector<HostStatistics> HostPool::statistics() const {
    const std::lock_guard lock(impl_->mutex);
    std::vector<HostStatistics> all;
    for (const auto& [name, counted] : impl_->counters) all.push_back(counted.statistics(name));
    return all;
}

std::uint64_t HostPool::abandoned() const noexcept {
    const std::lock_guard lock(impl_->mutex);
    return impl_->abandoned;
}

}  // namespace yolk::hyper
