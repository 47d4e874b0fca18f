// SPDX-License-Identifier: Apache-2.0
#include "systems/prompts.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/lock.hpp"
#include "base/options.hpp"
#include "tracing/callables.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;

template <class Number>
Setter count_field(Number& to) {
    return [&to](std::string_view name, nb::handle value) {
        to = static_cast<Number>(whole_number(name, value, std::numeric_limits<Number>::max()));
    };
}
Setter real_field(double& to) {
    return [&to](std::string_view name, nb::handle value) { to = real_number(name, value); };
}
Setter flag_field(bool& to) {
    return [&to](std::string_view name, nb::handle value) { to = yes_or_no(name, value); };
}
/// One of several words, in the order of the enumeration.
template <class Enum>
Setter word_field(Enum& to, std::vector<std::string> words) {
    return [&to, words = std::move(words)](std::string_view name, nb::handle value) {
        const std::string given = text(name, value);
        std::string all;
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (words[i] == given) {
                to = static_cast<Enum>(i);
                return;
            }
            all += (i == 0 ? "" : ", ") + words[i];
        }
        throw Raised(bad_input("{} is '{}'; one of {} is needed.", name, given, all));
    };
}

template <class Number>
Setter optional_field(std::optional<Number>& to) {
    return [&to](std::string_view name, nb::handle value) {
        if constexpr (std::is_floating_point_v<Number>) {
            to = real_number(name, value);
        } else {
            to = static_cast<Number>(whole_number(name, value, std::numeric_limits<Number>::max()));
        }
    };
}

chat::Request request_of(const nb::dict& given) {
    chat::Request request;
    set_fields({{"model", [&](std::string_view name, nb::handle value) { request.model = text(name, value); }},
                {"temperature", optional_field(request.temperature)},
                {"top_p", optional_field(request.top_p)},
                {"presence_penalty", optional_field(request.presence_penalty)},
                {"frequency_penalty", optional_field(request.frequency_penalty)},
                {"max_tokens", optional_field(request.max_tokens)},
                {"seed", optional_field(request.seed)},
                {"stop", [&](std::string_view name, nb::handle value) { request.stop = texts(name, value); }}},
               given);
    return request;
}

h::GepaOptions gepa_options(const nb::dict& given) {
    h::GepaOptions o;
    set_fields({{"minibatch", count_field(o.minibatch)},
                {"most_merges", count_field(o.most_merges)},
                {"iterations", count_field(o.iterations)},
                {"seed", count_field(o.seed)},
                {"perfect_score", real_field(o.perfect_score)},
                {"skip_perfect", flag_field(o.skip_perfect)},
                {"stop_when_perfect", flag_field(o.stop_when_perfect)},
                {"epsilon", real_field(o.epsilon)},
                {"top_k", count_field(o.top_k)},
                {"failed_reflections", count_field(o.failed_reflections)},
                {"parent", word_field(o.parent, {"pareto", "best", "epsilon_greedy", "top_k"})},
                {"component", word_field(o.component, {"round_robin", "all"})},
                {"reflection_prompt",
                 [&o](std::string_view name, nb::handle value) { o.reflection_prompt = text(name, value); }},
                {"reflection", [&o](std::string_view /*name*/,
                                    nb::handle value) { o.reflection = request_of(nb::cast<nb::dict>(value)); }}},
               given);
    return o;
}

h::TextBudget budget_of(const nb::dict& given) {
    h::TextBudget budget;
    set_fields({{"metric_calls", count_field(budget.metric_calls)},
                {"model_calls", count_field(budget.model_calls)},
                {"tokens", count_field(budget.tokens)},
                {"cost", real_field(budget.cost)}},
               given);
    return budget;
}

/// What the request sets, by the protocol's names.
nb::dict settings_of(const chat::Request& request) {
    nb::dict settings;
    const auto set = [&](const char* name, const auto& value) {
        if (value) settings[name] = *value;
    };
    if (!request.model.empty()) settings["model"] = request.model;
    set("temperature", request.temperature);
    set("top_p", request.top_p);
    set("presence_penalty", request.presence_penalty);
    set("frequency_penalty", request.frequency_penalty);
    set("max_tokens", request.max_tokens);
    set("seed", request.seed);
    if (!request.stop.empty()) settings["stop"] = nb::cast(request.stop);
    return settings;
}

nb::list messages_of(const chat::Request& request) {
    nb::list messages;
    for (const chat::Message& message : request.messages) {
        nb::dict one;
        one["role"] = message.role;
        one["content"] = message.content;
        messages.append(one);
    }
    return messages;
}

/// (text, prompt tokens, completion tokens, finish reason), or None where the work was asked to end.
Result<chat::Answer> answer_of(const nb::object& given) {
    if (given.is_none()) return Error{ErrorKind::Cancelled, "The work was ended while a model was asked."};
    const auto parts = nb::cast<nb::tuple>(given);
    chat::Answer answer;
    answer.content = nb::cast<std::string>(parts[0]);
    answer.usage = {nb::cast<std::uint64_t>(parts[1]), nb::cast<std::uint64_t>(parts[2])};
    answer.finish_reason = nb::cast<std::string>(parts[3]);
    answer.attempts = 1;
    return answer;
}

/// An objective that is a Python object (yolk/gepa/_objective.py).
class PythonObjective final : public h::TextObjective {
   public:
    PythonObjective(nb::object object, const nb::dict& run) : object_(keep(std::move(object))) {
        options_.budget = budget_of(nb::cast<nb::dict>(run["budget"]));
        options_.checkpoint = nb::cast<std::string>(run["checkpoint"]);
        options_.resume = nb::cast<bool>(run["resume"]);
        options_.log = nb::cast<std::string>(run["log"]);
        start_ = nb::cast<h::Texts>(object_->attr("start"));
        train_ = nb::cast<std::uint32_t>(object_->attr("train_size"));
        validation_ = nb::cast<std::uint32_t>(object_->attr("validation_size"));
        identity_ = nb::cast<std::string>(object_->attr("identity"));
    }
    [[nodiscard]] const h::TextRunOptions& options() const noexcept override { return options_; }
    [[nodiscard]] h::Texts start() const override { return start_; }
    [[nodiscard]] std::uint32_t train_size() const noexcept override { return train_; }
    [[nodiscard]] std::uint32_t validation_size() const noexcept override { return validation_; }
    [[nodiscard]] std::string identity() const override { return identity_; }
    [[nodiscard]] h::TextCost cost() const noexcept override { return cost_; }
    void offer(const h::Texts& /*candidate*/, double /*mean*/) override {}

    /// object.evaluate(is_train, ids, candidate, capture) gives (metric calls, [(score, error or None)]).
    [[nodiscard]] Result<std::vector<h::TextScore>> evaluate(h::TextSplit split, std::span<const std::uint32_t> ids,
                                                             const h::Texts& candidate, bool capture) override {
        const InsideBody inside;
        try {
            const nb::object made =
                call_python(object_->attr("evaluate"), split == h::TextSplit::Train,
                            nb::cast(std::vector<std::uint32_t>(ids.begin(), ids.end())), nb::cast(candidate), capture);
            cost_.metric_calls += nb::cast<std::uint64_t>(made[0]);
            std::vector<h::TextScore> scores;
            for (const nb::handle one : made[1]) {
                h::TextScore score{.score = nb::cast<double>(one[0])};
                if (!one[1].is_none()) score.error = nb::cast<std::string>(one[1]);
                // What reflection reads is made when it is asked for; a record for any text keeps its place.
                if (capture) score.records.push_back({.inputs = h::Record(), .output = h::Value("")});
                scores.push_back(std::move(score));
            }
            return scores;
        } catch (nb::python_error& raised) {
            callback_.remember(std::move(raised));
            return failed_work("The adapter raised an exception.");
        }
    }

    /// object.reflect([a request's text, ...]) gives the answers' texts.
    [[nodiscard]] std::vector<Result<chat::Answer>> reflect(std::span<const chat::Request> requests) override {
        const InsideBody inside;
        cost_.model_calls += requests.size();
        try {
            nb::list prompts;
            for (const chat::Request& request : requests)
                prompts.append(nb::str(request.messages.back().content.c_str()));
            std::vector<Result<chat::Answer>> answers;
            for (const nb::handle one : call_python(object_->attr("reflect"), prompts)) {
                answers.push_back(answer_of(nb::borrow(one)));
                if (!answers.back()) continue;
                cost_.prompt_tokens += answers.back()->usage.prompt_tokens;
                cost_.completion_tokens += answers.back()->usage.completion_tokens;
            }
            return answers;
        } catch (nb::python_error& raised) {
            return std::vector<Result<chat::Answer>>(requests.size(), error_of_raised(raised));
        }
    }

    [[nodiscard]] bool report(const h::TextStep& step) override {
        return callback_.goes_on([&] { return call_python(object_->attr("report"), from_json(h::to_json(step))); });
    }
    void raise_if_stopped() { callback_.raise(); }

   private:
    Kept object_;
    h::TextRunOptions options_{};
    h::Texts start_{};
    std::uint32_t train_ = 0;
    std::uint32_t validation_ = 0;
    std::string identity_{};
    h::TextCost cost_{};
    Callback callback_;
};

void search_texts(nb::object object, const nb::dict& gepa, const nb::dict& run) {
    const std::unique_ptr<h::TextSearch> search = h::gepa(gepa_options(gepa));
    PythonObjective objective(std::move(object), run);
    RaisedInside inside;
    std::optional<Result<void>> made;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        made = search->run(objective);
    }
    objective.raise_if_stopped();
    Interruptible::raise_if_requested();
    auto raised = inside.take();
    if (!*made && raised) raise_from(made->error(), std::move(raised));
    unwrap(std::move(*made));
}

h::Traced call_model(const std::vector<std::pair<std::string, nb::object>>& messages, const nb::dict& settings) {
    h::ChatMessages all;
    for (const auto& [role, content] : messages) all.push_back({role, traced_of(content)});
    h::ModelSettings s;
    const auto traced = [](std::optional<h::Traced>& to) -> Setter {
        return [&to](std::string_view, nb::handle value) { to = traced_of(value); };
    };
    set_fields({{"model", [&](std::string_view name, nb::handle value) { s.model = text(name, value); }},
                {"temperature", traced(s.temperature)},
                {"top_p", traced(s.top_p)},
                {"presence_penalty", traced(s.presence_penalty)},
                {"frequency_penalty", traced(s.frequency_penalty)},
                {"max_tokens", traced(s.max_tokens)},
                {"seed", traced(s.seed)},
                {"stop", [&](std::string_view name, nb::handle value) { s.stop = texts(name, value); }}},
               settings);
    return h::model_call(all, s, python_line());
}

}  // namespace

h::Model model_of(nb::object model) {
    return [kept = keep(std::move(model))](const chat::Request& request,
                                           const std::stop_token&) -> Result<chat::Answer> {
        const InsideBody inside;
        try {
            return answer_of(call_python("yolk._models", "answer", *kept, messages_of(request), settings_of(request)));
        } catch (nb::python_error& raised) {
            return error_of_raised(raised);
        }
    };
}

Feedback feedback_of(nb::object function) {
    return [kept = keep(std::move(function))](const h::Value& prediction, const h::Value& expected,
                                              double score) -> Result<std::string> {
        const InsideBody inside;
        try {
            return text("The feedback", call_python(*kept, python_of(prediction), python_of(expected), score));
        } catch (nb::python_error& raised) {
            return error_of_raised(raised);
        } catch (const Raised& raised) {
            return raised.error();
        }
    };
}

h::TextOptions text_options(const nb::dict& given) {
    h::TextOptions options;
    options.gepa = gepa_options(nb::cast<nb::dict>(given["gepa"]));
    options.budget = budget_of(nb::cast<nb::dict>(given["budget"]));
    options.rounds = static_cast<std::uint32_t>(whole_number("rounds", given["rounds"], UINT32_MAX));
    options.numbers = yes_or_no("numbers", given["numbers"]);
    options.failed_score = real_number("failed_score", given["failed_score"]);
    const nb::object reflector = given["reflector"];
    if (!reflector.is_none()) options.reflector = h::Models().otherwise(model_of(reflector));
    return options;
}

void bind_prompts(nb::module_& module) {
    module.def("search_texts", &search_texts, nb::arg("objective"), nb::arg("gepa"), nb::arg("run"));
    module.def("model_call", &call_model, nb::arg("messages"), nb::arg("settings"));
    module.def("stop_requested", &Interruptible::requested);
    module.def("default_reflection_prompt", [] { return std::string(h::default_reflection_prompt()); });
}

}  // namespace yolk::python
