// SPDX-License-Identifier: Apache-2.0
#include "yolk/graph.hpp"
#include "yolk/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "equations.hpp"
#include "graph_labels.hpp"
#include "valid_graph.hpp"

namespace yolk::hyper {
namespace {

constexpr std::size_t kNameLength = 60;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::string in_quotes(std::string_view text) { return to_line(Json(clean(text, kNameLength))); }

/// Text of a Graphviz string: & starts an entity there.
std::string dot_string(std::string_view text) {
    std::string escaped = "\"";
    for (const char c : clean(text, kNameLength)) {
        if (c == '"' || c == '\\') escaped += '\\';
        escaped += c == '&' ? "&amp;" : std::string(1, c);
    }
    return escaped + '"';
}

std::string with_type(const Graph& graph, VariableId id) {
    return fmt::format("%{}: {}", id.value, to_string(graph.variables[id.value].type));
}

std::string equation_line(const Graph& graph, std::size_t index, std::uint32_t stage,
                          std::span<const PlacedEquation> placed) {
    const Equation& equation = graph.equations[index];
    std::vector<std::string> results;
    for (const VariableId id : equation.results) results.push_back(with_type(graph, id));
    std::string line = fmt::format("{} = {}", results.empty() ? "()" : fmt::format("{}", fmt::join(results, ", ")),
                                   clean(title(equation), kNameLength));
    for (const Atom& operand : equation.operands) {
        // Of a function without parameters.
        if (equation.host != nullptr && operand == Atom(Value(Tensor()))) continue;
        line += ' ' + clean(label(operand), kNameLength);
    }
    for (const auto& attribute : equation.attributes) line += ' ' + clean(label(attribute), kNameLength);
    line += fmt::format("  # stage {}", stage);
    if (const std::string where = label(placed, index); !where.empty()) line += ", " + where;
    if (!equation.hyperfunction.empty())
        line += fmt::format(", call {} of {}", equation.call, in_quotes(equation.hyperfunction));
    if (equation.made_at) line += ", " + line_of(equation);
    for (const std::string& tag : equation.tags) line += fmt::format(", tag {}", in_quotes(tag));
    return line;
}

void append_text(std::string& text, const Graph& graph, std::span<const PlacedEquation> placed,
                 const std::string& indent) {
    const std::vector<std::uint32_t> stage = stages_of(graph);
    const std::uint32_t count = stage.empty() ? 0 : *std::ranges::max_element(stage) + 1;
    text += fmt::format("{}graph {}: {} equations in {} stages\n", indent, in_quotes(graph.name), stage.size(), count);
    for (const auto& [name, id] : graph.inputs)
        text += fmt::format("{}  {} = input {}\n", indent, with_type(graph, id), in_quotes(name));
    for (const GraphParameter& parameter : graph.parameters)
        text += fmt::format("{}  {} = parameters {}\n", indent, with_type(graph, parameter.variable),
                            in_quotes(parameter.group));
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        text += fmt::format("{}  {}\n", indent, equation_line(graph, i, stage[i], placed));
        for (const auto& body : graph.equations[i].bodies) append_text(text, *body, {}, indent + "    ");
    }
    std::string outputs;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        outputs += ' ' + clean(label(graph.outputs[i]), kNameLength);
        if (i < graph.output_names.size()) outputs += ' ' + in_quotes(graph.output_names[i]);
    }
    text += fmt::format("{}  output{}\n", indent, outputs);
}

std::string_view dot_colour(std::span<const PlacedEquation> placed, std::size_t index) {
    if (index >= placed.size()) return "white";
    constexpr std::array<std::string_view, 3> kColours{"gray92", "palegreen", "lightskyblue"};
    return kColours.at(static_cast<std::size_t>(placed[index].placement));
}

}  // namespace

std::string clean(std::string_view text, std::size_t length) {
    // Through JSON: what is no UTF-8 is replaced on the way out.
    const std::string valid = parse_json(to_line(Json(text)), "a text").value().get<std::string>();
    std::string result;
    std::size_t characters = 0;
    for (const char c : valid) {
        if (!is_continuation(c) && characters++ == length) return result + "...";
        const bool control = static_cast<unsigned char>(c) < 0x20U || c == 0x7F;
        result += control ? ' ' : c;
    }
    return result;
}

std::string label(const Atom& atom) {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr ? fmt::format("%{}", id->value) : to_string(std::get<Value>(atom));
}

std::string label(const std::pair<std::string, Attribute>& attribute) {
    struct Visitor {
        std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
        std::string operator()(double value) const { return fmt::format("{}", value); }
        std::string operator()(const std::string& value) const { return to_line(Json(value)); }
        std::string operator()(const std::vector<std::int64_t>& value) const {
            return fmt::format("[{}]", fmt::join(value, ", "));
        }
        std::string operator()(const std::vector<std::string>& value) const { return to_line(Json(value)); }
    };
    return fmt::format("{}={}", attribute.first, std::visit(Visitor{}, attribute.second));
}

std::string label(std::span<const PlacedEquation> placed, std::size_t equation) {
    if (equation >= placed.size()) return {};
    constexpr std::array<std::string_view, 3> kWords{"data", "device", "host"};
    const std::string_view word = kWords.at(static_cast<std::size_t>(placed[equation].placement));
    const std::string& reason = placed[equation].reason;
    return reason.empty() ? std::string(word) : fmt::format("{} ({})", word, clean(reason, kNameLength));
}

std::string title(const Equation& equation) {
    if (equation.host == nullptr) return std::string(equation.operation->name);
    return fmt::format("{} {}", shown_name(equation), in_quotes(equation.host->name));
}

Result<std::string> to_text(const Graph& graph, std::span<const PlacedEquation> placed) {
    YOLK_TRY_VOID(validate(graph));
    std::string text;
    append_text(text, graph, placed, "");
    return text;
}

Result<std::string> to_dot(const Graph& graph, std::span<const PlacedEquation> placed) {
    YOLK_TRY_VOID(validate(graph));
    std::string dot = fmt::format("digraph {} {{\n  rankdir=LR;\n  node [shape=box, style=filled, fillcolor=white];\n",
                                  dot_string(graph.name));
    std::vector<std::string> maker(graph.variables.size());
    for (const auto& [name, id] : graph.inputs) {
        maker[id.value] = fmt::format("v{}", id.value);
        dot += fmt::format("  v{} [label={}, shape=ellipse];\n", id.value, dot_string("input " + name));
    }
    for (const GraphParameter& parameter : graph.parameters) {
        const std::uint32_t id = parameter.variable.value;
        maker[id] = fmt::format("v{}", id);
        dot += fmt::format("  v{} [label={}, shape=ellipse, style=dashed];\n", id,
                           dot_string("parameters " + parameter.group));
    }
    const auto edges = [&](std::span<const Atom> atoms, const std::string& to) {
        for (const Atom& atom : atoms) {
            if (const auto* id = std::get_if<VariableId>(&atom))
                dot += fmt::format("  {} -> {} [label={}];\n", maker[id->value], to,
                                   dot_string(to_string(graph.variables[id->value].type)));
        }
    };
    const std::vector<std::uint32_t> stage = stages_of(graph);
    std::vector<std::string> ranks(graph.equations.size());
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        const Equation& equation = graph.equations[i];
        std::string words = title(equation);
        if (!equation.hyperfunction.empty()) words += " of " + equation.hyperfunction;
        const std::string where = label(placed, i);
        dot += fmt::format("  e{} [label={}, tooltip={}, fillcolor={}];\n", i, dot_string(words),
                           dot_string(where.empty() ? words : where), dot_colour(placed, i));
        for (const VariableId id : equation.results) maker[id.value] = fmt::format("e{}", i);
        edges(equation.operands, fmt::format("e{}", i));
        ranks[stage[i]] += fmt::format(" e{};", i);
    }
    for (const std::string& rank : ranks) {
        if (!rank.empty()) dot += fmt::format("  {{ rank=same;{} }}\n", rank);
    }
    dot += "  output [shape=ellipse];\n";
    edges(graph.outputs, "output");
    return dot + "}\n";
}

}  // namespace yolk::hyper
