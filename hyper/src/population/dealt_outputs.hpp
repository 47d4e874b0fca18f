// SPDX-License-Identifier: Apache-2.0
// The outputs of one evaluation while its candidates are dealt out: parts come from several workers, and audits compare
// digests of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper::population {

/// 8 bytes for each candidate, of all its outputs; those that failed have one in common. Every NaN counts as the same:
/// which one arises is a matter of the processor.
[[nodiscard]] std::vector<std::byte> digests_of(const PopulationOutputs& outputs);

/// Thread-safe.
class DealtOutputs {
   public:
    /// `room` for all of them. Digests are made where there are audits.
    void begin(PopulationOutputs room, std::size_t workers, bool audited);
    /// What a worker has evaluated; gives its digests, or nothing. The values wait until keep() asks for them.
    [[nodiscard]] std::vector<std::byte> hand_in(std::size_t worker, const evolve::MemberRange& range,
                                                 PopulationOutputs part);
    /// Takes the values that have these digests where they belong.
    void keep(const evolve::MemberRange& range, std::span<const std::byte> digests);
    [[nodiscard]] std::vector<std::byte> kept(const evolve::MemberRange& range);
    /// After all workers have ended.
    [[nodiscard]] PopulationOutputs take() noexcept { return std::move(whole_); }

   private:
    struct HandedIn {
        evolve::MemberRange range{};
        PopulationOutputs part{};
        std::vector<std::byte> digests{};
    };
    std::mutex mutex_;
    PopulationOutputs whole_;
    bool audited_ = false;
    std::vector<std::byte> digests_;
    std::vector<HandedIn> handed_in_;  // by worker: the latest
};

}  // namespace yolk::hyper::population
