// SPDX-License-Identifier: Apache-2.0
// Compilation as the commands see it: a person who waits is told why, and a signal keeps the next kernel from being
// compiled.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "options.hpp"
#include "yolk/device.hpp"

namespace yolk::cli {

/// Says once, on standard error, that kernels are being compiled, when that has taken two seconds. Thread-safe.
class CompileNotice final : public CompileWatch {
   public:
    /// `device`: its name. Not `told`: nothing is said.
    CompileNotice(std::string device, bool told) : device_(std::move(device)), told_(told) {}
    ~CompileNotice() override;
    [[nodiscard]] bool begins(std::string_view kernel) override;
    void ended() override;

    /// From here to first_result() two seconds without compilation are told, too: drivers that put it off to the first
    /// run of a kernel cannot be watched.
    void await_first_result(std::string what);
    void first_result() noexcept;

   private:
    using Clock = std::chrono::steady_clock;
    void start_thread();
    void watch();
    [[nodiscard]] Clock::time_point deadline() const;

    const std::string device_;
    const bool told_;
    std::mutex mutex_;  ///< of everything below
    std::condition_variable changed_;
    std::thread thread_;
    std::string awaited_;  ///< what the first result is of; empty: nothing is awaited
    Clock::time_point since_{};
    Clock::duration compiled_{0};
    int compiling_ = 0;
    bool ends_ = false;
};

/// Makes one for the device, unless the flags ask for quiet.
std::shared_ptr<CompileNotice> watch_compilation(const Device& device, const CommonFlags& flags);

}  // namespace yolk::cli
