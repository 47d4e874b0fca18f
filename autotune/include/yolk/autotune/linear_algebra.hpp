// SPDX-License-Identifier: Apache-2.0
// The algebra of the house strategy, behind an interface so that a device can do it.
//
// A damped regression over the measurements S with covariance K and noise D, scored for all N candidates:
//   value_scores = K(:,S) (K(S,S) + D)^-1 y        unit_scores = K(:,S) (K(S,S) + D)^-1 1
//   variances    = diag K - diag(K(:,S) (K(S,S) + D)^-1 K(S,:))
// and the three products and the determinant that the evidence is made of. (K + D)^-1 is a damped inverse of one block,
// the scores are products of N x n with n x 1 and n x n.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace yolk::autotune {

/// Of the measurements so far, with A = K(S,S) + D.
struct Evidence {
    double values_values = 0.0;    ///< y^T A^-1 y
    double values_units = 0.0;     ///< y^T A^-1 1
    double units_units = 0.0;      ///< 1^T A^-1 1
    double log_determinant = 0.0;  ///< log |A|
    std::size_t count = 0;
};

/// Nothing here fails: an implementation on a device that can fail goes on with the host's.
class LinearAlgebra {
   public:
    LinearAlgebra() = default;
    virtual ~LinearAlgebra() = default;
    LinearAlgebra(const LinearAlgebra&) = delete;
    LinearAlgebra& operator=(const LinearAlgebra&) = delete;
    LinearAlgebra(LinearAlgebra&&) = delete;
    LinearAlgebra& operator=(LinearAlgebra&&) = delete;

    /// Forgets all. `prior_variances`: diag K, one per candidate.
    virtual void begin(std::span<const double> prior_variances) = 0;
    /// One more measurement: of `candidate`, with its column of K, its place in D, and its value y.
    virtual void append(std::size_t candidate, std::span<const double> column, double noise_variance, double value) = 0;
    /// One per candidate; valid until the next call of begin() or append().
    [[nodiscard]] virtual std::span<const double> value_scores() = 0;
    [[nodiscard]] virtual std::span<const double> unit_scores() = 0;
    [[nodiscard]] virtual std::span<const double> variances() = 0;  ///< at least 1e-10
    [[nodiscard]] virtual Evidence evidence() = 0;
};

/// Double precision on the host: a Cholesky factor that grows by a row per measurement, O(n N) each.
[[nodiscard]] std::unique_ptr<LinearAlgebra> host_linear_algebra();

}  // namespace yolk::autotune
