// SPDX-License-Identifier: Apache-2.0
// What `yolk bench --json` printed, read back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"

namespace yolk::tasks {

struct BenchRow {
    std::string group{}, name{};
    std::string unit{};  ///< of the rate
    double rate = 0.0;
    double seconds = 0.0, low = 0.0, high = 0.0;  ///< of one run: median and quartiles
    std::uint64_t runs = 0;
    double of_limit = 0.0;  ///< 0: no limit is known
    std::string limit_of{};
    std::string error{};  ///< why there is no figure
};

struct BenchLimit {
    std::string name{}, unit{};
    double rate = 0.0;
};

struct BenchOutcome {
    std::string device{}, driver{}, version{};  ///< where and by which Yolk
    std::uint64_t cores = 0;
    std::vector<BenchLimit> limits{};
    std::vector<BenchRow> rows{};
};

inline constexpr int kBenchFormat = 1;

[[nodiscard]] bool is_bench_outcome(const Json& json);
/// `file` is what errors call the text. Errors: no JSON, another kind or format of it, parts that are missing.
[[nodiscard]] Result<BenchOutcome> parse_bench_outcome(std::string_view text, std::string_view file);

}  // namespace yolk::tasks
