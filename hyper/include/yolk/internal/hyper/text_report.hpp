// SPDX-License-Identifier: Apache-2.0
// The parts of text_report_page(), for a page that shows other things, too.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {

/// The page's content below its heading. `first` is the number of the first run: runs with different numbers can be on
/// the same page.
[[nodiscard]] std::string report_body(std::span<const TextRunReport> runs, std::size_t first);
/// Of what is in it.
[[nodiscard]] std::string_view report_style();

}  // namespace yolk::hyper::prompts
