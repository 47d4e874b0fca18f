// SPDX-License-Identifier: Apache-2.0
// The log of a prompt search, read back. It trusts nothing.
#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "yolk/json.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper {
namespace {

/// Fields of a line; what is missing or of another kind is remembered by its name.
class LineFields {
   public:
    explicit LineFields(const Json& line) : line_(line) {}
    [[nodiscard]] std::string_view wrong() const noexcept { return wrong_; }

    std::uint64_t count(const char* name) {
        const Json* const field = find(name);
        if (field != nullptr && field->is_number_unsigned()) return field->get<std::uint64_t>();
        wrong_ = name;
        return 0;
    }
    double number(const char* name) {
        const Json* const field = find(name);
        if (field != nullptr && field->is_number()) return field->get<double>();
        wrong_ = name;
        return 0.0;
    }
    bool truth(const char* name) {
        const Json* const field = find(name);
        if (field != nullptr && field->is_boolean()) return field->get<bool>();
        wrong_ = name;
        return false;
    }
    /// An optional one; empty where it is missing.
    std::string text(const char* name) {
        const Json* const field = find(name);
        if (field != nullptr && field->is_string()) return field->get<std::string>();
        if (field != nullptr) wrong_ = name;
        return {};
    }
    template <class T>
    std::vector<T> list(const char* name, bool (Json::*is)() const noexcept) {
        std::vector<T> values;
        const Json* const field = find(name);
        if (field == nullptr) return values;
        if (!field->is_array()) wrong_ = name;
        for (const Json& each : *field) {
            if ((each.*is)()) {
                values.push_back(each.get<T>());
            } else {
                wrong_ = name;
            }
        }
        return values;
    }
    Texts texts() {
        Texts texts;
        const Json* const field = find("texts");
        if (field == nullptr || !field->is_object()) {
            wrong_ = "texts";
            return texts;
        }
        for (const auto& [name, text] : field->items()) {
            if (text.is_string()) {
                texts.emplace(name, text.get<std::string>());
            } else {
                wrong_ = "texts";
            }
        }
        return texts;
    }
    [[nodiscard]] bool has(const char* name) const { return find(name) != nullptr; }
    void fail(std::string_view name) { wrong_ = name; }

   private:
    [[nodiscard]] const Json* find(const char* name) const {
        const auto found = line_.find(name);
        return found == line_.end() ? nullptr : &*found;
    }
    const Json& line_;
    std::string_view wrong_;
};

TextStepKind kind_in(LineFields& fields) {
    const std::string name = fields.text("kind");
    for (const TextStepKind kind : {TextStepKind::Start, TextStepKind::Mutation, TextStepKind::Merge}) {
        if (name == to_string(kind)) return kind;
    }
    fields.fail("kind");
    return TextStepKind::Start;
}

TextStep step_in(LineFields& fields) {
    TextStep step{.iteration = static_cast<std::uint32_t>(fields.count("iteration")), .kind = kind_in(fields)};
    step.parents = fields.list<std::uint32_t>("parents", &Json::is_number_unsigned);
    if (fields.has("ancestor")) step.ancestor = static_cast<std::uint32_t>(fields.count("ancestor"));
    step.components = fields.list<std::string>("components", &Json::is_string);
    step.ids = fields.list<std::uint32_t>("ids", &Json::is_number_unsigned);
    step.parent_sums = fields.list<double>("parent_sums", &Json::is_number);
    if (fields.has("sum")) step.sum = fields.number("sum");
    step.accepted = fields.truth("accepted");
    step.why = fields.text("why");
    if (fields.has("candidate")) step.candidate = static_cast<std::uint32_t>(fields.count("candidate"));
    if (fields.has("mean")) step.mean = fields.number("mean");
    step.scores = fields.list<double>("scores", &Json::is_number);
    if (step.accepted) step.texts = fields.texts();
    step.front_size = static_cast<std::uint32_t>(fields.count("front"));
    step.best = static_cast<std::uint32_t>(fields.count("best"));
    step.best_mean = fields.number("best_mean");
    step.cost = {.metric_calls = fields.count("metric_calls"),
                 .model_calls = fields.count("model_calls"),
                 .prompt_tokens = fields.count("prompt_tokens"),
                 .completion_tokens = fields.count("completion_tokens"),
                 .cost = fields.number("cost")};
    return step;
}

/// A step of this run; what is wrong with it, where something is.
std::string_view add_step(TextRunReport& run, const Json& line) {
    LineFields fields(line);
    TextStep step = step_in(fields);
    if (!fields.wrong().empty()) return fields.wrong();
    const std::size_t candidates = run.candidates.size();
    for (const std::uint32_t parent : step.parents) {
        if (parent >= candidates) return "parents";
    }
    if (step.accepted) {
        if (step.candidate != candidates) return "candidate";
        if (step.scores.empty() || (candidates > 0 && step.scores.size() != run.candidates.front().scores.size()))
            return "scores";
        run.candidates.push_back({.iteration = step.iteration,
                                  .kind = step.kind,
                                  .parents = step.parents,
                                  .scores = step.scores,
                                  .texts = step.texts});
    }
    if (step.best >= run.candidates.size()) return "best";
    run.steps.push_back(std::move(step));
    return {};
}

/// What is wrong with a line; empty: nothing, or it is not about prompts.
std::string_view add_line(std::vector<TextRunReport>& runs, const Json& line) {
    if (!line.is_object()) return "a JSON object";
    if (line.contains("search")) {
        LineFields fields(line);
        TextRunReport run{.search = fields.text("search")};
        run.seed = fields.count("seed");
        run.perfect_score = fields.number("perfect_score");
        runs.push_back(std::move(run));
        return fields.wrong();
    }
    const bool is_step = line.contains("iteration") && line.contains("kind");
    if (is_step) return runs.empty() ? std::string_view("the line that begins a search") : add_step(runs.back(), line);
    if (!runs.empty() && line.contains("stopped_by") && line.contains("best")) {
        LineFields fields(line);
        runs.back().stopped_by = fields.text("stopped_by");
        return fields.wrong();
    }
    return {};
}

}  // namespace

Result<std::vector<TextRunReport>> read_text_log(std::string_view log, std::string_view what) {
    std::vector<TextRunReport> runs;
    std::size_t number = 0;
    for (std::size_t end = log.find('\n'); end != std::string_view::npos; end = log.find('\n')) {
        YOLK_TRY(const Json line, parse_json(log.substr(0, end), fmt::format("{}, line {}", what, ++number)));
        const std::string_view wrong = add_line(runs, line);
        if (!wrong.empty()) {
            return bad_input("{} is damaged: line {} has no usable '{}'. Restore it from a copy, or remove that line.",
                             what, number, wrong);
        }
        log.remove_prefix(end + 1);
    }
    std::erase_if(runs, [](const TextRunReport& run) { return run.candidates.empty(); });
    if (runs.empty()) {
        return bad_input("{} has no prompt search in it. Give the log of one, whose start has been scored.", what);
    }
    return runs;
}

}  // namespace yolk::hyper
