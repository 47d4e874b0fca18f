// SPDX-License-Identifier: Apache-2.0
// Random numbers of a prompt search. Each is named by its purpose and by the iteration that needs it, so that nothing
// depends on what was drawn before, or when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace yolk::hyper::prompts {

enum class Purpose : std::uint32_t { Minibatch, Parent, MergePair, MergeAncestor, MergeText, MergeExamples };

struct Draw {
    std::uint64_t seed = 0;
    std::uint32_t time = 0;  ///< the iteration, or the pass over the examples
    Purpose purpose = Purpose::Minibatch;
};

[[nodiscard]] std::uint64_t draw_word(const Draw& draw, std::uint32_t index);
/// Below `count`, which is not 0.
[[nodiscard]] std::uint32_t draw_below(const Draw& draw, std::uint32_t index, std::uint64_t count);
[[nodiscard]] double draw_fraction(const Draw& draw, std::uint32_t index);  ///< in [0, 1)
/// A place in `weights`, by them; evenly where they are not all from 0 with a sum above 0. There is one at least.
[[nodiscard]] std::size_t draw_weighted(const Draw& draw, std::uint32_t index, std::span<const double> weights);
/// The values in a new order; takes the indices from `first_index` on, one for each value.
void shuffle(const Draw& draw, std::uint32_t first_index, std::span<std::uint32_t> values);

}  // namespace yolk::hyper::prompts
