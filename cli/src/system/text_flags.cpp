// SPDX-License-Identifier: Apache-2.0
#include "text_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "optimize_command.hpp"
#include "output.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::cli {
namespace {

Result<std::string> parse_search(std::string_view name) {
    if (name == "gepa") return std::string(name);
    return bad_input("There is no prompt search '{}'; there is gepa.", shown(name));
}

std::string at_most(const std::optional<std::uint64_t>& count, std::string_view what) {
    return count ? fmt::format("{} {}", *count, what) : fmt::format("no limit of {}", what);
}

}  // namespace

void add_text_flags(App& app, TextFlags& flags) {
    hyper::TextOptions& o = flags.options;
    const Option* const text =
        add_parsed(app, "--text", flags.search,
                   "Improve texts as well, before the generations of numbers: gepa. Give it a budget, or iterations",
                   &parse_search)
            ->type_name("SEARCH");
    app.group(with(text), [&] {
        const auto number = [&app](const char* name, auto& target, const char* help) {
            return add_number(app, name, target, help)->default_str(fmt::format("{}", target));
        };
        add_number(app, "--text-budget", o.budget.metric_calls,
                   "Metric calls of all prompt searches, one per candidate and example");
        add_number(app, "--text-model-calls", o.budget.model_calls, "Their model calls, reflection included");
        add_number(app, "--text-tokens", o.budget.tokens, "Their tokens; the iteration that reaches it is the last");
        add_number(app, "--text-iterations", o.gepa.iterations, "Iterations at most of each prompt search");
        number("--text-rounds", o.rounds, "Prompt searches, each with its --generations of numbers");
        app.add_flag("--text-only", flags.only, "No generations of numbers");
        number("--text-minibatch", o.gepa.minibatch, "Examples that a new text is tried on first");
        number("--text-merges", o.gepa.most_merges, "Merges of two candidates at most; 0: none");
        number("--text-perfect", o.gepa.perfect_score, "Score of an example that cannot be better");
        number("--text-failed", o.failed_score, "Score of an example that failed");
        app.add_option("--reflector", o.gepa.reflection.model,
                       "Model that writes new texts, in place of the one that answers")
            ->type_name("MODEL");
    });
}

std::optional<hyper::TextOptions> text_options(const TextFlags& flags, std::uint64_t seed) {
    if (flags.search.empty()) return std::nullopt;
    hyper::TextOptions options = flags.options;
    options.numbers = !flags.only;
    options.gepa.seed = seed;
    return options;
}

void print_text_step(const hyper::TextStep& step) {
    if (output_is_terminal()) print_text("\r\033[K");  // where a step of numbers was shown
    if (step.kind == hyper::TextStepKind::Start) {
        print_line("prompts 0, start {}, {} metric calls", reward_text(step.best_mean), step.cost.metric_calls);
        return;
    }
    const std::string what = step.components.empty()
                                 ? std::string(to_string(step.kind))
                                 : fmt::format("{} of {}", to_string(step.kind), fmt::join(step.components, " and "));
    const std::string came = step.accepted ? fmt::format("accepted with {}", reward_text(step.mean.value_or(0.0)))
                                           : fmt::format("not accepted: {}", step.why);
    print_line("prompts {}, {}, {}; best {}, {} metric calls", step.iteration, what, came, reward_text(step.best_mean),
               step.cost.metric_calls);
}

void print_text_cost(const hyper::OptimizeOutcome& outcome) {
    if (outcome.text_forecast) {
        const hyper::TextForecast& forecast = *outcome.text_forecast;
        print_line("of them for prompts: {}, {} of them for the start; {}, {} to reflect",
                   at_most(forecast.metric_calls, "metric calls"), forecast.start_metric_calls,
                   at_most(forecast.model_calls, "model calls"), at_most(forecast.reflection_calls, "calls"));
    }
    if (outcome.cost.model_calls > 0) print_line("at most {} model calls", outcome.cost.model_calls);
}

void print_text_rounds(const hyper::OptimizeOutcome& outcome) {
    for (const hyper::TextRound& round : outcome.text_rounds) {
        print_line("prompts: {} from {} after {} iterations (stopped by {}), {} metric calls, {} model calls",
                   reward_text(round.best_mean), reward_text(round.start_mean), round.iterations, round.stopped_by,
                   round.cost.metric_calls, round.cost.model_calls);
    }
    if (outcome.cost.model_calls == 0) return;
    const std::string cost = outcome.cost.cost > 0.0 ? fmt::format(", cost {:.4g}", outcome.cost.cost) : "";
    print_line("{} model calls, {} tokens{}", outcome.cost.model_calls, outcome.cost.tokens, cost);
}

}  // namespace yolk::cli
