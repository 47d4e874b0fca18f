// SPDX-License-Identifier: Apache-2.0
// What a policy sees of a state, normalized where NORMALIZER is set, and what a member counts of it for the normalizer
// of later generations: words of its own, sums of integers, so that any order gives the same. Included by rollout.comp
// only, after the network, whose units_ it fills.
#include "yolk/exact/observation_normalizer.h"

const bool NORMALIZER_IS_SET = NORMALIZER != 0u;
const bool NORMALIZER_COUNTS = NORMALIZER_IS_SET && FROZEN != 0xFFFFFFFFu;  // not of the unperturbed policy
const uint NORMALIZER_WORDS = NORMALIZER_COUNTS ? kObservationCount * kExactObservationWords : 1u;
uint normalizer_counts_[NORMALIZER_WORDS];  // of this dispatch

void observe(State state) {
    float observation[kObservationCount];
    environment_observe(state, observation);
    LAYER_LOOP (uint i = 0u; i < kObservationCount; ++i) {
        if (NORMALIZER_IS_SET) {
            units_[i] = exact_normalized(observation[i], parameters_.values[NORMALIZER + i],
                                         parameters_.values[NORMALIZER + kObservationCount + i]);
        } else {
            units_[i] = exact_flush_operand(observation[i]);
        }
    }
    if (!NORMALIZER_COUNTS) return;
    LAYER_LOOP (uint i = 0u; i < kObservationCount; ++i) {
        uint at = i * kExactObservationWords;
        exact_count_observation(observation[i], normalizer_counts_[at], normalizer_counts_[at + 1u], normalizer_counts_[at + 2u], normalizer_counts_[at + 3u],
                                normalizer_counts_[at + 4u], normalizer_counts_[at + 5u]);
    }
}

void begin_normalizer_counts() {
    if (!NORMALIZER_COUNTS) return;
    LAYER_LOOP (uint i = 0u; i < NORMALIZER_WORDS; ++i) normalizer_counts_[i] = 0u;
}

// 1 where adding `value` to `before` carries.
uint normalizer_carry(uint before, uint value) { return before + value < value ? 1u : 0u; }

// To the words of this member, which its other episodes add to at the same time.
void add_normalizer_counts(uint place) {
    if (!NORMALIZER_COUNTS) return;
    LAYER_LOOP (uint i = 0u; i < kObservationCount; ++i) {
        uint at = i * kExactObservationWords;
        uint to = kEvaluationCounters + (place * kObservationCount + i) * kExactObservationWords;
        atomicAdd(evaluations_.values[to], normalizer_counts_[at]);
        uint carry = normalizer_carry(atomicAdd(evaluations_.values[to + 1u], normalizer_counts_[at + 1u]), normalizer_counts_[at + 1u]);
        atomicAdd(evaluations_.values[to + 2u], normalizer_counts_[at + 2u] + carry);
        carry = normalizer_carry(atomicAdd(evaluations_.values[to + 3u], normalizer_counts_[at + 3u]), normalizer_counts_[at + 3u]);
        uint middle = normalizer_counts_[at + 4u] + carry;
        uint high = normalizer_counts_[at + 5u] + (middle < carry ? 1u : 0u);
        carry = normalizer_carry(atomicAdd(evaluations_.values[to + 4u], middle), middle);
        atomicAdd(evaluations_.values[to + 5u], high + carry);
    }
}
