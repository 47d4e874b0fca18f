// SPDX-License-Identifier: Apache-2.0
// The parts of GEPA: fronts, parents, minibatches, merges, and what goes to and comes from the reflecting model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "draws.hpp"
#include "fixtures.hpp"
#include "fronts.hpp"
#include "merge.hpp"
#include "minibatches.hpp"
#include "parents.hpp"
#include "reflection.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper::prompts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Scores = std::vector<std::vector<double>>;

std::vector<double> means_of(const Scores& scores) {
    std::vector<double> means;
    for (const std::vector<double>& each : scores) means.push_back(mean_of(each));
    return means;
}

TEST(gepa_parts, a_front_has_all_that_reach_the_best_score) {
    EXPECT_THAT(fronts_of(Scores{{.5, 0, .2}, {.5, 1, .1}, {.4, 1, .3}}),
                ElementsAre(ElementsAre(0, 1), ElementsAre(1, 2), ElementsAre(2)));
    EXPECT_THAT(fronts_of(Scores{{-2}, {-1}}), ElementsAre(ElementsAre(1)));
}

TEST(gepa_parts, dominated_candidates_are_dropped_from_the_lowest_mean_up) {
    // 1 is best at the first example together with 2, and nowhere else.
    const Scores scores{{0, 0, 1}, {1, 0, 0}, {1, 1, 0}};
    EXPECT_THAT(without_dominated(fronts_of(scores), means_of(scores)),
                ElementsAre(ElementsAre(2), ElementsAre(2), ElementsAre(0)));
    // Each of three is covered by the other two until one of them is gone: the lowest mean goes, two remain.
    const Fronts circle{{0, 1}, {1, 2}, {0, 2}};
    EXPECT_THAT(without_dominated(circle, std::vector<double>{.5, .4, .6}),
                ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(0, 2)));
    // Equal in all: the later one remains.
    EXPECT_THAT(without_dominated({{0, 1}}, std::vector<double>{1, 1}), ElementsAre(ElementsAre(1)));
    EXPECT_THAT(members_of(without_dominated(circle, std::vector<double>{.5, .4, .6})), ElementsAre(0, 2));
}

TEST(gepa_parts, parents_are_drawn_by_the_number_of_their_fronts) {
    // Candidate 1 is on three fronts, 2 on one, 0 on none; 3 is dominated by 1.
    const Scores scores{{0, 0, 0, 0}, {1, 1, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}};
    std::map<std::uint32_t, int> drawn;
    constexpr int kDraws = 4000;
    for (std::uint32_t i = 0; i < kDraws; ++i) ++drawn[choose_parent({.seed = 3}, i, scores)];
    EXPECT_EQ(drawn[0], 0);
    EXPECT_EQ(drawn[3], 0);
    EXPECT_NEAR(drawn[1], 3000, 110);  // four standard deviations of a binomial draw
}

TEST(gepa_parts, parents_by_the_other_choices) {
    const Scores scores{{1, 0, 0, 0}, {0, 1, 1, 0}, {0, 0, 0, .5}};
    std::map<ParentChoice, std::map<std::uint32_t, int>> drawn;
    for (const ParentChoice choice : {ParentChoice::Best, ParentChoice::EpsilonGreedy, ParentChoice::TopK}) {
        for (std::uint32_t i = 0; i < 3000; ++i)
            ++drawn[choice][choose_parent({.epsilon = .3, .top_k = 2, .parent = choice}, i, scores)];
    }
    EXPECT_EQ(drawn[ParentChoice::Best][1], 3000);
    EXPECT_NEAR(drawn[ParentChoice::EpsilonGreedy][0], 300, 66);  // .3 of the draws, shared by three
    EXPECT_NEAR(drawn[ParentChoice::EpsilonGreedy][2], 300, 66);
    EXPECT_EQ(drawn[ParentChoice::TopK][2], 0);
    EXPECT_NEAR(drawn[ParentChoice::TopK][0], 1000, 104);  // one front of three
    EXPECT_EQ(choose_parent({.parent = ParentChoice::Best}, 0, Scores{{1}, {2}, {2}}), 1U);
}

TEST(gepa_parts, minibatches_pass_over_all_examples_and_fill_up_with_the_least_used) {
    // Seven examples by three: nine places a pass, two of them filled up.
    std::map<std::uint32_t, int> uses;
    std::set<std::vector<std::uint32_t>> orders;
    for (std::uint32_t pass = 0; pass < 7; ++pass) {
        std::vector<std::uint32_t> ids;
        for (std::uint32_t i = 0; i < 3; ++i) {
            const std::vector<std::uint32_t> batch = minibatch_ids(5, 3 * pass + i, 7, 3);
            ASSERT_EQ(batch.size(), 3U);
            ids.insert(ids.end(), batch.begin(), batch.end());
        }
        const std::set<std::uint32_t> first(ids.begin(), ids.begin() + 7);
        EXPECT_EQ(first.size(), 7U) << pass;
        orders.emplace(ids.begin(), ids.begin() + 7);
        for (const std::uint32_t id : ids) ++uses[id];
        int least = uses.begin()->second;
        int most = least;
        for (const auto& [id, count] : uses) {
            least = std::min(least, count);
            most = std::max(most, count);
        }
        EXPECT_LE(most - least, 1) << pass;
    }
    EXPECT_GT(orders.size(), 5U);                             // shuffled anew
    for (const auto& each : uses) EXPECT_EQ(each.second, 9);  // 63 places
    EXPECT_THAT(minibatch_ids(1, 4, 2, 3), ::testing::Each(::testing::Lt(2U)));
    EXPECT_NE(minibatch_ids(1, 0, 50, 3), minibatch_ids(2, 0, 50, 3));
}

Candidate candidate(std::string a, std::string b, std::vector<std::uint32_t> parents, std::vector<double> scores) {
    return {.texts = {{"a", std::move(a)}, {"b", std::move(b)}},
            .parents = std::move(parents),
            .scores = std::move(scores)};
}

/// 0 with two children that changed a component each.
std::vector<Candidate> siblings() {
    return {candidate("a0", "b0", {}, {.3, .3}), candidate("a1", "b0", {0}, {.9, .2}),
            candidate("a0", "b2", {0}, {.2, .8})};
}

TEST(gepa_parts, ancestors_of_a_merge) {
    std::vector<Candidate> all = siblings();
    all.push_back(candidate("a1", "b2", {1, 2}, {1, 1}));
    EXPECT_THAT(ancestors_of(all, 3), UnorderedElementsAre(0, 1, 2));
    EXPECT_THAT(ancestors_of(all, 0), IsEmpty());
    EXPECT_THAT(merge_ancestors(all, 1, 2), ElementsAre(0));

    all[0].scores = {.6, .6};  // better than one of the two
    EXPECT_THAT(merge_ancestors(all, 1, 2), IsEmpty());
    all = siblings();
    all[0].scores = {.5, .5};  // no better than either: as good as one
    EXPECT_THAT(merge_ancestors(all, 1, 2), ElementsAre(0));

    // Both changed the same component, and no other.
    all = siblings();
    all[2].texts = {{"a", "a2"}, {"b", "b0"}};
    EXPECT_THAT(merge_ancestors(all, 1, 2), IsEmpty());
    // Both changed it to the same text: no difference to merge.
    all[2].texts = {{"a", "a1"}, {"b", "b0"}};
    EXPECT_THAT(merge_ancestors(all, 1, 2), IsEmpty());
}

TEST(gepa_parts, a_merge_takes_what_one_side_changed) {
    std::vector<Candidate> all = siblings();
    const MergeProposal made = merge_of(all, 1, 2, 0, 1, 1);
    EXPECT_EQ(made.texts, (Texts{{"a", "a1"}, {"b", "b2"}}));
    EXPECT_THAT(made.merged.taken, ElementsAre(1, 2));

    // Both changed a: that of the higher mean; b is as one of them changed it.
    all[2] = candidate("a2", "b2", {0}, {1, .2});
    EXPECT_EQ(merge_of(all, 1, 2, 0, 1, 1).texts, (Texts{{"a", "a2"}, {"b", "b2"}}));
    all[2].scores = {.5, .5};
    EXPECT_EQ(merge_of(all, 1, 2, 0, 1, 1).texts, (Texts{{"a", "a1"}, {"b", "b2"}}));

    // Equal means: drawn, either way.
    all[2].scores = {.9, .2};
    std::set<std::string> drawn;
    for (std::uint32_t i = 0; i < 40; ++i) drawn.insert(merge_of(all, 1, 2, 0, 1, i).texts.at("a"));
    EXPECT_EQ(drawn.size(), 2U);
}

TEST(gepa_parts, a_merge_is_proposed_once) {
    GepaState state{.candidates = siblings()};
    const std::optional<MergeProposal> made = propose_merge(state, 1, 7);
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->texts, (Texts{{"a", "a1"}, {"b", "b2"}}));
    EXPECT_EQ(made->merged.first, 1U);
    EXPECT_EQ(made->merged.second, 2U);

    state.merged = {made->merged};  // it was tried, and not accepted
    EXPECT_FALSE(propose_merge(state, 1, 7).has_value());
    state.merged.clear();
    state.candidates.push_back(candidate("a1", "b2", {0}, {.1, .1}));  // somebody has these texts
    EXPECT_FALSE(propose_merge(state, 1, 7).has_value());
}

TEST(gepa_parts, a_merge_needs_two_of_the_front_that_are_not_of_one_line) {
    GepaState state{.candidates = {candidate("a0", "b0", {}, {.3, .9}), candidate("a1", "b0", {0}, {.9, .2})}};
    EXPECT_FALSE(propose_merge(state, 1, 1).has_value());  // parent and child
    state.candidates = siblings();
    state.candidates[2].scores = {.2, .1};  // on no front
    state.candidates[0].scores = {.1, .05};
    EXPECT_FALSE(propose_merge(state, 1, 1).has_value());
}

TEST(gepa_parts, ancestors_are_drawn_by_their_mean) {
    // 0 and its child 1 are both common ancestors of 2 and 3.
    GepaState state{.candidates = {candidate("a0", "b0", {}, {.1, .1}), candidate("a0", "b1", {0}, {.3, .3}),
                                   candidate("a2", "b1", {1}, {.9, .4}), candidate("a0", "b3", {1}, {.5, .9})}};
    std::map<std::uint32_t, int> drawn;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const std::optional<MergeProposal> made = propose_merge(state, 1, i);
        ASSERT_TRUE(made.has_value());
        ++drawn[made->merged.ancestor];
    }
    EXPECT_NEAR(drawn[1], 1500, 78);  // .3 of .4; four standard deviations
}

TEST(gepa_parts, a_merge_is_judged_on_examples_of_three_kinds) {
    // 0 to 3: the first is better; 4 to 7: the second; 8 to 11: equal.
    const std::vector<double> first{1, 1, 1, 1, 0, 0, 0, 0, .5, .5, .5, .5};
    const std::vector<double> second{0, 0, 0, 0, 1, 1, 1, 1, .5, .5, .5, .5};
    std::set<std::vector<std::uint32_t>> draws;
    for (std::uint32_t i = 0; i < 50; ++i) {
        const std::vector<std::uint32_t> ids = merge_examples(first, second, 1, i);
        ASSERT_EQ(ids.size(), kMergeExamples);
        EXPECT_EQ(std::set<std::uint32_t>(ids.begin(), ids.end()).size(), kMergeExamples);
        EXPECT_EQ(std::ranges::count_if(ids, [](std::uint32_t id) { return id < 4; }), 2);
        EXPECT_EQ(std::ranges::count_if(ids, [](std::uint32_t id) { return id >= 4 && id < 8; }), 2);
        draws.insert(ids);
    }
    EXPECT_GT(draws.size(), 10U);
    // One kind alone fills the five; three examples are three.
    EXPECT_EQ(merge_examples(std::vector<double>(8, 1), std::vector<double>(8, 1), 1, 1).size(), 5U);
    EXPECT_THAT(merge_examples(std::vector<double>{1, 0, 1}, std::vector<double>{0, 1, 1}, 1, 1),
                UnorderedElementsAre(0, 1, 2));
}

TEST(gepa_parts, new_text_is_what_the_fences_hold) {
    const auto text_of = [](std::string reply, std::string finish = "stop") {
        const Result<std::string> text = new_text_in({.content = std::move(reply), .finish_reason = std::move(finish)});
        return text ? *text : "error: " + text.error().message;
    };
    EXPECT_EQ(text_of("Sure:\n```\nBe brief.\n```\nDone."), "Be brief.");
    EXPECT_EQ(text_of("```markdown\nBe brief.\n\nBe kind.\n```"), "Be brief.\n\nBe kind.");
    EXPECT_EQ(text_of("```\nWrite\n```json\n{}\n```\nas JSON.\n```"), "Write\n```json\n{}\n```\nas JSON.");
    EXPECT_EQ(text_of("``` Be brief. ```"), "Be brief.");
    EXPECT_EQ(text_of("Be brief."), "Be brief.");
    EXPECT_EQ(text_of("```text\nBe brief."), "Be brief.");
    EXPECT_EQ(text_of("Be brief.\n```"), "Be brief.");
    EXPECT_THAT(text_of("``````"), HasSubstr("no new text"));
    EXPECT_THAT(text_of("  \n"), HasSubstr("no new text"));
    EXPECT_THAT(text_of("```\nBe bri", "length"), HasSubstr("token limit"));
    EXPECT_EQ(text_of("<think>\n```\nBe loud.\n```? No.</think>\n```\nBe brief.\n```"), "Be brief.");
    EXPECT_THAT(text_of("<think>\n```\nBe loud.\n```, or"), HasSubstr("no new text"));
    EXPECT_EQ(text_of("```\nBe brief.\n```\nI changed", "length"), "Be brief.");
}

Value record(Record::Fields fields) { return *Record::create(std::move(fields)); }

TEST(gepa_parts, a_request_has_the_text_and_the_records) {
    const std::vector<TextRecord> records{
        {.component = "ask",
         .inputs = record({{"question", "why {text}?"}, {"facts", record({{"n", 2}})}}),
         .output = "because",
         .feedback = "too short"},
        {.component = "ask",
         .inputs = record({}),
         .calls = {{"model_call of small", record({{"system", "Say {records}."}, {"user", "Say {records}. Now"}}),
                    "ja"},
                   {"tool", record({}), std::nullopt}},
         .output = true,
         .score = 0.25,
         .feedback = "fine"}};
    GepaOptions options{.reflection_prompt = "{component}|{text}|{records}|{other}"};
    options.reflection.temperature = 0.5;
    options.reflection.messages = {{"system", "You write prompts."}};
    const chat::Request request = reflection_request(options, "ask", "Say {records}.", records, 9);
    ASSERT_EQ(request.messages.size(), 2U);
    EXPECT_EQ(request.messages[0].content, "You write prompts.");
    EXPECT_EQ(request.messages[1].content,
              "ask|Say {records}.|# Example 1\n## Inputs\n### question\nwhy {text}?\n\n### facts\n#### n\n2\n\n"
              "## Generated Outputs\nbecause\n\n## Feedback\ntoo short\n\n# Example 2\n## Inputs\n"
              "## Call 1: model_call of small\n### system\n(this instruction, as it is)\n\n"
              "### user\nSay {records}. Now\n\n### what it gave\nja\n\n"
              "## Call 2: tool\n### what it gave\n(nothing: it failed)\n\n"
              "## Generated Outputs\ntrue\n\n## Score\n0.25\n\n## Feedback\nfine|{other}");
    EXPECT_EQ(request.temperature, 0.5);
    EXPECT_EQ(request.sample, 9U);
    for (const char* const place : {"{component}", "{text}", "{records}"})
        EXPECT_THAT(std::string(default_reflection_prompt()), HasSubstr(place));
}

TEST(gepa_parts, draws_depend_on_nothing_but_their_names) {
    const Draw draw{.seed = 1, .time = 2, .purpose = Purpose::Parent};
    EXPECT_EQ(draw_word(draw, 3), draw_word(draw, 3));
    EXPECT_NE(draw_word(draw, 3), draw_word(draw, 4));
    EXPECT_NE(draw_word(draw, 3), draw_word({.seed = 1, .time = 2, .purpose = Purpose::MergePair}, 3));
    EXPECT_NE(draw_word(draw, 3), draw_word({.seed = 1, .time = 3, .purpose = Purpose::Parent}, 3));
    EXPECT_EQ(draw_weighted(draw, 0, std::vector<double>{0, 0, 5, 0}), 2U);
    std::set<std::size_t> even;  // no usable weights: all are drawn
    for (std::uint32_t i = 0; i < 100; ++i) even.insert(draw_weighted(draw, i, std::vector<double>{-1, 0, -3}));
    EXPECT_EQ(even.size(), 3U);
}

}  // namespace
}  // namespace yolk::hyper::prompts
