// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class system_command : public InFolder {
   protected:
    [[nodiscard]] static Ran run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "system");
        return run_command(arguments, only(kLavapipe));
    }
    [[nodiscard]] std::string file(const char* name) const { return (folder_ / name).string(); }
};

TEST_F(system_command, optimizes_saves_and_loads) {
    const Ran tuned = run({"xor", "optimize", "--json", "--log", file("log.jsonl"), "--out", file("xor.safetensors")});
    ASSERT_EQ(tuned.code, 0) << tuned.err;
    ASSERT_EQ(tuned.lines().size(), 201U);
    EXPECT_EQ(tuned.lines()[3]["generation"], 3);
    EXPECT_GT(tuned.last()["best_reward"], tuned.last()["start_reward"]);
    EXPECT_EQ(tuned.last()["stopped_by"], "generations");
    const Ran scored = run({"xor", "evaluate", "--load", file("xor.safetensors"), "--json"});
    ASSERT_EQ(scored.code, 0) << scored.err;
    EXPECT_EQ(scored.last()["reward"], tuned.last()["best_reward"]);
    const Ran other = run({"rotation", "evaluate", "--load", file("xor.safetensors")});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("'hidden' is not in the system"));
    const Ran saved =
        run({"xor", "save", "--load", file("xor.safetensors"), "--out", file("again.safetensors"), "--json"});
    EXPECT_EQ(saved.last()["reward"], tuned.last()["best_reward"]);
    EXPECT_THAT(read_text(file("log.jsonl")), HasSubstr("\"optimizer\":\"eggroll\""));
}
TEST_F(system_command, each_shipped_system_is_learned_without_a_flag_whatever_the_seed) {
    struct Learned {
        std::string name;
        double least;  ///< minus the square of a distance of .1 or .01, and minus one of .05
        int seeds;
    };
    for (const auto& [name, least, seeds] :
         {Learned{"xor", -0.01, 10}, Learned{"rotation", -1e-4, 2}, Learned{"temperature", -0.05, 2}}) {
        for (int seed = 0; seed <= seeds; ++seed) {
            std::vector<std::string> arguments{name, "optimize", "--json", "--quiet"};
            if (seed > 0) arguments.insert(arguments.end(), {"--seed", std::to_string(seed)});
            const Ran ran = run(std::move(arguments));
            ASSERT_EQ(ran.code, 0) << ran.err;
            EXPECT_GT(ran.last()["best_reward"], least) << name << ", seed " << seed;
        }
    }
}
TEST_F(system_command, dry_run_budget_and_host_functions) {
    const std::vector<std::string> search{"temperature",  "optimize", "--generations", "20",
                                          "--population", "20",       "--sigma",       "0.1"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), search.begin(), search.end());
        return run(std::move(more));
    };
    const Ran dry = with({"--dry-run"});
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.out, HasSubstr("5 numbers; at most 422 metric calls, 2110 host calls"));
    const Ran cut = with({"--budget", "100", "--json", "--quiet"});
    ASSERT_EQ(cut.lines().size(), 1U) << cut.out << cut.err;
    EXPECT_EQ(cut.last()["stopped_by"], "budget");
    const Ran whole = with({});
    EXPECT_THAT(whole.out, HasSubstr("generation 20/20"));
    EXPECT_THAT(whole.out, HasSubstr("2110 host calls"));
}
TEST_F(system_command, without_tensor_work_needs_no_device) {
    const auto without = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "system");
        return run_command(arguments, only("/nonexistent/icd.json"));
    };
    const std::vector<std::string> search{
        "temperature",   "optimize", "--generations", "20",     "--population", "20",    "--sigma",
        "0.1",           "--lr",     "0.1",           "--json", "--quiet",      "--out", file("t.safetensors"),
        "--determinism", "exact"};
    const Ran here = without(search);
    ASSERT_EQ(here.code, 0) << here.err;
    EXPECT_EQ(here.last()["state_hash"], run(search).last()["state_hash"]) << "as on a device";
    EXPECT_GT(here.last()["best_reward"], here.last()["start_reward"]);
    const Ran scored = without({"temperature", "evaluate", "--load", file("t.safetensors"), "--json"});
    ASSERT_EQ(scored.code, 0) << scored.err;
    EXPECT_EQ(scored.last()["reward"], here.last()["best_reward"]);
    for (const char* const how : {"zero", "reset", "freeze", "perturb"}) {
        const Ran ablated = without({"temperature", "ablate", "--how", how, "--json"});
        EXPECT_EQ(ablated.code, 0) << how << ": " << ablated.err;
    }
    // The matrices of xor do; and who names a device gets it or an error.
    const Ran tensors = without({"xor", "optimize", "--generations", "1"});
    EXPECT_NE(tensors.code, 0);
    EXPECT_THAT(tensors.err, HasSubstr("mesa-vulkan-drivers"));
    const Ran named = without({"temperature", "optimize", "--generations", "1", "--device", "0"});
    EXPECT_NE(named.code, 0);
    EXPECT_THAT(named.err, HasSubstr("mesa-vulkan-drivers"));
}
TEST_F(system_command, takes_the_flags_of_a_search_that_train_takes) {
    const Ran ran = run({"xor",
                         "optimize",
                         "--generations",
                         "2",
                         "--no-antithetic",
                         "--population",
                         "9",
                         "--fitness",
                         "z-score",
                         "--determinism",
                         "fast",
                         "--rank",
                         "2",
                         "--noise-reuse",
                         "2",
                         "--sigma-decay",
                         "0.5",
                         "--optimizer",
                         "adam",
                         "--freeze",
                         "hidden",
                         "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last()["numbers"], 8);
    EXPECT_EQ(ran.lines()[1]["sigma"], 0.15F);
}
TEST_F(system_command, draws_and_ablates) {
    const Ran graph = run({"xor", "graph", "--dot", file("xor.dot"), "--svg", file("xor.svg")});
    ASSERT_EQ(graph.code, 0) << graph.err;
    EXPECT_THAT(graph.out, HasSubstr("hidden"));
    EXPECT_THAT(read_text(file("xor.dot")), HasSubstr("digraph"));
    EXPECT_THAT(read_text(file("xor.svg")), HasSubstr("<svg"));
    EXPECT_THAT(run({"xor", "graph", "--json"}).last()["graph"].get<std::string>(), HasSubstr("hidden"));
    for (const std::string how : {"zero", "reset", "perturb", "freeze"}) {
        std::vector<std::string> arguments{"rotation", "ablate", "--how", how, "--json"};
        if (how == "freeze") arguments.insert(arguments.end(), {"--generations", "2", "--seeds", "2"});
        const Ran rows = run(arguments);
        ASSERT_EQ(rows.lines().size(), 2U) << rows.err;
        EXPECT_EQ(rows.last()["group"], "b");
    }
}
TEST_F(system_command, the_seed_reaches_the_draws_of_an_ablation) {
    const auto change = [](const char* seed) {
        return run({"rotation", "ablate", "--how", "perturb", "--json", "--seed", seed}).last()["change"];
    };
    EXPECT_EQ(change("1"), change("1"));
    EXPECT_NE(change("1"), change("2"));
}
TEST_F(system_command, both_vendors_end_where_one_does) {
    const std::string both = std::string(kLavapipe) + ":" + kSwiftShader;
    const std::vector<std::string> search{"system",       "rotation", "optimize", "--generations", "3",
                                          "--population", "32",       "--sigma",  "0.1",           "--quiet"};
    const auto with = [&](std::vector<std::string> more, const std::string& drivers) {
        more.insert(more.begin(), search.begin(), search.end());
        return run_command(more, only(drivers));
    };
    const Ran one = with({"--json"}, kLavapipe);
    ASSERT_EQ(one.code, 0) << one.err;
    EXPECT_FALSE(one.last().contains("devices"));
    const Ran two = with({"--json", "--devices", "all", "--audit", "0.5"}, both);
    ASSERT_EQ(two.code, 0) << two.err;
    EXPECT_EQ(two.last()["best_reward"], one.last()["best_reward"]);
    ASSERT_EQ(two.last()["devices"].size(), 2U);
    EXPECT_EQ(two.last()["depends_on_placement"], false);
    EXPECT_THAT(with({"--devices", "1,0"}, both).out, HasSubstr("% of the candidates, busy for"));

    EXPECT_THAT(with({"--devices", "0,0"}, both).err, HasSubstr("twice"));
    EXPECT_THAT(with({"--devices", "0,7"}, both).err, HasSubstr("7"));
    EXPECT_THAT(with({"--devices", "0", "--audit", "0.5"}, both).err, HasSubstr("needs a second device"));
    EXPECT_THAT(with({"--devices", "all", "--audit", "1.5"}, both).err, HasSubstr("The audit share is 1.5"));
    const Ran fast = with({"--devices", "all", "--audit", "0.5", "--determinism", "fast"}, both);
    EXPECT_EQ(fast.code, 2);
    EXPECT_THAT(fast.err, HasSubstr("An audit compares bits"));
}
TEST_F(system_command, shows_saves_and_ablates_texts) {
    const Ran shown = run({"greeting", "parameters", "--json"});
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(shown.last()["kind"], "text");
    EXPECT_EQ(shown.last()["text"], "Hello, NAME!");
    EXPECT_EQ(shown.last()["optimize"], true);
    EXPECT_THAT(run({"greeting", "parameters"}).out, HasSubstr("\"Hello, NAME!\""));
    EXPECT_THAT(run({"temperature", "parameters"}).out, HasSubstr("temperature 0"));

    const Ran zeroed = run({"greeting", "ablate", "--how", "zero", "--json"});
    ASSERT_EQ(zeroed.code, 0) << zeroed.err;
    EXPECT_EQ(zeroed.last()["change"], -1.0);
    EXPECT_THAT(run({"greeting", "ablate", "--how", "perturb", "--group", "greet"}).err, HasSubstr("is a text"));
    EXPECT_THAT(run({"greeting", "optimize", "--generations", "1"}).err, HasSubstr("only texts are optimized (greet)"));

    const Ran saved = run({"greeting", "save", "--out", file("greeting.safetensors")});
    ASSERT_EQ(saved.code, 0) << saved.err;
    const Ran loaded = run({"greeting", "evaluate", "--load", file("greeting.safetensors"), "--json"});
    EXPECT_EQ(loaded.last()["reward"], 1.0) << loaded.err;
    EXPECT_EQ(run({"greeting", "graph"}).code, 0);
}
TEST_F(system_command, bad_input_is_told) {
    EXPECT_EQ(run({"xor"}).code, 2);
    EXPECT_EQ(run({"nothing", "evaluate"}).code, 2);
    const Ran odd = run({"xor", "optimize", "--population", "7"});
    EXPECT_EQ(odd.code, 2);
    EXPECT_THAT(odd.err, HasSubstr("even"));
    const Ran rule = run({"xor", "optimize", "--fitness", "z-score"});
    EXPECT_EQ(rule.code, 2);
    EXPECT_THAT(rule.err, HasSubstr("or fast determinism"));
    EXPECT_THAT(run_command({"train", "cartpole", "--fitness", "z-score"}, only(kLavapipe)).err, rule.err);
    EXPECT_THAT(run({"xor", "optimize", "--freeze", "hidden", "--exclude", "output"}).err, HasSubstr("Freeze fewer"));
    EXPECT_THAT(run({"xor", "ablate", "--how", "remove"}).err, HasSubstr("zero, reset, freeze, perturb"));
    EXPECT_THAT(run({"xor", "ablate", "--group", "third"}).err, HasSubstr("no group 'third'"));
    EXPECT_THAT(run({"xor", "graph", "--example", "4"}).err, HasSubstr("There is no example 4; there are 4."));
}

}  // namespace
}  // namespace yolk::cli
