// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/check.hpp"

#include <array>
#include <vector>

#include "yolk/oracle/family.hpp"

namespace yolk::oracle {

std::span<const Family* const> families() noexcept {
    static const std::array kFamilies{
        &noise_family(),     &exact_math_family(), &elementwise_family(), &transpose_family(), &concat_family(),
        &gather_family(),    &scatter_family(),    &reduce_family(),      &softmax_family(),   &cross_entropy_family(),
        &normalize_family(), &gru_step_family(),   &matmul_family(),      &rollout_family(),   &fitness_family(),
        &es_update_family(), &optimizer_family()};
    return kFamilies;
}

std::span<const KernelCheck> kernel_checks() {
    static const std::vector<KernelCheck> checks = [] {
        std::vector<KernelCheck> all;
        for (const Family* family : families()) {
            all.push_back({family->name, [family](const CheckContext& c) { return check_family(c, *family); }});
        }
        all.push_back({"perturbed_linear", &check_perturbed_linear});
        return all;
    }();
    return checks;
}

}  // namespace yolk::oracle
