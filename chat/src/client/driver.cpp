// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "yolk/log.hpp"

namespace yolk::chat {
namespace {

constexpr auto kLongestPoll = std::chrono::seconds(10);

std::chrono::nanoseconds as_duration(double seconds) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, 1e8) * 1e9));
}

double cost_of(const Usage& usage, const Prices& prices) {
    return 1e-6 * (prices.prompt * static_cast<double>(usage.prompt_tokens) +
                   prices.completion * static_cast<double>(usage.completion_tokens));
}

double thread_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// OpenSSL writes to sockets whose peer may be gone: the signal stays pending here, where nobody sees it. Other signals
/// are the program's.
void block_signals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

void CallState::end(Result<Answer> with) {
    const std::lock_guard lock(mutex);
    if (result) return;
    result = std::move(with);
    ended.notify_all();
}
bool CallState::has_ended() {
    const std::lock_guard lock(mutex);
    return result.has_value();
}
Result<Answer> CallState::wait() {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return result.has_value(); });
    return *result;
}

Driver::Driver(const ClientOptions& options, Endpoint endpoint, std::optional<AnswerCache> cache)
    : options_(options),
      endpoint_(std::move(endpoint)),
      cache_(std::move(cache)),
      multi_(curl_multi_init()),
      limit_(options.requests_per_minute, options.tokens_per_minute, 0.0) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options.most_at_once));
    thread_ = std::thread([this] { run(); });
}

Driver::~Driver() {
    stopping_ = true;
    curl_multi_wakeup(multi_);
    thread_.join();
    idle_.clear();
    curl_multi_cleanup(multi_);
}

void Driver::start(Outgoing outgoing, CallStatePtr state) {
    {
        const std::lock_guard lock(mutex_);
        ++counts_.calls;
        arrivals_.emplace_back(std::move(outgoing), std::move(state));
    }
    curl_multi_wakeup(multi_);
}

void Driver::look_for_cancelled() noexcept {
    cancelled_ = true;
    curl_multi_wakeup(multi_);
}

CallCounts Driver::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

template <class Change>
void Driver::count(Change change) {
    const std::lock_guard lock(mutex_);
    change(counts_);
}

double Driver::seconds_now() const { return std::chrono::duration<double>(Clock::now() - origin_).count(); }

void Driver::run() {
    block_signals();
    while (!stopping_) {
        // Read before the arrivals are taken: a call is added before it can be cancelled, so it is among them.
        const bool has_cancelled = cancelled_.exchange(false);
        take_arrivals();
        if (has_cancelled) drop_cancelled();
        fail_overdue();
        send_what_may_go();
        int running = 0;
        curl_multi_perform(multi_, &running);
        take_finished();
        count([](CallCounts& counts) { counts.processor_seconds = thread_seconds(); });
        curl_multi_poll(multi_, nullptr, 0, poll_milliseconds(), nullptr);
    }
    cancel_everything();
}

void Driver::take_arrivals() {
    std::vector<std::pair<Outgoing, CallStatePtr>> arrivals;
    {
        const std::lock_guard lock(mutex_);
        arrivals.swap(arrivals_);
    }
    for (auto& [outgoing, state] : arrivals) admit(std::move(outgoing), std::move(state));
}

/// Answered from the cache, joined to an equal call that is under way, or queued.
void Driver::admit(Outgoing outgoing, CallStatePtr state) {
    auto flight = std::make_unique<Flight>(Flight{.outgoing = std::move(outgoing), .waiters = {std::move(state)}});
    flight->number = flights_++;
    const std::string& identity = flight->outgoing.identity;
    if (identity.empty() || !cache_) return fresh_.push_back(std::move(flight));
    if (const auto under_way = by_identity_.find(identity); under_way != by_identity_.end())
        return under_way->second->waiters.push_back(std::move(flight->waiters.front()));
    if (!flight->outgoing.refresh) {
        Result<std::optional<Answer>> found = cache_->find(identity);
        if (!found) return end_all(*flight, found.error());
        if (*found) {
            Answer known = **std::move(found);
            Result<Json> value =
                flight->outgoing.schema ? parse_reply(*flight->outgoing.schema, known.content) : Json();
            if (value) {
                known.value = *std::move(value);
                return end_all(*flight, known);
            }
        }
    }
    by_identity_.emplace(identity, flight.get());
    fresh_.push_back(std::move(flight));
}

bool Driver::drop_waiters(Flight& flight) {
    std::erase_if(flight.waiters, [&](const CallStatePtr& state) {
        if (!state->cancel) return false;
        state->end(cancelled(std::string("The call was cancelled.")));
        count([](CallCounts& counts) { ++counts.failed; });
        return true;
    });
    if (!flight.waiters.empty()) return false;
    by_identity_.erase(flight.outgoing.identity);
    return true;
}

void Driver::drop_cancelled() {
    std::erase_if(fresh_, [&](const FlightPtr& flight) { return drop_waiters(*flight); });
    std::erase_if(waiting_, [&](const FlightPtr& flight) { return drop_waiters(*flight); });
    std::erase_if(active_, [&](const auto& entry) {
        if (!drop_waiters(*entry.second)) return false;
        curl_multi_remove_handle(multi_, entry.first);  // and the handle with its connection ends with the flight
        return true;
    });
}

void Driver::fail_overdue() {
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < waiting_.size();) {
        if (waiting_[i]->deadline > now) {
            ++i;
            continue;
        }
        FlightPtr flight = std::move(waiting_[i]);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
        Error error = *flight->last_error;
        error.message = fmt::format("The deadline passed before another attempt. {}", error.message);
        error.kind = ErrorKind::Failed;
        give_up(std::move(flight), std::move(error));
    }
}

/// Retries before calls that have not begun.
Driver::FlightPtr Driver::next_flight(Clock::time_point now) {
    const auto due = std::ranges::find_if(waiting_, [&](const FlightPtr& flight) { return flight->due <= now; });
    const Flight* const next = due != waiting_.end() ? due->get() : fresh_.empty() ? nullptr : fresh_.front().get();
    if (next == nullptr || limit_.wait_seconds(next->outgoing.tokens, seconds_now()) > 0.0) return nullptr;
    FlightPtr flight;
    if (due != waiting_.end()) {
        flight = std::move(*due);
        waiting_.erase(due);
    } else {
        flight = std::move(fresh_.front());
        fresh_.pop_front();
    }
    return flight;
}

void Driver::send_what_may_go() {
    while (active_.size() < options_.most_at_once) {
        const Clock::time_point now = Clock::now();
        if (now < hold_until_) return;
        FlightPtr flight = next_flight(now);
        if (!flight) return;
        send(std::move(flight), now);
    }
}

void Driver::send(FlightPtr flight, Clock::time_point now) {
    limit_.take(flight->outgoing.tokens, seconds_now());
    if (flight->attempts == 0) {
        flight->begun = now;
        flight->deadline = now + options_.timeout;
    }
    ++flight->attempts;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(flight->deadline - now);
    if (options_.attempt_timeout.count() > 0) left = std::min(left, options_.attempt_timeout);
    if (idle_.empty()) {
        flight->transfer = std::make_unique<Transfer>(endpoint_, options_.most_reply_bytes);
    } else {
        flight->transfer = std::move(idle_.back());
        idle_.pop_back();
    }
    flight->transfer->prepare(flight->outgoing.body, std::max<long>(left.count(), 1));
    CURL* const easy = flight->transfer->handle();
    const bool again = flight->attempts > 1;
    active_.emplace(easy, std::move(flight));
    curl_multi_add_handle(multi_, easy);
    count([&](CallCounts& counts) {
        ++counts.attempts;
        if (again) ++counts.retries;
        counts.most_at_once = std::max(counts.most_at_once, static_cast<std::uint32_t>(active_.size()));
    });
}

void Driver::take_finished() {
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL* const easy = message->easy_handle;
        const CURLcode code = message->data.result;
        curl_multi_remove_handle(multi_, easy);
        const auto found = active_.find(easy);
        FlightPtr flight = std::move(found->second);
        active_.erase(found);
        const Received received = flight->transfer->take(code);
        idle_.push_back(std::move(flight->transfer));
        decide(std::move(flight), judge(received, endpoint_, flight->outgoing.schema, options_.most_reply_bytes));
    }
}

void Driver::decide(FlightPtr flight, Verdict verdict) {
    const Usage& usage = verdict.answer.usage;
    const double used = static_cast<double>(usage.prompt_tokens + usage.completion_tokens);
    if (used > 0.0) limit_.correct(used - flight->outgoing.tokens, seconds_now());
    count([&](CallCounts& counts) {
        counts.prompt_tokens += usage.prompt_tokens;
        counts.completion_tokens += usage.completion_tokens;
        counts.cost += cost_of(usage, options_.prices);
        if (verdict.kind == Verdict::Kind::Schema) ++counts.schema_failures;
    });
    if (verdict.kind == Verdict::Kind::Answered) return answer(std::move(flight), std::move(verdict.answer));
    const bool is_whole = verdict.kind == Verdict::Kind::Schema || verdict.kind == Verdict::Kind::Unusable;
    const bool may_repeat =
        verdict.kind == Verdict::Kind::Retry || (is_whole && ++flight->unusable_replies < options_.schema_attempts);
    if (!may_repeat || flight->attempts >= options_.attempts)
        return give_up(std::move(flight), std::move(verdict.error));
    try_again(std::move(flight), verdict);
}

void Driver::try_again(FlightPtr flight, const Verdict& verdict) {
    const BackoffRule rule{.first_seconds = options_.backoff_seconds, .seed = options_.seed};
    double seconds =
        verdict.kind == Verdict::Kind::Schema ? 0.0 : backoff_seconds(rule, flight->number, flight->attempts);
    // A server's word is the least. Jitter comes on top, so that not all come back in one moment.
    if (verdict.delay_seconds)
        seconds = std::max(seconds, *verdict.delay_seconds + std::min(seconds, 0.1 * *verdict.delay_seconds));
    const Clock::time_point now = Clock::now();
    flight->due = now + as_duration(seconds);
    if (flight->due >= flight->deadline) {
        Error error = verdict.error;
        error.message =
            fmt::format("The next attempt would be in {:.3g} s, after the deadline. {}", seconds, error.message);
        error.kind = ErrorKind::Failed;
        return give_up(std::move(flight), std::move(error));
    }
    if (verdict.delay_seconds) hold_until_ = std::max(hold_until_, now + as_duration(*verdict.delay_seconds));
    flight->last_error = verdict.error;
    waiting_.push_back(std::move(flight));
}

void Driver::give_up(FlightPtr flight, Error error) {
    const double seconds = std::chrono::duration<double>(Clock::now() - flight->begun).count();
    error.message += fmt::format(" (Attempt {} of {}, after {:.3g} s.)", flight->attempts, options_.attempts, seconds);
    by_identity_.erase(flight->outgoing.identity);
    end_all(*flight, std::move(error));
}

void Driver::answer(FlightPtr flight, Answer answer) {
    answer.attempts = flight->attempts;
    answer.seconds = std::chrono::duration<double>(Clock::now() - flight->begun).count();
    if (cache_ && !flight->outgoing.identity.empty()) {
        by_identity_.erase(flight->outgoing.identity);
        if (const Result<void> stored = cache_->store(flight->outgoing.identity, answer); !stored) {
            // The answer is paid for, and the caller gets it.
            count([](CallCounts& counts) { ++counts.cache_failures; });
            if (!std::exchange(cache_failed_, true))
                log_warning(fmt::format("An answer was not written down: {}", stored.error().message));
        }
    }
    end_all(*flight, std::move(answer));
}

/// The first waiter gets what was sent for; the others joined it.
void Driver::end_all(const Flight& flight, const Result<Answer>& result) {
    for (std::size_t i = 0; i < flight.waiters.size(); ++i) {
        Result<Answer> own = result;
        if (own && i > 0) own->from_cache = true;
        if (own) own->cost = cost_of(own->usage, options_.prices);
        count([&](CallCounts& counts) {
            ++(own ? counts.answered : counts.failed);
            if (own && own->from_cache) ++counts.from_cache;
        });
        flight.waiters[i]->end(std::move(own));
    }
}

void Driver::cancel_everything() {
    take_arrivals();
    const Error error = cancelled(std::string("The client was closed before the call had ended."));
    for (const auto& flight : fresh_) end_all(*flight, error);
    for (const auto& flight : waiting_) end_all(*flight, error);
    for (const auto& [easy, flight] : active_) {
        curl_multi_remove_handle(multi_, easy);
        end_all(*flight, error);
    }
    fresh_.clear();
    waiting_.clear();
    active_.clear();
}

int Driver::poll_milliseconds() const {
    const Clock::time_point now = Clock::now();
    Clock::time_point wake = now + kLongestPoll;
    for (const auto& flight : waiting_) {
        wake = std::min(wake, flight->deadline);
        if (flight->due > now) wake = std::min(wake, flight->due);
    }
    const bool due = std::ranges::any_of(waiting_, [&](const FlightPtr& flight) { return flight->due <= now; });
    if (active_.size() < options_.most_at_once && (due || !fresh_.empty())) {
        if (now < hold_until_) {
            wake = std::min(wake, hold_until_);
        } else {
            const double tokens = fresh_.empty() ? waiting_.front()->outgoing.tokens : fresh_.front()->outgoing.tokens;
            wake = std::min(wake, now + as_duration(limit_.wait_seconds(tokens, seconds_now())));
        }
    }
    return static_cast<int>(
        std::chrono::ceil<std::chrono::milliseconds>(std::max(wake - now, Clock::duration(0))).count());
}

}  // namespace yolk::chat
