// SPDX-License-Identifier: Apache-2.0
// Text in graphs: operations, and every transform of the program x -> ([x], <x>) and its like, against results worked
// out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::text_graphs {  // its short names are others' as well
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Values = std::vector<Value>;
using Inside = std::span<const Traced>;

const InputTypes kX{{"x", text_type()}};
const InputTypes kXY{{"x", text_type()}, {"y", text_type()}};

/// x -> ([x], <x>).
Graph brackets() {
    return traced("brackets", kX, [](Inside in) {
        return TracedValues{format("[{}]", {in[0]}), format("<{}>", {in[0]})};
    });
}
Graph joined() {
    return traced("joined", kXY, [](Inside in) { return TracedValues{concat({in[0], in[1]})}; });
}

/// Shouts until there are three marks, which are the text y.
Graph shouting() {
    return traced("shouting", kXY, [](Inside in) {
        return TracedValues{while_loop(
            in[0], [](const Traced& text) { return logical_not(match(text, "!!!", Match::Ends)); },
            [&](const Traced& text) {
                return concat({text, in[1]});
            },
            5)};
    });
}

TEST(text_graph, joins_compares_and_chooses) {
    const Graph graph = traced("words", kXY, [](Inside in) {
        return TracedValues{match(in[0], in[1]),
                            match(in[0], in[1], Match::Contains),
                            match(in[0], in[1], Match::Starts),
                            match(in[0], in[1], Match::Ends),
                            concat({in[0], "-", in[1]}),
                            select(match(in[1], "na", Match::Ends), in[0], in[1])};
    });
    EXPECT_EQ(run(graph, {"banana", "na"}), (Values{false, true, false, true, "banana-na", "banana"}));
    EXPECT_EQ(run(graph, {"ban", "ban"}), (Values{true, true, true, true, "ban-ban", "ban"}));
    EXPECT_EQ(run(graph, {"ban", "banana"}), (Values{false, false, false, false, "ban-banana", "ban"}));
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(graph, {.size = 2, .axes = {0, std::nullopt}}));
    EXPECT_EQ(run(each, {"banana", "naban", "na"}),
              (Values{vector({0, 0}), vector({1, 1}), vector({0, 1}), vector({1, 0}), "banana-na", "naban-na", "banana",
                      "naban"}));
    EXPECT_EQ(concat({"a", "b"}).read(), Value("ab")) << "without a trace";
    EXPECT_EQ(match("a", "b").read(), Value(false));
}

TEST(text_graph, takes_the_branch_that_a_text_names) {
    const Graph graph = traced("named", kXY, [](Inside in) {
        return TracedValues{switch_on(in[0], {{"loud",
                                               [&] {
                                                   return concat({in[1], "!"});
                                               }},
                                              {"quiet", [&] { return format("({})", {in[1]}); }}})};
    });
    EXPECT_EQ(run(graph, {"loud", "hi"}), (Values{"hi!"}));
    EXPECT_EQ(run(graph, {"quiet", "hi"}), (Values{"(hi)"}));
    EXPECT_THAT(refusal(call(graph, {.inputs = {"wrong", "hi"}})),
                AllOf(HasSubstr("\"wrong\" is none of the words 'loud', 'quiet'"), HasSubstr("text_graph_test.cpp:")));
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(graph, {.size = 3, .axes = {0, std::nullopt}}));
    EXPECT_EQ(run(each, {"quiet", "loud", "quiet", "hi"}), (Values{"(hi)", "hi!", "(hi)"}));
}

TEST(text_graph, refuses_what_is_no_text) {
    const auto check = [](const std::function<Traced(Inside)>& body) {
        return refusal(trace("bad", InputTypes{{"x", text_type()}, {"n", tensor_type({2})}},
                             [&](Inside in) { return TracedValues{body(in)}; }));
    };
    EXPECT_THAT(check([](Inside in) {
                    return concat({in[0], in[1]});
                }),
                AllOf(HasSubstr("texts alone, or tensors alone"), HasSubstr("text_graph_test.cpp:")));
    EXPECT_THAT(check([](Inside in) { return concat({in[0], in[0]}, 1); }), HasSubstr("dimension 0 only"));
    EXPECT_THAT(check([](Inside in) { return match(in[0], in[1]); }), HasSubstr("two texts"));
    EXPECT_THAT(check([](Inside in) { return word_index(in[1], {"a"}); }), HasSubstr("it takes a text"));
    Graph broken = joined();
    broken.equations[0].operation = find_operation("match");
    broken.equations[0].attributes = {{"how", std::string("sounds")}};
    EXPECT_THAT(refusal(validate(broken)), HasSubstr("one of equal, contains, starts, ends"));
}

TEST(text_graph, batch_gives_lists) {
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(brackets(), {.size = 3}));
    EXPECT_EQ(run(each, {"A", "B", "C"}), (Values{"[A]", "[B]", "[C]", "<A>", "<B>", "<C>"}));
    const Graph two = traced("two", kXY, [](Inside in) {
        return TracedValues{format("[{}]", {in[0]}), format("<{}>", {in[1]})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph shared, batch(two, {.size = 3, .axes = {0, std::nullopt}}));
    EXPECT_EQ(run(shared, {"A", "B", "C", "S"}), (Values{"[A]", "[B]", "[C]", "<S>", "<S>", "<S>"}));
    EXPECT_THAT(refusal(batch(brackets(), {.size = 0})), HasSubstr("the batch is empty"));
    ASSERT_OK_AND_ASSIGN(const Graph loops, batch(shouting(), {.size = 3, .axes = {0, std::nullopt}}));
    EXPECT_EQ(run(loops, {"a!!", "b", "c!!!", "!"}), (Values{"a!!!", "b!!!", "c!!!"}));
}

TEST(text_graph, pushforward_carries_edits) {
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(brackets()));
    EXPECT_EQ(pushed.inputs[1].first, "d x");
    EXPECT_EQ(run(pushed, {"p", "t"}), (Values{"[p]", "<p>", "[t]", "<t>"}));
    ASSERT_OK_AND_ASSIGN(const Graph both, pushforward(joined()));
    EXPECT_EQ(run(both, {"Hello", " World", "dx", "dy"}), (Values{"Hello World", "dxdy"}));
    ASSERT_OK_AND_ASSIGN(const Graph twice, pushforward(pushed));
    EXPECT_EQ(run(twice, {"p", "t", "u", "v"}), (Values{"[p]", "<p>", "[t]", "<t>", "[u]", "<u>", "[v]", "<v>"}));
}

TEST(text_graph, what_does_not_move_is_empty) {
    const InputTypes inputs{{"x", text_type()}, {"n", number_type()}, {"y", text_type()}};
    const Graph graph = traced("zeros", inputs, [](Inside in) {
        return TracedValues{format("{}: {} {}", {in[0], in[1], in[2]}),  // a number does not move a text
                            format("[{}]", {stop_gradient(in[0])}),
                            select(match(in[0], "p"), format("[{}]", {in[2]}), in[0]), match(in[0], "p")};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    EXPECT_EQ(run(pushed, {"p", 3.0, "q", "t", 1.0, ""}), (Values{"p: 3.0 q", "[p]", "[q]", true, "t:  ", "", ""}));
    EXPECT_EQ(run(pushed, {"o", 3.0, "q", "t", 1.0, ""}), (Values{"o: 3.0 q", "[o]", "o", false, "t:  ", "", "t"}));
    EXPECT_EQ(run(pushed, {"p", 3.0, "q", "", 1.0, ""}).at(4), Value("")) << "of zeros alone comes zero";
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pulled, {"p", 3.0, "q", "f", "g", "h"}), (Values{"p: 3.0 q", "[p]", "[q]", true, "f", 0.0, "fh"}))
        << "nothing through stop_gradient and match";
    EXPECT_EQ(run(pulled, {"o", 3.0, "q", "f", "g", "h"}), (Values{"o: 3.0 q", "[o]", "o", false, "fh", 0.0, "f"}));
}

TEST(text_graph, pullback_copies_feedback_and_puts_it_in_order) {
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(brackets()));
    EXPECT_EQ(run(pulled, {"p", "g1", "g2"}), (Values{"[p]", "<p>", "g1g2"}));
    ASSERT_OK_AND_ASSIGN(const Graph copies, pullback(joined()));
    EXPECT_EQ(run(copies, {"Hello", " World", "feedback"}), (Values{"Hello World", "feedback", "feedback"}));
    const Graph often = traced("often", kX, [](Inside in) {
        const Traced first = format("{}{}", {in[0], in[0]});  // twice in one equation
        return TracedValues{first, in[0], in[0], format("({})", {in[0]})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph all, pullback(often));
    EXPECT_EQ(run(all, {"p", "1", "2", "3", "4"}).back(), Value("11423")) << "what is given out comes behind the rest";
    const Graph after = traced("after", kXY, [](Inside in) { return TracedValues{depends(in[0], {in[1]})}; });
    EXPECT_EQ(run(pullback(after).value(), {"p", "q", "g"}), (Values{"p", "g", ""}));
    EXPECT_EQ(run(pullback(brackets(), {.inputs = std::vector<std::string>{}}).value(), {"p", "g", "h"}),
              (Values{"[p]", "<p>"}));
}

TEST(text_graph, feedback_goes_through_the_branch_that_was_taken) {
    const InputTypes inputs{{"key", number_type()}, {"x", text_type()}, {"y", text_type()}};
    const Graph graph = traced("switch", inputs, [](Inside in) {
        return TracedValues{switch_on(in[0], {[&] { return format("[{}]", {in[1]}); },
                                              [&] {
                                                  return format("{}<{}>", {in[1], in[2]});
                                              }})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pulled, {0.0, "p", "q", "g"}), (Values{"[p]", 0.0, "g", ""}));
    EXPECT_EQ(run(pulled, {1.0, "p", "q", "g"}), (Values{"p<q>", 0.0, "g", "g"}));
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    EXPECT_EQ(run(pushed, {0.0, "p", "q", 0.0, "t", "u"}), (Values{"[p]", "[t]"}));
    EXPECT_EQ(run(pushed, {1.0, "p", "q", 0.0, "t", "u"}), (Values{"p<q>", "t<u>"}));
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(pulled, {.size = 2, .axes = {0, std::nullopt, std::nullopt, 0}}));
    EXPECT_EQ(run(each, {vector({0, 1}), "p", "q", "g", "h"}),
              (Values{"[p]", "p<q>", vector({0, 0}), "g", "h", "", "h"}));
}

TEST(text_graph, loops_replay_feedback_and_refuse_edits) {
    EXPECT_EQ(run(shouting(), {"a", "!"}), (Values{"a!!!"}));
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(shouting()));
    EXPECT_EQ(run(pulled, {"a", "!", "g"}), (Values{"a!!!", "g", "ggg"})) << "the mark was read in three steps";
    EXPECT_EQ(run(pulled, {"a!!!", "!", "g"}), (Values{"a!!!", "g", ""})) << "in none";
    EXPECT_THAT(refusal(pushforward(shouting())),
                AllOf(HasSubstr("pushforward of graph 'shouting'"), HasSubstr("carry 0 of operation while_loop"),
                      HasSubstr("text_graph_test.cpp:"), HasSubstr("carry 0 moves")));
    // A loop that numbers go through may carry a text, which then does not move.
    const Graph counting = traced("counting", {{"n", number_type()}}, [](Inside in) {
        return while_loop(
            std::vector<Traced>{in[0], "a"}, [](Inside c) { return logical_not(match(c[1], "!!!", Match::Ends)); },
            [](Inside c) {
                return TracedValues{c[0] * 2.0, concat({c[1], "!"})};
            },
            5);
    });
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(counting));
    EXPECT_EQ(run(pushed, {3.0, 1.0}), (Values{24.0, "a!!!", 8.0, ""}));
    EXPECT_EQ(run(pullback(counting).value(), {3.0, 1.0, "g"}), (Values{24.0, "a!!!", 8.0}));
    ASSERT_OK_AND_ASSIGN(const Graph wrapped, as_call(counting));
    EXPECT_EQ(run(pushforward(wrapped).value(), {3.0, 1.0}), (Values{24.0, "a!!!", 8.0, ""}));
}

TEST(text_graph, scans_carry_edits_and_keep_no_text) {
    const Graph graph =
        traced("scan", {{"x", text_type()}, {"s", tensor_type({3})}, {"y", text_type()}}, [](Inside in) {
            return scan(std::vector<Traced>{in[0]}, std::vector<Traced>{in[1]},
                        [&](Inside c, Inside) {
                            return Scanned{{concat({c[0], in[2]})}, {}};
                        })
                .carries;
        });
    const Value steps = vector({1, 2, 3});
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    EXPECT_EQ(run(pushed, {"a", steps, ".", "t", steps, "u"}), (Values{"a...", "tuuu"}));
    EXPECT_THAT(refusal(pullback(graph)), AllOf(HasSubstr("carry 0 of operation scan"), HasSubstr("cannot be kept")));
}

TEST(text_graph, moves_inside_records) {
    const Graph graph = traced("records", kXY, [](Inside in) {
        const Traced both = custom_call("both", in, [](Inside x) {
            return pack({{"quote", format("'{}'", {x[0]})}, {"size", Traced(2.0)}, {"rest", x[1]}});
        });
        return TracedValues{format("{} {}", {field(both, "quote"), field(both, "rest")}), field(both, "rest")};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    EXPECT_EQ(run(pushed, {"p", "q", "t", "u"}), (Values{"'p' q", "q", "'t' u", "u"}));
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(run(pulled, {"p", "q", "g", "h"}), (Values{"'p' q", "q", "g", "gh"}));
}

TEST(text_graph, composition_decides_who_shares_feedback) {
    const Graph graph = traced("shared", kXY, [](Inside in) { return TracedValues{format("{} {}", {in[0], in[1]})}; });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(pulled, {.size = 2, .axes = {0, std::nullopt, 0}}));
    EXPECT_EQ(run(each, {"A", "B", "S", "g1", "g2"}), (Values{"A S", "B S", "g1", "g2", "g1", "g2"}))
        << "each element has its own feedback on what it shares";
    ASSERT_OK_AND_ASSIGN(const Graph batched, batch(graph, {.size = 2, .axes = {0, std::nullopt}}));
    ASSERT_OK_AND_ASSIGN(const Graph together, pullback(batched));
    EXPECT_EQ(run(together, {"A", "B", "S", "g1", "g2"}), (Values{"A S", "B S", "g1", "g2", "g1g2"}));
    ASSERT_OK_AND_ASSIGN(const Graph edits, batch(pushforward(graph).value(), {.size = 2}));
    EXPECT_EQ(run(edits, {"A", "B", "S", "T", "a", "b", "s", ""}), (Values{"A S", "B T", "a s", "b "}));
}

TEST(text_graph, custom_rules_take_the_place_of_the_body) {
    const Graph graph = traced("custom", kX, [](Inside in) {
        return TracedValues{custom_call("shout", in, [](Inside x) { return format("{}!", {x[0]}); })};
    });
    EXPECT_EQ(run(pushforward(graph).value(), {"p", "t"}), (Values{"p!", "t!"}));
    HyperfunctionRules<PushRule> push;
    push["shout"] = [](GraphBuilder& builder, const Equation&, auto, auto tangents,
                       auto) -> Result<std::vector<Tangent>> {
        YOLK_TRY(Atom loud, builder.apply("format", {*tangents[0]}, {{"pattern", std::string("loud {}")}}));
        return std::vector<Tangent>{std::move(loud)};
    };
    EXPECT_EQ(run(pushforward(graph, pushforward_rules(), push).value(), {"p", "t"}), (Values{"p!", "loud t"}));
    PullbackOptions pull;
    pull.hyperfunctions["shout"] = [](GraphBuilder&, const Equation&, auto, auto, auto,
                                      const auto&) -> Result<std::vector<Tangent>> {
        return std::vector<Tangent>{Tangent(Value("be quiet"))};
    };
    EXPECT_EQ(run(pullback(graph, pull).value(), {"p", "g"}), (Values{"p!", "be quiet"}));
}

TEST(text_graph, checkpoints_are_collected_and_replaced) {
    const Graph graph = traced("draft", kX, [](Inside in) {
        const Traced draft = checkpoint(format("[{}]", {in[0]}), "draft");
        return TracedValues{format("{}!", {draft})};
    });
    ASSERT_OK_AND_ASSIGN(const Collected collected, collect(graph));
    EXPECT_EQ(collected.keys, std::vector<std::string>{"draft"});
    EXPECT_EQ(run(collected.graph, {"p"}), (Values{"[p]!", "[p]"}));
    const std::vector<std::pair<std::string, Value>> other{{"draft", "better"}};
    ASSERT_OK_AND_ASSIGN(const Graph injected, inject(graph, {}, other));
    EXPECT_EQ(run(injected, {"p"}), (Values{"better!"}));
    EXPECT_EQ(run(pullback(injected).value(), {"p", "g"}), (Values{"better!", ""})) << "nothing goes past it";
}

TEST(text_graph, weighs_folds_and_prunes) {
    const Graph graph = traced("weighed", kX, [](Inside in) {
        static_cast<void>(factor(select(match(in[0], "good", Match::Contains), Traced(0.5), Traced(0.25))));
        return TracedValues{format("[{}]", {in[0]}), concat({in[0], "?"})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph weight, weighted(graph));
    EXPECT_EQ(run(weight, {"goods"}), (Values{"[goods]", "goods?", 0.5}));
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(weight, {.size = 2}));
    EXPECT_EQ(run(each, {"good", "bad"}), (Values{"[good]", "[bad]", "good?", "bad?", vector({0.5, 0.25})}));
    ASSERT_OK_AND_ASSIGN(const Graph product, weighted(batch(graph, {.size = 2}).value()));
    EXPECT_EQ(run(product, {"good", "bad"}).back(), Value(0.125));
    ASSERT_OK_AND_ASSIGN(const Graph pruned, dce(brackets(), {false, true}));
    EXPECT_EQ(operations_of(pruned), std::vector<std::string>{"format"});
    EXPECT_EQ(run(pruned, {"p"}), (Values{"<p>"}));
    const std::vector<std::pair<std::string, Value>> p{{"x", "p"}};
    ASSERT_OK_AND_ASSIGN(const Graph fixed, with_static_inputs(brackets(), p));
    EXPECT_EQ(folded_outputs(fixed).value(), (Values{"[p]", "<p>"}));
    EXPECT_TRUE(fold(fixed).value().equations.empty());
}

}  // namespace
}  // namespace yolk::hyper::text_graphs
