// SPDX-License-Identifier: Apache-2.0
#include "environments.hpp"

#include <array>
#include <string>

#include "yolk/environment.hpp"
#include "yolk/internal/shaders/environments.hpp"

namespace yolk {

namespace {

#define YOLK_INFO_ROW(environment, looped, unrolled, packed, looped_fast, unrolled_fast, packed_fast) \
    EnvironmentInfo{.name = #environment,                                                             \
                    .observation_count = exact::environment::kObservationCount,                       \
                    .action_count = exact::environment::kActionCount,                                 \
                    .state_words = static_cast<std::uint32_t>(sizeof(exact::environment::State) / 4), \
                    .max_steps = exact::environment::kMaxSteps,                                       \
                    .solved_return = exact::exact_from_bits(exact::environment::kSolvedReturn),       \
                    .best_return = exact::exact_from_bits(exact::environment::kBestReturn),           \
                    .actions = action_space(exact::environment::kActions)},
#define YOLK_KERNEL_ROW(environment, looped, unrolled, packed, looped_fast, unrolled_fast, packed_fast) \
    BuiltInKernels{{&kernels::looped, &kernels::unrolled, &kernels::packed},                            \
                   {&kernels::looped_fast, &kernels::unrolled_fast, &kernels::packed_fast}},

struct BuiltInKernels {
    RolloutKernels exact, fast;
};
constexpr std::array kInfos{YOLK_ENVIRONMENTS(YOLK_INFO_ROW)};
constexpr std::array kKernels{YOLK_ENVIRONMENTS(YOLK_KERNEL_ROW)};

#undef YOLK_INFO_ROW
#undef YOLK_KERNEL_ROW

Result<EnvironmentKernels> find_built_in(std::string_view name) {
    std::string known;
    for (std::size_t i = 0; i < kInfos.size(); ++i) {
        if (kInfos[i].name == name) {
            return EnvironmentKernels{.info = kInfos[i], .exact = kKernels[i].exact, .fast = kKernels[i].fast};
        }
        known += (known.empty() ? "" : ", ") + std::string(kInfos[i].name);
    }
    return bad_input("There is no environment \"{}\"; known ones: {}.", name, known);
}

}  // namespace

std::span<const EnvironmentInfo> environments() noexcept { return kInfos; }

Result<EnvironmentKernels> find_environment_kernels(const RolloutDesc& desc) {
    if (const LoadedEnvironment* const own = desc.own_environment.get()) {
        return EnvironmentKernels{.info = own->info(),
                                  .exact = {&own->looped(), &own->unrolled(), &own->packed()},
                                  .fast = {&own->looped_fast(), &own->unrolled_fast(), &own->packed_fast()}};
    }
    return find_built_in(desc.environment);
}

Result<EnvironmentInfo> find_environment(std::string_view name) {
    YOLK_TRY(const EnvironmentKernels found, find_built_in(name));
    return found.info;
}

}  // namespace yolk
