// SPDX-License-Identifier: Apache-2.0
// Calls over real connections to the server on loopback.
#include "client_fixture.hpp"

namespace yolk::chat {
namespace {

using chat_server::Fault;
using chat_server::refuse;
using chat_server::Reply;

class exchange : public LoopbackTest {};

TEST_F(exchange, a_call_has_its_content_usage_and_finish_reason) {
    serve([](const Json&) { return Reply{.content = "hello there", .finish_reason = "length"}; });
    const Result<Answer> answer = connect().call(saying("hi"));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->content, "hello there");
    EXPECT_EQ(answer->finish_reason, "length");
    EXPECT_EQ(answer->usage.completion_tokens, 3U);
    EXPECT_EQ(answer->attempts, 1U);
    EXPECT_FALSE(answer->from_cache);
}

TEST_F(exchange, settings_are_sent_within_their_bounds) {
    Json seen;
    serve([&](const Json& request) {
        seen = request;
        return Reply{.content = "x"};
    });
    Request request = saying("hi");
    request.temperature = 7.0;
    request.top_p = -0.5;
    request.presence_penalty = -9.0;
    request.frequency_penalty = 1.25;
    request.max_tokens = -3;
    request.stop = {"end"};
    request.seed = 11;
    ASSERT_TRUE(connect().call(request));
    EXPECT_EQ(seen["temperature"], 2.0);
    EXPECT_EQ(seen["top_p"], 0.0);
    EXPECT_EQ(seen["presence_penalty"], -2.0);
    EXPECT_EQ(seen["frequency_penalty"], 1.25);
    EXPECT_EQ(seen["max_tokens"], 1);
    EXPECT_EQ(seen["stop"], Json({"end"}));
    EXPECT_EQ(seen["seed"], 11);
    EXPECT_EQ(seen["stream"], false);
    EXPECT_EQ(seen["model"], "toy");
}

TEST_F(exchange, results_are_in_the_order_of_the_requests) {
    serve([](const Json& request) {
        const int number = std::stoi(request["messages"][0]["content"].get<std::string>());
        return Reply{.content = std::to_string(number), .delay = std::chrono::milliseconds((number * 7) % 20)};
    });
    std::vector<Request> requests;
    for (int i = 0; i < 100; ++i) requests.push_back(saying(std::to_string(i)));
    const Client client = connect({.most_at_once = 8});
    const std::vector<Result<Answer>> results = client.call_all(requests);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)]->content, std::to_string(i));
    EXPECT_LE(server().counts().most_at_once, 8U);
    EXPECT_LE(server().counts().connections, 8U);
    EXPECT_EQ(client.counts().answered, 100U);
}

TEST_F(exchange, sixty_four_calls_are_under_way_together) {
    serve([](const Json&) { return Reply{.content = "x", .delay = std::chrono::milliseconds(300)}; });
    const std::vector<Request> requests(64, saying("hi"));
    for (const Result<Answer>& result : connect({.most_at_once = 64}).call_all(requests)) EXPECT_TRUE(result);
    EXPECT_GT(server().counts().most_at_once, 32U);
}

TEST_F(exchange, server_errors_and_broken_connections_are_tried_again) {
    const std::vector<Reply> bad{
        refuse(500, "oops"),           refuse(429, "slow down"),
        {.fault = Fault::Closed},      {.content = "long enough to be cut", .fault = Fault::Truncated},
        {.fault = Fault::Garbage},     {.body = "<html>"},
        {.body = "{\"choices\": []}"}, {.content = "long enough to be cut", .fault = Fault::LengthTooShort}};
    for (std::size_t i = 0; i < bad.size(); ++i) {
        std::atomic<int> asked = 0;
        serve([&](const Json&) { return asked++ < 2 ? bad[i] : Reply{.content = "fine"}; });
        const Client client = connect({.attempts = 3});
        const Result<Answer> answer = client.call(saying("hi"));
        ASSERT_TRUE(answer) << i << ": " << answer.error().message;
        EXPECT_EQ(answer->attempts, 3U) << i;
        EXPECT_EQ(client.counts().retries, 2U) << i;
        const Result<Answer> given_up = [&] {
            asked = -100;
            return client.call(saying("hi"));
        }();
        ASSERT_FALSE(given_up) << i;
        expect_says(given_up, ErrorKind::Io, "Attempt 3 of 3");
    }
}

TEST_F(exchange, other_refusals_end_at_once_with_the_servers_words) {
    serve([](const Json&) { return refuse(400, "too hot", "temperature"); });
    const Result<Answer> answer = connect().call(saying("hi"));
    expect_says(answer, ErrorKind::BadInput, "status 400: 'too hot' (the parameter 'temperature')");
    EXPECT_EQ(server().counts().requests, 1U);
    serve([](const Json&) { return refuse(429, "no money", "", "insufficient_quota"); });
    expect_says(connect().call(saying("hi")), ErrorKind::BadInput, "no money");
    EXPECT_EQ(server().counts().requests, 1U);
}

TEST_F(exchange, a_delay_beyond_the_deadline_ends_the_call_at_once) {
    serve([](const Json&) {
        Reply reply = refuse(429, "slow down");
        reply.headers = {{"Retry-After", "3600"}};
        return reply;
    });
    expect_says(connect().call(saying("hi")), ErrorKind::Failed, "after the deadline");
    EXPECT_EQ(server().counts().requests, 1U);
}

TEST_F(exchange, the_servers_delay_is_waited_for) {
    std::atomic<int> asked = 0;
    serve([&](const Json&) {
        Reply reply = refuse(429, "slow down");
        reply.headers = {{"retry-after-ms", "300"}};
        return asked++ == 0 ? reply : Reply{.content = "fine"};
    });
    const Result<Answer> answer = connect().call(saying("hi"));
    ASSERT_TRUE(answer);
    EXPECT_GE(answer->seconds, 0.3);  // a lower bound: the machine's speed has no part in it
}

TEST_F(exchange, the_deadline_ends_a_call_that_is_not_answered) {
    for (const Reply& reply :
         {Reply{.delay = std::chrono::seconds(60)}, Reply{.content = "x", .fault = Fault::LengthTooLong}}) {
        serve([&](const Json&) { return reply; });
        expect_says(connect({.timeout = std::chrono::milliseconds(200)}).call(saying("hi")), ErrorKind::Failed,
                    "in time");
    }
}

TEST_F(exchange, replies_above_the_limit_are_not_read_on) {
    for (const Reply& reply : {Reply{.fault = Fault::Endless}, Reply{.fault = Fault::EndlessHeaders},
                               Reply{.body = std::string(100 << 20U, ' ')}}) {
        serve([&](const Json&) { return reply; });
        expect_says(connect({.most_reply_bytes = 1 << 20U}).call(saying("hi")), ErrorKind::Io, "larger than 1.0 MiB");
        EXPECT_EQ(server().counts().requests, 1U);
    }
}

TEST_F(exchange, an_unreachable_server_is_an_error_that_names_it) {
    std::string url;
    {
        serve([](const Json&) { return Reply{}; });
        url = server().base_url();
        close_server();
    }
    expect_says(connect({.base_url = url, .attempts = 2}).call(saying("hi")), ErrorKind::Io, url);
}

TEST_F(exchange, a_call_is_cancelled_by_its_token) {
    serve([](const Json&) { return Reply{.delay = std::chrono::seconds(60)}; });
    const Client client = connect({.most_at_once = 1});
    std::stop_source stop;
    const PendingCall queued = [&] {
        const PendingCall first = client.start(saying("hi"));
        const PendingCall second = client.start(saying("ho"));
        second.cancel();
        expect_says(second.wait(), ErrorKind::Cancelled, "cancelled");
        EXPECT_FALSE(first.ready());
        return first;
    }();
    std::jthread stopper([&] { stop.request_stop(); });
    expect_says(client.call(saying("hi"), {.stop = stop.get_token()}), ErrorKind::Cancelled, "cancelled");
    queued.cancel();
    expect_says(queued.wait(), ErrorKind::Cancelled, "cancelled");
}

TEST_F(exchange, a_call_may_be_cancelled_the_moment_it_was_started) {
    serve([](const Json& request) {
        const bool is_known = request["messages"][0]["content"] == "known";
        return is_known ? Reply{.content = "yes"} : Reply{.delay = std::chrono::seconds(60)};
    });
    // A cancellation that is lost ends as a call that was not answered in time.
    const Client client =
        connect({.timeout = std::chrono::seconds(5), .most_at_once = 1, .cache = folder_ / "answers"});
    ASSERT_TRUE(client.call(saying("known")));
    const PendingCall first = client.start(saying("hi"));
    // Answers from the cache keep the driving thread busy where it takes new calls in.
    const std::jthread other([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) EXPECT_TRUE(client.call(saying("known")));
    });
    for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
        const PendingCall next = client.start(saying("ho"));
        next.cancel();
        expect_says(next.wait(), ErrorKind::Cancelled, "cancelled");
    }
    first.cancel();
}

TEST_F(exchange, closing_the_client_ends_what_is_pending) {
    serve([](const Json&) { return Reply{.delay = std::chrono::seconds(60)}; });
    std::optional<Client> client = connect();
    const PendingCall pending = client->start(saying("hi"));
    client.reset();
    expect_says(pending.wait(), ErrorKind::Cancelled, "closed");
    pending.cancel();
}

TEST_F(exchange, bad_requests_are_refused_before_anything_is_sent) {
    serve([](const Json&) { return Reply{}; });
    const Client client = connect();
    expect_says(client.call({}), ErrorKind::BadInput, "no messages");
    expect_says(client.call({.messages = {{"robot", "x"}}}), ErrorKind::BadInput, "'robot'");
    expect_says(client.call(saying("\xff")), ErrorKind::BadInput, "UTF-8");
    Request request = saying("hi");
    request.temperature = std::nan("");
    expect_says(client.call(request), ErrorKind::BadInput, "temperature");
    EXPECT_EQ(server().counts().requests, 0U);
}

TEST_F(exchange, bad_options_are_refused_by_name) {
    const auto refused = [](ClientOptions options, std::string_view part) {
        const Result<Client> made = Client::create(std::move(options));
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().kind, ErrorKind::BadInput);
        EXPECT_THAT(made.error().message, testing::HasSubstr(std::string(part)));
    };
    const std::string local = "http://127.0.0.1:1/v1";
    refused({.base_url = "ftp://host/v1", .key_variable = ""}, "https://");
    refused({.base_url = "https://host/v1#x", .key_variable = ""}, "'#'");
    refused({.base_url = "https://me:word@host/v1"}, "password");
    refused({.base_url = "https://host/v1", .key_variable = "YOLK_CHAT_NO_SUCH_KEY"}, "YOLK_CHAT_NO_SUCH_KEY");
    refused({.base_url = local, .timeout = std::chrono::milliseconds(0)}, "timeout");
    refused({.base_url = local, .attempts = 0}, "attempts");
    refused({.base_url = local, .most_at_once = 0}, "most_at_once");
    refused({.base_url = local, .requests_per_minute = 0.0}, "requests_per_minute");
    refused({.base_url = local, .tokens_per_minute = -1.0}, "tokens_per_minute");
}

TEST_F(exchange, a_limit_on_requests_spaces_them) {
    serve([](const Json&) { return Reply{.content = "x"}; });
    const Client client = connect({.requests_per_minute = 600.0});  // 10 at once, then one every .1 s
    const auto begun = std::chrono::steady_clock::now();
    for (const auto& result : client.call_all(std::vector<Request>(13, saying("hi")))) EXPECT_TRUE(result);
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(290));  // a lower bound
}

TEST_F(exchange, tokens_are_counted_and_priced) {
    serve([](const Json&) {
        return Reply{.body = R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],
                                 "usage":{"prompt_tokens":300,"completion_tokens":20}})"};
    });
    const Client client = connect({.cache = folder_ / "answers", .prices = {.prompt = 2.0, .completion = 10.0}});
    const double each = (300 * 2.0 + 20 * 10.0) / 1e6;
    for (int i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(client.call(saying("hi"))->cost, each);  // the second from the cache
    EXPECT_EQ(client.counts().prompt_tokens, 300U);
    EXPECT_EQ(client.counts().completion_tokens, 20U);
    EXPECT_DOUBLE_EQ(client.counts().cost, each);
}

TEST_F(exchange, an_attempt_that_takes_too_long_is_tried_again) {
    std::atomic<int> asked = 0;
    serve([&](const Json&) {
        return Reply{.content = "x", .delay = std::chrono::milliseconds(asked++ == 0 ? 20'000 : 0)};
    });
    const Result<Answer> answer = connect({.attempt_timeout = std::chrono::milliseconds(300)}).call(saying("hi"));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->attempts, 2U);
}

TEST_F(exchange, a_reply_that_is_not_the_schema_is_asked_for_again) {
    std::atomic<int> asked = 0;
    serve([&](const Json& request) {
        EXPECT_EQ(request["response_format"]["json_schema"]["strict"], true);
        return Reply{.content = asked++ == 0 ? "{\"n\": \"three\"}" : "{\"n\": 3}"};
    });
    Request request = saying("hi");
    request.schema = doc({{"n", integer()}});
    const Client client = connect();
    const Result<Answer> answer = client.call(request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->value["n"], 3);
    EXPECT_EQ(client.counts().schema_failures, 1U);
    serve([](const Json&) { return Reply{.content = "no idea"}; });
    expect_says(connect({.schema_attempts = 2}).call(request), ErrorKind::Failed, "begins: 'no idea'");
    EXPECT_EQ(server().counts().requests, 2U);
}

/// Resident pages of this process.
std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t whole = 0;
    std::size_t resident = 0;
    statm >> whole >> resident;
    return resident * 4096;
}

TEST_F(exchange, memory_is_flat_over_ten_thousand_calls) {
    serve([](const Json&) { return Reply{.content = std::string(2000, 'x')}; });
    const Client client = connect({.most_at_once = 32});
    const std::vector<Request> requests(500, saying(std::string(2000, 'y')));
    const auto calls = [&](int times) {
        for (int i = 0; i < times; ++i) {
            for (const auto& result : client.call_all(requests)) ASSERT_TRUE(result);
        }
    };
    calls(4);
    const std::size_t before = resident_bytes();
    calls(16);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::size_t kAllowed = 512U << 20U;  // sanitizers keep what was freed for a while
#else
    constexpr std::size_t kAllowed = 4U << 20U;  // 8,000 calls of 4 kB of text: keeping a seventh of it would show
#endif
    EXPECT_LT(resident_bytes(), before + kAllowed);
    EXPECT_EQ(client.counts().answered, 10'000U);
}

}  // namespace
}  // namespace yolk::chat
