// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/text_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ancestry.hpp"
#include "fronts.hpp"
#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/page.hpp"
#include "yolk/internal/core/plot.hpp"

namespace yolk::hyper {
namespace {

constexpr std::string_view kPromptStyle = R"(
td.front{background:var(--mark);font-weight:600}tr.dominated td{color:var(--soft)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--grid);padding:.6rem;border-radius:5px;margin:.3rem 0}
.wide{overflow-x:auto}.box{fill:var(--bg);stroke:var(--edge)}.box.best{stroke:var(--c0);stroke-width:2.5}
.line{fill:none;stroke:var(--edge);stroke-width:1.4}.line.merge{stroke:var(--c1);stroke-dasharray:5 3}
)";

/// For a <pre>: line breaks stay.
std::string markup_lines(std::string_view text) {
    std::string html;
    for (;;) {
        const std::size_t end = text.find('\n');
        html += markup_text(text.substr(0, end));
        if (end == std::string_view::npos) return html;
        html += '\n';
        text.remove_prefix(end + 1);
    }
}

std::string link_to(std::size_t run, std::size_t candidate) {
    return fmt::format("<a href=\"#run-{}-candidate-{}\">{}</a>", run, candidate, candidate);
}

std::string links_to(std::size_t run, std::span<const std::uint32_t> candidates) {
    std::string html;
    for (const std::uint32_t candidate : candidates) html += (html.empty() ? "" : ", ") + link_to(run, candidate);
    return html.empty() ? "&ndash;" : html;
}

std::string overview(const TextRunReport& report) {
    const TextStep& last = report.steps.back();
    return fmt::format(
        "<p>Search: {}, seed {}. The start scores {} on {} validation examples, candidate {} scores {}. {} iterations, "
        "{} "
        "candidates, {} of them not dominated. {} metric calls, {} model calls, {} tokens, cost {}. {}</p>\n",
        markup_text(report.search), report.seed, number_text(prompts::mean_of(report.candidates.front().scores)),
        report.candidates.front().scores.size(), last.best, number_text(last.best_mean), last.iteration,
        report.candidates.size(), last.front_size, last.cost.metric_calls, last.cost.model_calls, last.cost.tokens(),
        number_text(last.cost.cost),
        report.stopped_by.empty() ? "It has not ended." : "Ended by: " + markup_text(report.stopped_by) + ".");
}

std::string front_table(const TextRunReport& report, std::size_t run) {
    std::vector<std::vector<double>> scores;
    std::vector<double> means;
    for (const ReportedCandidate& candidate : report.candidates) {
        scores.push_back(candidate.scores);
        means.push_back(prompts::mean_of(candidate.scores));
    }
    const prompts::Fronts fronts = prompts::fronts_of(scores);
    const std::vector<std::uint32_t> counts = prompts::front_counts(fronts, scores.size());
    const std::vector<std::uint32_t> remaining = prompts::members_of(prompts::without_dominated(fronts, means));
    std::string html =
        "<h3>Pareto front</h3>\n<p class=\"soft\">Scores by candidate and validation example. The best of each example "
        "are marked; dominated candidates are grey.</p>\n<table><thead><tr><th>candidate</th><th class=\"n\">mean</th>"
        "<th class=\"n\">best at</th>";
    for (std::size_t id = 0; id < fronts.size(); ++id) html += fmt::format("<th class=\"n\">{}</th>", id);
    html += "</tr></thead>\n<tbody>\n";
    for (std::uint32_t i = 0; i < scores.size(); ++i) {
        const bool remains = std::ranges::binary_search(remaining, i);
        html += fmt::format("<tr{}><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
                            remains ? "" : " class=\"dominated\"", link_to(run, i), number_text(means[i]), counts[i]);
        for (std::size_t id = 0; id < fronts.size(); ++id) {
            const bool best = std::ranges::binary_search(fronts[id], i);
            html += fmt::format("<td class=\"n{}\">{}</td>", best ? " front" : "", number_text(scores[i][id]));
        }
        html += "</tr>\n";
    }
    return html + "</tbody></table>\n";
}

std::string texts_section(const TextRunReport& report, std::size_t run, std::uint32_t best) {
    std::string html = "<h3>Texts</h3>\n";
    for (std::size_t i = 0; i < report.candidates.size(); ++i) {
        const ReportedCandidate& candidate = report.candidates[i];
        const bool is_new = candidate.parents.empty() || i == best;
        html += fmt::format(
            "<details id=\"run-{}-candidate-{}\"{}><summary>Candidate {}: {} in iteration {}, from {}, mean "
            "{}</summary>\n",
            run, i, is_new ? " open" : "", i, to_string(candidate.kind), candidate.iteration,
            links_to(run, candidate.parents), number_text(prompts::mean_of(candidate.scores)));
        for (const auto& [component, text] : candidate.texts) {
            const bool same = !candidate.parents.empty() && [&] {
                const Texts& before = report.candidates[candidate.parents.front()].texts;
                const auto found = before.find(component);
                return found != before.end() && found->second == text;
            }();
            if (same && !is_new) {
                html += fmt::format("<p><b>{}</b> <span class=\"soft\">as in candidate {}</span></p>\n",
                                    markup_text(component), candidate.parents.front());
                continue;
            }
            html += fmt::format("<p><b>{}</b></p><pre>{}</pre>\n", markup_text(component), markup_lines(text));
        }
        html += "</details>\n";
    }
    return html;
}

std::string outcome_of(const TextStep& step, std::size_t run) {
    return step.accepted && step.candidate ? "candidate " + link_to(run, *step.candidate) : markup_text(step.why);
}

std::string steps_table(const TextRunReport& report, std::size_t run) {
    std::string html =
        "<h3>Iterations</h3>\n<table><thead><tr><th class=\"n\">iteration</th><th>kind</th><th>parents</th>"
        "<th>components</th><th class=\"n\">parents' sums</th><th class=\"n\">sum</th><th>outcome</th>"
        "<th class=\"n\">best mean</th><th class=\"n\">metric calls</th><th class=\"n\">model calls</th>"
        "<th class=\"n\">tokens</th></tr></thead>\n<tbody>\n";
    for (const TextStep& step : report.steps) {
        std::string components;
        for (const std::string& name : step.components)
            components += (components.empty() ? "" : ", ") + markup_text(name);
        std::string sums;
        for (const double sum : step.parent_sums) sums += (sums.empty() ? "" : ", ") + number_text(sum);
        html += fmt::format(
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
            "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td></tr>\n",
            step.iteration, to_string(step.kind), links_to(run, step.parents), components, sums,
            step.sum ? number_text(*step.sum) : "&ndash;", outcome_of(step, run), number_text(step.best_mean),
            step.cost.metric_calls, step.cost.model_calls, step.cost.tokens());
    }
    return html + "</tbody></table>\n";
}

}  // namespace

std::string_view prompts::report_style() { return kPromptStyle; }

std::string prompts::report_body(std::span<const TextRunReport> runs, std::size_t first) {
    std::string html;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const TextRunReport& report = runs[i];
        if (report.steps.empty()) continue;
        const std::uint32_t best = report.steps.back().best;
        const std::size_t run = first + i;
        html += runs.size() == 1 ? "<h2>Search</h2>\n" : fmt::format("<h2>Round {}</h2>\n", i + 1);
        html += overview(report) + front_table(report, run);
        html +=
            "<h3>Ancestry</h3>\n<p class=\"soft\">Number and mean of each candidate below its parents; dashed lines "
            "come from merges.</p>\n<div class=\"wide\">" +
            prompts::ancestry_picture(report.candidates, best, run) + "</div>\n";
        html += texts_section(report, run, best) + steps_table(report, run);
    }
    return html;
}

std::string text_report_page(std::span<const TextRunReport> runs, std::string_view title) {
    return html_page(fmt::format("Prompts of {}", title), prompts::report_style(), prompts::report_body(runs, 0));
}

}  // namespace yolk::hyper
