// SPDX-License-Identifier: Apache-2.0
// Replies in the forms that servers of many makers send, and what is asked for again.
#include "client_fixture.hpp"

namespace yolk::chat {
namespace {

using chat_server::refuse;
using chat_server::Reply;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class replies : public LoopbackTest {
   protected:
    /// The answer to a request, with a schema of one number where it is asked for, and how often the server was asked.
    struct Asked {
        Result<Answer> answer;
        std::uint64_t times = 0;
    };
    Asked ask(const Reply& reply, bool with_schema = false) {
        serve([reply](const Json&) { return reply; });
        Request request = saying("hi");
        if (with_schema) request.schema = doc({{"n", integer()}});
        Result<Answer> answer = connect().call(request);
        return {std::move(answer), server().counts().requests};
    }
    void expect_answer(const Reply& reply, const std::string& content) {
        const auto [answer, times] = ask(reply);
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->content, content);
        EXPECT_EQ(times, 1U);
    }
    /// It fails after `times` requests, all of which are in the counts of tokens.
    void expect_failure(const Reply& reply, std::string_view part, std::uint64_t times, bool with_schema = false) {
        const Asked asked = ask(reply, with_schema);
        expect_says(asked.answer, asked.answer ? ErrorKind::Failed : asked.answer.error().kind, part);
        EXPECT_EQ(asked.times, times) << part;
    }
};

Reply message(Json content, std::string finish_reason = "stop") {
    return {.message = {{"role", "assistant"}, {"content", std::move(content)}},
            .finish_reason = std::move(finish_reason)};
}
Json text_part(const char* text) { return {{"type", "text"}, {"text", text}}; }

TEST_F(replies, content_in_parts_is_the_text_of_its_parts) {
    expect_answer(message(Json::array({text_part("Hello, "), text_part("you")})), "Hello, you");
    expect_answer(message(Json::array({{{"type", "output_text"}, {"text", "one"}}})), "one");
    expect_answer(message(Json::array({"just ", "strings"})), "just strings");
    // Thoughts, pictures and parts of kinds that nobody knows yet are not the answer.
    expect_answer(message(Json::array({{{"type", "thinking"}, {"thinking", Json::array({text_part("hm")})}},
                                       {{"type", "reasoning"}, {"text", "hm"}},
                                       {{"type", "image_url"}, {"image_url", {{"url", "x"}}}},
                                       7,
                                       nullptr,
                                       text_part("the answer")})),
                  "the answer");
    const auto [answer, times] = ask(message(Json::array({text_part("{\"n\":"), text_part(" 3}")})), true);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->value["n"], 3);
}

TEST_F(replies, a_refusal_among_the_parts_is_a_refusal) {
    expect_failure(message(Json::array({{{"type", "refusal"}, {"refusal", "I would rather not."}}})),
                   "refused: 'I would rather not.'", 1);
    expect_failure({.message = {{"content", nullptr}, {"refusal", "No."}}}, "refused: 'No.'", 1);
}

TEST_F(replies, an_answer_that_will_not_change_is_asked_for_once) {
    for (const Json& nothing : {Json(), Json::array(), Json(7)}) {
        expect_failure(message(nothing, "length"), "limit of tokens", 1);
        expect_failure(message(nothing, "MAX_TOKENS"), "limit of tokens", 1);
    }
    for (const Json& nothing : {Json(), Json(""), Json::array(), Json::array({text_part("")})})
        expect_failure(message(nothing, "content_filter"), "content filter", 1);
    Reply calls = message(nullptr, "tool_calls");
    calls.message["tool_calls"] = {{{"id", "1"}, {"function", {{"name", "look_up"}, {"arguments", "{}"}}}}};
    expect_failure(calls, "tool 'look_up'", 1);
    Reply old = message(nullptr, "function_call");
    old.message["function_call"] = {{"name", "look_up"}, {"arguments", "{}"}};
    expect_failure(old, "tool 'look_up'", 1);
    // What a reply of a schema lost at the limit of tokens, it loses again.
    expect_failure({.content = "{\"n\": ", .finish_reason = "length"}, "limit of tokens", 1, true);
    expect_failure({.content = "{\"n\": ", .finish_reason = "content_filter"}, "content filter", 1, true);
}

TEST_F(replies, a_text_that_was_cut_is_an_answer_where_no_schema_is_asked_for) {
    for (const char* const cut : {"half of", ""}) {  // a search over max_tokens comes by an empty one
        const auto [answer, times] = ask({.content = cut, .finish_reason = "length"});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->content, cut);
        EXPECT_EQ(answer->finish_reason, "length");
    }
}

TEST_F(replies, a_reply_without_a_text_and_without_a_reason_is_asked_for_as_often_as_one_without_its_schema) {
    expect_failure(message(nullptr), "no text", 3);
    expect_failure(message(7), "no text", 3);
    expect_failure({.message = {{"role", "assistant"}, {"reasoning_content", "hm"}}}, "no text", 3);
    expect_failure(message(nullptr, "error"), "no text", 5);  // the server's trouble, which may end
}

TEST_F(replies, json_in_a_fence_or_behind_thoughts_is_read_where_a_schema_is_asked_for) {
    for (const char* const content :
         {"```json\n{\"n\": 3}\n```", "```\n{\"n\": 3}```", "  \n```JSON\r\n{\"n\": 3}\r\n```\n",
          "```json {\"n\": 3} ```", "Here is the document:\n\n```json\n{\"n\": 3}\n```\nSay if more is needed.",
          "<think>{\"n\": 4}? No.</think>\n\n{\"n\": 3}", "<thinking>\nhm ```x```\n</thinking>```json\n{\"n\": 3}\n```",
          "hm, three</think>{\"n\": 3}", "<think></think>\n{\"n\": 3}", "\xEF\xBB\xBF{\"n\": 3}"}) {
        const auto [answer, times] = ask({.content = content}, true);
        ASSERT_TRUE(answer) << content << ": " << answer.error().message;
        EXPECT_EQ(answer->value["n"], 3) << content;
        EXPECT_EQ(answer->content, content);
        EXPECT_EQ(times, 1U);
    }
}

TEST_F(replies, what_is_around_json_is_not_guessed_at) {
    for (const char* const content :
         {"```json\n{\"n\": 3}\n```\n```json\n{\"n\": 4}\n```", "<think>{\"n\": 3}", "It is {\"n\": 3}.",
          "```json\n```", "```json\n{\"n\": \"<think>3</think>\"}\n```", "{\"n\": 3} {\"n\": 4}"})
        expect_failure({.content = content}, "not", 3, true);
    // Marks inside a text are its own.
    serve([](const Json&) { return Reply{.content = "```json\n{\"s\": \"a ``` b </think> c\"}\n```"}; });
    Request request = saying("hi");
    request.schema = doc({{"s", str()}});
    const Result<Answer> answer = connect().call(request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->value["s"], "a ``` b </think> c");
}

TEST_F(replies, an_error_in_a_reply_of_status_200_is_judged_by_its_code) {
    expect_failure({.body = R"({"error": {"message": "too long", "code": 400}})"}, "status 400: 'too long'", 1);
    expect_failure({.body = R"({"error": {"message": "busy", "code": 503}})"}, "status 503: 'busy'", 5);
    expect_failure({.body = R"({"error": {"message": "no money", "code": "insufficient_quota"}})"}, "no money", 1);
    expect_failure({.body = R"({"error": "what?"})"}, "what?", 5);
}

TEST_F(replies, parameters_of_the_base_url_stay_behind_its_path) {
    const auto first_line = [&](const std::string& url) {
        const Result<Answer> answer = connect({.base_url = url}).call(saying("hi"));
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
        const std::string request = server().requests().back();
        return request.substr(0, request.find('\r'));
    };
    serve([](const Json&) { return Reply{.content = "x"}; });
    const std::string base = server().base_url();
    EXPECT_EQ(first_line(base + "?api-version=2024-06-01"),
              "POST /v1/chat/completions?api-version=2024-06-01 HTTP/1.1");
    EXPECT_EQ(first_line(base + "/?a=1&b=x%20y"), "POST /v1/chat/completions?a=1&b=x%20y HTTP/1.1");
    EXPECT_EQ(first_line(base + "//"), "POST /v1/chat/completions HTTP/1.1");
    EXPECT_EQ(first_line(base + "?"), "POST /v1/chat/completions HTTP/1.1");
    EXPECT_EQ(first_line(base + "/chat/completions?v=1"), "POST /v1/chat/completions?v=1 HTTP/1.1");
    EXPECT_EQ(first_line(base + "/chat/completions/"), "POST /v1/chat/completions HTTP/1.1");
}

TEST_F(replies, parameters_are_in_no_message_and_a_key_among_them_is_refused) {
    serve([](const Json&) { return refuse(400, "bad"); });
    const std::string base = server().base_url();
    const Result<Answer> answer = connect({.base_url = base + "?api-version=5&tenant=mine"}).call(saying("hi"));
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, AllOf(HasSubstr(base + "/chat/completions"), Not(HasSubstr("mine"))));
    const auto refusal = [&](const std::string& url) {
        const Result<Client> made = Client::create({.base_url = url, .key_variable = kKeyVariable});
        return made ? "it was taken: " + url : made.error().message;
    };
    for (const char* const secret : {"?key=abcdef", "?v=1&API_KEY=abcdef", "?access_token=abcdef", "?sig=abcdef"})
        EXPECT_THAT(refusal(base + secret), AllOf(HasSubstr("key_variable"), Not(HasSubstr("abcdef"))));
    EXPECT_THAT(refusal(base + "?v=" + kKey), AllOf(HasSubstr("key"), Not(HasSubstr(kKey))));
    EXPECT_THAT(refusal(base + "#part"), HasSubstr("'#'"));
    EXPECT_THAT(refusal("http://me:word@127.0.0.1:1/v1?v=1"), AllOf(HasSubstr("password"), Not(HasSubstr("word@"))));
}

class pauses : public LoopbackTest {};

TEST_F(pauses, the_servers_word_is_a_lower_bound) {
    using Headers = std::vector<std::pair<std::string, std::string>>;
    for (const Headers& headers :
         {Headers{{"Retry-After", "0"}}, Headers{{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}},
          Headers{{"retry-after-ms", "0"}}, Headers{{"x-ratelimit-reset-requests", "0s"}},
          Headers{{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "1ms"}}, Headers{}}) {
        serve([headers](const Json&) {
            Reply reply = refuse(429, "slow down");
            reply.headers = headers;
            return reply;
        });
        ClientOptions options{.attempts = 3, .backoff_seconds = 0.2};
        options.base_url = server().base_url();
        options.key_variable = kKeyVariable;
        options.model = "toy";
        const Client client = *Client::create(options);
        const auto begun = std::chrono::steady_clock::now();
        expect_says(client.call(saying("hi")), ErrorKind::Io, "Attempt 3 of 3");
        // Half of .2 s and half of .4 s at least: the jitter is from .5 to 1.
        EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(300))
            << (headers.empty() ? "none" : headers.front().first + ": " + headers.front().second);
    }
}

}  // namespace
}  // namespace yolk::chat
