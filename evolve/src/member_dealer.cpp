// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolve/member_dealer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "yolk/core/philox.hpp"

namespace yolk::evolve {
namespace {

// What a worker of unknown speed takes: little, because it may be a hundred times slower than the others.
constexpr double kFirstShare = 1.0 / 1024;
constexpr double kFirstMembers = 16;
// Of earlier chunks in a rate. Long chunks count more than short ones in any case, since members and seconds are added
// up apart: what a chunk costs besides its members would else be taken for slowness.
constexpr double kFading = 0.7;

}  // namespace

MemberDealer::MemberDealer(const MemberRange& all, std::span<const double> rates, const DealerOptions& options)
    : all_(all), options_(options) {
    options_.granularity = std::max(1U, options_.granularity);
    for (const double rate : rates) {
        const double seconds = rate > 0.0 ? options_.least_seconds : 0.0;
        workers_.push_back({.members = rate * seconds, .seconds = seconds, .active = rate >= 0.0});
    }
    if (all.count > 0) jobs_.push_back({.members = all});
}

double MemberDealer::active_rate() const noexcept {
    double sum = 0.0;
    for (const Worker& worker : workers_) sum += worker.active ? worker.rate() : 0.0;
    return sum;
}

std::uint64_t MemberDealer::waiting_members() const noexcept {
    std::uint64_t sum = 0;
    for (const Job& job : jobs_) sum += job.members.count;
    return sum;
}

std::uint32_t MemberDealer::chunk_size(std::size_t worker) const noexcept {
    const std::uint64_t waiting = waiting_members();
    const auto active = std::ranges::count_if(workers_, &Worker::active);
    const double rate = workers_[worker].rate();
    double wanted = std::max(static_cast<double>(all_.count) * kFirstShare, kFirstMembers);
    if (active == 1) {
        wanted = static_cast<double>(waiting);
    } else if (rate > 0.0) {
        // Half of its share; more of it where the others together could not make up for much in any case, so that what
        // chunks cost is not paid for nothing (2.5 % of a generation where one device is seventy times the other); and
        // little while there are workers whose rate, and so their share, is not known.
        const double share = rate / active_rate();
        const bool all_known =
            std::ranges::none_of(workers_, [](const Worker& other) { return other.active && other.rate() <= 0.0; });
        const double part = all_known ? std::max(0.5, share * share) : 0.125;
        wanted = std::max(static_cast<double>(waiting) * share * part, rate * options_.least_seconds);
    }
    wanted = std::min(wanted, static_cast<double>(waiting));
    const std::uint32_t most = options_.largest_chunk == 0 ? all_.count : options_.largest_chunk;
    const auto units = static_cast<std::uint32_t>(std::ceil(wanted / options_.granularity));
    const std::uint32_t most_units = std::max(1U, most / options_.granularity);
    return std::clamp(units, 1U, most_units) * options_.granularity;
}

bool MemberDealer::is_too_slow(std::size_t worker, std::uint32_t members) const noexcept {
    const double rate = workers_[worker].rate();
    // The fastest is never too slow, so that somebody takes what is left.
    const bool is_fastest =
        std::ranges::none_of(workers_, [&](const Worker& other) { return other.active && other.rate() > rate; });
    if (rate <= 0.0 || is_fastest) return false;
    const double others = active_rate() - rate;
    double left = static_cast<double>(waiting_members());
    for (const Worker& other : workers_) left += other.chunk ? static_cast<double>(other.chunk->members.count) : 0.0;
    return members / rate > left / others;
}

bool MemberDealer::can_be_audited(std::size_t by_other_than) const noexcept {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (i != by_other_than && workers_[i].active) return true;
    }
    return false;
}

bool MemberDealer::is_drawn(const MemberRange& members) const noexcept {
    const std::uint32_t word = philox4x32(
        {members.first, 0, 0, 0},
        {static_cast<std::uint32_t>(options_.audit_seed), static_cast<std::uint32_t>(options_.audit_seed >> 32U)})[0];
    return static_cast<double>(word) * 0x1p-32 < options_.audit;
}

std::optional<DealtChunk> MemberDealer::next(std::size_t worker) {
    Worker& asking = workers_[worker];
    if (!asking.active || asking.chunk) return std::nullopt;
    const auto job = std::ranges::find_if(jobs_, [&](const Job& j) { return j.audits != worker; });
    if (job == jobs_.end()) return std::nullopt;
    const std::uint32_t size = std::min(chunk_size(worker), job->members.count);
    // Audits are few, and somebody else than the fastest may have to do them.
    if (!job->audits && is_too_slow(worker, size)) return std::nullopt;
    asking.chunk = DealtChunk{.members = {.first = job->members.first, .count = size}, .audits = job->audits};
    job->members.first += size;
    job->members.count -= size;
    if (job->members.count == 0) jobs_.erase(job);
    return asking.chunk;
}

void MemberDealer::done(std::size_t worker, std::optional<double> seconds) {
    Worker& who = workers_[worker];
    if (!who.chunk) return;
    const DealtChunk chunk = *std::exchange(who.chunk, std::nullopt);
    if (seconds) {
        who.members = kFading * who.members + chunk.members.count;
        who.seconds = kFading * who.seconds + std::max(*seconds, 1e-9);
    }
    if (chunk.audits) return;
    const bool drawn = options_.audit > 0.0 && is_drawn(chunk.members);
    finished_.push_back({.members = chunk.members, .worker = worker});
    if (!drawn) return;
    if (can_be_audited(worker)) {
        jobs_.push_back({.members = chunk.members, .audits = worker});
    } else {
        unaudited_ += chunk.members.count;
    }
}

void MemberDealer::put_back(const DealtChunk& chunk) {
    const Job job{.members = chunk.members, .audits = chunk.audits};
    chunk.audits ? jobs_.push_back(job) : static_cast<void>(jobs_.insert(jobs_.begin(), job));
}

void MemberDealer::drop_impossible_audits() {
    std::erase_if(jobs_, [&](const Job& job) {
        if (!job.audits || can_be_audited(*job.audits)) return false;
        unaudited_ += job.members.count;
        return true;
    });
}

void MemberDealer::failed(std::size_t worker) {
    Worker& who = workers_[worker];
    who.active = false;
    if (who.chunk) put_back(*std::exchange(who.chunk, std::nullopt));
    drop_impossible_audits();
}

void MemberDealer::distrust(std::size_t worker) {
    failed(worker);
    std::erase_if(jobs_, [&](const Job& job) { return job.audits == worker; });
    std::erase_if(finished_, [&](const Finished& finished) {
        if (finished.worker != worker) return false;
        put_back({.members = finished.members});
        return true;
    });
}

bool MemberDealer::finished() const noexcept {
    return jobs_.empty() &&
           std::ranges::none_of(workers_, [](const Worker& worker) { return worker.chunk.has_value(); });
}

bool MemberDealer::stuck() const noexcept { return !finished() && std::ranges::none_of(workers_, &Worker::active); }

}  // namespace yolk::evolve
