// SPDX-License-Identifier: Apache-2.0
// What each format comes to before it is made a surface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// Rows of parameter values with their costs; a configuration may have several.
struct Records {
    std::vector<std::string> names;
    std::vector<std::vector<Value>> domains;  ///< values that the file says are possible, where it does; may be empty
    std::vector<std::vector<Value>> rows;
    std::vector<double> costs;  ///< kInvalidCost where it failed
    std::string device;
    std::string kernel;
};

/// Which measured value is searched for, and whether more of it is better.
struct Objective {
    std::string name = "time";
    bool is_maximised = false;

    /// What a search minimises: the value, or 1 over it where more is better. kInvalidCost where it failed: not finite,
    /// not above 0, or at least 1e19, which tuners write for "failed". Error: below 0, where more is better; `place`
    /// begins the message.
    [[nodiscard]] Result<double> cost_of(double value, std::string_view place) const;
};

/// "time", "max:score", "min:watts". Error (BadInput): it is not known whether more of it is better, and the text does
/// not say so; `file` begins the message.
[[nodiscard]] Result<Objective> objective_of(std::string_view text, std::string_view file);

/// A number where the whole text is one, True and False as 1 and 0, else text; lists and tuples as listed_text().
[[nodiscard]] Value value_of(std::string_view text);
/// A list or a tuple of Python or JSON in one form: "(8, 'a')" and "[8,\"a\"]" are [8,"a"].
[[nodiscard]] std::string listed_text(std::string_view text);
/// kInvalidCost where it is not finite, not above 0, or at least 1e19.
[[nodiscard]] double cost_of(double number) noexcept;

/// For `format`s that do not say which names are parameters ("a flat list"). A number that was measured beside the time
/// and is taken for a parameter would tell a search the answer. Error (BadInput): a name or its values look measured.
[[nodiscard]] Result<void> check_nothing_measured(const Records& records, std::string_view file,
                                                  std::string_view format);

[[nodiscard]] Result<Records> parse_json_records(std::string_view text, std::string_view name,
                                                 const RecordingOptions& options);
[[nodiscard]] Result<Records> parse_csv_records(std::string_view text, std::string_view name,
                                                const RecordingOptions& options);

}  // namespace yolk::autotune
