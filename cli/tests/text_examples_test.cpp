// SPDX-License-Identifier: Apache-2.0
// The examples that ask language models, as their users run them, beside servers whose best prompts and settings are
// known.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "14_temperature_server.hpp"
#include "15_router_server.hpp"
#include "16_tools_server.hpp"
#include "command.hpp"
#include "yolk/chat_server.hpp"

namespace yolk::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEndpointKey = "sk-examples-0123456789abcdefghij";

/// What a row of `ablate --json` says.
double change_of(const Ran& ran, const std::string& group) {
    for (const Json& row : ran.lines()) {
        if (row["group"] == group) return row["change"].get<double>();
    }
    ADD_FAILURE() << "no group " << group << " in " << ran.out << ran.err;
    return 0.0;
}

class text_examples : public InFolder {
   protected:
    /// `arguments` as a shell reads them, of the example whose file this is.
    [[nodiscard]] Ran run(const char* example, const std::string& arguments) const {
        auto variables = only(kLavapipe);
        variables["OPENAI_BASE_URL"] = server_ ? server_->base_url() : "";
        variables["OPENAI_API_KEY"] = server_ ? kEndpointKey : "";
        return run_shell("cd '" + folder_.string() + "' && '" + example + "' " + arguments, variables);
    }
    /// From here on the endpoint is a server of the test's.
    void serve(chat_server::Rule rule) {
        auto started = chat_server::Server::start({.rule = std::move(rule), .remembered = 100'000});
        ASSERT_TRUE(started) << (started ? "" : started.error().message);
        server_ = *std::move(started);
    }
    std::optional<chat_server::Server> server_;
};

std::string tune_router(const std::string& more) {
    return "optimize --text gepa --text-budget 100 --sigma 0.3 --lr 0.3 --json --quiet --out tuned.safetensors " + more;
}

TEST_F(text_examples, a_tuned_router_answers_from_its_file_and_ablation_says_what_works) {
    const Ran tuned = run(YOLK_EXAMPLE_15, tune_router("--population 16 --generations 6"));
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    EXPECT_EQ(tuned.last()["best_reward"], 1.0);
    EXPECT_LT(tuned.last()["start_reward"], 0.6);

    const Ran loaded = run(YOLK_EXAMPLE_15, "evaluate --load tuned.safetensors --json");
    ASSERT_EQ(loaded.code, 0) << loaded.err;
    EXPECT_EQ(loaded.last()["held_out"], 1.0);
    EXPECT_EQ(loaded.last()["predictions"][0], "refund 4711");
    const Ran fresh = run(YOLK_EXAMPLE_15, "evaluate --json");
    EXPECT_LT(fresh.last()["held_out"], 0.6);

    // All three prompts and the threshold do work; the router's temperature does none.
    const Ran ablated = run(YOLK_EXAMPLE_15, "ablate --how reset --load tuned.safetensors --json");
    ASSERT_EQ(ablated.code, 0) << ablated.err;
    for (const char* const group : {"threshold", "router", "summarizer", "generator", "sampling"})
        EXPECT_LT(change_of(ablated, group), -0.1) << group;
    EXPECT_EQ(change_of(ablated, "router's temperature"), 0.0);
}

TEST_F(text_examples, go_to_the_endpoint_of_the_environment_and_keep_its_key) {
    serve(&router_example::answer);
    const Ran tuned =
        run(YOLK_EXAMPLE_15,
            "--model large " + tune_router("--reflector larger --generations 2 --population 4 --log log.jsonl"));
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    ASSERT_TRUE(std::filesystem::exists(folder_ / "tuned.safetensors"));
    bool is_reflected = false;
    for (const std::string& request : server_->requests()) {
        EXPECT_THAT(request, HasSubstr(std::string("Bearer ") + kEndpointKey));
        is_reflected = is_reflected || request.find("\"larger\"") != std::string::npos;
        EXPECT_THAT(request, ::testing::ContainsRegex("\"model\": *\"larger?\""));
    }
    EXPECT_TRUE(is_reflected);
    const Ran shown = run(YOLK_EXAMPLE_15, "--model large parameters --load tuned.safetensors");
    EXPECT_THAT(tuned.out + tuned.err + shown.out + shown.err, Not(HasSubstr(kEndpointKey)));
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
        if (!entry.is_regular_file()) continue;
        ++files;
        EXPECT_THAT(read_text(entry.path()), Not(HasSubstr(kEndpointKey))) << entry.path();
    }
    EXPECT_GE(files, 3U);  // the system, the checkpoint, the log
    EXPECT_THAT(read_text(folder_ / "log.jsonl"), HasSubstr("quoted"));
}

TEST_F(text_examples, the_order_in_which_answers_arrive_does_not_matter) {
    std::vector<std::string> logs;
    for (const bool delayed : {false, true}) {
        serve([delayed, count = std::make_shared<std::atomic<int>>(0)](const Json& request) {
            chat_server::Reply reply = tools_example::answer(request);
            // Of those that are asked together the first are answered last.
            if (delayed) reply.delay = std::chrono::milliseconds(3 - (*count)++ % 4);
            return reply;
        });
        const Ran ran = run(YOLK_EXAMPLE_16, "optimize --text gepa --text-budget 100 --log log.jsonl --json");
        ASSERT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(ran.last()["best_reward"], 1.0);
        logs.push_back(read_text(folder_ / "log.jsonl"));
        std::filesystem::remove(folder_ / "log.jsonl");
    }
    EXPECT_EQ(logs[0], logs[1]);
    EXPECT_THAT(logs[0], HasSubstr("price list"));
}

TEST_F(text_examples, a_loop_at_its_limit_fails_and_says_so) {
    const Ran ran = run(YOLK_EXAMPLE_16, "evaluate --json");
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["predictions"][0], "84");
    EXPECT_EQ(ran.last()["per_example"][0], 1.0);
    EXPECT_EQ(ran.last()["predictions"][1], "No answer within 5 steps.");
    EXPECT_EQ(ran.last()["per_example"][1], 0.0);
}

TEST_F(text_examples, a_dry_run_of_prompts_asks_nobody_and_flags_without_an_effect_are_refused) {
    serve(&router_example::answer);
    const Ran dry = run(YOLK_EXAMPLE_15, "optimize --text gepa --text-budget 200 --generations 2 --dry-run");
    ASSERT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.out, AllOf(HasSubstr("of them for prompts: 200 metric calls, 6 of them for the start"),
                               HasSubstr("model calls")));
    EXPECT_EQ(server_->counts().requests, 0U);
    const Ran alone = run(YOLK_EXAMPLE_15, "optimize --text-budget 200");
    EXPECT_EQ(alone.code, 2);
    EXPECT_THAT(alone.err, AllOf(HasSubstr("--text-budget"), HasSubstr("goes with --text")));
    const Ran unknown = run(YOLK_EXAMPLE_15, "optimize --text mipro");
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, AllOf(HasSubstr("mipro"), HasSubstr("there is gepa")));
    const Ran endless = run(YOLK_EXAMPLE_15, "optimize --text gepa");
    EXPECT_EQ(endless.code, 2);
    EXPECT_THAT(endless.err, HasSubstr("budget"));
    server_.reset();
    const Ran nowhere = run(YOLK_EXAMPLE_15, "--model large evaluate");
    EXPECT_EQ(nowhere.code, 2);
    EXPECT_THAT(nowhere.err, HasSubstr("OPENAI_BASE_URL"));
}

TEST_F(text_examples, a_parser_stops_failing_when_the_sampling_is_tuned) {
    const Ran tuned =
        run(YOLK_EXAMPLE_14,
            "optimize --population 16 --sigma 0.3 --lr 0.3 --generations 10 --json --quiet --out tuned.safetensors");
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    EXPECT_LT(tuned.last()["start_reward"], 0.5);
    EXPECT_EQ(tuned.last()["best_reward"], 1.0);
    const Ran shown = run(YOLK_EXAMPLE_14, "parameters --load tuned.safetensors --json");
    const Json fields = shown.last()["fields"];
    EXPECT_LT(fields["temperature"], 1.4);
    EXPECT_GT(fields["max_tokens_fraction"], 0.1);
}

}  // namespace
}  // namespace yolk::cli
