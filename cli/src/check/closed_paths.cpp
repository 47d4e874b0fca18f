// SPDX-License-Identifier: Apache-2.0
#include "closed_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "yolk/internal/runtime/device_selection.hpp"

namespace yolk::cli {
namespace {

struct PathOf {
    std::string_view kernel;
    LowPrecisionPath path;
};
constexpr std::array kPaths{PathOf{"matmul", LowPrecisionPath::Storage16},
                            PathOf{"matmul", LowPrecisionPath::CooperativeMatrix},
                            PathOf{"matmul", LowPrecisionPath::CooperativeBf16},
                            PathOf{"matmul_i8", LowPrecisionPath::IntegerDot},
                            PathOf{"matmul_i8", LowPrecisionPath::CooperativeInt8},
                            PathOf{"perturbed_linear", LowPrecisionPath::Storage16},
                            PathOf{"perturbed_linear", LowPrecisionPath::CooperativeMatrix}};

}  // namespace

std::vector<ClosedPath> closed_paths(std::string_view kernel, const DeviceInfo& info,
                                     const std::vector<WrongPath>& wrong) {
    std::vector<ClosedPath> closed;
    for (const PathOf& one : kPaths) {
        if (one.kernel != kernel) continue;
        const std::string name = to_string(one.path);
        const auto found = std::ranges::find(wrong, one.path, &WrongPath::path);
        if (found != wrong.end()) {
            closed.push_back({name, fmt::format("gave wrong results: {}", found->reason)});
            continue;
        }
        for (const OptionalPath& path : optional_paths(info)) {
            if (path.name == name && !path.open) closed.push_back({name, fmt::format("needs {}", path.needs)});
        }
    }
    return closed;
}

}  // namespace yolk::cli
