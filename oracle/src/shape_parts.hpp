// SPDX-License-Identifier: Apache-2.0
// Problems from shapes: what is request, and the makers of the families that networks are made of, of noise, and of
// curvature.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/concat.hpp"
#include "yolk/runtime/device_info.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk::oracle {

using ProblemPtr = std::unique_ptr<Problem>;

inline constexpr std::array kSwitch{true, false};

/// What is request, with extents that descriptions can hold.
struct ProblemRequest {
    const DeviceInfo& info;
    const TuningShape& shape;
    std::vector<std::uint32_t> extents;

    template <class Space>
    [[nodiscard]] bool is(const Space& space) const {
        return space.space().shape() == shape;
    }
};

/// Null where no description has the shape. A shape's variant is not parsed (shape_problem.cpp).
using MakeShaped = ProblemPtr (*)(const ProblemRequest&);
[[nodiscard]] const std::map<std::string_view, MakeShaped>& shaped_parts();

inline constexpr std::uint32_t kMaxEvenParts = 16;
/// Of concat: `extent` over so many parts (0: one), as evenly as can be.
[[nodiscard]] std::vector<ConcatPart> even_parts(std::uint32_t extent, std::uint32_t parts);

}  // namespace yolk::oracle
