// SPDX-License-Identifier: Apache-2.0
// Which prompt came from which, as a picture.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {

/// SVG: a row for each distance from the start, a box for each candidate with its number and mean, lines to its parents
/// (dashed from a merge). `run` makes links unique on the page.
[[nodiscard]] std::string ancestry_picture(std::span<const ReportedCandidate> candidates, std::uint32_t best,
                                           std::size_t run);

}  // namespace yolk::hyper::prompts
