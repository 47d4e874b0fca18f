// SPDX-License-Identifier: Apache-2.0
// A search written from its own point of view: "measure this, then decide". A coroutine turns it into ask and tell.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "yolk/internal/autotune/strategy.hpp"

namespace yolk::autotune {

/// The coroutine's handle; destroys it.
class Walk {
   public:
    struct promise_type {
        Walk get_return_object() { return Walk(std::coroutine_handle<promise_type>::from_promise(*this)); }
        static std::suspend_always initial_suspend() noexcept { return {}; }
        static std::suspend_always final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }
    };
    explicit Walk(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
    Walk(Walk&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Walk& operator=(Walk&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    ~Walk() {
        if (handle_) handle_.destroy();
    }
    /// Runs to the next measurement that is needed, or to the end.
    void resume() {
        if (handle_ && !handle_.done()) handle_.resume();
    }

   private:
    std::coroutine_handle<promise_type> handle_;
};

/// `co_await measure(candidate)` gives its cost: at once where it is known, else after it has been asked for and told.
class WalkStrategy : public Strategy {
   public:
    explicit WalkStrategy(StrategyContext context) : context_(std::move(context)) {}

    [[nodiscard]] std::optional<std::size_t> propose() final {
        if (stuck_) return std::nullopt;
        if (!walk_) walk_.emplace(run());
        // Asked again where another candidate was told in between: the walk still waits for this one.
        if (pending_ && !history().known(*pending_)) return pending_;
        pending_.reset();
        visits_ = 0;
        walk_->resume();
        return pending_;
    }

   protected:
    [[nodiscard]] virtual Walk run() = 0;

    struct Measuring {
        WalkStrategy* strategy;
        std::size_t candidate;
        [[nodiscard]] bool await_ready() const noexcept {
            return strategy->history().known(candidate) && ++strategy->visits_ <= kMostVisits;
        }
        void await_suspend(std::coroutine_handle<> /*walk*/) const noexcept {
            strategy->stuck_ = strategy->history().known(candidate);
            if (!strategy->stuck_) strategy->pending_ = candidate;
        }
        [[nodiscard]] double await_resume() const noexcept { return strategy->history().cost(candidate); }
    };
    [[nodiscard]] Measuring measure(std::size_t candidate) noexcept { return {this, candidate}; }

    [[nodiscard]] const CandidateSet& candidates() const noexcept { return *context_.candidates; }
    [[nodiscard]] const History& history() const noexcept { return *context_.history; }
    [[nodiscard]] const StrategyContext& context() const noexcept { return context_; }
    [[nodiscard]] Random& random() noexcept { return context_.random; }
    [[nodiscard]] std::size_t any() noexcept { return random().below(candidates().size()); }

   private:
    /// Known candidates in a row, after which the walk has nothing new to find: the tuner goes on by itself.
    static constexpr std::size_t kMostVisits = 20000;

    StrategyContext context_;
    std::optional<Walk> walk_;
    std::optional<std::size_t> pending_;
    mutable std::size_t visits_ = 0;
    bool stuck_ = false;
};

}  // namespace yolk::autotune
