// SPDX-License-Identifier: Apache-2.0
// The Pareto front of a prompt search: for each validation example, the candidates that nobody is better at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace yolk::hyper::prompts {

/// [validation examples], each the candidates with its best score, ascending: all that reach it.
using Fronts = std::vector<std::vector<std::uint32_t>>;

[[nodiscard]] double sum_of(std::span<const double> scores);
[[nodiscard]] double mean_of(std::span<const double> scores);

/// `scores` [candidates][validation examples].
[[nodiscard]] Fronts fronts_of(std::span<const std::vector<double>> scores);

/// Without dominated candidates. One is dominated if every front it is on also has another candidate that remains.
/// Candidates are looked at from the lowest mean up, of equals the earlier one first; `means` [candidates].
[[nodiscard]] Fronts without_dominated(Fronts fronts, std::span<const double> means);

/// On how many fronts each of the candidates is.
[[nodiscard]] std::vector<std::uint32_t> front_counts(const Fronts& fronts, std::size_t candidates);

/// Those on any front, ascending.
[[nodiscard]] std::vector<std::uint32_t> members_of(const Fronts& fronts);

}  // namespace yolk::hyper::prompts
