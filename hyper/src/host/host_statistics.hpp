// SPDX-License-Identifier: Apache-2.0
// Counting the calls of host functions, in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "yolk/internal/hyper/executor.hpp"

namespace yolk::hyper {

/// Durations in buckets that grow by 2 %: quantiles to within 1 %, whatever comes and however much of it.
class Latencies {
   public:
    void add(double seconds);
    /// In seconds, by nearest rank; 0 where nothing was added.
    [[nodiscard]] double quantile(double q) const;
    [[nodiscard]] double total() const noexcept { return total_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

   private:
    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    double total_ = 0.0;
};

/// How one call ended.
enum class HostOutcome { Result, Error, Timeout };

struct HostCounters {
    std::uint64_t errors = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t retries = 0;
    Latencies latencies{};

    void add(HostOutcome outcome, double seconds);
    [[nodiscard]] HostStatistics statistics(std::string function) const;
};

}  // namespace yolk::hyper
