// SPDX-License-Identifier: Apache-2.0
// A model with tools: it asks for a calculator or a price list, a function on the host answers, and so on until it
// answers the question or the steps are spent. Its prompt is improved until it keeps within them:
//
//     16_tools evaluate --predictions
//     16_tools optimize --text gepa --text-budget 100 --out tuned.safetensors
//     16_tools graph
//
// A run without an answer says so, and scores 0. Who answers: 14_temperature.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "16_tools_server.hpp"
#include "text_model.hpp"
#include "yolk/models.hpp"
#include "yolk/run_system.hpp"

using namespace yolk::hyper;

namespace {

constexpr int kSteps = 5;  // the answer is one of them

/// Products and sums of numbers: "3*2+4*3". What it cannot read it says: the model is to mend it.
std::string calculate(const std::string& input) {
    double sum = 0.0, product = 1.0;
    for (std::size_t at = 0; at <= input.size();) {
        const std::size_t end = std::min(input.find_first_of("+*", at), input.size());
        const std::string number = input.substr(at, end - at);
        char* rest = nullptr;
        product *= std::strtod(number.c_str(), &rest);
        if (number.empty() || *rest != '\0') return "'" + number + "' is not a number.";
        if (end == input.size() || input[end] == '+') sum += std::exchange(product, 1.0);
        at = end + 1;
    }
    return fmt::format("{}", sum);
}

std::string price(const std::string& thing) {
    for (const auto& [name, price] : std::array<std::pair<std::string_view, const char*>, 4>{
             {{"apple", "2"}, {"pear", "3"}, {"plum", "1"}, {"melon", "5"}}}) {
        if (thing == name) return price;
    }
    return "There is no '" + thing + "' in the list.";
}

Metric right_answer() {
    Metric metric = exact_match();
    metric.feedback = [](const Value& prediction, const Value& expected, double score) -> yolk::Result<std::string> {
        if (score == 1.0) return std::string("Right.");
        return "Wrong, it is " + *expected.text() + ". " + *prediction.text();
    };
    return metric;
}

}  // namespace

int main(int argc, char** argv) {
    const auto models = text_example::open_models(argc, argv, &tools_example::answer);
    if (!models) return 2;

    const auto agent = hyperfunction(
        "agent", TextParameter{"Answer the question, which has a number for its answer. There are tools for that."},
        [](const Traced& prompt, const Traced& question, const Traced& notes) {
            const auto schema =
                yolk::chat::doc({{"tool", yolk::chat::one_of({"calculator", "prices", "answer"})},
                                 {"input", yolk::chat::str("a sum such as 3*2+4; one thing; a number")}});
            return schema_call(schema, {{"system", prompt}, {"user", format("{}\n{}", {question, notes})}});
        },
        {.optimize = true});
    const auto calculator = hyperfunction("calculator", NoParameters{}, &calculate);
    const auto prices = hyperfunction("prices", NoParameters{}, &price);

    System system("tools", [&](const Inputs& in) {
        const TracedValues start{Traced(""), Traced(""), Traced(0.0)};  // what the tools said, the answer, steps
        const TracedValues end = while_loop(
            start,
            [](std::span<const Traced> now) { return logical_and(match(now[1], ""), less(now[2], double{kSteps})); },
            [&](std::span<const Traced> now) {
                const Traced asked = agent(in["question"], now[0]);
                const Traced tool = field(asked, "tool"), input = field(asked, "input");
                const Traced said = switch_on(tool, {{"calculator", [&] { return calculator(input); }},
                                                     {"prices", [&] { return prices(input); }},
                                                     {"answer", [] { return Traced(""); }}});
                return TracedValues{format("{}{} {}: {}\n", {now[0], tool, input, said}),
                                    select(match(tool, "answer"), input, ""), now[2] + 1.0};
            },
            kSteps);
        return select(match(end[1], ""), fmt::format("No answer within {} steps.", kSteps), end[1]);
    });
    system.use(*models);

    std::vector<Example> examples, held_out;
    const auto ask = [](std::vector<Example>& list, const char* question, const char* answer) {
        list.push_back({{{"question", question}}, answer});
    };
    ask(examples, "What is 12*7?", "84");
    ask(examples, "What do 3 apples and 4 pears cost?", "18");
    ask(examples, "What do 2 apples and 5 plums and 1 melon cost?", "14");
    ask(examples, "What is 5+6*3?", "23");
    ask(examples, "What do 7 plums and 2 melons cost?", "17");
    ask(examples, "What do 1 pear and 3 plums and 2 apples cost?", "10");
    ask(held_out, "What is 9*9?", "81");
    ask(held_out, "What do 2 pears and 2 melons cost?", "16");
    ask(held_out, "What do 1 melon and 1 pear and 6 apples cost?", "20");
    return yolk::cli::run_system(argc, argv, system, examples, right_answer(), held_out);
}
