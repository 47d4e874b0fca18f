// SPDX-License-Identifier: Apache-2.0
// A prompt search that was interrupted goes on to the same end, and the same answers give the same run in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "fixtures.hpp"
#include "gepa_state.hpp"
#include "prompt_toys.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper::prompts {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

/// The demands of the feedback one after the other, without a server.
Result<chat::Answer> reflects_here(const chat::Request& request) {
    const Json json{{"messages", {{{"content", request.messages.back().content}}}}};
    const std::string content = adds_a_demand(json).content;
    return chat::Answer{.content = content, .usage = {.prompt_tokens = content.size(), .completion_tokens = 3}};
}

class gepa_resume : public ::testing::Test {
   protected:
    [[nodiscard]] ToyObjective halves(const std::string& name) const {
        ToyObjective objective({{"reader", "Read."}, {"writer", "Write."}}, kHalves, kHalves, &halves_score,
                               &reflects_here);
        objective.run.budget.metric_calls = 400;
        objective.run.checkpoint = folder_ / name;
        objective.run.log = folder_ / (name + ".jsonl");
        return objective;
    }
    [[nodiscard]] static GepaOptions options() { return {.iterations = 12, .seed = 2, .stop_when_perfect = false}; }
    PromptFolder folder_;
};

TEST_F(gepa_resume, after_any_iteration_it_goes_on_to_the_same_bytes) {
    ToyObjective whole = halves("whole");
    // As a kill leaves them, between the checkpoint and the next iteration.
    whole.on_step = [&](const TextStep& step) {
        const std::string name = "killed" + std::to_string(step.iteration);
        std::filesystem::copy_file(folder_ / "whole", folder_ / name);
        std::filesystem::copy_file(folder_ / "whole.jsonl", folder_ / (name + ".jsonl"));
        return true;
    };
    ASSERT_OK(gepa(options())->run(whole));
    const std::string state = contents_of(folder_ / "whole");
    const std::string log = contents_of(folder_ / "whole.jsonl");
    EXPECT_THAT(log, HasSubstr("\"merge\""));
    for (std::uint32_t iteration = 0; iteration <= 12; ++iteration) {
        const std::string name = "killed" + std::to_string(iteration);
        ToyObjective again = halves(name);
        again.run.resume = true;
        // What a killed process had begun to write.
        std::ofstream(again.run.log, std::ios::app) << "{\"iteration\":";
        ASSERT_OK(gepa(options())->run(again));
        EXPECT_EQ(contents_of(folder_ / name), state) << iteration;
        EXPECT_EQ(contents_of(again.run.log), log) << iteration;
        EXPECT_EQ(again.best, whole.best);
        EXPECT_EQ(again.steps.size(), 12U - iteration);
        EXPECT_EQ(again.cost().metric_calls < whole.cost().metric_calls, true);
    }
}

TEST_F(gepa_resume, a_stopped_search_goes_on_with_a_larger_budget) {
    ToyObjective whole = halves("whole");
    ASSERT_OK(gepa(options())->run(whole));
    ToyObjective small = halves("small");
    small.run.budget.metric_calls = 60;
    ASSERT_OK(gepa(options())->run(small));
    EXPECT_EQ(small.stopped_by, "budget");
    ToyObjective larger = halves("small");
    larger.run.resume = true;
    ASSERT_OK(gepa(options())->run(larger));
    EXPECT_EQ(contents_of(folder_ / "small"), contents_of(folder_ / "whole"));
    EXPECT_EQ(contents_of(folder_ / "small.jsonl"), contents_of(folder_ / "whole.jsonl"));
    EXPECT_EQ(larger.best, whole.best);

    // Nothing to go on from: it begins anew.
    ToyObjective fresh = halves("fresh");
    fresh.run.resume = true;
    ASSERT_OK(gepa(options())->run(fresh));
    EXPECT_EQ(contents_of(folder_ / "fresh"), contents_of(folder_ / "whole"));
}

TEST_F(gepa_resume, foreign_and_damaged_checkpoints_are_refused_and_stay) {
    ToyObjective whole = halves("whole");
    ASSERT_OK(gepa(options())->run(whole));
    const std::string good = contents_of(folder_ / "whole");
    const std::string log = contents_of(folder_ / "whole.jsonl");
    const auto refused = [&](const std::string& contents, GepaOptions with, const std::string& identity = "toy") {
        std::ofstream(folder_ / "whole", std::ios::binary) << contents;
        ToyObjective again = halves("whole");
        again.run.resume = true;
        again.name = identity;
        const std::string message = refusal(gepa(std::move(with))->run(again));
        EXPECT_EQ(contents_of(folder_ / "whole"), contents);  // nothing is lost
        EXPECT_EQ(contents_of(folder_ / "whole.jsonl"), log);
        EXPECT_EQ(again.evaluations, 0U) << message;
        return message;
    };
    EXPECT_THAT(refused("", options()), HasSubstr("cannot be read as the checkpoint of a prompt search"));
    EXPECT_THAT(refused(good.substr(0, good.size() / 2), options()), HasSubstr("truncated"));
    std::string changed = good;
    changed.replace(changed.find("iteration\\\":12"), 14, "iteration\\\":11");
    EXPECT_THAT(refused(changed, options()), HasSubstr("checksum"));
    GepaOptions other = options();
    other.seed = 3;
    EXPECT_THAT(refused(good, other), HasSubstr("seed is 2; now it is 3"));
    EXPECT_THAT(refused(good, options(), "another"), HasSubstr("objective is \"toy\"; now it is \"another\""));
}

TEST_F(gepa_resume, states_with_wrong_contents_are_refused_even_with_the_right_hash) {
    GepaState state{.candidates = {{.texts = {{"p", "a"}}, .scores = {1.0}}}};
    const Json settings = Json::object();
    const auto read_again = [&](const GepaState& written) -> Result<GepaState> {
        YOLK_TRY(const std::vector<std::byte> bytes, encode_state(kGepaKind, gepa_file(written, settings)));
        YOLK_TRY(const StateFile file, decode_state(bytes, kGepaKind, "it"));
        return gepa_state_from(file, settings, 1, "it");
    };
    const auto message = [&](const std::function<void(GepaState&)>& change) {
        GepaState wrong = state;
        change(wrong);
        return refusal(read_again(wrong));
    };
    ASSERT_OK_AND_ASSIGN(const GepaState same, read_again(state));
    EXPECT_EQ(same, state);
    EXPECT_THAT(message([](auto& s) { s.candidates.clear(); }), HasSubstr("'candidates'"));
    EXPECT_THAT(message([](auto& s) { s.candidates[0].scores.push_back(1); }), HasSubstr("'scores'"));
    EXPECT_THAT(message([](auto& s) { s.candidates[0].scores[0] = std::nan(""); }), HasSubstr("'scores'"));
    EXPECT_THAT(message([](auto& s) { s.candidates[0].parents = {0}; }), HasSubstr("'parents'"));
    EXPECT_THAT(message([](auto& s) { s.candidates[0].next_component = 1; }), HasSubstr("'next_component'"));
    EXPECT_THAT(message([](auto& s) {
                    s.candidates.push_back({.texts = {{"q", "a"}}, .parents = {0}, .scores = {1.0}});
                }),
                HasSubstr("'texts'"));
    EXPECT_THAT(message([](auto& s) { s.merged = {{.first = 0, .second = 1, .ancestor = 0}}; }), HasSubstr("'second'"));
    EXPECT_THAT(message([](auto& s) { s.merged = {{.first = 0, .second = 0, .ancestor = 0}}; }), HasSubstr("'taken'"));
}

TEST_F(gepa_resume, the_order_in_which_answers_arrive_does_not_matter) {
    std::string states[2];
    for (const int delayed : {0, 1}) {
        // All components are asked about at once. The earlier of two requests gets its answer later, where delayed.
        Reflecting model([delayed](const Json& request) {
            chat_server::Reply reply = adds_a_demand(request);
            const bool is_first = prompt_in(request).find("called reader") != std::string::npos;
            if (is_first && delayed == 1) reply.delay = std::chrono::milliseconds(3);
            return reply;
        });
        struct Concurrent final : TextObjective {
            explicit Concurrent(ToyObjective inner, std::shared_ptr<chat::Client> calls)
                : toy(std::move(inner)), client(std::move(calls)) {}
            const TextRunOptions& options() const noexcept override { return toy.options(); }
            Texts start() const override { return toy.start(); }
            std::uint32_t train_size() const noexcept override { return toy.train_size(); }
            std::uint32_t validation_size() const noexcept override { return toy.validation_size(); }
            std::string identity() const override { return toy.identity(); }
            Result<std::vector<TextScore>> evaluate(TextSplit split, std::span<const std::uint32_t> ids,
                                                    const Texts& candidate, bool capture) override {
                return toy.evaluate(split, ids, candidate, capture);
            }
            std::vector<Result<chat::Answer>> reflect(std::span<const chat::Request> requests) override {
                return client->call_all(requests);
            }
            TextCost cost() const noexcept override { return toy.cost(); }
            void offer(const Texts& candidate, double mean) override { toy.offer(candidate, mean); }
            ToyObjective toy;
            std::shared_ptr<chat::Client> client;
        };
        Concurrent objective(halves("run" + std::to_string(delayed)), model.client());
        GepaOptions all = options();
        all.component = ComponentChoice::All;
        all.skip_perfect = false;  // asks in each iteration
        ASSERT_OK(gepa(all)->run(objective));
        states[delayed] = contents_of(folder_ / ("run" + std::to_string(delayed)));
        EXPECT_GT(model.server().counts().requests, 10U);
    }
    EXPECT_EQ(states[0], states[1]);
    EXPECT_FALSE(states[0].empty());
}

}  // namespace
}  // namespace yolk::hyper::prompts
