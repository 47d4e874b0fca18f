// SPDX-License-Identifier: Apache-2.0
// Surfaces made by formula, with what real ones have: interactions, failures, a rugged part, one optimum.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/surface.hpp"

namespace yolk::autotune {

/// 4 x 4 x 3 x 3 x 2 x 5 = 1,440 configurations of a tiled product, some too large. `device` moves the optimum; `rough`
/// scales a part that no model can know.
inline RecordedSurface tiled_product(double device = 0.0, double rough = 0.03) {
    const auto powers = [](int first, int count) {
        std::vector<Value> values;
        for (int i = 0; i < count; ++i) values.emplace_back(std::pow(2.0, first + i));
        return values;
    };
    Space space = Space::create({Parameter::of("tile_m", powers(4, 4)), Parameter::of("tile_n", powers(4, 4)),
                                 Parameter::of("threads_m", powers(3, 3)), Parameter::of("threads_n", powers(3, 3)),
                                 Parameter::of("staged", {0.0, 1.0}), Parameter::of("vector", powers(0, 5))})
                      .value();
    CandidateSet candidates = CandidateSet::of(std::move(space), 5000, 1).value();
    std::vector<double> costs;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        const ChoiceView v = candidates[c];
        const double per_thread = v[0] + v[1] - v[2] - v[3] + 2.0;
        double log_cost = 0.12 * std::abs(v[0] + v[1] - 4.0 - device) + 0.10 * std::abs(per_thread - 3.0) +
                          0.08 * std::abs(v[2] - v[3]) + 0.15 * std::abs(v[5] - 2.0 + 0.5 * device);
        log_cost += v[4] == 0 ? 0.05 * v[0] : 0.05 + 0.02 * device;
        const double hash = std::sin(12.9898 * static_cast<double>(c + 1)) * 43758.5453;
        log_cost += rough * (hash - std::floor(hash));
        costs.push_back(v[0] + v[1] + v[5] > 8 ? kInvalidCost : std::exp(log_cost));
    }
    return RecordedSurface::of(std::move(candidates), std::move(costs), "made up", "product").value();
}

inline std::shared_ptr<const CandidateSet> shared(const RecordedSurface& surface) {
    return std::make_shared<const CandidateSet>(surface.candidates());
}

}  // namespace yolk::autotune
