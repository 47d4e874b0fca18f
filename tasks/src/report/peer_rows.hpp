// SPDX-License-Identifier: Apache-2.0
// Rows that the programs of bench/peers print with --json: how fast each side was.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"

namespace yolk::tasks {

struct PeerRow {
    std::string side{};
    std::string problem{};  ///< what was measured: "size 512, kind fp32"; empty where the row does not say
    std::string figure{};   ///< "evaluations per second": more is better
    double median = 0.0;
    std::optional<double> lowest{};
    std::optional<double> highest{};
    std::string failed{};  ///< the reason; empty where it ran
};

/// Whether the first line of a file is such a row.
[[nodiscard]] bool is_peer_row(const Json& line);
/// A row is an object with `side` or `peer`, and either `failed`, a reason, or a median: the first of its numbers that
/// is called "median" or ends in "_per_second". Error: a line that is something else. A last line without its newline
/// that is no JSON is left out.
[[nodiscard]] Result<std::vector<PeerRow>> parse_peer_rows(std::string_view text, std::string_view file);
/// A picture and a table for each problem.
[[nodiscard]] std::string peer_section(const std::string& title, const std::vector<PeerRow>& rows);
[[nodiscard]] std::string_view peer_style();

}  // namespace yolk::tasks
