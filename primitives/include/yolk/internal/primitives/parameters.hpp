// SPDX-License-Identifier: Apache-2.0
// The parameters of a system: what the noise, update and optimizer kernels walk over, all of them in each dispatch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/core/typed_id.hpp"
#include "yolk/result.hpp"

namespace yolk {

enum class Perturbation {
    LowRank,  ///< a matrix: E = A B^T / sqrt(r). An embedding table is one: [vocabulary, width], a row of A per token
    Vector,   ///< a vector (bias, norm scale): full noise of domain Vector
    Frozen,   ///< neither perturbed nor updated
};

/// The largest rank of a perturbation.
inline constexpr std::uint32_t kMaxRank = 32;

struct ParameterDesc {
    std::string name;           ///< "layer0.weight"; unique
    std::uint32_t rows = 0;     ///< out; the length of a vector
    std::uint32_t columns = 1;  ///< in; 1 for a vector
    Perturbation perturbation = Perturbation::LowRank;
    std::uint32_t rank = 0;  ///< r of a low-rank matrix, 1 ... kMaxRank; 0: the rank of the run
};

/// r of a low-rank matrix in a run whose matrices have `run_rank` where they say nothing.
[[nodiscard]] constexpr std::uint32_t rank_of(const ParameterDesc& parameter, std::uint32_t run_rank) noexcept {
    return parameter.rank == 0 ? run_rank : parameter.rank;
}

/// Parameters laid out one behind the other as fp32, in id order, without padding; id = position. Immutable.
class ParameterTable {
   public:
    /// Errors: empty or duplicate name, zero extent, a rank above kMaxRank, a vector with one, more than 2^24
    /// parameters, 2^31 elements or more in all.
    [[nodiscard]] static Result<ParameterTable> create(std::vector<ParameterDesc> parameters);

    [[nodiscard]] std::span<const ParameterDesc> parameters() const noexcept { return parameters_; }
    [[nodiscard]] std::uint32_t offset(ParameterId id) const { return offsets_.at(id.value); }  ///< in elements
    [[nodiscard]] std::uint32_t element_count() const noexcept { return element_count_; }
    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return std::uint64_t{4} * element_count_; }

   private:
    std::vector<ParameterDesc> parameters_;
    std::vector<std::uint32_t> offsets_;
    std::uint32_t element_count_ = 0;
};

/// What every kernel that draws noise needs to know of a generation.
struct NoiseContext {
    std::uint64_t seed = 0;
    std::uint32_t generation = 0;  ///< times environments
    std::uint32_t time = 0;        ///< generation / noise_reuse; times domains A, B and Vector
    float sigma = 0.0F;
};

}  // namespace yolk
