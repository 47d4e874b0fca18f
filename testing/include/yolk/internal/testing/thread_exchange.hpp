// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process: what they exchange goes through memory. The exchange is a parameter, because
// tests of modules below evolve use this library, too, and shall not have to build it.
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::testing {

struct ThreadMeeting {
    explicit ThreadMeeting(std::uint32_t ranks)
        : barrier(static_cast<std::ptrdiff_t>(ranks)), given(ranks), missing(ranks) {}
    std::barrier<> barrier;
    std::vector<std::vector<std::byte>> given;
    std::atomic<std::uint32_t> missing;  // the first rank that has left; the number of ranks: none
};

/// `Exchange`: yolk::evolve::Exchange. A rank that is destroyed has left, and the others' next exchange is an error
/// instead of waiting for it.
template <class Exchange>
class ThreadExchange final : public Exchange {
   public:
    ThreadExchange(ThreadMeeting& meeting, std::uint32_t rank) : meeting_(&meeting), rank_(rank) {}
    ~ThreadExchange() override {
        std::uint32_t none = ranks();
        meeting_->missing.compare_exchange_strong(none, rank_);
        meeting_->barrier.arrive_and_drop();
    }
    [[nodiscard]] std::uint32_t rank() const noexcept override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const noexcept override {
        return static_cast<std::uint32_t>(meeting_->given.size());
    }

   private:
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> mine) override {
        meeting_->given[rank_].assign(mine.begin(), mine.end());
        meeting_->barrier.arrive_and_wait();
        // All see the same here: ranks leave between exchanges only, which counts as arriving above.
        if (const std::uint32_t missing = meeting_->missing; missing != ranks())
            return failed_work("Rank {} has left.", missing);
        std::vector<std::vector<std::byte>> all = meeting_->given;
        meeting_->barrier.arrive_and_wait();
        return all;
    }
    ThreadMeeting* meeting_;
    std::uint32_t rank_;
};

/// Calls `work` on `ranks` ranks at once, each on its thread: on_ranks<evolve::Exchange>(2, [](auto& exchange) {}).
template <class Exchange>
void on_ranks(std::uint32_t ranks, const std::function<void(Exchange& exchange)>& work) {
    ThreadMeeting meeting(ranks);
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&work, &meeting, rank] {
            ThreadExchange<Exchange> exchange(meeting, rank);
            work(exchange);
        });
    }
}

}  // namespace yolk::testing
