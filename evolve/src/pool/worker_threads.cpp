// SPDX-License-Identifier: Apache-2.0
#include "worker_threads.hpp"

namespace yolk::evolve {

WorkerThreads::WorkerThreads(std::size_t count) : is_due_(count, false) {
    for (std::size_t worker = 0; worker < count; ++worker)
        threads_.emplace_back([this, worker](const std::stop_token& stop) { loop(stop, worker); });
}

void WorkerThreads::loop(const std::stop_token& stop, std::size_t worker) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return is_due_[worker]; })) {
        is_due_[worker] = false;
        const std::function<void(std::size_t)>& work = *work_;
        lock.unlock();
        work(worker);
        lock.lock();
        if (--running_ == 0) changed_.notify_all();
    }
}

void WorkerThreads::run(const std::vector<std::size_t>& workers, const std::function<void(std::size_t)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    running_ = workers.size();
    for (const std::size_t worker : workers) is_due_[worker] = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ == 0; });
}

}  // namespace yolk::evolve
