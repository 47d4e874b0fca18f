// SPDX-License-Identifier: Apache-2.0
#include "yolk/host_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "yolk/exact/continuous_action.h"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::train {
namespace {

constexpr std::string_view kHostSource = "host, ";
constexpr std::size_t kMostNameBytes = 256;
constexpr float kMostBound = 0x1p40F;  // exact_continuous_action's

/// Takes `word` from the front of `text`.
bool skip(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& to) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (code != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool take_box(std::string_view& text, HostActions& actions) {
    while (skip(text, " ")) {
        float low = 0.0F, high = 0.0F;
        std::uint32_t times = 1;
        if (!take_number(text, low) || !skip(text, ":") || !take_number(text, high)) return false;
        if (skip(text, "x") && (!take_number(text, times) || times == 0 || times > kMaxHostWidth)) return false;
        actions.low.insert(actions.low.end(), times, low);
        actions.high.insert(actions.high.end(), times, high);
    }
    return true;
}

}  // namespace

HostEnvironment::~HostEnvironment() = default;

std::uint32_t HostActions::outputs() const noexcept {
    return count != 0 ? count : static_cast<std::uint32_t>(low.size());
}
std::uint32_t HostActions::values() const noexcept { return count != 0 ? 1U : outputs(); }

void host_action(const HostActions& actions, std::span<const float> outputs, std::span<float> action, bool squashed) {
    const auto number = [](float value) { return std::isnan(value) ? 0.0F : value; };
    if (actions.count != 0) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < outputs.size(); ++i) {
            if (number(outputs[i]) > number(outputs[best])) best = i;
        }
        action.front() = static_cast<float>(best);
        return;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const float low = actions.low[i], high = actions.high[i], output = number(outputs[i]);
        action[i] = low >= -kMostBound && high <= kMostBound
                        ? exact::exact_continuous_action(output, exact::exact_flush_operand(low),
                                                         exact::exact_flush_operand(high), squashed)
                        : std::clamp(output, low, high);
    }
}

Result<void> check_host_environment(const HostEnvironmentInfo& info) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    if (info.name.empty() || info.name.size() > kMostNameBytes || std::ranges::any_of(info.name, is_control))
        return bad_input("An environment on the host has the name '{}'; from 1 to {} bytes of text are needed.",
                         shown(info.name), kMostNameBytes);
    const auto within = [](std::uint32_t number) { return number >= 1 && number <= kMaxHostWidth; };
    const std::size_t outputs = info.actions.count != 0 ? info.actions.count : info.actions.low.size();
    if (!within(info.observation_count) || outputs < 1 || outputs > kMaxHostWidth ||
        info.actions.low.size() != info.actions.high.size() || (info.actions.count != 0 && !info.actions.low.empty())) {
        return bad_input(
            "The environment '{}' has {} observations and {} actions, with {} lower and {} upper bounds; from 1 to {} "
            "observations are needed, and either as many discrete actions or bounds for as many values.",
            info.name, info.observation_count, info.actions.count, info.actions.low.size(), info.actions.high.size(),
            kMaxHostWidth);
    }
    for (std::size_t i = 0; i < info.actions.low.size(); ++i) {
        if (info.actions.low[i] < info.actions.high[i]) continue;
        return bad_input(
            "Action {} of the environment '{}' has the bounds {} and {}; the first must be below the second.", i,
            info.name, info.actions.low[i], info.actions.high[i]);
    }
    if (info.lanes < 1 || info.lanes > kMaxHostLanes) {
        return bad_input("The environment '{}' has {} lanes; it must have from 1 to {}.", info.name, info.lanes,
                         kMaxHostLanes);
    }
    if (std::isnan(info.solved_return))
        return bad_input("The return at which '{}' counts as solved is not a number; infinity means there is none.",
                         info.name);
    return {};
}

std::uint32_t host_episode_seed(std::uint64_t seed, std::uint32_t generation, std::uint32_t episode) {
    return philox4x32({0, static_cast<std::uint32_t>(Domain::Environment) << 24U, episode, generation},
                      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)})[0] >>
           1U;
}

std::string host_source(const HostEnvironmentInfo& info) {
    std::string text = fmt::format("{}{} observations, ", kHostSource, info.observation_count);
    if (info.actions.count != 0) return text + fmt::format("discrete {}", info.actions.count);
    text += "box";
    const std::vector<float>&low = info.actions.low, &high = info.actions.high;
    for (std::size_t i = 0, next = 0; i < low.size(); i = next) {
        while (next < low.size() && low[next] == low[i] && high[next] == high[i]) ++next;
        text += fmt::format(" {}:{}", low[i], high[i]);
        if (next - i > 1) text += fmt::format("x{}", next - i);
    }
    return text;
}

bool is_host_source(std::string_view source) noexcept { return source.starts_with(kHostSource); }

Result<HostEnvironmentInfo> host_info_of_source(std::string_view source) {
    HostEnvironmentInfo info{.name = "host", .lanes = 1};
    std::string_view rest = source;
    bool is_whole =
        skip(rest, kHostSource) && take_number(rest, info.observation_count) && skip(rest, " observations, ");
    if (is_whole)
        is_whole = skip(rest, "discrete ") ? take_number(rest, info.actions.count) && info.actions.count != 0
                                           : skip(rest, "box") && take_box(rest, info.actions);
    if (!is_whole || !rest.empty() || !check_host_environment(info))
        return bad_input("'{}' does not describe an environment on the host.", source);
    return info;
}

}  // namespace yolk::train
