// SPDX-License-Identifier: Apache-2.0
// Problems of one description each, for benchmarks and the tuner: their inputs are of no particular values.
#pragma once

#include <memory>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/block_inverse.hpp"
#include "yolk/primitives/concat.hpp"
#include "yolk/primitives/covariance.hpp"
#include "yolk/primitives/es_update.hpp"
#include "yolk/primitives/inverse_sqrt.hpp"
#include "yolk/primitives/kronecker_precondition.hpp"
#include "yolk/primitives/matmul.hpp"
#include "yolk/primitives/matmul_i8.hpp"
#include "yolk/primitives/natural_gradient.hpp"
#include "yolk/primitives/perturbed_linear.hpp"
#include "yolk/primitives/reduce.hpp"
#include "yolk/primitives/rollout.hpp"

namespace yolk::oracle {

[[nodiscard]] std::unique_ptr<Problem> make_matmul_problem(const MatmulDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_reduce_problem(const ReduceDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_es_update_problem(const EsUpdateDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_block_inverse_problem(const BlockInverseDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_covariance_problem(const CovarianceDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_natural_gradient_problem(const NaturalGradientDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_kronecker_precondition_problem(const KroneckerPreconditionDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_perturbed_linear_problem(const PerturbedLinearDesc& desc);
/// Of CartPole, with parameters drawn; widths, members, episodes, max_steps, rank, mean_only and never_stop are the
/// description's. `desc.network` has 4 inputs and 2 outputs.
[[nodiscard]] std::unique_ptr<Problem> make_rollout_problem(const RolloutDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_concat_problem(const ConcatDesc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_matmul_i8_problem(const MatmulI8Desc& desc);
[[nodiscard]] std::unique_ptr<Problem> make_inverse_sqrt_problem(const InverseSqrtDesc& desc);

}  // namespace yolk::oracle
