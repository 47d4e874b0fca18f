// SPDX-License-Identifier: Apache-2.0
// The kernels of a policy's population, as descriptions: what a device plans and the host's twins follow.
#pragma once

#include "yolk/block_inverse.hpp"
#include "yolk/covariance.hpp"
#include "yolk/internal/autotune/policy_kernels.hpp"
#include "yolk/inverse_sqrt.hpp"
#include "yolk/matmul.hpp"
#include "yolk/natural_gradient.hpp"
#include "yolk/perturbed_embedding.hpp"

namespace yolk::autotune {

/// natural_gradient gives -learning_rate P g; the step is along P g.
inline constexpr float kPolicyStepRate = -1.0F;

/// The matrices of all members, [population, rows, columns]: every row of the logits is looked up.
[[nodiscard]] PerturbedEmbeddingDesc members_of(const PolicyDesc& desc);
/// [population, rows x columns] by the candidates' one-hot columns, [rows x columns, candidates].
[[nodiscard]] MatmulDesc scores_of(const PolicyDesc& desc);

struct PolicyStepDescs {
    CovarianceDesc covariance;
    InverseSqrtDesc inverse_sqrt;
    BlockInverseDesc inverse;
    NaturalGradientDesc product;
};
[[nodiscard]] PolicyStepDescs step_descs(const PolicyDesc& desc, const PolicyPreconditioner& preconditioner);

}  // namespace yolk::autotune
