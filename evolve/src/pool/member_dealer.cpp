// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/member_dealer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "yolk/internal/core/philox.hpp"

namespace yolk::evolve {
namespace {

// What a worker of unknown speed takes: little, because it may be a hundred times slower than the others.
constexpr double kFirstShare = 1.0 / 1024;
constexpr double kFirstMembers = 16;
// Of earlier chunks in a rate. Long chunks count more than short ones in any case, since members and seconds are added
// up apart: what a chunk costs besides its members would else be taken for slowness.
constexpr double kFading = 0.7;
// What a probe may take of the time that its worker has waited.
constexpr double kProbeShare = 0.01;

}  // namespace

MemberDealer::MemberDealer(const MemberRange& all, std::span<const double> rates, const DealerOptions& options,
                           std::span<const double> waited)
    : all_(all), options_(options) {
    options_.granularity = std::max(1U, options_.granularity);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        const double seconds = rates[i] > 0.0 ? options_.least_seconds : 0.0;
        workers_.push_back({.members = rates[i] * seconds,
                            .seconds = seconds,
                            .waited = i < waited.size() ? waited[i] : 0.0,
                            .active = rates[i] >= 0.0});
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

double MemberDealer::first_size() const noexcept { return std::max(all_.count * kFirstShare, kFirstMembers); }

std::uint32_t MemberDealer::probe_size(std::size_t worker) const noexcept {
    return whole_granules(std::max(kFirstMembers, workers_[worker].rate() * options_.least_seconds));
}

/// What idle workers need to be measured, who would find nothing where the fastest takes all at once.
double MemberDealer::left_to_measure(std::size_t but_worker) const noexcept {
    double members = 0.0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        const Worker& other = workers_[i];
        if (i == but_worker || !other.active || other.chunk) continue;
        if (other.rate() <= 0.0)
            members += first_size();
        else if (const std::uint32_t probe = probe_size(i); is_worth_probing(i, probe))
            members += probe;
    }
    return members;
}

std::uint32_t MemberDealer::chunk_size(std::size_t worker) const noexcept {
    const auto waiting = static_cast<double>(waiting_members());
    const auto active = std::ranges::count_if(workers_, &Worker::active);
    const double rate = workers_[worker].rate();
    double wanted = first_size();
    if (active == 1) {
        wanted = waiting;
    } else if (rate > 0.0) {
        // Half of its share; more of it where the others together could not make up for much in any case, so that what
        // chunks cost is not paid for nothing (2.5 % of a generation where one device is seventy times the other); and
        // little while there are workers whose rate, and so their share, is not known.
        const double share = rate / active_rate();
        const bool all_known =
            std::ranges::none_of(workers_, [](const Worker& other) { return other.active && other.rate() <= 0.0; });
        const double part = all_known ? std::max(0.5, share * share) : 0.125;
        wanted = std::max(waiting * share * part, rate * options_.least_seconds);
    }
    return whole_granules(std::min(wanted, std::max(waiting - left_to_measure(worker), waiting / 2)));
}

std::uint32_t MemberDealer::whole_granules(double members) const noexcept {
    const std::uint32_t most = options_.largest_chunk == 0 ? all_.count : options_.largest_chunk;
    const std::uint32_t most_units = std::max(1U, most / options_.granularity);
    const double units = std::clamp(std::ceil(members / options_.granularity), 1.0, static_cast<double>(most_units));
    return static_cast<std::uint32_t>(units) * options_.granularity;
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

/// By the measured rate: a worker that has become faster needs less, and a slower one shows it once.
bool MemberDealer::is_worth_probing(std::size_t worker, std::uint32_t members) const noexcept {
    const Worker& who = workers_[worker];
    return members / who.rate() <= kProbeShare * who.waited;
}

bool MemberDealer::can_be_audited(std::size_t by_other_than) const noexcept {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (i != by_other_than && workers_[i].active) return true;
    }
    return false;
}

bool MemberDealer::is_drawn(std::uint32_t first_of_piece) const noexcept {
    const std::uint32_t word = philox4x32(
        {first_of_piece, 0, 0, 0},
        {static_cast<std::uint32_t>(options_.audit_seed), static_cast<std::uint32_t>(options_.audit_seed >> 32U)})[0];
    return static_cast<double>(word) * 0x1p-32 < options_.audit;
}

std::optional<DealtChunk> MemberDealer::next(std::size_t worker) {
    Worker& asking = workers_[worker];
    if (!asking.active || asking.chunk) return std::nullopt;
    const auto job = std::ranges::find_if(jobs_, [&](const Job& j) { return j.audits != worker; });
    if (job == jobs_.end()) return std::nullopt;
    std::uint32_t size = std::min(chunk_size(worker), job->members.count);
    // Audits are few, and somebody else than the fastest may have to do them.
    asking.is_probed = !job->audits && is_too_slow(worker, size);
    if (asking.is_probed) {
        size = std::min(probe_size(worker), job->members.count);
        if (!is_worth_probing(worker, size)) return std::nullopt;
    }
    asking.waited = 0.0;
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
        // What was measured before it waited is what was in doubt.
        if (who.is_probed) who.members = who.seconds = 0.0;
        who.members = kFading * who.members + chunk.members.count;
        who.seconds = kFading * who.seconds + std::max(*seconds, 1e-9);
    }
    if (chunk.audits) return;
    finished_.push_back({.members = chunk.members, .worker = worker});
    if (options_.audit > 0.0) draw_audits(chunk.members, worker);
}

/// By pieces of fixed places, so that a large chunk is not audited as a whole, and the same members are whoever had
/// them. Neighbours are audited together.
void MemberDealer::draw_audits(const MemberRange& members, std::size_t worker) {
    const std::uint64_t piece = std::uint64_t{options_.granularity} *
                                static_cast<std::uint64_t>(std::ceil(first_size() / options_.granularity));
    const std::uint64_t end = std::uint64_t{members.first} + members.count;
    MemberRange drawn;
    for (std::uint64_t first = members.first; first < end;) {
        const std::uint64_t begin = first - (first - all_.first) % piece;
        const std::uint64_t next = std::min(begin + piece, end);
        if (is_drawn(static_cast<std::uint32_t>(begin))) {
            if (drawn.count == 0) drawn.first = static_cast<std::uint32_t>(first);
            drawn.count += static_cast<std::uint32_t>(next - first);
        } else {
            add_audit(std::exchange(drawn, {}), worker);
        }
        first = next;
    }
    add_audit(drawn, worker);
}

void MemberDealer::add_audit(const MemberRange& members, std::size_t worker) {
    if (members.count == 0) return;
    if (can_be_audited(worker))
        jobs_.push_back({.members = members, .audits = worker});
    else
        unaudited_.push_back({.members = members, .worker = worker});
}

void MemberDealer::put_back(const DealtChunk& chunk) {
    const Job job{.members = chunk.members, .audits = chunk.audits};
    chunk.audits ? jobs_.push_back(job) : static_cast<void>(jobs_.insert(jobs_.begin(), job));
}

void MemberDealer::drop_impossible_audits() {
    std::erase_if(jobs_, [&](const Job& job) {
        if (!job.audits || can_be_audited(*job.audits)) return false;
        unaudited_.push_back({.members = job.members, .worker = *job.audits});
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
    std::erase_if(unaudited_, [&](const Finished& by) { return by.worker == worker; });
    std::erase_if(finished_, [&](const Finished& finished) {
        if (finished.worker != worker) return false;
        put_back({.members = finished.members});
        return true;
    });
}

std::uint32_t MemberDealer::unaudited() const noexcept {
    std::uint32_t members = 0;
    for (const Finished& by : unaudited_) members += by.members.count;
    return members;
}

bool MemberDealer::finished() const noexcept {
    return jobs_.empty() &&
           std::ranges::none_of(workers_, [](const Worker& worker) { return worker.chunk.has_value(); });
}

bool MemberDealer::stuck() const noexcept { return !finished() && std::ranges::none_of(workers_, &Worker::active); }

}  // namespace yolk::evolve
