// SPDX-License-Identifier: Apache-2.0
// Surfaces that somebody measured before, for trying strategies without the device. Formats, told apart by their
// content, each of them also compressed by gzip (docs/tuner.md shows an example of each):
//   Kernel Tuner's cache, finished or cut off, and its flat list;  T4;  KTT's results;  CLBlast's;  CSV, KTT's too.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/autotune/space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// What a file does not say of itself.
struct RecordingOptions {
    std::vector<std::string> parameters{};  ///< of a flat list or a CSV file: which names are parameters
    /// What to search for, where it is not what the file names: "GFLOP/s"; "max:NAME" or "min:NAME" where it is not
    /// known whether more is better. Empty: the file's own.
    std::string objective{};
};

/// Immutable. Parameters that never change are kept in the space with a domain of one value.
class RecordedSurface {
   public:
    /// Error (Io): cannot be read. Error (BadInput): not a known format, damaged, something after its end, an objective
    /// of which it is not known whether more is better, or no valid configuration; names the file, the entry and what
    /// is expected. A configuration that was measured more than once has the median; it failed where one of them did.
    [[nodiscard]] static Result<RecordedSurface> read(const std::filesystem::path& path,
                                                      const RecordingOptions& options = {});
    /// The same from text that is not compressed; `name` stands for the file in messages.
    [[nodiscard]] static Result<RecordedSurface> parse(std::string_view text, std::string_view name,
                                                       const RecordingOptions& options = {});
    /// From costs that are at hand; kInvalidCost for what failed.
    [[nodiscard]] static Result<RecordedSurface> of(CandidateSet candidates, std::vector<double> costs,
                                                    std::string device = {}, std::string kernel = {});

    [[nodiscard]] const CandidateSet& candidates() const noexcept { return candidates_; }
    /// kInvalidCost where the configuration failed.
    [[nodiscard]] std::span<const double> costs() const noexcept { return costs_; }
    [[nodiscard]] double optimum() const noexcept { return optimum_; }
    [[nodiscard]] std::size_t valid_count() const noexcept { return valid_count_; }
    [[nodiscard]] const std::string& device() const noexcept { return device_; }  ///< empty where the file does not say
    [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }

   private:
    RecordedSurface(CandidateSet candidates, std::vector<double> costs)
        : candidates_(std::move(candidates)), costs_(std::move(costs)) {}
    CandidateSet candidates_;
    std::vector<double> costs_;
    double optimum_ = 0.0;
    std::size_t valid_count_ = 0;
    std::string device_;
    std::string kernel_;
};

}  // namespace yolk::autotune
