// SPDX-License-Identifier: Apache-2.0
// Where the key goes: into the header of requests to the server that was named, and nowhere else.
#include <fmt/format.h>

#include <sstream>

#include "client_fixture.hpp"
#include "tls_stream.hpp"
#include "yolk/internal/chat/secret.hpp"

namespace yolk::chat {
namespace {

using chat_server::refuse;
using chat_server::Reply;

class privacy : public LoopbackTest {};

TEST_F(privacy, formatting_a_secret_does_not_show_it) {
    const Secret secret(kKey);
    std::ostringstream out;
    out << secret;
    EXPECT_EQ(out.str(), "[key]");
    EXPECT_EQ(fmt::format("{}", secret), "[key]");
    EXPECT_EQ(secret.removed_from(fmt::format("a {0} b {0}", kKey)), "a [key] b [key]");
}

TEST_F(privacy, the_key_is_in_the_header_of_a_request_only) {
    serve([](const Json&) { return Reply{.content = "x"}; });
    ASSERT_TRUE(connect().call(saying("hi")));
    const std::string request = server().requests().front();
    const std::string line = fmt::format("Authorization: Bearer {}\r\n", kKey);
    const std::size_t at = request.find(line);
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ((request.substr(0, at) + request.substr(at + line.size())).find(kKey), std::string::npos);
}

TEST_F(privacy, a_server_that_repeats_the_key_cannot_place_it_anywhere) {
    const std::vector<Reply> repeating{refuse(401, fmt::format("wrong key {}", kKey)),
                                       refuse(400, "x", kKey),
                                       {.status = 400, .body = kKey},
                                       {.body = fmt::format("<html>{}", kKey)},
                                       {.content = fmt::format("your key is {}", kKey)},
                                       {.status = 302, .headers = {{"Location", fmt::format("http://x/{}", kKey)}}}};
    testing::internal::CaptureStderr();
    for (const Reply& reply : repeating) {
        serve([&](const Json&) { return reply; });
        const Result<Answer> answer = connect({.attempts = 1, .cache = folder_ / "answers"}).call(saying("hi"));
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().message.find(kKey), std::string::npos) << answer.error().message;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr().find(kKey), std::string::npos);
}

TEST_F(privacy, no_file_has_the_key) {
    serve([](const Json&) { return Reply{.content = "an answer to be found"}; });
    const Client client = connect({.cache = folder_ / "answers"});
    ASSERT_TRUE(client.call(saying("hi")));
    expect_says(client.call(saying(fmt::format("my key: {}", kKey))), ErrorKind::BadInput, "contains the key");
    bool found_answer = false;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(file), {});
        EXPECT_EQ(bytes.find(kKey), std::string::npos) << entry.path();
        found_answer = found_answer || bytes.find("an answer to be found") != std::string::npos;
    }
    EXPECT_TRUE(found_answer);  // so the files that were searched are the right ones
}

TEST_F(privacy, redirects_are_not_followed) {
    auto other = chat_server::Server::start({.rule = [](const Json&) { return Reply{.content = "stolen"}; }});
    ASSERT_TRUE(other);
    const std::string place = other->base_url() + "/chat/completions";
    for (const int status : {301, 302, 307, 308}) {
        serve([&](const Json&) { return Reply{.status = status, .headers = {{"Location", place}}}; });
        expect_says(connect().call(saying("hi")), ErrorKind::BadInput, place);
    }
    EXPECT_EQ(other->counts().connections, 0U);
}

TEST_F(privacy, only_trusted_certificates_get_a_request) {
    serve(chat_server::Options{.rule = [](const Json&) { return Reply{.content = "over TLS"}; },
                               .wrap = self_signed_tls(folder_ / "certificate.pem")});
    const std::string url = server().base_url("https");
    expect_says(connect({.base_url = url}).call(saying("hi")), ErrorKind::Io, "is not trusted");
    EXPECT_EQ(server().counts().requests, 0U);
    const Client trusting = connect({.base_url = url, .certificates = folder_ / "certificate.pem"});
    const Result<Answer> answer = trusting.call(saying("hi"));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->content, "over TLS");
}

TEST_F(privacy, no_proxy_is_asked_for_loopback) {
    serve([](const Json&) { return Reply{.content = "x"}; });
    ::setenv("http_proxy", "http://127.0.0.1:9", 1);  // NOLINT(concurrency-mt-unsafe): a process of this test's
    ::setenv("ALL_PROXY", "http://127.0.0.1:9", 1);   // NOLINT(concurrency-mt-unsafe)
    EXPECT_TRUE(connect({.attempts = 1}).call(saying("hi")));
}

TEST_F(privacy, the_key_is_not_sent_unencrypted_to_other_hosts) {
    const Result<Client> made = Client::create({.base_url = "http://192.0.2.1/v1", .key_variable = kKeyVariable});
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, testing::HasSubstr("unencrypted"));
    EXPECT_TRUE(Client::create({.base_url = "http://192.0.2.1/v1", .key_variable = ""}));
}

}  // namespace
}  // namespace yolk::chat
