// SPDX-License-Identifier: Apache-2.0
// What an environment's file (shaders/environments/<name>.glsl) is wrapped in; the interface is described in
// docs/environments.md. In C++ it lies in namespace yolk::exact::<name>, where the exact functions are found without a
// prefix. The kernel includes one environment only.
#ifndef YOLK_EXACT_ENVIRONMENT_PRELUDE_H
#define YOLK_EXACT_ENVIRONMENT_PRELUDE_H
#include "yolk/exact/exact_integers.h"
#include "yolk/exact/exact_math.h"

#ifdef __cplusplus
#define ENVIRONMENT_BEGIN(name) namespace yolk::exact::name {
#define ENVIRONMENT_END }
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
#endif
