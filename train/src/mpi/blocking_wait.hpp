// SPDX-License-Identifier: Apache-2.0
// Calls of MPI that block until all ranks have made them, and offer no way out: another thread looks at the clock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace yolk::train {

class BlockingWait {
   public:
    /// Once the time is over, `missing` names who has not come, and the process ends with exit code 1: nothing else
    /// ends the call. `missing` is called by another thread.
    BlockingWait(std::chrono::nanoseconds limit, std::function<std::string()> missing);
    ~BlockingWait();
    BlockingWait(const BlockingWait&) = delete;
    BlockingWait& operator=(const BlockingWait&) = delete;

   private:
    void watch();
    std::chrono::nanoseconds limit_;
    std::function<std::string()> missing_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace yolk::train
