// SPDX-License-Identifier: Apache-2.0
#include "pool_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace yolk::evolve {

namespace {

std::vector<double> rates_of(std::span<const WorkerShare> workers) {
    std::vector<double> rates;
    for (const WorkerShare& worker : workers) rates.push_back(worker.rate);
    return rates;
}

std::vector<double> waited_of(std::span<const WorkerPast> past) {
    std::vector<double> waited;
    for (const WorkerPast& worker : past) waited.push_back(worker.waited);
    return waited;
}

}  // namespace

PoolSession::PoolSession(const PooledWork& work, std::vector<WorkerShare> workers, const DealerOptions& options,
                         std::vector<WorkerPast>& past)
    : work_(&work),
      past_(&past),
      dealer_(work.members, rates_of(workers), options, waited_of(past)),
      shares_(std::move(workers)) {}

bool PoolSession::has_ended() const noexcept {
    return dealer_.finished() || dealer_.stuck() || error_.has_value() || suspect_since_.has_value();
}

bool PoolSession::is_lost(std::size_t worker) const noexcept {
    return std::ranges::any_of(losses_, [worker](const Loss& loss) { return loss.worker == worker; });
}

bool PoolSession::is_distrusted(std::size_t worker) const noexcept {
    return std::ranges::any_of(losses_, [worker](const Loss& loss) { return loss.worker == worker && loss.is_wrong; });
}

void PoolSession::work_loop(std::size_t worker) {
    using Clock = std::chrono::steady_clock;
    std::unique_lock lock(mutex_);
    while (!has_ended() && !is_lost(worker)) {
        const std::optional<DealtChunk> chunk = dealer_.next(worker);
        if (!chunk) {
            changed_.wait(lock);
            continue;
        }
        lock.unlock();
        const Clock::time_point start = Clock::now();
        Result<std::vector<std::byte>> result = work_->evaluate(worker, chunk->members);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        lock.lock();
        take(worker, *chunk, std::move(result), seconds);
        changed_.notify_all();
    }
}

void PoolSession::take(std::size_t worker, const DealtChunk& chunk, Result<std::vector<std::byte>> result,
                       double seconds) {
    WorkerShare& share = shares_[worker];
    share.busy_seconds += seconds;
    if (is_lost(worker)) return;  // found wrong while it worked; its chunk went back then
    if (!result) {
        if (!is_of_device(result.error())) {
            if (!error_) error_ = std::move(result).error();
            return;
        }
        lose(worker, result.error().message);
        return dealer_.failed(worker);
    }
    ++share.chunks;
    WorkerPast& past = (*past_)[worker];
    if (!past.verified) past.verified = work_->generation;
    if (chunk.audits) {
        share.audited += chunk.members.count;
        // One that failed has left results that count; one that is wrong has not.
        if (!is_distrusted(*chunk.audits)) compare(worker, chunk, *result);
        if (is_lost(worker)) return;
    } else {
        share.members += chunk.members.count;
        work_->keep(chunk.members, *result);
    }
    dealer_.done(worker, past.is_warm ? std::optional(seconds) : std::nullopt);
    past.is_warm = true;
}

/// The judge works while the others wait with what they have: that is rare, and the verdict may stop them.
void PoolSession::compare(std::size_t worker, const DealtChunk& chunk, std::span<const std::byte> result) {
    const std::size_t first = *chunk.audits;
    const std::vector<std::byte> before = work_->kept(chunk.members);
    if (std::ranges::equal(before, result)) {
        (*past_)[first].verified = work_->generation;
        (*past_)[worker].verified = work_->generation;
        return;
    }
    const bool judged = static_cast<bool>(work_->judge);
    bool first_is_right = false;
    bool second_is_right = false;
    if (judged) {
        Result<std::vector<std::byte>> right = work_->judge(chunk.members);
        if (!right) {
            error_ = std::move(right).error().while_doing("judging between devices that disagree");
            return;
        }
        first_is_right = std::ranges::equal(before, *right);
        second_is_right = std::ranges::equal(result, *right);
    }
    if (!first_is_right) distrust(first, chunk.members, worker, judged);
    if (!second_is_right) distrust(worker, chunk.members, first, judged);
}

void PoolSession::judge_unaudited() {
    if (!work_->judge || error_ || suspect_since_) return;
    for (const MemberDealer::Finished& by : dealer_.take_unaudited()) {
        if (is_distrusted(by.worker)) continue;
        Result<std::vector<std::byte>> right = work_->judge(by.members);
        if (!right) {
            error_ = std::move(right).error().while_doing("auditing the only device left");
            return;
        }
        if (std::ranges::equal(work_->kept(by.members), *right))
            (*past_)[by.worker].verified = work_->generation;
        else
            distrust(by.worker, by.members, by.worker, true);
    }
}

/// One that failed may be found wrong afterwards: it is lost once, for both reasons.
void PoolSession::lose(std::size_t worker, const std::string& reason) {
    shares_[worker].dropped = true;
    const auto before = std::ranges::find(losses_, worker, &Loss::worker);
    if (before == losses_.end())
        losses_.push_back({.worker = worker, .reason = reason});
    else
        before->reason += " " + reason;
}

void PoolSession::distrust(std::size_t worker, const MemberRange& members, std::size_t other, bool judged) {
    lose(worker,
         judged
             ? fmt::format("It computes wrongly: in generation {} its result for members {} to {} is not the exact "
                           "twin's.",
                           work_->generation, members.first, members.first + members.count - 1)
             : fmt::format("In generation {} it and {} disagree on members {} to {}, and there is no twin to judge.",
                           work_->generation, shares_[other].name, members.first, members.first + members.count - 1));
    std::ranges::find(losses_, worker, &Loss::worker)->is_wrong = true;
    const std::uint32_t since = (*past_)[worker].verified.value_or(work_->generation);
    if (since < work_->generation) suspect_since_ = std::min(since, suspect_since_.value_or(since));
    dealer_.distrust(worker);
}

PooledResult PoolSession::take_result() noexcept {
    for (std::size_t worker = 0; worker < shares_.size(); ++worker) shares_[worker].rate = dealer_.rate(worker);
    return {.shares = std::move(shares_), .suspect_since = suspect_since_, .unaudited = dealer_.unaudited()};
}

}  // namespace yolk::evolve
