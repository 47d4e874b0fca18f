// SPDX-License-Identifier: Apache-2.0
// Who proposes next: the search that begins from other devices, or the cold one.
#pragma once

#include <cstddef>
#include <deque>

namespace yolk::autotune {

/// The prior's share of the turns is the probability of its model against the cold one's, by how well either predicted
/// the last measurements that the prior chose. (With the cold search's measurements counted too, two more of the 100
/// comparisons at 25 and 50 were below a cold search.)
class PriorTurns {
   public:
    /// `share`, in (0, 1): of the turns, before anything was measured.
    explicit PriorTurns(double share);

    /// Whether the next turn is the prior's.
    [[nodiscard]] bool next();
    /// A measurement that the prior's search proposed: the log densities that either search gave it beforehand.
    void measured(double prior_density, double cold_density);
    [[nodiscard]] double share() const;

   private:
    double log_odds_;
    double due_;  ///< turns of the prior's that are owed to it
    std::deque<double> differences_;
};

}  // namespace yolk::autotune
