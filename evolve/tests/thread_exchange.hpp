// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process: what they exchange goes through memory.
#pragma once

#include <barrier>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "yolk/evolve/exchange.hpp"

namespace yolk::evolve {

class ThreadExchange final : public Exchange {
   public:
    struct Shared {
        explicit Shared(std::uint32_t ranks) : meeting(static_cast<std::ptrdiff_t>(ranks)), given(ranks) {}
        std::barrier<> meeting;
        std::vector<std::vector<std::byte>> given;
    };
    ThreadExchange(Shared& shared, std::uint32_t rank) : shared_(&shared), rank_(rank) {}
    [[nodiscard]] std::uint32_t rank() const noexcept override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const noexcept override {
        return static_cast<std::uint32_t>(shared_->given.size());
    }

   private:
    [[nodiscard]] Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> mine) override {
        shared_->given[rank_].assign(mine.begin(), mine.end());
        shared_->meeting.arrive_and_wait();
        std::vector<std::vector<std::byte>> all = shared_->given;
        shared_->meeting.arrive_and_wait();
        return all;
    }
    Shared* shared_;
    std::uint32_t rank_;
};

/// Calls `work` on `ranks` ranks at once, each on its thread.
inline void on_ranks(std::uint32_t ranks, const std::function<void(Exchange& exchange)>& work) {
    ThreadExchange::Shared shared(ranks);
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&work, &shared, rank] {
            ThreadExchange exchange(shared, rank);
            work(exchange);
        });
    }
}

}  // namespace yolk::evolve
