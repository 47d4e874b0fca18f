// SPDX-License-Identifier: Apache-2.0
// The candidates of one evaluation: natural values of each varying group for those who need them on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "population_place.hpp"

namespace yolk::hyper::population {

class Candidates {
   public:
    /// Sources are Perturbed; Given ones (groups that the trace has other values of) are the same for all.
    [[nodiscard]] static Candidates perturbed(std::span<const Source> sources, const Perturbations& perturbations,
                                              std::vector<Tensor> given);
    /// `values[s]`: one for each candidate.
    [[nodiscard]] static Candidates given(std::span<const Source> sources, std::uint32_t count,
                                          std::vector<std::vector<Tensor>> values);

    [[nodiscard]] std::uint32_t count() const noexcept { return perturbations_.members; }
    [[nodiscard]] std::int32_t first_member() const noexcept { return perturbations_.first_member; }
    [[nodiscard]] NoiseContext when() const noexcept { return perturbations_.when; }
    [[nodiscard]] std::span<const float> centre() const noexcept { return perturbations_.centre; }
    /// Empty where the centre is on the host alone.
    [[nodiscard]] BufferView device_centre() const noexcept { return perturbations_.device_centre; }
    /// Formed where it must be: a matrix in fp32 from a sum in double.
    [[nodiscard]] const Tensor& natural(std::size_t source, std::uint32_t candidate);
    /// Forgets what was formed (matrices of candidates that are done).
    void forget();

   private:
    [[nodiscard]] Tensor form(const Source& source, std::uint32_t candidate) const;

    std::span<const Source> sources_;
    Perturbations perturbations_;                             // of given candidates their number alone
    std::vector<std::vector<Tensor>> values_;                 // by source; one, or one for each candidate
    std::vector<std::vector<std::optional<Tensor>>> formed_;  // by source and candidate
};

}  // namespace yolk::hyper::population
