// SPDX-License-Identifier: Apache-2.0
// Pages of HTML, and pictures of SVG on them or on their own. They load nothing, need no script, and are light or dark
// as the reader's system is. Colours are CSS variables: --bg, --ink, --soft (lesser text), --grid, --edge (axes),
// --bad,
// --mark (behind text), and --c0 to --c7 for data. These are after Okabe and Ito, which people with any kind of colour
// vision tell apart.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace yolk {

inline constexpr std::size_t kPageColours = 8;  ///< for data

/// The whole page. `title` is plain text, and also the page's heading; `style` is CSS for this page's own classes, and
/// `body` markup.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view style, std::string_view body);

/// The element that begins a picture on a page; "</svg>" ends it. `label` is plain text for readers who do not see it,
/// `more` is further attributes with a leading space.
[[nodiscard]] std::string begin_picture(double width, double height, std::string_view label,
                                        std::string_view more = "");
/// The same of a picture in a file of its own, with `style` for its classes, on a background.
[[nodiscard]] std::string begin_lone_picture(double width, double height, std::string_view label,
                                             std::string_view style);

}  // namespace yolk
