// SPDX-License-Identifier: Apache-2.0
// Where a strategy's own work may be done, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

enum class AlgebraPlace { Host, Device, Auto };
/// "host", "device", "auto".
[[nodiscard]] Result<AlgebraPlace> parse_algebra_place(std::string_view text);
/// natural and bayes, which have a regression, and eggroll, which has a population; the others compute next to nothing.
[[nodiscard]] bool has_algebra(std::string_view strategy) noexcept;

/// Opens the device that the algebra may be done on, with what its tuning table says.
using OpenDevice = std::function<Result<Device>()>;

struct DeviceAlgebraCounts {
    std::uint64_t proposals = 0;      ///< by the device, checked by the host
    std::uint64_t near = 0;           ///< among a few candidates, by the host's double precision alone
    std::uint64_t worked_out = 0;     ///< candidates in double precision, for proposals
    std::uint64_t closer = 0;         ///< proposals of two regressions that took bounds of each candidate
    std::uint64_t agreed = 0;         ///< proposals where the device's own first candidate was the answer
    std::uint64_t measurements = 0;   ///< appended
    std::uint64_t regressions = 0;    ///< begun anew on the device
    std::uint64_t inversions = 0;     ///< by block_inverse
    std::uint64_t plans = 0;          ///< made
    std::uint64_t audits = 0;         ///< proposals after which a sample of scores and variances was held to double
    std::uint64_t disagreements = 0;  ///< regressions that the host took over since a tolerance was passed
    std::uint64_t failures = 0;       ///< the same since the device failed
    std::string reason;               ///< of the last of either
    /// The largest ones seen, in units of their tolerances.
    double residual = 0.0;
    double mean_error = 0.0;
    double variance_error = 0.0;

    [[nodiscard]] std::uint64_t take_overs() const noexcept { return disagreements + failures; }
};

struct DevicePolicyCounts {
    std::uint64_t searches = 0;
    std::uint64_t generations = 0;  ///< whose update and step the device made
    std::uint64_t scored = 0;       ///< populations that it scored over all candidates
    std::uint64_t take_overs = 0;   ///< searches that the host went on with
    std::string reason{};           ///< of the last of those
};

/// What was chosen, and what came of it.
struct AlgebraReport {
    bool on_device = false;
    std::string device{};  ///< its name
    std::string why{};     ///< the host, although the device was tried
    /// Medians of a step, where both were timed.
    std::optional<double> host_milliseconds{}, device_milliseconds{};
    DeviceAlgebraCounts counts{};
    std::optional<DevicePolicyCounts> policy{};  ///< in place of `counts`: of eggroll on the device
};

}  // namespace yolk::autotune
