// SPDX-License-Identifier: Apache-2.0
#include "host_statistics.hpp"

#include <algorithm>
#include <cmath>
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

constexpr double kShortest = 1e-7;      // seconds; what is shorter counts as this
constexpr double kGrowth = 1.02;        // a bucket's middle is within 1 % of what it holds
constexpr std::size_t kBuckets = 1600;  // up to 5e6 s; what is longer counts as that

std::size_t bucket_of(double seconds) {
    if (!(seconds > kShortest)) return 0;
    const double index = std::ceil(std::log(seconds / kShortest) / std::log(kGrowth));
    return static_cast<std::size_t>(std::min(index, static_cast<double>(kBuckets - 1)));
}

}  // namespace

void Latencies::add(double seconds) {
    if (buckets_.empty()) buckets_.resize(kBuckets);
    ++buckets_[bucket_of(seconds)];
    ++count_;
    total_ += seconds;
}

double Latencies::quantile(double q) const {
    if (count_ == 0) return 0.0;
    const double wanted = std::max(1.0, std::ceil(q * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (static_cast<double>(seen) >= wanted) return kShortest * std::pow(kGrowth, static_cast<double>(i) - 0.5);
    }
    return 0.0;
}

void HostCounters::add(HostOutcome outcome, double seconds) {
    errors += outcome == HostOutcome::Error ? 1 : 0;
    timeouts += outcome == HostOutcome::Timeout ? 1 : 0;
    latencies.add(seconds);
}

HostStatistics HostCounters::statistics(std::string function) const {
    return {.function = std::move(function),
            .calls = latencies.count(),
            .errors = errors,
            .timeouts = timeouts,
            .retries = retries,
            .seconds = latencies.total(),
            .p50_ms = 1e3 * latencies.quantile(.50),
            .p95_ms = 1e3 * latencies.quantile(.95),
            .p99_ms = 1e3 * latencies.quantile(.99)};
}

Json to_json(const HostStatistics& statistics) {
    return {{"function", statistics.function}, {"calls", statistics.calls},     {"errors", statistics.errors},
            {"timeouts", statistics.timeouts}, {"retries", statistics.retries}, {"seconds", statistics.seconds},
            {"p50_ms", statistics.p50_ms},     {"p95_ms", statistics.p95_ms},   {"p99_ms", statistics.p99_ms}};
}

}  // namespace yolk::hyper
