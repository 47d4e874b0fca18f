// SPDX-License-Identifier: Apache-2.0
// What a user may get wrong: each ends with one clear error, nothing on standard output, and no file touched.
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class bad_input : public InFolder {
   protected:
    /// Trains into a folder that holds an older policy; whatever is wrong must leave that as it was.
    void refuses(std::vector<std::string> flags, int code, const std::string& part) const {
        const auto out = folder_ / "out";
        std::filesystem::create_directories(out);
        write_text(out / "policy.safetensors", "an older policy");
        flags.insert(flags.begin(), {"train", "cartpole", "--generations", "1", "--json", "--out", out.string()});
        const Ran ran = run_command(flags, only(kLavapipe));
        EXPECT_EQ(ran.code, code) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, StartsWith("yolk: error: "));
        EXPECT_THAT(ran.err, HasSubstr(part));
        EXPECT_EQ(read_text(out / "policy.safetensors"), "an older policy");
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out), {}), 1);
    }
};

TEST_F(bad_input, population) {
    refuses({"--population", "7"}, 2, "7");
    refuses({"--population", "0"}, 2, "0");
    refuses({"--population", "-4"}, 2, "'-4' is not a whole number");
    refuses({"--population", "4294967296"}, 2, "'4294967296' is not a whole number from 0 to 4294967295");
    refuses({"--population", "12x"}, 2, "'12x'");
}

TEST_F(bad_input, environment_and_help) {
    std::map<std::string, std::string> loud = only(kLavapipe);
    loud["YOLK_LOG"] = "loud";
    const Ran log = run_command({"devices"}, loud);
    EXPECT_EQ(log.code, 2);
    EXPECT_THAT(log.err, HasSubstr("YOLK_LOG is 'loud'; it is debug, info, warning, error or off."));
    for (const char* const help : {"--help", "train --help", "--version"}) {
        const Ran full = run_shell(std::string("\"$YOLK\" ") + help + " > /dev/full", only(kLavapipe));
        EXPECT_EQ(full.code, 1) << help;
        EXPECT_THAT(full.err, HasSubstr("Standard output could not be written: No space left on device")) << help;
    }
    EXPECT_THAT(run_command({"train", "--help"}, only(kLavapipe)).out, HasSubstr("--population"));
    const Ran none = run_command({"bench", "kernel", "--configurations", "0"}, only(kLavapipe));
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("--configurations is 0; at least 1 is needed."));
    const Ran small = run_shell("ulimit -v 200000; \"$YOLK\" bench rollout", only(kLavapipe));
    EXPECT_EQ(small.code, 1) << small.err;
    EXPECT_THAT(small.err, HasSubstr("limited to 195 MiB (ulimit -v)"));
    write_text(folder_ / "file", "mine");
    const Ran replay = run_command({"replay", (folder_ / "none").string(), "--out", (folder_ / "file").string()});
    EXPECT_THAT(replay.err, ::testing::Not(HasSubstr("training has not started")));
}

TEST_F(bad_input, rank) {
    refuses({"--rank", "0"}, 2, "32");
    refuses({"--rank", "33"}, 2, "32");
}

TEST_F(bad_input, sigma_and_learning_rate) {
    for (const char* flag : {"--sigma", "--lr"}) {
        refuses({flag, "nan"}, 2, "'nan' is not a finite number");
        refuses({flag, "inf"}, 2, "'inf' is not a finite number");
        refuses({flag, "1e39"}, 2, "'1e39' is not a finite number");
        refuses({flag, "0"}, 2, "0");
        refuses({flag, "-0.1"}, 2, "-0.1");
    }
}

TEST_F(bad_input, limits_of_waiting) {
    for (const char* flag : {"--hang-seconds", "--rank-seconds"}) {
        refuses({flag, "0"}, 2, "0 is outside the range from 0.001 to 1000000 seconds");
        refuses({flag, "-1"}, 2, "-1 is outside the range");
        refuses({flag, "1e9"}, 2, "is outside the range");
        refuses({flag, "soon"}, 2, "'soon' is not a finite number");
        refuses({flag, "nan"}, 2, "'nan' is not a finite number");
    }
}

TEST_F(bad_input, rules_list_what_there_is) {
    refuses({"--fitness", "best"}, 2, "pair-difference");
    refuses({"--optimizer", "lion"}, 2, "adam");
    refuses({"--determinism", "maybe"}, 2, "exact and fast");
    refuses({"--exclude", "layer9.weight"}, 2, "layer9.weight");
    refuses({"--hidden", "64,,32"}, 2, "''");
    refuses({"--hidden", "none,8"}, 2, "'none'");
}

TEST_F(bad_input, unknown_device_lists_what_there_is) {
    refuses({"--device", "voodoo"}, 2, "llvmpipe");
    refuses({"--device", "7"}, 2, "llvmpipe");
    refuses({"--device", ""}, 2, "--device");
}

TEST_F(bad_input, unknown_task_lists_what_there_is) {
    const Ran ran = run_command({"train", "tetris", "--out", (folder_ / "out").string()}, only(kLavapipe));
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("tetris"));
    EXPECT_THAT(ran.err, HasSubstr("cartpole"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(bad_input, unknown_flags_and_commands) {
    refuses({"--popluation", "8"}, 2, "--popluation");
    EXPECT_EQ(run_command({}).code, 2);
    EXPECT_EQ(run_command({"fly"}).code, 2);
    EXPECT_EQ(run_command({"eval"}).code, 2);
    EXPECT_THAT(run_command({"check", "--kernel", "nosuch"}, only(kLavapipe)).err, HasSubstr("perturbed_linear"));
}

// The folder cannot be made because a file has its name; root may write everywhere else.
TEST_F(bad_input, unwritable_out) {
    write_text(folder_ / "file", "kept");
    const Ran ran = run_command({"train", "cartpole", "--generations", "1", "--population", "8", "--json", "--out",
                                 (folder_ / "file").string()},
                                only(kLavapipe));
    EXPECT_NE(ran.code, 0);
    EXPECT_EQ(ran.out, "") << "told before training starts";
    EXPECT_THAT(ran.err, HasSubstr((folder_ / "file").string()));
    EXPECT_EQ(read_text(folder_ / "file"), "kept");
}

TEST_F(bad_input, policy_files) {
    const std::string huge_header("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);  // claims 2^63 - 1 bytes of header
    const std::map<std::string, std::string> files{{"empty", ""},
                                                   {"text", "hello, this is no policy at all"},
                                                   {"huge", huge_header},
                                                   {"short", std::string("\x40\0\0\0\0\0\0\0{", 9)}};
    for (const auto& [name, content] : files) {
        write_text(folder_ / name, content);
        const Ran ran = run_command({"eval", (folder_ / name).string(), "--json"}, only(kLavapipe));
        EXPECT_NE(ran.code, 0) << name;
        EXPECT_LT(ran.code, 3) << name << " must be refused, not crash";
        EXPECT_EQ(ran.out, "") << name;
        EXPECT_THAT(ran.err, HasSubstr((folder_ / name).string()));
        EXPECT_EQ(read_text(folder_ / name), content);
    }
    EXPECT_THAT(run_command({"eval", (folder_ / "missing").string()}, only(kLavapipe)).err, HasSubstr("missing"));
}

TEST_F(bad_input, no_driver_at_all_says_what_to_install) {
    for (const char* command : {"devices", "check", "train"}) {
        std::vector<std::string> arguments{command, "--json"};
        if (std::string(command) == "train")
            arguments.insert(arguments.begin() + 1, {"cartpole", "--out", (folder_ / "out").string()});
        const Ran ran = run_command(arguments, only("/nonexistent/icd.json"));
        EXPECT_EQ(ran.code, 1) << command << ": " << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr("mesa-vulkan-drivers"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

// A full disk must not look like success.
TEST_F(bad_input, unwritable_standard_output) {
    const std::string command = std::string("VK_ICD_FILENAMES=") + kLavapipe + " '" + YOLK_BINARY +
                                "' devices --json >/dev/full 2>'" + (folder_ / "err").string() + "'";
    EXPECT_NE(std::system(command.c_str()),
              0);  // NOLINT(concurrency-mt-unsafe,cert-env33-c): the shell's redirection is wanted
    EXPECT_THAT(read_text(folder_ / "err"), HasSubstr("Standard output could not be written"));
}

}  // namespace
}  // namespace yolk::cli
