// SPDX-License-Identifier: Apache-2.0
// Text on its way into HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace yolk {

/// For an element's content or an attribute in quotes: & < > " ' as entities, control characters as spaces, and what is
/// no UTF-8 replaced.
[[nodiscard]] std::string markup_text(std::string_view text);

}  // namespace yolk
