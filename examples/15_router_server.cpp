// SPDX-License-Identifier: Apache-2.0
#include "15_router_server.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <utility>
#include <vector>

#include "text_model.hpp"
#include "yolk/json.hpp"

namespace router_example {
namespace {

using namespace text_example;
using yolk::Json;
using yolk::chat_server::Reply;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

Reply rating(const std::string& prompt, const std::string& mail) {
    const std::vector<std::string> lines = lines_of(mail);
    const auto quoted = std::ranges::count_if(lines, [](const std::string& line) { return line.starts_with('>'); });
    const double share = static_cast<double>(quoted) / static_cast<double>(std::max<std::size_t>(1, lines.size()));
    return says(yolk::to_line({{"rating", has(prompt, "quoted") ? share : 0.5}}));
}

Reply summary(const std::string& prompt, const std::string& mail) {
    std::string kept;
    for (const std::string& line : lines_of(mail)) {
        if (!line.starts_with('>')) kept += (kept.empty() ? "" : "\n") + line;
    }
    if (!has(prompt, "number")) std::erase_if(kept, is_digit);
    return says(kept);
}

/// The digits after the last "order" in the text.
std::string last_order(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::size_t word = text.rfind("order ");
    if (word == std::string::npos) return {};
    const auto from = text.begin() + static_cast<std::ptrdiff_t>(word + 6);
    return {from, std::find_if_not(from, text.end(), is_digit)};
}

Reply what_to_do(const Json& request, const std::string& prompt, const std::string& text) {
    std::pair<std::size_t, std::string> last{0, "ask"};
    for (const auto& [words, action] : std::array<std::pair<const char*, const char*>, 3>{
             {{"money back", "refund"}, {"not arrived", "track"}, {"broken", "replace"}}}) {
        const std::size_t at = text.rfind(words);
        if (at != std::string::npos && at >= last.first) last = {at, action};
    }
    const std::string order = last_order(text);
    const double heat = setting(request, "temperature", 1.0) * setting(request, "top_p", 1.0);
    const bool is_lucid = order.empty() || heat <= 0.3 + 1.4 * luck(order);
    const std::string action = is_lucid ? last.second : "ignore";
    if (has(prompt, "alone")) return says(action + (order.empty() ? "" : " ") + order);
    return says("Dear customer, we shall " + action + " your order" + (order.empty() ? "" : " ") + order + ".");
}

Reply reflects(const Reflection& told) {
    const auto asks_for = [&told](std::string_view component, std::string_view feedback, std::string_view missing) {
        return told.component == component && has(told.records, feedback) && !has(told.text, missing);
    };
    if (asks_for("router", "the older mail that is quoted", "quoted"))
        return improved(told, "Give the share of its lines that are quoted.");
    if (asks_for("summarizer", "the number of the order is lost", "number"))
        return improved(told, "Keep the number of the order.");
    if (asks_for("generator", "more in the answer than that", "alone"))
        return improved(told, "Reply with the action (refund, track or replace) and the order's number alone.");
    return improved(told, "");
}

}  // namespace

Reply answer(const Json& request) {
    if (const auto reflection = reflection_in(request)) return reflects(*reflection);
    const std::string prompt = content_of(request, "system");
    const std::string asked = content_of(request, "user");  // the text, an empty line, the word of what is wanted
    const std::string text = asked.substr(0, asked.rfind("\n\n"));
    if (request.contains("response_format")) return rating(prompt, text);
    return asked.ends_with("Summary:") ? summary(prompt, text) : what_to_do(request, prompt, text);
}

}  // namespace router_example
