// SPDX-License-Identifier: Apache-2.0
// A run's log on the command line.
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class replay : public InFolder {
   protected:
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] std::vector<std::string> train_into(const std::string& out,
                                                      const std::vector<std::string>& more = {}) const {
        std::vector<std::string> arguments{"train",       "cartpole",    "--json", "--keep-going",  "--population",
                                           "64",          "--max-steps", "40",     "--generations", "4",
                                           "--optimizer", "adam",        "--out",  path(out)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    void expect_bad(const std::vector<std::string>& arguments, int code, const std::string& part) const {
        const Ran ran = run_command(arguments, only(kLavapipe));
        EXPECT_EQ(ran.code, code) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr(part));
    }
};

TEST_F(replay, rebuilds_any_generation_and_training_goes_on_from_it) {
    const Ran made = run_command(train_into("out"), only(kLavapipe));
    ASSERT_EQ(made.code, 0) << made.err;
    const std::vector<Json> lines = made.lines();  // 4 generations and the outcome

    const Ran text = run_command({"replay", path("out")}, only(kLavapipe));
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, AllOf(HasSubstr("cartpole, seed 1, population 64: the log has 4 generations"),
                                HasSubstr("generation 4: state " + lines[3]["state_hash"].get<std::string>()),
                                HasSubstr("by llvmpipe"), Not(HasSubstr("saved"))));
    const Ran twin = run_command({"replay", path("out/log.yolk"), "--twin", "--generation", "2", "--json"}, {});
    ASSERT_EQ(twin.code, 0) << twin.err;
    EXPECT_EQ(twin.last()["state_hash"], lines[1]["state_hash"]);
    EXPECT_EQ(twin.last()["generations_in_log"], 4);
    EXPECT_EQ(twin.last()["device"], "the host's exact twin");

    const Ran third =
        run_command({"replay", path("out"), "--generation", "3", "--out", path("third"), "--json"}, only(kSwiftShader));
    ASSERT_EQ(third.code, 0) << third.err;
    EXPECT_EQ(third.last()["state_hash"], lines[2]["state_hash"]);
    EXPECT_EQ(third.last()["checkpoint"], path("third/checkpoint.yolk"));
    const Ran rest = run_command(train_into("third", {"--resume"}), only(kLavapipe));
    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_EQ(rest.last()["resumed_from"], 3);
    EXPECT_EQ(rest.last()["state_hash"], lines[3]["state_hash"]);
    EXPECT_EQ(read_text(path("third/log.yolk")), read_text(path("out/log.yolk")));

    expect_bad({"replay", path("out"), "--twin", "--generation", "5"}, 2,
               "ends after generation 4; generation 5 was asked for");
    expect_bad({"replay", path("out"), "--twin", "--out", path("third")}, 2, "A run has trained in");
    expect_bad({"replay", path("out/checkpoint.yolk"), "--twin"}, 2, "is not the log of a run");
    std::string log = read_text(path("out/log.yolk"));
    write_text(path("torn"), log.substr(0, log.size() - 5));
    const Ran torn = run_command({"replay", path("torn"), "--twin", "--json"}, {});
    EXPECT_EQ(torn.last()["state_hash"], lines[2]["state_hash"]);
    EXPECT_THAT(torn.err, HasSubstr("of a generation that was not finished"));
    log[8] = 9;
    write_text(path("later"), log);
    expect_bad({"replay", path("later"), "--twin"}, 2, "log version 9; this version of Yolk reads versions 1 and 2");
    log[8] = 1;
    log[log.size() - 150] = static_cast<char>(log[log.size() - 150] ^ 1);
    write_text(path("damaged"), log);
    expect_bad({"replay", path("damaged"), "--twin"}, 2, "damaged at generation 2");
}

TEST_F(replay, is_not_there_without_a_log) {
    ASSERT_EQ(run_command(train_into("out", {"--no-log"}), only(kLavapipe)).code, 0);
    EXPECT_FALSE(std::filesystem::exists(path("out/log.yolk")));
    expect_bad({"replay", path("out")}, 1, "There is no log");
    expect_bad({"replay", path("nowhere"), "--twin"}, 1, "There is no log");
    expect_bad({"train", "cartpole", "--out", "", "--no-log"}, 2, "--no-log has no effect here");
    expect_bad({"replay"}, 2, "log is required");
}

}  // namespace
}  // namespace yolk::cli
