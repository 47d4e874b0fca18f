// SPDX-License-Identifier: Apache-2.0
#include "15_router_mails.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace router_example {
namespace {

using namespace yolk::hyper;

struct Wish {
    const char* action;
    const char* words;
};
constexpr std::array<Wish, 3> kWishes{
    {{"refund", "I want my money back."}, {"track", "It has not arrived."}, {"replace", "It came broken."}}};

Example example_of(const std::string& mail, std::size_t wish, int order) {
    return {{{"mail", mail}}, kWishes[wish].action + (" " + std::to_string(order))};
}

/// The number is in a line that is quoted: one of five.
Example short_mail(std::size_t wish, int order) {
    return example_of("Hello,\n" + std::string(kWishes[wish].words) + "\n> Order " + std::to_string(order) +
                          " is on its way.\nWhat now?\nRegards",
                      wish, order);
}

/// Followed by `quoted` lines of an older mail, about another order and another wish.
Example long_mail(std::size_t wish, int order, int quoted) {
    std::string mail =
        "Hello,\nthis is about order " + std::to_string(order) + ". " + kWishes[wish].words + "\nRegards\n> Hello,";
    for (int line = 2; line < quoted; ++line) mail += "\n> I still wait for an answer.";
    mail += "\n> order " + std::to_string(order - 1000) + ": " + kWishes[(wish + 1) % kWishes.size()].words;
    return example_of(mail, wish, order);
}

}  // namespace

std::vector<Example> mails() {
    return {short_mail(0, 4711), long_mail(0, 4722, 7), short_mail(1, 4733),   long_mail(1, 4744, 2),
            short_mail(2, 4755), long_mail(2, 4766, 9), long_mail(1, 4777, 3), long_mail(0, 4788, 6)};
}

std::vector<Example> held_out_mails() {
    return {long_mail(0, 5511, 2), short_mail(1, 5522),   long_mail(2, 5533, 8),
            short_mail(0, 5544),   long_mail(1, 5555, 3), long_mail(2, 5566, 6)};
}

Metric right_answer() {
    struct Seen {
        bool action = false, order = false, exact = false;
        std::string wanted;
        Seen(const Value& prediction, const Value& expected) : wanted(*expected.text()) {
            const std::string& said = *prediction.text();
            const std::size_t space = wanted.find(' ');
            action = said.find(wanted.substr(0, space)) != std::string::npos;
            order = said.find(wanted.substr(space + 1)) != std::string::npos;
            exact = said == wanted;
        }
    };
    Metric metric(
        [](const Value& prediction, const Value& expected) {
            const Seen seen(prediction, expected);
            return seen.exact ? 1.0 : (seen.action ? 0.4 : 0.0) + (seen.order ? 0.4 : 0.0);
        },
        "right answer");
    metric.feedback = [](const Value& prediction, const Value& expected, double) -> yolk::Result<std::string> {
        const Seen seen(prediction, expected);
        if (seen.exact) return std::string("Right.");
        const std::string wrong = "Wrong, it should be '" + seen.wanted + "': ";
        if (seen.action && seen.order) return wrong + "there is more in the answer than that.";
        if (prediction.text()->find_first_of("0123456789") == std::string::npos)
            return wrong + "the number of the order is lost.";
        return seen.order ? wrong + "something else is wanted." : wrong + "it is about the older mail that is quoted.";
    };
    return metric;
}

}  // namespace router_example
