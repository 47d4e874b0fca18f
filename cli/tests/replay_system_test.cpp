// SPDX-License-Identifier: Apache-2.0
// A search's log on the command line: `yolk replay` for shipped systems, a program's own `replay` for its own.
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class replay_system : public InFolder {
   protected:
    [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
    /// The log of a search of 6 generations by that shipped system, begun with `load` where that is given.
    [[nodiscard]] Ran search(const std::string& system, const std::string& out, const std::string& load = {}) const {
        std::vector<std::string> arguments{"system",        system, "optimize", "--json",
                                           "--generations", "6",    "--out",    file(out)};
        if (!load.empty()) arguments.insert(arguments.end(), {"--load", file(load)});
        return run_command(arguments, only(kLavapipe));
    }
    [[nodiscard]] Ran replay(const std::string& log, const std::vector<std::string>& more = {},
                             const std::map<std::string, std::string>& variables = only(kLavapipe)) const {
        std::vector<std::string> arguments{"replay", file(log)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_command(arguments, variables);
    }
    void expect_bad(const Ran& ran, int code, const std::string& part) const {
        EXPECT_EQ(ran.code, code) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr(part));
    }
};

/// The mean after a generation is the unperturbed parameters of the next generation.
TEST_F(replay_system, rebuilds_any_generation_of_a_shipped_system) {
    for (const std::string name : {"xor", "temperature"}) {
        const Ran tuned = search(name, "tuned");
        ASSERT_EQ(tuned.code, 0) << tuned.err;
        for (const std::size_t generation : {0U, 1U, 5U}) {
            const Ran replayed =
                replay("tuned.log.yolk", {"--json", "--generation", std::to_string(generation), "--out", file("again")},
                       only(generation == 1 ? kSwiftShader : kLavapipe));
            ASSERT_EQ(replayed.code, 0) << replayed.err;
            EXPECT_EQ(replayed.last()["system"], name);
            EXPECT_EQ(replayed.last()["reward"], tuned.lines()[generation]["unperturbed"]);
            EXPECT_EQ(replayed.last()["generations_in_log"], 6);
            const Ran scored =
                run_command({"system", name, "evaluate", "--load", file("again"), "--json"}, only(kLavapipe));
            EXPECT_EQ(scored.last()["reward"], replayed.last()["reward"]);
        }
    }
}

TEST_F(replay_system, by_the_twin_needs_no_driver) {
    ASSERT_EQ(search("xor", "tuned").code, 0);
    const Ran device = replay("tuned.log.yolk", {"--json"});
    const Ran twin = replay("tuned.log.yolk", {"--json", "--twin"}, {{"VK_ICD_FILENAMES", file("none.json")}});
    ASSERT_EQ(twin.code, 0) << twin.err;
    for (const char* const key : {"generation", "state_hash", "state_digest", "reward"})
        EXPECT_EQ(twin.last()[key], device.last()[key]) << key;
    EXPECT_THAT(device.last()["device"].get<std::string>(), HasSubstr("llvmpipe"));
    EXPECT_EQ(twin.last()["device"], "the host's exact twin");
}

TEST_F(replay_system, a_search_from_a_file_needs_the_file) {
    ASSERT_EQ(search("temperature", "first").code, 0);
    const Ran second = search("temperature", "second", "first");
    ASSERT_EQ(second.code, 0) << second.err;
    expect_bad(replay("second.log.yolk", {"--twin"}), 2, "is of a search that began with other parameters");
    const Ran replayed = replay("second.log.yolk", {"--twin", "--json", "--load", file("first"), "--generation", "3"});
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(replayed.last()["reward"], second.lines()[3]["unperturbed"]);
}

TEST_F(replay_system, a_folder_stands_for_its_log_and_what_is_wrong_with_a_log_is_said) {
    ASSERT_EQ(search("temperature", "tuned").code, 0);
    std::string log = read_text(file("tuned.log.yolk"));
    std::filesystem::create_directory(file("run"));
    write_text(file("run/log.yolk"), log);
    const Ran text = replay("run");
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, AllOf(HasSubstr("temperature, seed "), HasSubstr("population 20: the log has 6 generations"),
                                HasSubstr("generation 6: state ")));

    expect_bad(replay("tuned.log.yolk", {"--twin", "--generation", "7"}), 2, "Ask for 6 at most");
    expect_bad(replay("none.yolk", {"--twin"}), 1, "There is no log");
    expect_bad(replay("tuned", {"--twin"}), 2, "is not the log of a run");
    write_text(file("torn"), log.substr(0, log.size() - 5));
    const Ran torn = replay("torn", {"--twin", "--json"});
    EXPECT_EQ(torn.last()["generation"], 5);
    EXPECT_THAT(torn.err, HasSubstr("of a generation that was not finished"));
    const std::size_t at = log.find("temperature");
    ASSERT_NE(at, std::string::npos);
    write_text(file("foreign"), std::string(log).replace(at, 1, "T"));
    expect_bad(replay("foreign", {"--twin"}), 2, "is damaged");
    log[log.size() - 150] = static_cast<char>(log[log.size() - 150] ^ 1);
    write_text(file("damaged"), log);
    expect_bad(replay("damaged", {"--twin"}), 2, "damaged at generation");
}

/// A program's own `replay` is the one that knows its system.
TEST_F(replay_system, a_programs_own_system_is_replayed_by_the_program) {
    const auto program = [&](const std::string& example, const std::string& arguments) {
        auto variables = only(kLavapipe);
        variables["OPENAI_BASE_URL"] = "";
        return run_shell("cd '" + folder_.string() + "' && '" + example + "' " + arguments, variables);
    };
    const std::string search_briefly = "optimize --population 4 --generations 3 --json --out ";
    ASSERT_EQ(program(YOLK_EXAMPLE_15, search_briefly + "router").code, 0);
    expect_bad(replay("router.log.yolk", {"--twin"}), 2, "over the system 'router', which is not a shipped one");
    const Ran replayed = program(YOLK_EXAMPLE_15, "replay router.log.yolk --generation 2 --json");
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(replayed.last()["generation"], 2);
    // One with the name of a shipped system is not taken for it, nor the other way round.
    ASSERT_EQ(program(YOLK_EXAMPLE_14, search_briefly + "own").code, 0);
    expect_bad(replay("own.log.yolk", {"--twin"}), 2, "began with other parameters");
    ASSERT_EQ(search("temperature", "shipped").code, 0);
    expect_bad(program(YOLK_EXAMPLE_14, "replay shipped.log.yolk"), 2, "began with other parameters");
    expect_bad(program(YOLK_EXAMPLE_15, "replay shipped.log.yolk"), 2,
               "is of the system 'temperature'; this one is 'router'");

    const Ran trained = run_command({"train", "cartpole", "--population", "64", "--max-steps", "40", "--generations",
                                     "1", "--keep-going", "--out", file("policy")},
                                    only(kLavapipe));
    ASSERT_EQ(trained.code, 0) << trained.err;
    expect_bad(program(YOLK_EXAMPLE_15, "replay policy/log.yolk"), 2, "is the log of a policy's training");
    expect_bad(replay("policy", {"--load", file("shipped"), "--twin"}), 2, "--load goes with the log of a search");
}

}  // namespace
}  // namespace yolk::cli
