// SPDX-License-Identifier: Apache-2.0
#include "16_tools_server.hpp"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "text_model.hpp"
#include "yolk/json.hpp"

namespace tools_example {
namespace {

using namespace text_example;
using yolk::chat_server::Reply;

Reply asks_for(const char* tool, const std::string& input) {
    return says(yolk::to_line({{"tool", tool}, {"input", input}}));
}

/// What a tool said to this input, the last time.
std::optional<std::string> said(const std::string& notes, const std::string& tool, const std::string& input) {
    const std::string head = "\n" + tool + " " + input + ": ";
    const std::size_t at = notes.rfind(head);
    if (at == std::string::npos) return std::nullopt;
    return notes.substr(at + head.size(), notes.find('\n', at + 1) - at - head.size());
}

std::size_t times(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

/// "What do 3 apples and 4 pears cost?" -> (3, apple), (4, pear)
std::vector<std::pair<int, std::string>> things_in(const std::string& question) {
    std::vector<std::pair<int, std::string>> things;
    std::istringstream words(question);
    int last = 0;
    for (std::string word; words >> word;) {
        if (last > 0) things.emplace_back(last, word.substr(0, word.find('s')));
        last = std::atoi(word.c_str());
    }
    return things;
}

Reply next_step(const std::string& prompt, const std::string& question, const std::string& notes) {
    std::string sum;
    for (const auto& [count, thing] : things_in(question)) {
        std::string price = thing;
        if (has(prompt, "price list")) {
            const auto found = said(notes, "prices", thing);
            if (!found) return asks_for("prices", thing);
            price = *found;
        }
        sum += (sum.empty() ? "" : "+") + std::to_string(count) + "*" + price;
    }
    if (sum.empty()) sum = question.substr(8, question.find('?') - 8);  // "What is 12*7?"
    const auto result = said(notes, "calculator", sum);
    if (!result || has(*result, "is not a number")) return asks_for("calculator", sum);
    if (!has(prompt, "twice") && times(notes, "\ncalculator " + sum + ": ") < 2) return asks_for("calculator", sum);
    return asks_for("answer", *result);
}

Reply reflects(const Reflection& told) {
    if (has(told.records, "is not a number") && !has(told.text, "price list"))
        return improved(told, "Look each thing up in the price list first.");
    if (has(told.records, "No answer within") && !has(told.text, "twice"))
        return improved(told, "Do not calculate anything twice.");
    return improved(told, "");
}

}  // namespace

Reply answer(const yolk::Json& request) {
    if (const auto reflection = reflection_in(request)) return reflects(*reflection);
    const std::string asked = content_of(request, "user");
    const std::size_t end = asked.find('\n');
    return next_step(content_of(request, "system"), asked.substr(0, end), end == asked.npos ? "" : asked.substr(end));
}

}  // namespace tools_example
