// SPDX-License-Identifier: Apache-2.0
// The algebra of the house strategy, behind an interface so that a device can do it (device_linear_algebra.hpp).
//
// A damped regression over the measurements S with covariance K and noise D, scored for all N candidates:
//   value scores = K(:,S) (K(S,S) + D)^-1 y        unit scores = K(:,S) (K(S,S) + D)^-1 1
//   variances    = diag K - diag(K(:,S) (K(S,S) + D)^-1 K(S,:))
// the three products and the determinant that the evidence is made of, and the candidate with the largest expected
// improvement. (K + D)^-1 is a damped inverse of one block, the scores are products of N x n with n x 1 and n x n.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "yolk/internal/autotune/history.hpp"

namespace yolk::autotune {

/// Of the measurements so far, with A = K(S,S) + D.
struct Evidence {
    double values_values = 0.0;    ///< y^T A^-1 y
    double values_units = 0.0;     ///< y^T A^-1 1
    double units_units = 0.0;      ///< 1^T A^-1 1
    double log_determinant = 0.0;  ///< log |A|
    std::size_t count = 0;
};

/// K, the covariance of the candidates' values, by columns.
class Kernel {
   public:
    Kernel() = default;
    virtual ~Kernel() = default;
    [[nodiscard]] virtual std::vector<double> diagonal() const = 0;
    virtual void column(std::size_t candidate, std::span<double> out) const = 0;  ///< against every candidate

   protected:
    Kernel(const Kernel&) = default;
    Kernel& operator=(const Kernel&) = default;
    Kernel(Kernel&&) = default;
    Kernel& operator=(Kernel&&) = default;
};

/// Of one candidate.
struct CandidatePosterior {
    double value_score = 0.0;
    double unit_score = 0.0;
    double variance = 0.0;  ///< at least 1e-10
};

/// Of all candidates.
struct Posteriors {
    std::span<const double> value_scores{};
    std::span<const double> unit_scores{};
    std::span<const double> variances{};
};

/// What to look for: the mean of a candidate is prior + level + value score - level * unit score, its deviation
/// `deviation` times the root of its variance; improved on is the value `best`.
struct Acquisition {
    double best = 0.0;
    double level = 0.0;
    double deviation = 1.0;
    std::span<const double> prior{};   ///< one per candidate; empty: 0
    const History* history = nullptr;  ///< what it knows is not looked for
    double weight = 1.0;               ///< of its logarithm, where two are summed
};

/// Expected improvement of one candidate.
[[nodiscard]] double expected_gain(const Acquisition& acquisition, std::size_t candidate,
                                   const CandidatePosterior& posterior);

/// Nothing here fails: an implementation on a device that can fail goes on with the host's.
class LinearAlgebra {
   public:
    LinearAlgebra() = default;
    virtual ~LinearAlgebra() = default;
    LinearAlgebra(const LinearAlgebra&) = delete;
    LinearAlgebra& operator=(const LinearAlgebra&) = delete;
    LinearAlgebra(LinearAlgebra&&) = delete;
    LinearAlgebra& operator=(LinearAlgebra&&) = delete;

    /// Forgets all. The kernel must stay until the next begin().
    virtual void begin(const Kernel& kernel) = 0;
    /// One more measurement: of `candidate`, with its place in D, and its value y.
    virtual void append(std::size_t candidate, double noise_variance, double value) = 0;
    [[nodiscard]] virtual CandidatePosterior at(std::size_t candidate) = 0;
    /// Valid until the next begin() or append().
    [[nodiscard]] virtual Posteriors all() = 0;
    [[nodiscard]] virtual Evidence evidence() = 0;
    /// The unknown candidate with the largest gain, the first of equal ones; among `among`, where given. None where all
    /// are known.
    [[nodiscard]] virtual std::optional<std::size_t> most_promising(const Acquisition& acquisition,
                                                                    std::span<const std::size_t> among) = 0;
    /// The same of the weighted sum of this regression's log expected improvement and of `second`'s, of the same
    /// candidates.
    [[nodiscard]] virtual std::optional<std::size_t> most_promising_with(const Acquisition& acquisition,
                                                                         LinearAlgebra& second,
                                                                         const Acquisition& second_acquisition,
                                                                         std::span<const std::size_t> among);
};

/// Double precision on the host: a Cholesky factor that grows by a row per measurement, O(n N) each, worked out when
/// scores are asked for.
[[nodiscard]] std::unique_ptr<LinearAlgebra> host_linear_algebra();

}  // namespace yolk::autotune
