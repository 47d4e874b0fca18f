// SPDX-License-Identifier: Apache-2.0
// Model calls: what a server on loopback gets from the client, beside the time that it waits before each answer.
#include <chrono>

#include "suite_row.hpp"
#include "yolk/chat.hpp"
#include "yolk/chat_server.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kCalls = 256, kAtOnce = 64;
constexpr std::chrono::milliseconds kAnswersAfter{10};

/// The limit is the rate of calls that take nothing but the server's wait, 64 at once.
Result<SuiteRow> measure_calls(const Context& /*on*/, const RunBudget& budget) {
    YOLK_TRY(const chat_server::Server server, chat_server::Server::start({.rule = [](const Json& /*request*/) {
                 return chat_server::Reply{.content = "an answer", .delay = kAnswersAfter};
             }}));
    YOLK_TRY(const chat::Client client,
             chat::Client::create(
                 {.base_url = server.base_url(), .key_variable = "", .model = "toy", .most_at_once = kAtOnce}));
    const std::vector<chat::Request> requests(kCalls, {.messages = {{"user", "a question"}}});
    SuiteRow row{.group = {}, .name = {}, .unit = "calls/s", .items = kCalls};
    YOLK_TRY(row.runs, time_calls(
                           [&]() -> Result<void> {
                               for (const Result<chat::Answer>& answer : client.call_all(requests)) {
                                   if (!answer) return answer.error();
                               }
                               return {};
                           },
                           budget));
    row.limit = kAtOnce / std::chrono::duration<double>(kAnswersAfter).count();
    row.limit_of = "waiting for the server";
    return row;
}

}  // namespace

std::vector<SuiteJob> text_jobs() {
    return {{"text", "256 model calls on loopback, 64 at once, answered after 10 ms", true, &measure_calls}};
}

}  // namespace yolk::cli
