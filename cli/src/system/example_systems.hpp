// SPDX-License-Identifier: Apache-2.0
// The systems that `yolk system` ships: small ones to try the commands on.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "system_commands.hpp"
#include "yolk/internal/hyper/metric.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::cli {

struct ExampleSystem {
    hyper::System system;
    std::vector<hyper::Example> examples;
    hyper::Metric metric;
};

struct ExampleSystemInfo {
    std::string_view name;
    std::string_view what;
    hyper::OptimizeOptions settings;  ///< with which `optimize` succeeds, whatever the seed
    std::unique_ptr<ExampleSystem> (*make)();
};
/// xor, rotation, temperature, greeting.
[[nodiscard]] std::span<const ExampleSystemInfo> example_systems();
/// Keeps what it made last.
[[nodiscard]] MakeSystemTask task_of(const ExampleSystemInfo& info);

}  // namespace yolk::cli
