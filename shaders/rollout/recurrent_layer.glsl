// SPDX-License-Identifier: Apache-2.0
// The recurrent layer of a policy, a minimal gated unit before the other layers. Included by policy_network.glsl only.
//   f = sigmoid([x, h])   c = tanh([x, f h])   h <- h + f (c - h)
// Gate f and candidate c are layers 0 and 1 as policy_network.glsl has them; x is the observation. The memory h is the episode's: zero where it starts, in scratch between dispatches.
#include "yolk/exact/exact_recurrence.h"

const uint MEMORY_COUNT = RECURRENT == 0u ? 1u : RECURRENT;
float recurrent_memory_[MEMORY_COUNT];

void recurrent_start() {
    if (RECURRENT == 0u) return;
    LAYER_LOOP (uint u = 0u; u < RECURRENT; ++u) recurrent_memory_[u] = uintBitsToFloat(kExactZero);
}

// Memories lie behind the slots.
uint recurrent_place(uint place) { return params.index_count * SLOT_WORDS + place * RECURRENT; }

void recurrent_load(uint place) {
    if (RECURRENT == 0u) return;
    uint first = recurrent_place(place);
    LAYER_LOOP (uint u = 0u; u < RECURRENT; ++u) recurrent_memory_[u] = memories_.values[first + u];
}

void recurrent_keep(uint place) {
    if (RECURRENT == 0u) return;
    uint first = recurrent_place(place);
    LAYER_LOOP (uint u = 0u; u < RECURRENT; ++u) memories_.values[first + u] = recurrent_memory_[u];
}

void prepare_recurrent(uint pair, float vector_scale) {
    if (RECURRENT == 0u) return;
    prepare_layer(0u, GATE_INPUTS, RECURRENT, 0u, 0u, pair, vector_scale);
    prepare_layer(1u, GATE_INPUTS, RECURRENT, GATE_WEIGHTS, GATE_FACTORS, pair, vector_scale);
}

#ifdef ROLLOUT_FAST
float recurrent_gate(float sum) { return fma(0.5, fast_tanh(0.5 * sum), 0.5); }
float recurrent_gated(float gate, float memory) { return gate * memory; }
float recurrent_next(float gate, float memory, float candidate) { return fma(gate, candidate - memory, memory); }
#else
#define recurrent_gate(sum) exact_gate(sum)
#define recurrent_gated(gate, memory) exact_gated_memory(gate, memory)
#define recurrent_next(gate, memory, candidate) exact_next_memory(gate, memory, candidate)
#endif

// From the observation in units_[0 ...] to the next memory, in recurrent_memory_ and where layer 2 reads it.
void apply_recurrent(float matrix_scale) {
    if (RECURRENT == 0u) return;
    LAYER_LOOP (uint u = 0u; u < RECURRENT; ++u) units_[WIDTH0 + u] = recurrent_memory_[u];
    apply_layer(0u, GATE_INPUTS, RECURRENT, 0u, 0u, 0u, GATE_UNITS, false, matrix_scale);
    LAYER_LOOP (uint u = 0u; u < RECURRENT; ++u) {
        units_[GATE_UNITS + u] = recurrent_gate(units_[GATE_UNITS + u]);
        units_[WIDTH0 + u] = recurrent_gated(units_[GATE_UNITS + u], recurrent_memory_[u]);
    }
    apply_layer(1u, GATE_INPUTS, RECURRENT, GATE_WEIGHTS, GATE_FACTORS, 0u, UNITS0, true, matrix_scale);
    LAYER_LOOP (uint u = 0u; u < RECURRENT; ++u) {
        recurrent_memory_[u] = recurrent_next(units_[GATE_UNITS + u], recurrent_memory_[u], units_[UNITS0 + u]);
        units_[UNITS0 + u] = recurrent_memory_[u];
    }
}
