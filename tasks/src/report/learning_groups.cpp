// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "learning_section.hpp"

namespace yolk::tasks {
namespace {

/// Neither of these changes the curve of a seed over generations: how long it is, and where it ran.
constexpr std::array<std::string_view, 14> kNotInGroups{
    "seed",           "generations", "stop_when_solved", "evaluation_episodes",
    "device",         "driver",      "driver_info",      "devices",
    "yolk_version",   "audit",       "fallbacks",        "processor",
    "held_out_every", "rounds"};

std::map<std::string, std::string> grouping_settings(const LearningLog& log) {
    std::map<std::string, std::string> settings = log.settings;
    for (const std::string_view key : kNotInGroups) settings.erase(std::string(key));
    return settings;
}

}  // namespace

std::vector<LearningGroup> groups_of(const LogList& runs) {
    std::vector<std::map<std::string, std::string>> settings;
    std::vector<LearningGroup> groups;
    for (const LearningLog* run : runs) {
        const auto own = grouping_settings(*run);
        const auto at = static_cast<std::size_t>(std::ranges::find(settings, own) - settings.begin());
        if (at == settings.size()) {
            settings.push_back(own);
            groups.emplace_back();
        }
        groups[at].runs.push_back(run);
    }
    std::set<std::string> keys;
    for (const auto& own : settings)
        for (const auto& [key, value] : own) keys.insert(key);
    const auto value_of = [&](std::size_t group, const std::string& key) {
        const auto at = settings[group].find(key);
        return at == settings[group].end() ? std::string() : at->second;
    };
    for (const std::string& key : keys) {
        bool differs = false;
        for (std::size_t g = 1; g < groups.size(); ++g) differs = differs || value_of(g, key) != value_of(0, key);
        for (std::size_t g = 0; differs && g < groups.size(); ++g) {
            groups[g].label += fmt::format("{}{} {}", groups[g].label.empty() ? "" : ", ", key, value_of(g, key));
        }
    }
    return groups;
}

}  // namespace yolk::tasks
