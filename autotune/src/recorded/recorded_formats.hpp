// SPDX-License-Identifier: Apache-2.0
// What each format comes to before it is made a surface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yolk/autotune/space.hpp"
#include "yolk/core/result.hpp"

namespace yolk::autotune {

/// Rows of parameter values with their costs.
struct Records {
    std::vector<std::string> names;
    std::vector<std::vector<Value>> domains;  ///< values that the file says are possible, where it does; may be empty
    std::vector<std::vector<Value>> rows;
    std::vector<double> costs;  ///< kInvalidCost where it failed
    std::string device;
    std::string kernel;
};

/// A number where the whole text is one, True and False as 1 and 0, else text.
[[nodiscard]] Value value_of(std::string_view text);
/// kInvalidCost where it is not finite, not above 0, or at least 1e19, which tuners write for "failed".
[[nodiscard]] double cost_of(double number) noexcept;

[[nodiscard]] Result<Records> parse_json_records(std::string_view text, std::string_view name);
[[nodiscard]] Result<Records> parse_csv_records(std::string_view text, std::string_view name);

}  // namespace yolk::autotune
