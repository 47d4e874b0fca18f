// SPDX-License-Identifier: Apache-2.0
// Edits and feedback through model calls: the model on the movements of its messages, and what it makes of feedback on
// its answer.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "text_fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::hyper::text_feedbacks {  // its short names are others' as well
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Values = std::vector<Value>;
using Inside = std::span<const Traced>;

const InputTypes kX{{"x", text_type()}};
const InputTypes kXY{{"x", text_type()}, {"y", text_type()}};

Traced ask(const Traced& content) { return model_call({{"user", content}}); }
Values called(const Graph& graph, Values inputs, Values parameters = {}) {
    EXPECT_OK(validate(graph));
    auto results = call(graph, {.inputs = std::move(inputs), .parameters = std::move(parameters)});
    EXPECT_OK(results);
    return results ? *results : Values();
}

/// What the critic is asked, on one line.
std::string question(const std::string& input, const std::string& output, const std::string& feedback) {
    return fmt::format(fmt::runtime(std::string(kCritiqueQuestion)), input, output, feedback);
}
bool is_critique(const Json& request) {
    return request["messages"][0]["role"] == "system" &&
           request["messages"][0]["content"] == std::string(kCritiqueInstruction);
}
/// Answers <message>; as a critic "INPUT should FEEDBACK.".
chat_server::Reply worker_and_critic(const Json& request) {
    const std::string text = said(request);
    if (!is_critique(request)) return says("<" + text + ">");
    const std::string input = text.substr(7, text.find("\n\nOutput:\n") - 7);
    const std::string before = "\n\nFeedback on the output:\n";
    return says(input + " should " + text.substr(text.find(before) + before.size()) + ".");
}

class text_feedback : public ::testing::Test {
   protected:
    const ModelServer server_{worker_and_critic};
    const UseModels models_{server_.models()};
};

TEST_F(text_feedback, edits_are_what_the_model_makes_of_them) {
    const Graph graph = traced("asked", kXY, [](Inside in) {
        return TracedValues{model_call({{"system", in[0]}, {"user", in[1]}}), ask(stop_gradient(in[0]))};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pushed, pushforward(graph));
    EXPECT_EQ(called(pushed, {"p", "q", "t", "u"}), (Values{"<q>", "<p>", "<u>", ""}));
    EXPECT_THAT(server_.asked(), ElementsAre("system: p | user: q", "system: t | user: u", "user: p"))
        << "what does not move is not asked about";
    EXPECT_EQ(called(pushed, {"p", "q", "", ""}), (Values{"<q>", "<p>", "", ""}));
    EXPECT_EQ(server_.asked().size(), 2U) << "nor what turns out to be zero";
    const Graph one = traced("one", kXY, [](Inside in) {
        return TracedValues{model_call({{"system", "brief"}, {"user", in[1]}}), match(in[0], "p")};
    });
    EXPECT_EQ(called(pushforward(one).value(), {"p", "q", "t", "u"}), (Values{"<q>", true, "<u>"}));
    EXPECT_THAT(server_.asked(), ElementsAre("system: brief | user: q", "system:  | user: u"));
}

TEST_F(text_feedback, is_asked_for_once_for_each_message) {
    const Graph graph = traced("asked", kXY, [](Inside in) {
        return TracedValues{model_call({{"system", in[0]}, {"assistant", "so far"}, {"user", in[1]}})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(called(pulled, {"p", "q", "be short"}), (Values{"<q>", "p should be short.", "q should be short."}));
    const std::string system = fmt::format("system: {} | user: ", kCritiqueInstruction);
    EXPECT_THAT(server_.asked(), UnorderedElementsAre("system: p | assistant: so far | user: q",
                                                      system + question("p", "<q>", "be short"),
                                                      system + question("q", "<q>", "be short")));
    EXPECT_EQ(called(pulled, {"p", "q", ""}), (Values{"<q>", "", ""}));
    EXPECT_EQ(server_.asked().size(), 1U) << "nothing to pass on";
    ASSERT_OK_AND_ASSIGN(const Graph first, pullback(graph, {.inputs = {{"x"}}}));
    EXPECT_EQ(called(first, {"p", "q", "g"}), (Values{"<q>", "p should g."}));
    EXPECT_EQ(server_.asked().size(), 2U);
}

TEST_F(text_feedback, goes_back_through_chains_and_fans_in) {
    const Graph graph = traced("chain", kX, [](Inside in) {
        const Traced draft = ask(in[0]);
        return TracedValues{ask(format("polish {}", {draft})), concat({draft, in[0]})};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(called(pulled, {"p", "g", "h"}), (Values{"<polish <p>>", "<p>p", "p should polish <p> should g.h.h"}))
        << "the draft hears from both readers, in order; x from the draft, then from the joint text";
}

TEST_F(text_feedback, numbers_of_a_call_have_no_derivative) {
    const Graph graph = traced("numbers", {{"x", text_type()}, {"heat", number_type()}}, [](Inside in) {
        return TracedValues{model_call({{"user", in[0]}}, {.temperature = in[1], .max_tokens = in[1] + 4.0})};
    });
    EXPECT_EQ(called(pullback(graph).value(), {"p", 0.5, "g"}), (Values{"<p>", "p should g.", 0.0}));
    EXPECT_EQ(called(pullback(graph, {.inputs = {{"heat"}}}).value(), {"p", 0.5, "g"}), (Values{"<p>", 0.0}));
    EXPECT_EQ(called(pushforward(graph).value(), {"p", 0.5, "t", 1.0}), (Values{"<p>", "<t>"}));
}

TEST_F(text_feedback, of_records_goes_to_the_messages) {
    const ModelServer records([](const Json& request) {
        if (is_critique(request)) return worker_and_critic(request);
        return says(to_line({{"label", said(request)}, {"score", 2}, {"why", "since " + said(request)}}));
    });
    const UseModels models(records.models());
    const chat::Schema schema = chat::doc({{"label", chat::str()}, {"score", chat::integer()}, {"why", chat::str()}});
    const Graph graph = traced("record", kX, [&](Inside in) {
        const Traced found = schema_call(schema, {{"user", in[0]}});
        return TracedValues{field(found, "label"), field(found, "score") * 2.0, field(found, "why")};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(called(pulled, {"p", "g", 1.0, "h"}), (Values{"p", 4.0, "since p", "p should label: g\nwhy: h\n."}));
    static_cast<void>(records.asked());
    EXPECT_EQ(called(pulled, {"p", "", 1.0, ""}).back(), Value("")) << "a number asks for nothing";
    EXPECT_EQ(records.asked().size(), 1U);
    EXPECT_EQ(called(pushforward(graph).value(), {"p", "t"}), (Values{"p", 4.0, "since p", "t", 0.0, "since t"}));
}

TEST_F(text_feedback, of_batches_and_branches_is_of_the_element_and_the_branch) {
    const Graph graph =
        traced("branches", {{"key", boolean_type()}, {"x", text_type()}, {"y", text_type()}}, [](Inside in) {
            const Traced a = ask(in[1]), b = ask(in[2]);
            return TracedValues{switch_on(in[0], {[&] { return ask(a); }, [&] { return b; }})};
        });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(called(pulled, {true, "p", "q", "g"}), (Values{"<q>", "", "q should g."}));
    EXPECT_EQ(server_.asked().size(), 3U) << "two answers and one critique: the other branch has nothing to pass on";
    ASSERT_OK_AND_ASSIGN(const Graph each, batch(pulled, {.size = 2, .axes = {0, 0, std::nullopt, 0}}));
    EXPECT_EQ(called(each, {vector({0, 1}), "A", "B", "S", "g1", "g2"}),
              (Values{"<<A>>", "<S>", "A should <A> should g1..", "", "", "S should g2."}));
    const Graph shared = traced("shared", kXY, [](Inside in) { return TracedValues{ask(concat({in[1], in[0]}))}; });
    ASSERT_OK_AND_ASSIGN(const Graph together,
                         pullback(batch(shared, {.size = 2, .axes = {0, std::nullopt}}).value(), {.inputs = {{"y"}}}));
    EXPECT_EQ(called(together, {"A", "B", "S", "g1", "g2"}), (Values{"<SA>", "<SB>", "SA should g1.SB should g2."}));
}

TEST_F(text_feedback, of_loops_is_replayed) {
    const Graph graph = traced("steps", kX, [](Inside in) {
        return TracedValues{while_loop(
            in[0], [](const Traced& x) { return logical_not(match(x, "<<", Match::Starts)); },
            [](const Traced& x) { return ask(x); }, 4)};
    });
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    EXPECT_EQ(called(pulled, {"p", "g"}), (Values{"<<p>>", "p should <p> should g.."}));
    EXPECT_THAT(refusal(pushforward(graph)), AllOf(HasSubstr("while_loop"), HasSubstr("text_feedback_test.cpp:")));
}

TEST_F(text_feedback, is_replaced_by_a_rule_of_ones_own) {
    const auto writer = hyperfunction("writer", NoParameters{}, [](const Traced& x) { return ask(x); });
    const Graph graph = traced("own", kX, [=](Inside in) { return TracedValues{writer(in[0])}; });
    PullbackOptions options{.parameters = std::vector<std::string>{}};
    options.hyperfunctions["writer"] = [](GraphBuilder& builder, const Equation& equation, auto operands, auto,
                                          auto given, const auto&) -> Result<std::vector<Tangent>> {
        std::vector<Tangent> back(operands.size());
        const std::size_t message = equation.host->model->first_message();
        YOLK_TRY(Atom note, builder.apply("concat", {Value("note: "), *given[0]}, {{"dimension", std::int64_t{0}}}));
        back[message] = std::move(note);
        return back;
    };
    EXPECT_EQ(called(pullback(graph, options).value(), {"p", "g"}), (Values{"<p>", "note: g"}));
    EXPECT_EQ(server_.asked().size(), 1U) << "no critic";
    // Equations of a rule are equations: its derivative is taken as that of any other graph.
    options.hyperfunctions.clear();
    ASSERT_OK_AND_ASSIGN(const Graph second, pushforward(pullback(graph, options).value()));
    EXPECT_EQ(called(second, {"p", "g", "", "more"}),
              (Values{"<p>", "p should g.", "", "<Input:\n\n\nOutput:\n\n\nFeedback on the output:\nmore>"}));
}

}  // namespace
}  // namespace yolk::hyper::text_feedbacks
