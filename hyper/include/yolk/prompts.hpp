// SPDX-License-Identifier: Apache-2.0
// Making texts better: the interface of prompt searches, and GEPA (Agrawal et al., "GEPA: Reflective Prompt Evolution
// Can Outperform Reinforcement Learning", arXiv 2507.19457). docs/prompts.md says how it goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/chat/message.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/hyper/text_records.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

enum class TextSplit {
    Train,       ///< that reflection sees
    Validation,  ///< that decide what is kept
};

struct TextCost {
    std::uint64_t metric_calls = 0;  ///< one per candidate and example
    std::uint64_t model_calls = 0;   ///< of the system and of reflection
    std::uint64_t prompt_tokens = 0;
    std::uint64_t completion_tokens = 0;
    double cost = 0.0;  ///< by the prices of the clients
    [[nodiscard]] std::uint64_t tokens() const noexcept { return prompt_tokens + completion_tokens; }
    friend bool operator==(const TextCost&, const TextCost&) = default;
};
[[nodiscard]] Json to_json(const TextCost& cost);

/// The first limit that is reached ends a search; 0: no limit. Metric calls are never exceeded, and model calls neither
/// where `TextObjective::model_calls_per_example` is not too low. Tokens and cost are known afterwards: the iteration
/// that reaches their limit is the last.
struct TextBudget {
    std::uint64_t metric_calls = 0;
    std::uint64_t model_calls = 0;
    std::uint64_t tokens = 0;
    double cost = 0.0;
};

/// What a run is given, whatever searches.
struct TextRunOptions {
    TextBudget budget{};
    /// Where the search keeps what it can go on from, atomically, after each iteration. Empty: nowhere.
    std::filesystem::path checkpoint{};
    /// Goes on from `checkpoint`, to the candidates of a search that was never interrupted, where answers are the same
    /// again. Budget and log may be others. Without such a file it begins anew, with a notice.
    bool resume = false;
    std::filesystem::path log{};       ///< JSON lines: a line per iteration, with the texts of what was accepted
    std::uint64_t kept_log_bytes = 0;  ///< of what is in the log, where the search begins; a resumed one knows itself
};

enum class TextStepKind { Start, Mutation, Merge };
[[nodiscard]] std::string_view to_string(TextStepKind kind) noexcept;

/// What one iteration came to.
struct TextStep {
    std::uint32_t iteration = 0;  ///< 0: the start was scored
    TextStepKind kind = TextStepKind::Start;
    std::vector<std::uint32_t> parents{};     ///< candidates: one of a mutation, two of a merge
    std::optional<std::uint32_t> ancestor{};  ///< common to the two of a merge
    std::vector<std::string> components{};    ///< whose text was to change
    std::vector<std::uint32_t> ids{};         ///< examples: of the train split, or of the validation split for a merge
    std::vector<double> parent_sums{};        ///< of scores on them, of each parent
    std::optional<double> sum{};              ///< of the new candidate, where it came to that
    bool accepted = false;
    std::string why{};                         ///< it was not accepted
    std::optional<std::uint32_t> candidate{};  ///< number of the new one, where it was accepted
    std::optional<double> mean{};              ///< of its scores on the validation split
    std::vector<double> scores{};              ///< these
    Texts texts{};                             ///< of it
    std::uint32_t front_size = 0;              ///< candidates that are not dominated, after this iteration
    std::uint32_t best = 0;                    ///< the candidate with the best mean, the earliest of equals
    double best_mean = 0.0;
    TextCost cost{};  ///< so far
};
[[nodiscard]] Json to_json(const TextStep& step);

/// What a prompt search works on: it asks for scores and for new texts; the objective counts what that costs and keeps
/// the best. One thread at a time.
class TextObjective {
   public:
    virtual ~TextObjective() = default;
    [[nodiscard]] virtual const TextRunOptions& options() const noexcept = 0;
    [[nodiscard]] virtual Texts start() const = 0;  ///< the components, with their texts now
    [[nodiscard]] virtual std::uint32_t train_size() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t validation_size() const noexcept = 0;
    /// What scores depend on beside the texts, as a hash or in words: a run only goes on where it is the same.
    [[nodiscard]] virtual std::string identity() const = 0;
    /// Of a candidate on these examples, in their order, whatever the order in which answers arrive; ids are from 0 and
    /// may repeat. With `capture` there are records. Errors end the search: what fails for an example alone is its
    /// score.
    [[nodiscard]] virtual Result<std::vector<TextScore>> evaluate(TextSplit split, std::span<const std::uint32_t> ids,
                                                                  const Texts& candidate, bool capture) = 0;
    /// Asks the reflecting model; answers in the order of the requests. An error of one leaves the others alone.
    [[nodiscard]] virtual std::vector<Result<chat::Answer>> reflect(std::span<const chat::Request> requests) = 0;
    /// Why a component cannot have this text (too long, say). Its words are the log's.
    [[nodiscard]] virtual Result<void> check(const std::string& /*component*/, const std::string& /*text*/) const {
        return {};
    }
    /// Model calls that scoring one example takes, at most; for budgets and forecasts. 0: none, or unknown.
    [[nodiscard]] virtual std::uint64_t model_calls_per_example() const noexcept { return 0; }
    /// Of everything since the objective was made.
    [[nodiscard]] virtual TextCost cost() const noexcept = 0;
    /// A candidate with its mean on the validation split competes for the result: the highest is kept, the earliest of
    /// equals.
    virtual void offer(const Texts& candidate, double mean) = 0;
    /// After each iteration. Returns false where the caller wants to stop.
    [[nodiscard]] virtual bool report(const TextStep& /*step*/) { return true; }
    /// It goes on from a checkpoint: where it stands, without what the last iteration did. Its candidates were offered.
    virtual void resumed(const TextStep& /*last*/) {}
    /// The search has ended: "budget", "iterations", "perfect" (a candidate is, on the whole validation split), "idle"
    /// (there is nothing to learn from the train examples), "caller".
    virtual void stopped(std::string_view /*why*/) {}
};

/// What a search would take at most; nothing: its options do not bound it.
struct TextForecast {
    std::uint64_t start_metric_calls = 0;  ///< of them, to score the start
    std::optional<std::uint64_t> metric_calls{};
    std::optional<std::uint64_t> reflection_calls{};
    std::optional<std::uint64_t> model_calls{};  ///< of reflection and system
};
[[nodiscard]] Json to_json(const TextForecast& forecast);

/// A prompt search. Users' own are used as GEPA is.
class TextSearch {
   public:
    virtual ~TextSearch() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    /// Without an evaluation or a model call. Errors: run()'s about options.
    [[nodiscard]] virtual Result<TextForecast> forecast(const TextObjective& objective) const = 0;
    /// What it finds, it offers. Errors: options, a budget below one evaluation of the start, the objective's, a
    /// checkpoint or log that cannot be used.
    [[nodiscard]] virtual Result<void> run(TextObjective& objective) = 0;
};

/// Leaves texts as they are, at no cost.
[[nodiscard]] std::unique_ptr<TextSearch> no_text_search();

/// Which candidate a mutation starts from.
enum class ParentChoice {
    Pareto,         ///< drawn from those that are not dominated, by the number of examples each is the best at
    Best,           ///< the best mean
    EpsilonGreedy,  ///< with probability `epsilon` any candidate, otherwise the best mean
    TopK,           ///< as Pareto, among the `top_k` best means
};
/// Whose text a mutation changes.
enum class ComponentChoice {
    RoundRobin,  ///< one: of each candidate the next in turn
    All,         ///< all, each by a model call of its own
};

/// {text} is the component's text now, {records} what it did in the minibatch; {component} its name. The new text is
/// what the reply has between its first ``` and its last.
[[nodiscard]] std::string_view default_reflection_prompt() noexcept;

struct GepaOptions {
    std::uint32_t minibatch = 3;      ///< train examples that a mutation is judged on, at least 1
    std::uint32_t most_merges = 5;    ///< that are accepted; 0: no merges
    std::uint64_t iterations = 0;     ///< at most; 0: until the budget is spent
    std::uint64_t seed = 1;           ///< of all draws
    double perfect_score = 1.0;       ///< of an example
    bool skip_perfect = true;         ///< no reflection on a minibatch on which the parent is perfect
    bool stop_when_perfect = true;    ///< ends where a candidate is perfect on the whole validation split
    double epsilon = 0.1;             ///< of EpsilonGreedy, in [0, 1]
    std::uint32_t top_k = 5;          ///< of TopK, at least 1
    std::string reflection_prompt{};  ///< empty: default_reflection_prompt(); else with {text} and {records} in it
    ParentChoice parent = ParentChoice::Pareto;
    ComponentChoice component = ComponentChoice::RoundRobin;
    /// Model and settings of reflection's requests; messages in it go before the prompt.
    chat::Request reflection{};
    std::uint32_t failed_reflections = 3;  ///< in a row that end the search with an error, at least 1
};
/// The first setting outside its limits.
[[nodiscard]] Result<void> validate(const GepaOptions& options);

[[nodiscard]] std::unique_ptr<TextSearch> gepa(GepaOptions options = {});

// A page about prompt searches, from their log: who is best at which example, which prompt came from which, and all of
// their texts. One file of HTML that loads nothing and needs no script.

struct ReportedCandidate {
    std::uint32_t iteration = 0;
    TextStepKind kind = TextStepKind::Start;
    std::vector<std::uint32_t> parents{};  ///< candidates before it
    std::vector<double> scores{};          ///< [validation examples]
    Texts texts{};
};

/// One search: a log of rounds has several.
struct TextRunReport {
    std::string search{};
    std::uint64_t seed = 0;
    double perfect_score = 1.0;
    std::vector<TextStep> steps{};
    std::vector<ReportedCandidate> candidates{};  ///< at least the start
    std::string stopped_by{};                     ///< empty: the log has no end
};

/// Of the lines that searches wrote (TextRunOptions::log); lines of other kinds are passed over, and so is a last line
/// without its newline. `what` names the text in errors. Errors, BadInput: no prompt search in it, a damaged line (its
/// number).
[[nodiscard]] Result<std::vector<TextRunReport>> read_text_log(std::string_view log, std::string_view what);

/// The page; the same bytes for the same reports.
[[nodiscard]] std::string text_report_page(std::span<const TextRunReport> runs, std::string_view title);

}  // namespace yolk::hyper
