// SPDX-License-Identifier: Apache-2.0
// What tests of several topics ask.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {

/// Of a result that must be an error: its message.
inline std::string refusal(const auto& result) { return result ? "it went through" : result.error().message; }

/// By name, in order; those of inner graphs not.
inline std::vector<std::string> operations_of(const Graph& graph) {
    std::vector<std::string> names;
    for (const Equation& equation : graph.equations) names.emplace_back(equation.operation->name);
    return names;
}

/// Whether it holds within ten seconds: for what another thread or process does.
inline bool soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return holds();
}

}  // namespace yolk::hyper
