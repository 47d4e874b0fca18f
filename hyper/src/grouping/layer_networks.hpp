// SPDX-License-Identifier: Apache-2.0
// Perturbed layers that follow each other, small enough for one kernel with their biases and activations
// (docs/adr/0069): what lies between them is never written.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emitter.hpp"
#include "fusion.hpp"
#include "group_space.hpp"
#include "yolk/perturbed_network.hpp"

namespace yolk::hyper::population {

struct NetworkQuestion {
    PlacedExamples of;
    std::span<const Source> sources;
    /// By equation: those of one number are in one phase and may be left out together.
    std::span<const std::size_t> places;
    /// By variable: something else than an equation on the device takes it.
    const std::vector<bool>& taken;
};

/// Several layers, or one with a bias, become the step of the first one; the others' equations are absorbed.
void join_layers(const NetworkQuestion& question, std::vector<Fused>& fused);
/// One step for the layers that `first` begins. Its description is noted.
void emit_network(Emitter& emitter, const PlacedExamples& examples, std::size_t first, const Fused& fused);

}  // namespace yolk::hyper::population
