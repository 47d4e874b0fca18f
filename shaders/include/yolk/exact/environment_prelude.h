// SPDX-License-Identifier: Apache-2.0
// What an environment's file (shaders/environments/<name>.glsl) is wrapped in; the interface is described in
// docs/environments.md. In C++ it lies in namespace yolk::exact::<name>, where the exact functions are found without a
// prefix. The kernel includes one environment only.
#ifndef YOLK_EXACT_ENVIRONMENT_PRELUDE_H
#define YOLK_EXACT_ENVIRONMENT_PRELUDE_H
#include "yolk/exact/continuous_action.h"
#include "yolk/exact/exact_integers.h"
#include "yolk/exact/exact_math.h"

#ifdef __cplusplus
#include <cstddef>
#define ENVIRONMENT_BEGIN(name) namespace yolk::exact::name {
#define ENVIRONMENT_END                                                                                       \
    inline constexpr auto kActions = actions_of(&environment_step, kActionSquashed, kActionLow, kActionHigh); \
    }
#else
#define ENVIRONMENT_BEGIN(name)
#define ENVIRONMENT_END
#endif

EXACT_BEGIN
// What one step gives. `terminated` ends the episode; truncation at the step limit is the roll-out's.
struct StepResult {
    float reward;
    bool terminated;
};

// Uniform in [0, 1): the top 24 bits of a random word, exact.
EXACT_CONST uint kTwoToMinus24 = 0x33800000u;
EXACT_FUNCTION float exact_uniform(uint word) {
    exact_float value = float(word >> 8) * exact_from_bits(kTwoToMinus24);
    return value;
}
EXACT_END

#ifdef __cplusplus
namespace yolk::exact {
/// What an environment takes. Found by the form of its step, so that one with discrete actions says nothing of it.
struct EnvironmentActions {
    bool continuous = false;
    bool squashed = false;
    float low[kMaxContinuousActions] = {};
    float high[kMaxContinuousActions] = {};
};
/// Of environments with discrete actions, which have none of their own.
inline constexpr uint kActionSquashed = 0;
inline constexpr uint kActionLow[1] = {0};
inline constexpr uint kActionHigh[1] = {0};
template <class State, std::size_t N>
constexpr EnvironmentActions actions_of(StepResult (*)(State&, uint), uint, const uint (&)[N], const uint (&)[N]) {
    return {};
}
template <class State, std::size_t N>
constexpr EnvironmentActions actions_of(StepResult (*)(State&, const float (&)[N]), uint squashed, const uint (&low)[N],
                                        const uint (&high)[N]) {
    static_assert(N <= kMaxContinuousActions);
    EnvironmentActions actions{.continuous = true, .squashed = squashed != 0};
    for (std::size_t i = 0; i < N; ++i) {
        actions.low[i] = exact_from_bits(low[i]);
        actions.high[i] = exact_from_bits(high[i]);
    }
    return actions;
}
}  // namespace yolk::exact
#endif
#endif
