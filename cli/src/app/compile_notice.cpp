// SPDX-License-Identifier: Apache-2.0
#include "compile_notice.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "interrupt.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

constexpr std::chrono::seconds kPatience{2};

}  // namespace

CompileNotice::~CompileNotice() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool CompileNotice::begins(std::string_view /*kernel*/) {
    if (InterruptGuard::gives_up()) return false;
    if (!told_) return true;
    const std::lock_guard lock(mutex_);
    if (compiling_++ == 0) since_ = Clock::now();
    start_thread();
    changed_.notify_all();
    return true;
}

void CompileNotice::ended() {
    if (!told_) return;
    const std::lock_guard lock(mutex_);
    if (--compiling_ > 0) return;
    const Clock::time_point now = Clock::now();
    compiled_ += now - std::exchange(since_, now);
    changed_.notify_all();
}

void CompileNotice::await_first_result(std::string what) {
    if (!told_) return;
    const std::lock_guard lock(mutex_);
    awaited_ = std::move(what);
    if (compiling_ == 0) since_ = Clock::now();
    start_thread();
    changed_.notify_all();
}

void CompileNotice::first_result() noexcept {
    const std::lock_guard lock(mutex_);
    awaited_.clear();
    changed_.notify_all();
}

/// The caller holds the mutex.
void CompileNotice::start_thread() {
    if (thread_.joinable()) return;
    try {
        thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {  // without a thread nothing is told
        ends_ = true;
    }
}

/// When there is something to tell, as things are. The caller holds the mutex.
CompileNotice::Clock::time_point CompileNotice::deadline() const {
    if (compiling_ > 0) return since_ + (kPatience - compiled_);
    return awaited_.empty() ? Clock::time_point::max() : since_ + kPatience;
}

void CompileNotice::watch() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
        const Clock::time_point until = deadline();
        if (Clock::now() < until) {
            if (until == Clock::time_point::max()) {
                changed_.wait(lock);
            } else {
                changed_.wait_until(lock, until);
            }
            continue;
        }
        if (compiling_ > 0) {
            log_info(fmt::format("The driver of {} is compiling kernels; later runs find them in the pipeline cache.",
                                 device_));
        } else {
            log_info(
                fmt::format("{} takes longer than two seconds. It is the first run of its kernels, which some drivers, "
                            "lavapipe among them, compile only now.",
                            awaited_));
        }
        return;
    }
}

std::shared_ptr<CompileNotice> watch_compilation(const Device& device, const CommonFlags& flags) {
    auto notice = std::make_shared<CompileNotice>(device.info().name, !flags.quiet);
    device.watch_compilation(notice);
    return notice;
}

}  // namespace yolk::cli
