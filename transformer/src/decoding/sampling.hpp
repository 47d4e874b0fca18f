// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "yolk/decoder.hpp"

namespace yolk::transformer {

[[nodiscard]] Result<void> check_sampling(const GenerateOptions& options);
/// The next token by its logits: the likeliest (the first of equals), or one that is drawn. Of `stream` and `place` the
/// draw is a function. Error: a logit that is not finite.
[[nodiscard]] Result<std::uint32_t> next_token(std::span<const float> logits, const GenerateOptions& options,
                                               std::uint32_t stream, std::uint32_t place);

}  // namespace yolk::transformer
