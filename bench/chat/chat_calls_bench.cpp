// SPDX-License-Identifier: Apache-2.0
// yolk_chat_bench [CALLS] [AT_ONCE] [MILLISECONDS]: calls of a server on loopback that waits before each answer. The
// ideal time is that of the rounds in which they wait. Processor time is that of the client's thread alone; the server
// runs in this process, too.
#include <fmt/format.h>

#include <cstdlib>

#include "../times.hpp"
#include "yolk/chat.hpp"
#include "yolk/chat_server.hpp"

namespace yolk {
namespace {

Result<void> measure(unsigned calls, unsigned at_once, std::chrono::milliseconds wait) {
    YOLK_TRY(const chat_server::Server server, chat_server::Server::start({.rule = [wait](const Json&) {
                 return chat_server::Reply{.content = "an answer", .delay = wait};
             }}));
    YOLK_TRY(const chat::Client client,
             chat::Client::create(
                 {.base_url = server.base_url(), .key_variable = "", .model = "toy", .most_at_once = at_once}));
    const std::vector<chat::Request> requests(calls, {.messages = {{"user", "a question"}}});
    const auto begun = std::chrono::steady_clock::now();
    for (const Result<chat::Answer>& answer : client.call_all(requests)) {
        if (!answer) return answer.error();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    const double ideal = std::chrono::duration<double>(wait).count() * ((calls + at_once - 1) / at_once);
    fmt::print("{} calls, {} at once: {:.3f} s, ideal {:.3f} s, ratio {:.3f}; {:.3f} ms of processor time per call\n",
               calls, at_once, seconds, ideal, seconds / ideal, 1e3 * client.counts().processor_seconds / calls);
    return {};
}

}  // namespace
}  // namespace yolk

int main(int argc, char** argv) {
    const unsigned calls = yolk::bench::number_argument(argc, argv, 1, 1000);
    const unsigned at_once = yolk::bench::number_argument(argc, argv, 2, 64);
    const unsigned wait = yolk::bench::number_argument(argc, argv, 3, 100);
    const yolk::Result<void> measured = yolk::measure(calls, at_once, std::chrono::milliseconds(wait));
    if (measured) return 0;
    fmt::print(stderr, "yolk_chat_bench: {}\n", measured.error().message);
    return 1;
}
