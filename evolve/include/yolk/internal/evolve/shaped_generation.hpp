// SPDX-License-Identifier: Apache-2.0
// What the scores of one generation came to. With the seed and the settings of a run it is all that the update needs,
// so a list of these is the run (docs/adr/0020-the-log-is-the-run.md).
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/internal/abi/fitness_summary.h"

namespace yolk::evolve {

struct ShapedGeneration {
    abi::fitness::Summary summary{};             ///< the coefficient of the update, and the statistics of the scores
    std::vector<std::int8_t> integer_weights{};  ///< integer rules: one per pair; without pairs one per member
    std::vector<float> float_weights{};          ///< float rules: likewise
    /// The last elements of the parameters, which this generation sets (MemberCounts); empty: none.
    std::vector<float> tail{};

    friend bool operator==(const ShapedGeneration& left, const ShapedGeneration& right);
};

}  // namespace yolk::evolve
