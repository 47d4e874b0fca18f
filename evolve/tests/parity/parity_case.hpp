// SPDX-License-Identifier: Apache-2.0
// What bench/peers/eggroll_parity.py has the kernels compute: cases of one matrix, one embedding table, one vector and
// one frozen vector, in a file that it writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

struct ParitySettings {
    std::uint64_t seed = 0;
    std::uint32_t rank = 1;
    std::uint32_t population = 2;
    std::uint32_t group_size = 2;  ///< of the z-score by group
    std::uint32_t generations = 1;
    float sigma = 0.0F, learning_rate = 0.0F, beta1 = 0.0F, beta2 = 0.0F;
};

struct ParitySizes {
    std::uint32_t out = 0, in = 0;            ///< of the matrix
    std::uint32_t vocabulary = 0, width = 0;  ///< of the embedding table
    std::uint32_t vector = 0, frozen = 0;     ///< lengths
};

struct ParityInputs {
    std::vector<float> parameters;    ///< [element_count], before the first generation
    std::vector<float> x;             ///< [rows, in]
    std::vector<float> x_transposed;  ///< [rows, out]
    std::vector<std::uint32_t> ids;   ///< into the embedding table
    std::vector<float> scores;        ///< [population], the same in every generation
};

struct ParityCase {
    std::string name;
    ParitySettings settings;
    ParitySizes sizes;
    ParityInputs inputs;
};

inline constexpr ParameterId kParityLinear{0}, kParityEmbedding{1}, kParityVector{2}, kParityFrozen{3};

/// In the order of those ids. Errors: ParameterTable::create's.
[[nodiscard]] Result<ParameterTable> parity_table(const ParitySizes& sizes);

/// One entry of a file's "cases". Errors: a field that is missing, of another type, or of another length than the sizes
/// and settings give it.
[[nodiscard]] Result<ParityCase> read_parity_case(const Json& json);

}  // namespace yolk::evolve
