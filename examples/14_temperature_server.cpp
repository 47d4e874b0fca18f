// SPDX-License-Identifier: Apache-2.0
#include "14_temperature_server.hpp"

#include <cmath>

#include "text_model.hpp"
#include "yolk/json.hpp"

namespace temperature_example {

using namespace text_example;

yolk::chat_server::Reply answer(const yolk::Json& request) {
    const std::string item = content_of(request, "user");
    yolk::Json colours = yolk::Json::array();
    for (const char* const colour : {"red", "green", "blue", "black", "white", "yellow"}) {
        if (luck(item + colour) < 0.5) colours.push_back(colour);
    }
    std::string reply =
        yolk::to_line({{"name", item}, {"colours", colours}, {"price", std::floor(100.0 * luck(item + " price"))}});

    const double heat = setting(request, "temperature", 1.0) * setting(request, "top_p", 1.0);
    if (heat > 0.3 + 1.4 * luck(item)) reply = "Sure! Here is the " + item + ":\n" + reply;
    // Whoever may not repeat itself runs out of quotation marks.
    if (setting(request, "frequency_penalty", 0.0) + setting(request, "presence_penalty", 0.0) > 1.0)
        reply.erase(reply.rfind('"'), 1);

    const double room = 4.0 * (setting(request, "max_tokens", 1e6) - 1.0);  // four letters a token, and one at the end
    if (static_cast<double>(reply.size()) <= room) return says(reply);
    yolk::chat_server::Reply cut = says(reply.substr(0, static_cast<std::size_t>(room)));
    cut.finish_reason = "length";
    return cut;
}

}  // namespace temperature_example
