// SPDX-License-Identifier: Apache-2.0
// Holding kernels against their oracles (double precision, with bounds of errors) and exact twins (fp32, the kernel's
// own order, the same bits). The same case tables feed the tests and `yolk check`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/result.hpp"

namespace yolk::oracle {

/// How far the check of one family is. A run is a case with a configuration.
struct CheckProgress {
    const char* family = "";
    std::uint64_t runs = 0;          ///< that are done
    std::uint64_t runs_of_part = 0;  ///< of how many
    std::uint64_t failures = 0;
};

struct CheckContext {
    const Device& device;
    Dispatcher& dispatcher;
    std::uint64_t seed = 1;             ///< of the drawn inputs and configurations
    std::uint32_t configurations = 16;  ///< drawn per family; the default is run besides
    /// Instead of drawn ones the whole space. Pipelines are let go as soon as may be, and a configuration that is
    /// refused is a failure, not the end.
    bool all_configurations = false;
    /// On a CPU driver, where configurations are drawn: what plans would take by default on GPUs as well.
    bool defaults_of_gpus = true;
    std::uint32_t gpus_part = 1;  ///< 1 ... gpus_parts: only this share of them, which drivers may share among them
    std::uint32_t gpus_parts = 1;
    std::uint32_t part = 1;   ///< 1 ... parts: only this share of the runs; all parts together are all runs
    std::uint32_t parts = 1;  ///< the same seed and configurations give the same shares, on any device of a kind
    std::function<void(const CheckProgress&)> progress{};                              ///< told before each run
    std::function<void(const char* family, const std::string& failure)> on_failure{};  ///< told as each is found
    std::function<bool()> stop{};  ///< asked before each run; true ends the check there
};

/// Outcome of one family's table of cases on one device.
struct CheckReport {
    std::string kernel;     ///< "noise", "rollout", ...
    std::string exactness;  ///< "E", "P", "T" or "E+P"
    std::uint64_t cases = 0;
    double worst_error = 0.0;           ///< against the oracle, in units of the derived tolerance (1 is the limit)
    std::string worst_case;             ///< the case of the worst error, with its coordinates
    std::uint64_t twin_mismatches = 0;  ///< elements that differ from the exact twin's bits
    std::vector<std::string> failures;  ///< one line each: the case, what was expected, what came; at most 8 are kept
    std::uint64_t failure_count = 0;
    /// XXH3-128 of the exact outputs (classes E and P) of all cases, in their order; empty where not all were run.
    std::string output_hash;
    std::uint64_t runs = 0;                   ///< cases with a configuration, each with every poison
    std::uint64_t runs_of_part = 0;           ///< of how many
    std::uint64_t configurations = 0;         ///< different ones that were run
    std::uint64_t configurations_of_all = 0;  ///< of how many, in all parts: the drawn ones, or the whole space
    [[nodiscard]] bool finished() const noexcept { return runs == runs_of_part; }
    /// A part may be empty; a family without cases passes nothing.
    [[nodiscard]] bool passed() const noexcept { return failure_count == 0 && finished() && configurations_of_all > 0; }
    void fail(std::string line) {
        ++failure_count;
        if (failures.size() < 8) failures.push_back(std::move(line));
    }
};

}  // namespace yolk::oracle
