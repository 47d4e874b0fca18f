// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "temporary_folder.hpp"
#include "yolk/json.hpp"

namespace yolk::train {

/// metrics.jsonl without what differs from run to run.
inline std::vector<std::string> timeless(const std::filesystem::path& path) {
    std::vector<std::string> lines;
    std::istringstream text(text_of(path));
    for (std::string line; std::getline(text, line);) {
        Json json = Json::parse(line, nullptr, false);
        EXPECT_TRUE(json.is_object()) << line;
        if (!json.is_object()) continue;
        json.erase("seconds");
        json.erase("evaluations_per_second");
        lines.push_back(to_line(json));
    }
    return lines;
}

}  // namespace yolk::train
