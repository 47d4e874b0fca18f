// SPDX-License-Identifier: Apache-2.0
// Configurations of one problem, proven by the oracle and timed by the device's clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/primitives/clock_warm_up.hpp"

namespace yolk::cli {

/// One configuration and what it took, in seconds; the first is the screening run.
struct Measured {
    Configuration configuration;
    std::vector<double> seconds;
    std::uint64_t dispatches = 0;  ///< of one run
    std::string error;             ///< why it could not be timed
    std::string wrong;             ///< what it computes wrongly; it is not timed then
    [[nodiscard]] bool timed() const { return error.empty() && wrong.empty(); }
    [[nodiscard]] double median() const {
        std::vector<double> sorted = seconds;
        std::ranges::sort(sorted);
        return sorted.empty() ? 1e300 : sorted[sorted.size() / 2];
    }
};

/// The buffers of a problem on a device, and views of each; those of no bytes are empty.
struct FilledBuffers {
    std::vector<Buffer> buffers;
    std::vector<BufferView> views;
};
[[nodiscard]] Result<FilledBuffers> fill_buffers(Dispatcher& dispatcher, std::span<const oracle::ProblemBuffer> wanted);

/// A configuration of a problem that can be recorded. The buffers must outlive it.
struct BoundProblem {
    std::unique_ptr<oracle::PlannedProblem> plan;
    Buffer scratch;
    oracle::PlannedProblem::Record record;
};
[[nodiscard]] Result<BoundProblem> bind_problem(const Device& device, const oracle::Problem& problem,
                                                const FilledBuffers& filled, const Configuration& configuration);

struct ProblemOnDevice {
    const oracle::Problem& problem;
    const oracle::ProblemProof& proof;
    const Device& device;
    Dispatcher& dispatcher;
    ClockWarmUp& warm_up;
    FilledBuffers filled;
};

/// Proves the configuration; times it once where that succeeds.
[[nodiscard]] Measured prove_and_time(const ProblemOnDevice& on, const Configuration& configuration);

/// All of them again, in turn: their seconds by the device's clock, and their dispatches.
[[nodiscard]] Result<void> run_finals(const ProblemOnDevice& on, std::span<Measured* const> finalists);

}  // namespace yolk::cli
