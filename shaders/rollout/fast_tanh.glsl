// SPDX-License-Identifier: Apache-2.0
// tanh of the roll-out's fast form, class T.
#ifndef YOLK_ROLLOUT_FAST_TANH_GLSL
#define YOLK_ROLLOUT_FAST_TANH_GLSL

// Odd rational of degrees 5 over 4, fitted to the smallest absolute error on [0, 5.5] (tools/fit_tanh.py 5.5 2 2);
// beyond that its value there. Absolute error at most 1.2e-4. 7 operations and a division. exp2 and a reciprocal, as
// drivers lower the built-in tanh, cost GPUs the same and CPU drivers more.
float fast_tanh(float x) {
    float a = clamp(x, -5.5, 5.5);
    float u = a * a;
    float p = a * fma(fma(0.050028459, u, 8.2368736), u, 82.339340);
    float q = fma(u + 35.621552, u, 82.365158);
    return p / q;
}

#endif
