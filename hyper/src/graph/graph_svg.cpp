// SPDX-License-Identifier: Apache-2.0
// The SVG form of graphs: a column per stage, boxes ordered by where their operands are, curves between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "equations.hpp"
#include "graph_labels.hpp"
#include "valid_graph.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/core/markup.hpp"

namespace yolk::hyper {
namespace {

constexpr double kBoxWidth = 190, kBoxHeight = 46, kColumn = 260, kRow = 66, kMargin = 24, kLegend = 40;
constexpr std::size_t kLineLength = 28;  // characters that a box holds

struct Box {
    std::string title{}, detail{}, tooltip{};
    std::string_view colour{};
    std::size_t column = 0;
    double wanted = 0.0;  ///< mean height of what it reads
    double x = 0.0, y = 0.0;
    std::vector<std::size_t> reads{};
};

constexpr std::string_view kDataColour = "#ececec", kDeviceColour = "#cdeccb", kHostColour = "#cfe3f7",
                           kPlain = "#ffffff", kGroup = "#f7ecc8";

std::string xml(std::string_view text, std::size_t length = kLineLength) { return markup_text(clean(text, length)); }

std::string_view colour_of(std::span<const PlacedEquation> placed, std::size_t index) {
    constexpr std::array kColours{kDataColour, kDeviceColour, kHostColour};
    return index < placed.size() ? kColours.at(static_cast<std::size_t>(placed[index].placement)) : kPlain;
}

std::vector<Box> boxes_of(const Graph& graph, std::span<const PlacedEquation> placed) {
    std::vector<Box> boxes;
    std::vector<std::size_t> maker(graph.variables.size());
    const auto type = [&](VariableId id) { return to_string(graph.variables[id.value].type); };
    const auto reads = [&](std::span<const Atom> atoms) {
        std::vector<std::size_t> list;
        std::set<std::size_t> known;
        for (const Atom& atom : atoms) {
            const auto* id = std::get_if<VariableId>(&atom);
            if (id != nullptr && known.insert(maker[id->value]).second) list.push_back(maker[id->value]);
        }
        return list;
    };
    for (const auto& [name, id] : graph.inputs) {
        maker[id.value] = boxes.size();
        boxes.push_back({.title = name, .detail = "input, " + type(id), .tooltip = name, .colour = kPlain});
    }
    for (const GraphParameter& parameter : graph.parameters) {
        maker[parameter.variable.value] = boxes.size();
        boxes.push_back({.title = parameter.group,
                         .detail = "parameters, " + type(parameter.variable),
                         .tooltip = parameter.group,
                         .colour = kGroup});
    }
    const std::vector<std::uint32_t> stage = stages_of(graph);
    std::size_t last = 0;
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        const Equation& equation = graph.equations[i];
        std::string tooltip = fmt::format("stage {} {}", stage[i], label(placed, i));
        if (equation.made_at) tooltip += ' ' + line_of(equation);
        for (const auto& attribute : equation.attributes) tooltip.append(" ").append(label(attribute));
        std::string detail = equation.results.empty() ? "" : type(equation.results[0]);
        if (!equation.hyperfunction.empty()) detail.insert(0, ": ").insert(0, equation.hyperfunction);
        Box box{.title = title(equation),
                .detail = detail,
                .tooltip = tooltip,
                .colour = colour_of(placed, i),
                .column = stage[i] + 1};
        box.reads = reads(equation.operands);
        last = std::max(last, box.column);
        for (const VariableId id : equation.results) maker[id.value] = boxes.size();
        boxes.push_back(std::move(box));
    }
    Box output{.title = "output", .colour = kPlain, .column = last + 1};
    output.reads = reads(graph.outputs);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        if (i < graph.output_names.size()) output.detail += graph.output_names[i] + " = ";
        output.detail += label(graph.outputs[i]) + ' ';
    }
    output.tooltip = output.detail;
    boxes.push_back(std::move(output));
    return boxes;
}

/// Puts each column's boxes in the order of what they read; returns the tallest column's number of boxes.
std::size_t arrange(std::vector<Box>& boxes) {
    std::vector<std::vector<Box*>> columns;
    for (Box& box : boxes) {
        columns.resize(std::max(columns.size(), box.column + 1));
        columns[box.column].push_back(&box);
    }
    std::size_t tallest = 0;
    for (std::vector<Box*>& column : columns) {
        for (Box* box : column) {
            for (const std::size_t from : box->reads)
                box->wanted += boxes[from].y / static_cast<double>(box->reads.size());
        }
        std::ranges::stable_sort(column, {}, &Box::wanted);
        for (std::size_t row = 0; row < column.size(); ++row) {
            column[row]->x = kMargin + static_cast<double>(column[row]->column) * kColumn;
            column[row]->y = kMargin + kLegend + static_cast<double>(row) * kRow;
        }
        tallest = std::max(tallest, column.size());
    }
    return tallest;
}

std::string legend() {
    std::string svg;
    double x = kMargin;
    for (const auto& [words, colour] : {std::pair{"device", kDeviceColour}, std::pair{"host", kHostColour},
                                        std::pair{"data of the trace", kDataColour}, std::pair{"parameters", kGroup}}) {
        svg += fmt::format(
            "<rect x=\"{}\" y=\"12\" width=\"14\" height=\"14\" fill=\"{}\" stroke=\"#555\"/>"
            "<text x=\"{}\" y=\"24\">{}</text>\n",
            x, colour, x + 20, words);
        x += 150;
    }
    return svg;
}

}  // namespace

Result<std::string> to_svg(const Graph& graph, std::span<const PlacedEquation> placed) {
    YOLK_TRY_VOID(validate(graph));
    std::vector<Box> boxes = boxes_of(graph, placed);
    const std::size_t rows = arrange(boxes);
    const double width = boxes.back().x + kBoxWidth + kMargin;
    const double height = kMargin * 2 + kLegend + static_cast<double>(rows) * kRow;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        std::max(width, 640.0), height, xml(graph.name, 80));
    svg += legend();
    for (const Box& box : boxes) {
        for (const std::size_t from : box.reads) {
            const double x0 = boxes[from].x + kBoxWidth, y0 = boxes[from].y + kBoxHeight / 2;
            const double x1 = box.x, y1 = box.y + kBoxHeight / 2, middle = (x0 + x1) / 2;
            svg += fmt::format("<path d=\"M{0} {1} C{2} {1} {2} {4} {3} {4}\" fill=\"none\" stroke=\"#888\"/>\n", x0,
                               y0, middle, x1, y1);
        }
    }
    for (const Box& box : boxes) {
        svg += fmt::format(
            "<g><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"{}\" "
            "stroke=\"#555\"/><text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>"
            "<text x=\"{}\" y=\"{}\" fill=\"#444\">{}</text></g>\n",
            xml(box.tooltip, 200), box.x, box.y, kBoxWidth, kBoxHeight, box.colour, box.x + 8, box.y + 19,
            xml(box.title, 22), box.x + 8, box.y + 36, xml(box.detail));
    }
    return svg + "</svg>\n";
}

}  // namespace yolk::hyper
