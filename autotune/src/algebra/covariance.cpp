// SPDX-License-Identifier: Apache-2.0
#include "covariance.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "factor_kernels.hpp"

namespace yolk::autotune {
namespace {

/// Combinations of a group's values at most; two numbers of each are looked up, 16 KiB.
constexpr std::size_t kCombinations = 1024;
/// Candidates at once, so that their sums stay in the nearest cache.
constexpr std::size_t kBlock = 512;

}  // namespace

double squared_distance(const Parameter& parameter, std::size_t a, std::size_t b) {
    if (parameter.scale == Scale::Categorical) return a == b ? 0.0 : 1.0;
    const double difference = parameter.coordinate(a) - parameter.coordinate(b);
    return difference * difference;
}

CandidateGroups::CandidateGroups(const CandidateSet& candidates) : candidates_(candidates) {
    const auto parameters = candidates.space().parameters();
    frequencies_.resize(parameters.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const std::size_t n = parameters[p].values.size();
        if (n < 2) continue;
        ++varying_;
        if (groups_.empty() || groups_.back().combinations * n > kCombinations) {
            groups_.push_back(
                {.parameters = {}, .combinations = 1, .of_candidate = std::vector<std::uint16_t>(candidates.size())});
        }
        Group& group = groups_.back();
        group.parameters.push_back(p);
        group.combinations *= n;
        frequencies_[p].assign(n, 0.0);
        for (std::size_t c = 0; c < candidates.size(); ++c) {
            const std::uint16_t value = candidates[c][p];
            group.of_candidate[c] = static_cast<std::uint16_t>(group.of_candidate[c] * n + value);
            frequencies_[p][value] += 1.0 / static_cast<double>(candidates.size());
        }
    }
}

Covariance::Covariance(const CandidateSet& candidates, CovarianceSettings settings)
    : Covariance(std::make_shared<const CandidateGroups>(candidates), std::move(settings)) {}

Covariance::Covariance(std::shared_ptr<const CandidateGroups> groups, CovarianceSettings settings)
    : groups_(std::move(groups)), settings_(std::move(settings)) {
    const auto parameters = groups_->candidates().space().parameters();
    double mean_product = 0.0;
    tables_.resize(parameters.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const std::size_t n = parameters[p].values.size();
        if (n < 2) continue;
        Tables& table = tables_[p];
        table = {.values = n, .products = std::vector<double>(n * n), .distances = std::vector<double>(n * n)};
        const std::span<const double> frequency = groups_->frequencies(p);
        double norm = 0.0;
        for (const double f : frequency) norm += f * f;
        const double relevance = settings_.relevance.empty() ? 1.0 : settings_.relevance[p];
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = 0; b < n; ++b) {
                // (e_a - f) . (e_b - f) of the one-hot vectors centred by their mean f.
                table.products[a * n + b] = (a == b ? 1.0 : 0.0) - frequency[a] - frequency[b] + norm;
                table.distances[a * n + b] = relevance * squared_distance(parameters[p], a, b);
            }
            mean_product += frequency[a] * table.products[a * n + a];
        }
    }
    if (settings_.length <= 0.0)
        settings_.length = 0.5 * std::sqrt(std::max(1.0, static_cast<double>(groups_->varying())));
    const double scale = mean_product > 0.0 ? settings_.linear_share / mean_product : 0.0;
    for (Tables& table : tables_) {
        for (double& product : table.products) product *= scale;
        for (double& distance : table.distances) distance *= 5.0 / (settings_.length * settings_.length);
    }
}

double Covariance::between(std::size_t a, std::size_t b) const {
    const CandidateSet& candidates = groups_->candidates();
    double linear = settings_.constant * settings_.constant;
    double distance = 0.0;
    for (std::size_t p = 0; p < tables_.size(); ++p) {
        if (tables_[p].values == 0) continue;
        const std::size_t at = candidates[a][p] * tables_[p].values + candidates[b][p];
        linear += tables_[p].products[at];
        distance += tables_[p].distances[at];
    }
    for (const auto& factor : settings_.factors) linear += factor[a] * factor[b];
    add_matern({&distance, 1}, {&linear, 1}, settings_.residual_share, {&linear, 1});
    return linear;
}

std::vector<Covariance::Alike> Covariance::alike(const CandidateGroups::Group& group, std::size_t candidate) const {
    std::vector<Alike> all(1);
    std::vector<Alike> wider;
    for (const std::size_t p : group.parameters) {
        const Tables& table = tables_[p];
        const std::size_t row = groups_->candidates()[candidate][p] * table.values;
        wider.clear();
        for (const Alike& one : all) {
            for (std::size_t v = 0; v < table.values; ++v)
                wider.push_back({one.product + table.products[row + v], one.distance + table.distances[row + v]});
        }
        all.swap(wider);
    }
    return all;
}

void Covariance::column(std::size_t candidate, std::span<double> out) const {
    const auto groups = groups_->groups();
    std::vector<std::vector<Alike>> alikes;
    alikes.reserve(groups.size());
    for (const CandidateGroups::Group& group : groups) alikes.push_back(alike(group, candidate));
    std::array<double, kBlock> distance{};
    for (std::size_t first = 0; first < out.size(); first += kBlock) {
        const std::size_t count = std::min(kBlock, out.size() - first);
        double* const linear = &out[first];
        std::fill_n(linear, count, settings_.constant * settings_.constant);
        distance.fill(0.0);
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const std::uint16_t* const of_candidate = &groups[g].of_candidate[first];
            const Alike* const all = alikes[g].data();
            for (std::size_t c = 0; c < count; ++c) {
                linear[c] += all[of_candidate[c]].product;
                distance[c] += all[of_candidate[c]].distance;
            }
        }
        for (const auto& factor : settings_.factors) {
            for (std::size_t c = 0; c < count; ++c) linear[c] += factor[candidate] * factor[first + c];
        }
        if (settings_.residual_share > 0.0) {
            add_matern(std::span(distance).first(count), {linear, count}, settings_.residual_share, {linear, count});
        }
    }
}

std::vector<double> Covariance::diagonal() const {
    const CandidateSet& candidates = groups_->candidates();
    std::vector<double> diagonal(candidates.size(), settings_.constant * settings_.constant + settings_.residual_share);
    for (std::size_t c = 0; c < diagonal.size(); ++c) {
        for (std::size_t p = 0; p < tables_.size(); ++p) {
            if (tables_[p].values > 0) diagonal[c] += tables_[p].products[candidates[c][p] * (tables_[p].values + 1)];
        }
        for (const auto& factor : settings_.factors) diagonal[c] += factor[c] * factor[c];
    }
    return diagonal;
}

}  // namespace yolk::autotune
