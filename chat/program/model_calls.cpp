// SPDX-License-Identifier: Apache-2.0
// yolk-model-calls [CALLS] [AT_ONCE] [MILLISECONDS] [RUNS]: calls of a server on loopback that waits before each
// answer. Prints a line of JSON for each run: seconds; the ideal, which is that of the rounds in which they wait; and
// processor time of the client's thread alone. The server runs in this process, too.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "yolk/chat.hpp"
#include "yolk/chat_server.hpp"

namespace yolk {
namespace {

Result<void> measure(unsigned calls, unsigned at_once, std::chrono::milliseconds wait, unsigned runs) {
    YOLK_TRY(const chat_server::Server server, chat_server::Server::start({.rule = [wait](const Json&) {
                 return chat_server::Reply{.content = "an answer", .delay = wait};
             }}));
    YOLK_TRY(const chat::Client client,
             chat::Client::create(
                 {.base_url = server.base_url(), .key_variable = "", .model = "toy", .most_at_once = at_once}));
    const std::vector<chat::Request> requests(calls, {.messages = {{"user", "a question"}}});
    const double ideal = std::chrono::duration<double>(wait).count() * ((calls + at_once - 1) / at_once);
    for (unsigned run = 0; run < runs; ++run) {
        const double processor = client.counts().processor_seconds;
        const auto begun = std::chrono::steady_clock::now();
        for (const Result<chat::Answer>& answer : client.call_all(requests)) {
            if (!answer) return answer.error();
        }
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        fmt::print("{}\n", to_line(Json{{"calls", calls},
                                        {"at_once", at_once},
                                        {"seconds", seconds},
                                        {"ideal_seconds", ideal},
                                        {"processor_seconds", client.counts().processor_seconds - processor}}));
        std::fflush(stdout);
    }
    return {};
}

int run(int argc, char** argv) {
    std::array<unsigned, 4> settings{1000, 64, 100, 1};  // as in the usage
    for (int i = 1; i < argc; ++i) {
        const std::string_view given = argv[i];
        unsigned value = 0;
        const auto [end, code] = std::from_chars(given.data(), given.data() + given.size(), value);
        if (i > static_cast<int>(settings.size()) || code != std::errc() || end != given.data() + given.size() ||
            value == 0) {
            fmt::print(stderr,
                       "yolk-model-calls: argument {} is '{}'. Usage: yolk-model-calls [CALLS] [AT_ONCE] "
                       "[MILLISECONDS] [RUNS], whole numbers from 1 on.\n",
                       i, given);
            return 2;
        }
        settings[static_cast<std::size_t>(i) - 1] = value;
    }
    const Result<void> measured =
        measure(settings[0], settings[1], std::chrono::milliseconds(settings[2]), settings[3]);
    if (measured) return 0;
    fmt::print(stderr, "yolk-model-calls: {}\n", measured.error().message);
    return 1;
}

}  // namespace
}  // namespace yolk

int main(int argc, char** argv) { return yolk::run(argc, argv); }
