// SPDX-License-Identifier: Apache-2.0
// Deals the members of a generation out to workers of different speed, in chunks. A pure state machine: no thread, no
// clock, no device (docs/adr/0019-members-are-dealt.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "yolk/internal/evolve/member_range.hpp"

namespace yolk::evolve {

struct DealerOptions {
    std::uint32_t granularity = 2;    ///< chunks begin and end at multiples of it, counted from the first member
    std::uint32_t largest_chunk = 0;  ///< 0: no limit
    /// The least time that a chunk takes its worker, so that what a chunk costs besides its members stays small.
    double least_seconds = 0.004;
    double audit = 0.0;            ///< share of the members that are evaluated again by another worker, 0 ... 1
    std::uint64_t audit_seed = 0;  ///< which ones: whole pieces, a 1024th of all, whoever evaluates them first
};

struct DealtChunk {
    MemberRange members{};
    /// Who evaluated these members before: this is an audit. Nothing: nobody has.
    std::optional<std::size_t> audits{};
};

/// Not thread-safe. Workers are told apart by number.
class MemberDealer {
   public:
    /// `rates`: members per second of each worker as measured so far; 0 where none was; negative: takes no part.
    /// `waited`: how long each has been without a chunk, in seconds of evaluation; empty: not at all.
    MemberDealer(const MemberRange& all, std::span<const double> rates, const DealerOptions& options,
                 std::span<const double> waited = {});

    /// What an idle worker does next: about half of its share of what is left (more of it where it is much faster than
    /// all others), and at first, while its rate is not known, a 1024th of all. Nothing: there is nothing for it now,
    /// because everything is dealt, or because the others will have finished all that is left before it could finish
    /// the smallest chunk. Ask again after any done() or failed().
    /// A worker that was too slow for any chunk may have become faster. It gets a probe, a chunk of 16 members or of
    /// least_seconds, once that takes at most a hundredth of the time it has waited: so all probes together cost a run
    /// at most a hundredth of its time, however slow the worker is. The others leave it enough members for that.
    [[nodiscard]] std::optional<DealtChunk> next(std::size_t worker);
    /// Its chunk is evaluated. Measures the worker's rate; without a time, which what happens once (a driver compiles)
    /// would spoil, the rate stays as it was.
    void done(std::size_t worker, std::optional<double> seconds);
    /// Its chunk goes back, and it gets no other. What it has evaluated stays.
    void failed(std::size_t worker);
    /// The same for a worker that computes wrongly: all that it has evaluated goes back, too. Audits of it that are
    /// under way have nothing left to compare with.
    void distrust(std::size_t worker);

    [[nodiscard]] bool finished() const noexcept;
    /// Whether anybody is left to do what is not finished.
    [[nodiscard]] bool stuck() const noexcept;
    /// Members per second, later chunks counting more; 0: not measured.
    [[nodiscard]] double rate(std::size_t worker) const noexcept { return workers_[worker].rate(); }
    /// Audits that nobody but the worker itself could have done, and so nobody did: members.
    [[nodiscard]] std::uint32_t unaudited() const noexcept;
    struct Finished {
        MemberRange members{};
        std::size_t worker = 0;
    };
    /// The same members, with who evaluated them, for an auditor who is no worker: they do not count any more.
    [[nodiscard]] std::vector<Finished> take_unaudited() { return std::exchange(unaudited_, {}); }

   private:
    struct Worker {
        double members = 0.0, seconds = 0.0;  // of its chunks, fading
        double waited = 0.0;                  // seconds
        bool active = true;
        bool is_probed = false;  // by the chunk that it has
        std::optional<DealtChunk> chunk{};
        [[nodiscard]] double rate() const noexcept { return seconds > 0.0 ? members / seconds : 0.0; }
    };
    struct Job {
        MemberRange members{};
        std::optional<std::size_t> audits{};
    };

    [[nodiscard]] double active_rate() const noexcept;
    [[nodiscard]] std::uint64_t waiting_members() const noexcept;
    [[nodiscard]] double first_size() const noexcept;
    [[nodiscard]] std::uint32_t probe_size(std::size_t worker) const noexcept;
    [[nodiscard]] double left_to_measure(std::size_t but_worker) const noexcept;
    [[nodiscard]] std::uint32_t chunk_size(std::size_t worker) const noexcept;
    [[nodiscard]] std::uint32_t whole_granules(double members) const noexcept;
    [[nodiscard]] bool is_too_slow(std::size_t worker, std::uint32_t members) const noexcept;
    [[nodiscard]] bool is_worth_probing(std::size_t worker, std::uint32_t members) const noexcept;
    [[nodiscard]] bool can_be_audited(std::size_t by_other_than) const noexcept;
    [[nodiscard]] bool is_drawn(std::uint32_t first_of_piece) const noexcept;
    void draw_audits(const MemberRange& members, std::size_t worker);
    void add_audit(const MemberRange& members, std::size_t worker);
    void put_back(const DealtChunk& chunk);
    void drop_impossible_audits();

    MemberRange all_;
    DealerOptions options_;
    std::vector<Worker> workers_;
    std::vector<Job> jobs_;  // audits last, taken from the front
    std::vector<Finished> finished_;
    std::vector<Finished> unaudited_;
};

}  // namespace yolk::evolve
