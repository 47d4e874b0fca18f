// SPDX-License-Identifier: Apache-2.0
// One run of GEPA over an objective: iterations of mutation and merge, their checkpoint and log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gepa_state.hpp"
#include "merge.hpp"
#include "yolk/internal/core/writer_lock.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {

/// What the objective has to be; that something ends the run, and that the budget covers the start and one iteration.
/// Errors: BadInput, which says the least that is needed.
[[nodiscard]] Result<void> check_objective(const TextObjective& objective);
[[nodiscard]] Result<void> check_budget(const GepaOptions& options, const TextObjective& objective);

/// Metric calls of the dearest iteration: a minibatch for parent and child, or the examples of a merge, and then the
/// validation split.
[[nodiscard]] std::uint64_t most_metric_calls(const GepaOptions& options, const TextObjective& objective);
/// Model calls of reflection in one iteration.
[[nodiscard]] std::uint64_t most_reflections(const GepaOptions& options, const TextObjective& objective);

class GepaRun {
   public:
    GepaRun(const GepaOptions& options, TextObjective& objective) : options_(options), objective_(&objective) {}
    [[nodiscard]] Result<void> run();

   private:
    // gepa_run.cpp
    [[nodiscard]] Result<void> begin();
    [[nodiscard]] Result<bool> resume();
    [[nodiscard]] Result<void> score_start();
    /// Nothing: another iteration is due. Otherwise why not.
    [[nodiscard]] std::optional<std::string_view> ended() const;
    [[nodiscard]] bool affords_iteration() const;
    [[nodiscard]] Result<void> iterate();
    /// Errors: nothing has succeeded so far, with the first cause; nothing has for some iterations.
    [[nodiscard]] Result<void> check_success() const;
    /// Fills in where the run stands.
    void take_stock(TextStep& step) const;
    /// Writes the line and the checkpoint, and tells the caller.
    [[nodiscard]] Result<void> finish(TextStep step);
    [[nodiscard]] Result<void> open_log(std::uint64_t kept_bytes);
    [[nodiscard]] Result<void> log_line(const Json& line);
    [[nodiscard]] Result<void> save() const;
    [[nodiscard]] Json settings() const;
    [[nodiscard]] TextCost spent() const;

    // gepa_steps.cpp
    [[nodiscard]] Result<std::vector<TextScore>> evaluate(TextSplit split, std::span<const std::uint32_t> ids,
                                                          const Texts& texts, bool capture);
    [[nodiscard]] Result<void> mutate(TextStep& step);
    [[nodiscard]] std::vector<std::string> components_to_change(std::uint32_t parent);
    /// The child's texts; nothing: `step.why` says why there is none.
    [[nodiscard]] Result<std::optional<Texts>> reflect(TextStep& step, std::span<const TextScore> scores);
    [[nodiscard]] Result<void> judge_child(TextStep& step, const Texts& texts);
    [[nodiscard]] Result<void> merge(TextStep& step, const MergeProposal& proposal);
    /// Scores on the validation split; a new candidate with the parents of `step`.
    [[nodiscard]] Result<void> add(TextStep& step, const Texts& texts);

    GepaOptions options_;
    TextObjective* objective_;
    GepaState state_;
    TextCost before_{};   ///< spent by the runs that this one goes on from
    TextCost already_{};  ///< by the objective, before this run: not its own
    std::optional<LineLog> log_;
    bool stopped_by_caller_ = false;
    bool succeeded_ = false;                              ///< an example, ever
    bool reflected_ = false;                              ///< a reply with a text that fits, ever
    bool succeeded_now_ = false, evaluated_now_ = false;  ///< in this iteration
    std::uint32_t failed_iterations_ = 0;                 ///< in a row, without a success
    std::optional<std::string> first_failure_{};
    std::string last_failure_{};
};

}  // namespace yolk::hyper::prompts
