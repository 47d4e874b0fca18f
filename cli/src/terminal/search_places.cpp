// SPDX-License-Identifier: Apache-2.0
#include "search_places.hpp"

#include <algorithm>

#include "output.hpp"

namespace yolk::cli {
namespace {

void print_shares(const hyper::OptimizeOutcome& outcome) {
    double all = 0.0;
    for (const evolve::WorkerShare& share : outcome.shares) all += share.members;
    for (const evolve::WorkerShare& share : outcome.shares) {
        print_line("{}: {:.1f} % of the candidates, busy for {:.1f} s{}", share.name, 100.0 * share.members / all,
                   share.busy_seconds, share.dropped ? ", dropped" : "");
    }
}

void print_rank_shares(const hyper::OptimizeOutcome& outcome) {
    double all = 0.0;
    for (const evolve::RankShare& share : outcome.ranks) all += static_cast<double>(share.members);
    for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
        const evolve::RankShare& share = outcome.ranks[rank];
        print_line("rank {}: {:.1f} % of the candidates, evaluating for {:.1f} s", rank,
                   100.0 * static_cast<double>(share.members) / all, share.seconds);
    }
    if (outcome.ranks.empty()) return;
    const std::uint64_t generations = std::max(1U, outcome.generations);
    print_line("rank 0 sent {} and received {} per generation", bytes_text(outcome.traffic.sent_bytes / generations),
               bytes_text(outcome.traffic.received_bytes / generations));
}

}  // namespace

void print_places(const hyper::OptimizeOutcome& outcome) {
    print_shares(outcome);
    for (const std::string& note : outcome.notes) print_line(note);
    print_rank_shares(outcome);
}

}  // namespace yolk::cli
