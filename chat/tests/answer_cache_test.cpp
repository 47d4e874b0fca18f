// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include "client_fixture.hpp"
#include "yolk/internal/chat/cache.hpp"
#include "yolk/internal/core/file.hpp"

namespace yolk::chat {
namespace {

using chat_server::Reply;

class answer_cache : public LoopbackTest {
   protected:
    void SetUp() override {
        LoopbackTest::SetUp();
        serve([this](const Json&) { return Reply{.content = "answer " + std::to_string(asked_++)}; });
    }
    [[nodiscard]] Client cached() { return connect({.cache = folder_ / "answers"}); }
    std::atomic<int> asked_ = 0;
};

TEST_F(answer_cache, the_same_request_is_asked_once_across_clients) {
    EXPECT_EQ(cached().call(saying("hi"))->content, "answer 0");
    const Client client = cached();
    const Result<Answer> again = client.call(saying("hi"));
    EXPECT_EQ(again->content, "answer 0");
    EXPECT_TRUE(again->from_cache);
    EXPECT_EQ(again->attempts, 0U);
    EXPECT_EQ(asked_, 1);
    EXPECT_EQ(client.counts().from_cache, 1U);
}

TEST_F(answer_cache, whatever_an_answer_depends_on_makes_another_entry) {
    const Client client = cached();
    std::vector<Request> requests(5, saying("hi"));
    requests[1].seed = 3;
    requests[2].temperature = 0.5;
    requests[3].sample = 1;
    requests[4].model = "other";
    for (int round = 0; round < 2; ++round) {
        std::set<std::string> contents;
        for (const auto& result : client.call_all(requests)) contents.insert(result->content);
        EXPECT_EQ(contents.size(), 5U);
    }
    EXPECT_EQ(asked_, 5);
}

TEST_F(answer_cache, equal_calls_under_way_share_one_request) {
    const std::vector<Request> requests(50, saying("hi"));
    for (const auto& result : cached().call_all(requests)) EXPECT_EQ(result->content, "answer 0");
    EXPECT_EQ(asked_, 1);
}

TEST_F(answer_cache, it_can_be_left_out_or_refreshed) {
    const Client client = cached();
    ASSERT_TRUE(client.call(saying("hi")));
    EXPECT_EQ(client.call(saying("hi"), {.cache = CacheUse::Off})->content, "answer 1");
    EXPECT_EQ(client.call(saying("hi"))->content, "answer 0");
    EXPECT_EQ(client.call(saying("hi"), {.cache = CacheUse::Refresh})->content, "answer 2");
    EXPECT_EQ(client.call(saying("hi"))->content, "answer 2");
}

TEST_F(answer_cache, two_clients_write_at_the_same_time) {
    const Client first = cached();
    const Client second = cached();
    const auto calls = [&](const Client& client, int from) {
        std::vector<Request> requests;
        for (int i = from; i < from + 100; ++i) requests.push_back(saying(std::to_string(i)));
        for (const auto& result : client.call_all(requests)) EXPECT_TRUE(result);
    };
    std::jthread other([&] { calls(second, 50); });
    calls(first, 0);
    other.join();
    EXPECT_EQ(first.counts().cache_failures + second.counts().cache_failures, 0U);
    const int before = asked_;
    calls(cached(), 0);
    calls(cached(), 50);
    EXPECT_EQ(asked_, before);
}

TEST(answer_cache_file, two_processes_write_at_the_same_time) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("yolk-chat-two-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    constexpr int kEach = 300;
    const auto store = [&](int from) {
        Result<AnswerCache> cache = AnswerCache::open(folder / "answers");
        if (!cache) return false;
        for (int i = from; i < from + kEach; ++i) {
            if (!cache->store("request " + std::to_string(i), {.content = std::to_string(i)})) return false;
        }
        return true;
    };
    const pid_t child = ::fork();  // no thread has been started by this test
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(store(kEach) ? 0 : 1);
    EXPECT_TRUE(store(0));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    Result<AnswerCache> cache = AnswerCache::open(folder / "answers");
    ASSERT_TRUE(cache) << cache.error().message;
    for (int i = 0; i < 2 * kEach; ++i) {
        const auto found = cache->find("request " + std::to_string(i));
        ASSERT_TRUE(found && *found) << i;
        EXPECT_EQ((*found)->content, std::to_string(i));
    }
    std::filesystem::remove_all(folder);
}

// A new file is the moment at which SQLite is busy and does not wait: it failed for one of two processes now and then.
TEST(answer_cache_file, many_processes_create_it_at_the_same_time) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("yolk-chat-many-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    constexpr int kFiles = 40, kProcesses = 6;
    const auto create_all = [&](int process) {
        for (int i = 0; i < kFiles; ++i) {
            Result<AnswerCache> cache = AnswerCache::open(folder / std::to_string(i));
            if (!cache || !cache->store("of " + std::to_string(process), {.content = "kept"})) return false;
        }
        return true;
    };
    std::vector<pid_t> children;
    for (int process = 0; process < kProcesses; ++process) {
        children.push_back(::fork());  // no thread has been started by this test
        ASSERT_GE(children.back(), 0);
        if (children.back() == 0) ::_exit(create_all(process) ? 0 : 1);
    }
    for (const pid_t child : children) {
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (int i = 0; i < kFiles; ++i) {
        Result<AnswerCache> cache = AnswerCache::open(folder / std::to_string(i));
        ASSERT_TRUE(cache) << cache.error().message;
        for (int process = 0; process < kProcesses; ++process) {
            const auto found = cache->find("of " + std::to_string(process));
            EXPECT_TRUE(found && *found) << process << " in file " << i;
        }
    }
    std::filesystem::remove_all(folder);
}

TEST_F(answer_cache, a_damaged_file_is_an_error_and_stays) {
    const std::string damaged(10'000, 'z');
    ASSERT_TRUE(write_file_atomically(folder_ / "answers", damaged));
    const Result<Client> made =
        Client::create({.base_url = server().base_url(), .key_variable = "", .cache = folder_ / "answers"});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::Io);
    EXPECT_THAT(made.error().message, testing::HasSubstr("left as it is"));
    EXPECT_EQ(std::filesystem::file_size(folder_ / "answers"), damaged.size());
}

}  // namespace
}  // namespace yolk::chat
