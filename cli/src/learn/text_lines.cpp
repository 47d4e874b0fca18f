// SPDX-License-Identifier: Apache-2.0
#include "text_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/core/utf8.hpp"

namespace yolk::cli {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{4} << 30U;

}  // namespace

Result<std::vector<std::string>> read_text_lines(const std::filesystem::path& input) {
    std::string all;
    if (input.empty()) {
        all.assign(std::istreambuf_iterator<char>(std::cin), {});
    } else {
        YOLK_TRY(all, read_text(input, kMostTextBytes));
    }
    std::vector<std::string> texts;
    for (std::size_t begin = 0; begin < all.size();) {
        const std::size_t end = std::min(all.find('\n', begin), all.size());
        std::string line = all.substr(begin, end - begin);
        if (line.ends_with('\r')) line.pop_back();
        if (!is_utf8(line))
            return bad_input("Line {} of {} is not UTF-8; texts must be.", texts.size() + 1,
                             input.empty() ? "standard input" : fmt::format("'{}'", shown(input)));
        texts.push_back(std::move(line));
        begin = end + 1;
    }
    return texts;
}

}  // namespace yolk::cli
