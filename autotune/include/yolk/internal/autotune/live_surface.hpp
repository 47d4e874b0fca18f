// SPDX-License-Identifier: Apache-2.0
// A kernel's surface on a device: each configuration is proven right before it is timed.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/autotune/unit_limits.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/primitives/clock_warm_up.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

struct LiveOptions {
    std::size_t candidate_limit = 2000;     ///< larger spaces are sampled
    std::uint64_t seed = 1;                 ///< of the sample
    std::vector<Configuration> included{};  ///< in the sample in any case; those that are not legal are left out
    RaceRules race{};
    /// What the device reaches (UnitLimits), asked by create() for the units of the candidates. Times that are below
    /// what the work takes at the limit of a candidate's unit and of fp32 lanes together by more than a quarter are
    /// refused, as those of work that was not done: lanes may work beside another unit. None is refused where the
    /// unit's limit is not known. Unset: none are.
    LimitOfUnit limit_of{};
    /// Sets of the problem's buffers are timed in turn until they pass so many bytes together (buffer_sets); unset: the
    /// device's last-level cache, 0: one set.
    std::optional<std::uint64_t> cache_bytes{};
    /// After it no sample is repeated, and no finalist and no round begun.
    std::chrono::steady_clock::time_point limit = std::chrono::steady_clock::time_point::max();
    /// Told before a configuration runs, and after: a journal. An error ends the search.
    std::function<Result<void>(const Configuration&)> before{};
    std::function<Result<void>()> after{};
};

/// What came of one candidate.
struct LiveMeasurement {
    std::vector<double> milliseconds{};  ///< samples; empty where it failed
    std::string reason{};                ///< why it failed
    bool quarantine = false;             ///< it ran, and wrongly, or the driver failed with it: never again
};

class FirstContents;

/// Milliseconds by the device's clock. Each run that is timed finds its buffers as the problem gives them: what a
/// kernel reads and writes is put back after the run, outside of the time. One thread at a time; device, dispatcher and
/// problem must outlive it.
class LiveSurface final : public Surface {
   public:
    /// Takes the problem's expectations, which are slow to make, and fills its buffers. Errors: no timestamps, out of
    /// memory, driver.
    [[nodiscard]] static Result<std::unique_ptr<LiveSurface>> create(const Device& device, Dispatcher& dispatcher,
                                                                     const oracle::Problem& problem,
                                                                     LiveOptions options = {});
    ~LiveSurface() override;

    [[nodiscard]] const CandidateSet& candidates() const noexcept override { return *candidates_; }
    [[nodiscard]] const std::shared_ptr<const CandidateSet>& shared_candidates() const noexcept { return candidates_; }
    [[nodiscard]] const TuningSpace& space() const noexcept { return space_; }
    [[nodiscard]] const Configuration& configuration(std::size_t candidate) const { return configurations_[candidate]; }
    [[nodiscard]] std::optional<std::size_t> find(const Configuration& configuration) const;
    [[nodiscard]] std::size_t heuristic() const noexcept { return heuristic_; }  ///< what an untuned plan takes

    /// Proves, warms up (a run of the binding that is to be timed, which is no sample), times once, and again while it
    /// is near the best so far. An Error: device lost.
    [[nodiscard]] Result<LiveMeasurement> run(std::size_t candidate);
    /// The median of run().
    [[nodiscard]] Result<Measurement> measure(std::size_t candidate) override;

    /// Proves each with other poisons than run() did, then times them one after the other, round by round. Those that
    /// fail have no samples. Where the limit leaves no time for `fewest` rounds of all, the last ones are left out (no
    /// samples, no reason); where it leaves none for two, all are.
    [[nodiscard]] Result<std::vector<LiveMeasurement>> final_rounds(std::span<const std::size_t> finalists,
                                                                    std::size_t rounds, std::size_t fewest = 1);
    [[nodiscard]] std::uint32_t repeats() const noexcept { return repeats_; }      ///< runs between two timestamps
    [[nodiscard]] std::size_t set_count() const noexcept { return sets_.size(); }  ///< of buffers timed in turn

   private:
    struct Timed;
    LiveSurface(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem, LiveOptions options);
    [[nodiscard]] Result<void> choose_candidates();
    [[nodiscard]] Result<void> fill_buffers();
    [[nodiscard]] Result<void> add_set();
    [[nodiscard]] Result<void> ask_limits();
    [[nodiscard]] double milliseconds_at_limit(const Configuration& configuration) const;
    [[nodiscard]] Result<std::string> prove(const Configuration& configuration, std::size_t poison);
    [[nodiscard]] Result<std::unique_ptr<Timed>> prepare(const Configuration& configuration);
    [[nodiscard]] std::uint32_t record(Timed& timed);
    [[nodiscard]] Result<double> time(Timed& timed);
    [[nodiscard]] Result<void> time_rounds(std::span<const std::unique_ptr<Timed>> ready, std::size_t rounds,
                                           std::vector<LiveMeasurement>& results);
    [[nodiscard]] bool late() const { return std::chrono::steady_clock::now() >= options_.limit; }
    [[nodiscard]] Result<LiveMeasurement> failed(Error error) const;
    [[nodiscard]] Result<LiveMeasurement> prove_and_time(std::size_t candidate);

    const Device& device_;
    Dispatcher& dispatcher_;
    const oracle::Problem& problem_;
    LiveOptions options_;
    oracle::ProblemProof proof_;
    TuningSpace space_;
    std::vector<Configuration> configurations_;
    std::shared_ptr<const CandidateSet> candidates_;
    std::size_t heuristic_ = 0;
    std::vector<std::vector<Buffer>> buffers_;    ///< by set; views point into them
    std::vector<std::vector<BufferView>> sets_;   ///< views of all buffers, for each set of them
    std::unique_ptr<const FirstContents> first_;  ///< what is put back after each timed run
    /// Multiply-adds per second by ArithmeticUnit; 0 where it is not known.
    std::array<double, kArithmeticUnits.size()> limits_{};
    ClockWarmUp warm_up_;
    double best_ = std::numeric_limits<double>::infinity();
    std::uint32_t repeats_ = 1;  ///< runs between two timestamps, more where one is short
};

}  // namespace yolk::autotune
