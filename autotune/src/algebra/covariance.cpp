// SPDX-License-Identifier: Apache-2.0
#include "covariance.hpp"

#include <Eigen/Core>
#include <cmath>

namespace yolk::autotune {

double squared_distance(const Parameter& parameter, std::size_t a, std::size_t b) {
    if (parameter.scale == Scale::Categorical) return a == b ? 0.0 : 1.0;
    const double difference = parameter.coordinate(a) - parameter.coordinate(b);
    return difference * difference;
}

Covariance::Covariance(const CandidateSet& candidates, CovarianceSettings settings)
    : settings_(std::move(settings)), size_(candidates.size()) {
    const auto parameters = candidates.space().parameters();
    double mean_product = 0.0;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const std::size_t n = parameters[p].values.size();
        if (n < 2) continue;
        Tables table{.values = n,
                     .products = std::vector<double>(n * n),
                     .distances = std::vector<double>(n * n),
                     .of_candidate = std::vector<std::uint16_t>(size_)};
        std::vector<double> frequency(n, 0.0);
        for (std::size_t c = 0; c < size_; ++c) {
            table.of_candidate[c] = candidates[c][p];
            frequency[candidates[c][p]] += 1.0 / static_cast<double>(size_);
        }
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
        tables_.push_back(std::move(table));
    }
    if (settings_.length <= 0.0) settings_.length = 0.5 * std::sqrt(std::max(1.0, static_cast<double>(tables_.size())));
    const double scale = mean_product > 0.0 ? settings_.linear_share / mean_product : 0.0;
    for (Tables& table : tables_) {
        for (double& product : table.products) product *= scale;
        for (double& distance : table.distances) distance *= 5.0 / (settings_.length * settings_.length);
    }
}

/// Of 5 r^2 / length^2.
double Covariance::residual(double squared_distance) const {
    const double r = std::sqrt(squared_distance);
    return settings_.residual_share * (1.0 + r + squared_distance / 3.0) * std::exp(-r);
}

double Covariance::between(std::size_t a, std::size_t b) const {
    double linear = settings_.constant * settings_.constant;
    double distance = 0.0;
    for (const Tables& table : tables_) {
        const std::size_t at = table.of_candidate[a] * table.values + table.of_candidate[b];
        linear += table.products[at];
        distance += table.distances[at];
    }
    for (const auto& factor : settings_.factors) linear += factor[a] * factor[b];
    return linear + residual(distance);
}

void Covariance::column(std::size_t candidate, std::span<double> out) const {
    const auto n = static_cast<Eigen::Index>(size_);
    Eigen::Map<Eigen::ArrayXd> linear(out.data(), n);
    linear.setConstant(settings_.constant * settings_.constant);
    Eigen::ArrayXd distance = Eigen::ArrayXd::Zero(n);
    for (const Tables& table : tables_) {
        const std::size_t row = std::size_t{table.of_candidate[candidate]} * table.values;
        const double* const products = &table.products[row];
        const double* const distances = &table.distances[row];
        for (std::size_t c = 0; c < size_; ++c) {
            const std::uint16_t value = table.of_candidate[c];
            out[c] += products[value];
            distance[static_cast<Eigen::Index>(c)] += distances[value];
        }
    }
    for (const auto& factor : settings_.factors) {
        linear += factor[candidate] * Eigen::Map<const Eigen::ArrayXd>(factor.data(), n);
    }
    if (settings_.residual_share > 0.0) {
        const Eigen::ArrayXd r = distance.sqrt();
        linear += settings_.residual_share * (1.0 + r + distance / 3.0) * (-r).exp();
    }
}

std::vector<double> Covariance::diagonal() const {
    std::vector<double> diagonal(size_);
    for (std::size_t c = 0; c < size_; ++c) diagonal[c] = between(c, c);
    return diagonal;
}

}  // namespace yolk::autotune
