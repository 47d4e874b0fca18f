// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/check.hpp"

#include <array>

#include "yolk/oracle/family.hpp"

namespace yolk::oracle {

std::span<const Family* const> families() noexcept {
    static const std::array kFamilies{&noise_family(),
                                      &exact_math_family(),
                                      &elementwise_family(),
                                      &convert_family(),
                                      &transpose_family(),
                                      &concat_family(),
                                      &gather_family(),
                                      &scatter_family(),
                                      &reduce_family(),
                                      &softmax_family(),
                                      &cross_entropy_family(),
                                      &normalize_family(),
                                      &gru_step_family(),
                                      &matmul_family(),
                                      &matmul_i8_family(),
                                      &perturbed_linear_family(),
                                      &perturbed_embedding_family(),
                                      &perturbed_vector_family(),
                                      &covariance_family(),
                                      &natural_gradient_family(),
                                      &expected_improvement_family(),
                                      &inverse_sqrt_family(),
                                      &kronecker_precondition_family(),
                                      &rollout_family(),
                                      &fitness_family(),
                                      &es_update_family(),
                                      &optimizer_family(),
                                      &block_inverse_family()};
    return kFamilies;
}

const Family* find_operation(std::string_view name) noexcept {
    for (const Family* family : families()) {
        if (family->operation != nullptr && name == family->name) return family;
    }
    return nullptr;
}

}  // namespace yolk::oracle
