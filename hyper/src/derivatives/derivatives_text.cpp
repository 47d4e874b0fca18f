// SPDX-License-Identifier: Apache-2.0
// Texts: edits forward, feedback backward. The empty text is zero: what is made of nothing but zeros is one.
#include <algorithm>
#include <array>

#include "control_derivatives.hpp"
#include "derivatives.hpp"
#include "yolk/models.hpp"

namespace yolk::hyper {
namespace {

/// The pattern around the edits; other values than texts do not move, and leave their places empty.
std::vector<Tangent> push_format(Site& site, Tangents operands) {
    std::vector<Atom> edits;
    for (const Tangent& edit : operands) edits.push_back(edit ? *edit : Atom(Value("")));
    return {site.emit("format_edits", std::move(edits), site.equation.attributes)};
}
/// The same feedback for each text.
std::vector<Tangent> pull_to_texts(Site& site, Tangents results, const std::vector<bool>& wanted) {
    std::vector<Tangent> copies(site.operands.size());
    for (std::size_t i = 0; i < copies.size(); ++i) {
        if (wanted[i]) copies[i] = results[0];
    }
    return copies;
}

constexpr std::array kTextDerivatives{
    Derivative{"format", push_format, pull_to_texts},
    Derivative{"format_edits", push_same, pull_to_texts},
    Derivative{"match", push_nothing, pull_nothing},
    Derivative{"word_index", push_nothing, pull_nothing},
};

/// The texts of a value, with where they are: "" of a text itself.
void texts_of(EquationWriter& emit, const Atom& value, const std::string& path,
              std::vector<std::pair<std::string, Atom>>& all) {
    const ValueType type = emit.type(value);
    if (type.kind == ValueKind::Text) all.emplace_back(path, value);
    for (const auto& [name, field] : type.fields) {
        if (!has_text(field)) continue;
        texts_of(emit, emit("field", {value}, {{"name", name}}), path.empty() ? name : path + "." + name, all);
    }
}

/// A record of the same type with its texts alone.
Atom texts_alone(EquationWriter& emit, const Atom& value) {
    const ValueType type = emit.type(value);
    if (type.kind == ValueKind::Text || emit.failed()) return value;
    if (!has_text(type)) return zero_of(type);
    std::vector<std::string> names;
    std::vector<Atom> fields;
    for (const auto& [name, field] : type.fields) {
        names.push_back(name);
        fields.push_back(has_text(field) ? texts_alone(emit, emit("field", {value}, {{"name", name}}))
                                         : Atom(zero_of(field)));
    }
    return emit("pack", std::move(fields), {{"names", std::move(names)}});
}

Result<std::vector<Tangent>> push_model(GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands,
                                        std::span<const Tangent> tangents, std::span<const Atom> results) {
    const ValueType type = builder.type(results[0]);
    if (!has_text(type)) return std::vector<Tangent>(1);
    ModelCall call = *equation.host->model;
    const std::size_t first = call.first_message();
    Equation moved = equation;
    moved.operands.assign(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(first));
    std::vector<Atom> guards;
    for (std::size_t i = first; i < first + call.roles.size(); ++i) {
        moved.operands.push_back(tangents[i] ? *tangents[i] : Atom(Value("")));
        if (tangents[i]) guards.push_back(*tangents[i]);
    }
    moved.operands.insert(moved.operands.end(), guards.begin(), guards.end());
    call.guards = guards.size();
    YOLK_TRY(moved.host, model_function(std::move(call), equation.host->options, equation.host->stand_in));
    EquationWriter emit(builder);
    const Atom answer = emit.all(std::move(moved), 1, std::span(&type, 1))[0];
    return emit.done(std::vector<Tangent>{texts_alone(emit, answer)});
}

/// Feedback as one text, and the same to be looked at: empty where there is none.
struct Feedback {
    Atom words{};
    Atom guard{};
};
Feedback feedback_on(EquationWriter& emit, const Atom& cotangent) {
    std::vector<std::pair<std::string, Atom>> texts;
    texts_of(emit, cotangent, {}, texts);
    if (texts.size() == 1) return {texts[0].second, texts[0].second};
    std::vector<Atom> lines, all;
    for (const auto& [path, text] : texts) {
        all.push_back(text);
        lines.push_back(emit("format", {Value(path), text}, {{"pattern", std::string("{}: {}\n")}}));
    }
    const Attributes along{{"dimension", std::int64_t{0}}};
    const Atom words = emit("concat", std::move(lines), along);
    return {words, emit("concat", std::move(all), along)};
}

Result<std::vector<Tangent>> pull_model(GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands,
                                        std::span<const Atom> results, std::span<const Tangent> cotangents,
                                        const std::vector<bool>& wanted) {
    std::vector<Tangent> back(operands.size());
    if (!has_text(builder.type(results[0]))) return back;
    const ModelCall& call = *equation.host->model;
    EquationWriter emit(builder);
    const Feedback feedback = feedback_on(emit, *cotangents[0]);
    // Asked as the call is, without what bounds the length of its answer.
    ModelCall critique{.model = call.model, .roles = {"system", "user"}, .tags = call.tags, .guards = 1};
    critique.token_limit = call.token_limit;
    std::vector<Atom> settings{operands[0]};
    for (std::size_t i = 0; i < call.settings.size(); ++i) {
        if (call.settings[i] == "max_tokens") continue;
        critique.settings.push_back(call.settings[i]);
        settings.push_back(operands[1 + i]);
    }
    YOLK_TRY(const HostFunctionPtr critic, model_function(std::move(critique), equation.host->options));
    const ValueType text{ValueKind::Text, {}};
    for (std::size_t i = call.first_message(); i < call.first_message() + call.roles.size(); ++i) {
        if (!wanted[i]) continue;
        Equation asked = equation;
        asked.host = critic;
        asked.operands = settings;
        asked.operands.emplace_back(Value(std::string(kCritiqueInstruction)));
        asked.operands.push_back(
            emit("format", {operands[i], results[0], feedback.words}, {{"pattern", std::string(kCritiqueQuestion)}}));
        asked.operands.push_back(feedback.guard);
        back[i] = emit.all(std::move(asked), 1, std::span(&text, 1))[0];
    }
    return emit.done(std::move(back));
}

}  // namespace

std::span<const Derivative> text_derivatives() noexcept { return kTextDerivatives; }

const PushRule& push_model_rule() {
    static const PushRule rule = push_model;
    return rule;
}
const PullRule& pull_model_rule() {
    static const PullRule rule = pull_model;
    return rule;
}

}  // namespace yolk::hyper
