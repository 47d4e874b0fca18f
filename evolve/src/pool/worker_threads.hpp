// SPDX-License-Identifier: Apache-2.0
// A thread per worker, which waits for work: devices are used from their own thread, and none is started in a
// generation.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace yolk::evolve {

class WorkerThreads {
   public:
    explicit WorkerThreads(std::size_t count);
    /// Calls work(worker) on the threads of these workers, and waits for all. One caller at a time.
    void run(const std::vector<std::size_t>& workers, const std::function<void(std::size_t)>& work);

   private:
    void loop(const std::stop_token& stop, std::size_t worker);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<bool> is_due_;
    const std::function<void(std::size_t)>* work_ = nullptr;
    std::size_t running_ = 0;
    std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace yolk::evolve
