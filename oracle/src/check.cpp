// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/check.hpp"

#include <array>

#include "yolk/oracle/family.hpp"

namespace yolk::oracle {

namespace {

template <const Family& (*kFamily)() noexcept>
Result<CheckReport> check(const CheckContext& context) {
    return check_family(context, kFamily());
}

}  // namespace

std::span<const Family* const> families() noexcept {
    static const std::array<const Family*, 7> kFamilies{&noise_family(),    &exact_math_family(), &matmul_family(),
                                                        &rollout_family(),  &fitness_family(),    &es_update_family(),
                                                        &optimizer_family()};
    return kFamilies;
}

std::span<const KernelCheck> kernel_checks() noexcept {
    static constexpr std::array<KernelCheck, 12> kChecks{{
    static constexpr std::array<KernelCheck, 8> kChecks{{
    static constexpr std::array<KernelCheck, 9> kChecks{{
    static constexpr std::array<KernelCheck, 10> kChecks{{
    static constexpr std::array<KernelCheck, 11> kChecks{{
        {"noise", &check<noise_family>},
        {"elementwise", &check<elementwise_family>},
        {"transpose", &check<transpose_family>},
        {"concat", &check<concat_family>},
        {"gather", &check<gather_family>},
        {"scatter", &check<scatter_family>},
        {"exact_math", &check_exact_math},
        {"matmul", &check<matmul_family>},
        {"perturbed_linear", &check_perturbed_linear},
        {"rollout", &check_rollout},
        {"fitness", &check_fitness},
        {"es_update", &check_es_update},
        {"optimizer", &check_optimizer},
        {"reduce", &check<reduce_family>},
        {"softmax", &check<softmax_family>},
        {"cross_entropy", &check<cross_entropy_family>},
        {"normalize", &check<normalize_family>},
        {"gru_step", &check<gru_step_family>},
        {"exact_math", &check<exact_math_family>},
        {"matmul", &check<matmul_family>},
        {"perturbed_linear", &check_perturbed_linear},
        {"rollout", &check<rollout_family>},
        {"fitness", &check<fitness_family>},
        {"es_update", &check<es_update_family>},
        {"optimizer", &check<optimizer_family>},
    }};
    return kChecks;
}

}  // namespace yolk::oracle
