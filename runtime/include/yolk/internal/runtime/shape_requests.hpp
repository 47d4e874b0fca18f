// SPDX-License-Identifier: Apache-2.0
// What plans have left to the tuning table: what tuning could bring a run like this one.
#pragma once

#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"

namespace yolk {

/// A family with a shape of it.
struct ShapeRequest {
    std::string family{};
    TuningShape shape{};
    friend bool operator==(const ShapeRequest&, const ShapeRequest&) = default;
};

/// Each shape once, by family, variant and extents; 4,096 are kept. Any thread.
[[nodiscard]] std::vector<ShapeRequest> shape_requests(const Device& device);
/// For plans, once, while they are made. Any thread.
void note_asked(const Device& device, const TuningSpace& space);

}  // namespace yolk
