// SPDX-License-Identifier: Apache-2.0
// Windows of English text as examples, and what simpler models make of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "yolk/system.hpp"

namespace transformer_example {

/// Bytes, and for each the one that follows: inputs "bytes" [context], expected [context].
struct Windows {
    std::vector<yolk::hyper::Example> training;
    std::vector<yolk::hyper::Example> held_out;  ///< of the last tenth of each file, evenly spread
    // Mean log probability, in nats, of the held-out bytes by counts of the others.
    double unigrams = 0.0;
    double bigrams = 0.0;
};

/// Of a text, or of the texts in a folder by name; files that hold a zero byte are left out. Nothing where there is not
/// enough text for a window on either side.
[[nodiscard]] std::optional<Windows> read_windows(const std::filesystem::path& path, std::uint32_t context);

}  // namespace transformer_example
