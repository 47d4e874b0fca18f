// SPDX-License-Identifier: Apache-2.0
#include "pending_calls.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/foreign_code.hpp"

namespace yolk::hyper {
namespace {

std::atomic<Waiter> waiter_in_force{nullptr};

}  // namespace

void wait_for_host_calls_through(Waiter waiter) noexcept { waiter_in_force = waiter; }

/// Where the pool's threads leave results; they may outlive the one that asked.
struct PendingCalls::Mailbox {
    std::mutex mutex{};
    std::condition_variable arrived{};
    std::vector<std::pair<std::size_t, Result<Value>>> letters{};
};

PendingCalls::PendingCalls(HostPool& pool) : pool_(pool), mailbox_(std::make_shared<Mailbox>()) {}

void PendingCalls::begin(HostTask task, Done done) {
    const std::size_t number = next_++;
    waiting_.emplace(number, std::move(done));
    pool_.start(std::move(task), [mailbox = mailbox_, number](Result<Value> result) {
        const std::lock_guard lock(mailbox->mutex);
        mailbox->letters.emplace_back(number, std::move(result));
        mailbox->arrived.notify_one();
    });
}

void PendingCalls::receive(bool wait) {
    const auto until_one_is_there = [this] {
        std::unique_lock lock(mailbox_->mutex);
        mailbox_->arrived.wait(lock, [this] { return !mailbox_->letters.empty(); });
    };
    if (wait && any()) {
        const Waiter waiter = waiter_in_force;
        waiter != nullptr ? waiter(until_one_is_there) : until_one_is_there();
    }
    std::vector<std::pair<std::size_t, Result<Value>>> letters;
    {
        const std::lock_guard lock(mailbox_->mutex);
        letters = std::exchange(mailbox_->letters, {});
    }
    for (auto& [number, result] : letters) {
        auto found = waiting_.extract(number);  // before the call: it may begin others
        found.mapped()(std::move(result));
    }
}

}  // namespace yolk::hyper
