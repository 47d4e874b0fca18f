// SPDX-License-Identifier: Apache-2.0
// The thread that drives all transfers of a client: turns, limits, retries, deadlines, the cache.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "endpoint.hpp"
#include "judge.hpp"
#include "rate_limit.hpp"
#include "yolk/internal/chat/cache.hpp"

namespace yolk::chat {

/// What a caller waits for. Ends once.
struct CallState {
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<Result<Answer>> result;  ///< under the mutex
    std::atomic<bool> cancel{false};

    void end(Result<Answer> with);
    [[nodiscard]] bool has_ended();
    [[nodiscard]] Result<Answer> wait();
};
using CallStatePtr = std::shared_ptr<CallState>;

/// A request that passed its checks.
struct Outgoing {
    std::string body;
    std::optional<Schema> schema;
    std::string identity;  ///< in the cache; empty: not cached
    bool refresh = false;
    double tokens = 0.0;  ///< estimated
};

class Driver {
   public:
    Driver(const ClientOptions& options, Endpoint endpoint, std::optional<AnswerCache> cache);
    ~Driver();  ///< cancels what has not ended
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    void start(Outgoing outgoing, CallStatePtr state);
    /// After a `cancel` was set.
    void look_for_cancelled() noexcept;
    [[nodiscard]] CallCounts counts() const;
    [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }

   private:
    using Clock = std::chrono::steady_clock;
    /// An exchange with the server, for one call or for several equal ones.
    struct Flight {
        Outgoing outgoing;
        std::vector<CallStatePtr> waiters;
        std::uint64_t number = 0;
        std::uint32_t attempts = 0;
        std::uint32_t unusable_replies = 0;
        Clock::time_point begun{}, deadline{}, due{};
        std::unique_ptr<Transfer> transfer{};
        std::optional<Error> last_error{};
    };
    using FlightPtr = std::unique_ptr<Flight>;

    void run();
    void take_arrivals();
    void admit(Outgoing outgoing, CallStatePtr state);
    void drop_cancelled();
    [[nodiscard]] bool drop_waiters(Flight& flight);
    void send_what_may_go();
    [[nodiscard]] FlightPtr next_flight(Clock::time_point now);
    void send(FlightPtr flight, Clock::time_point now);
    void fail_overdue();
    void take_finished();
    void decide(FlightPtr flight, Verdict verdict);
    void try_again(FlightPtr flight, const Verdict& verdict);
    void give_up(FlightPtr flight, Error error);
    void answer(FlightPtr flight, Answer answer);
    void end_all(const Flight& flight, const Result<Answer>& result);
    void cancel_everything();
    [[nodiscard]] int poll_milliseconds() const;
    [[nodiscard]] double seconds_now() const;
    template <class Change>
    void count(Change change);

    const ClientOptions options_;
    const Endpoint endpoint_;
    std::optional<AnswerCache> cache_;
    CURLM* const multi_;

    mutable std::mutex mutex_;
    std::vector<std::pair<Outgoing, CallStatePtr>> arrivals_;  ///< under mutex_
    CallCounts counts_;                                        ///< under mutex_
    std::atomic<bool> stopping_{false}, cancelled_{false};

    // The thread's own.
    const Clock::time_point origin_ = Clock::now();
    RateLimit limit_;
    std::deque<FlightPtr> fresh_;     ///< not yet begun, in the order of their start
    std::vector<FlightPtr> waiting_;  ///< between attempts
    std::unordered_map<CURL*, FlightPtr> active_;
    std::unordered_map<std::string, Flight*> by_identity_;
    std::vector<std::unique_ptr<Transfer>> idle_;
    Clock::time_point hold_until_{};  ///< the server asked everybody to wait
    std::uint64_t flights_ = 0;
    bool cache_failed_ = false;

    std::thread thread_;
};

}  // namespace yolk::chat
