// SPDX-License-Identifier: Apache-2.0
// A flag that has no effect on what was asked is refused by its name, before anything is done.
#include <gmock/gmock.h>

#include <sstream>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Refusal {
    const char* line;  ///< words between blanks
    const char* flag;  ///< named by the message
    const char* why;   ///< what it goes with or without, or that it is not known
};

constexpr const char* kUnknown = "not expected";

// No file named here exists, and no driver is there: what is refused is refused before it is looked for.
constexpr Refusal kRefusals[]{
    {"train cartpole --quiet --no-such", "--no-such", kUnknown},
    {"eval policy --population 8", "--population", kUnknown},
    {"replay log --twin --device 0", "--device", "goes without --twin"},
    {"replay log --twin --no-tuning", "--no-tuning", "goes without --twin"},
    {"replay log --seed 3", "--seed", kUnknown},
    {"devices --no-tuning", "--no-tuning", kUnknown},
    {"devices --quiet", "--quiet", kUnknown},

    {"check --kernel noise --population 8", "--population", "goes with --run"},
    {"check --generations 3", "--generations", "goes with --run"},
    {"check --sigma 1 --kernel noise", "--sigma", "goes with --run"},
    {"check --no-antithetic", "--no-antithetic", "goes with --run"},
    {"check --robust", "--robust", "goes with --run"},
    {"check --hidden 8", "--hidden", "goes with --run"},
    {"check --run cartpole --all", "--all", "goes without --run"},
    {"check --run cartpole --kernel noise", "--kernel", "goes without --run"},
    {"check --run cartpole --configurations 3", "--configurations", "goes without --run"},
    {"check --run cartpole --part 1/2", "--part", "goes without --run"},
    {"check --all --configurations 3", "--configurations", "goes without --all"},
    {"check --run cartpole --shape text", "--shape", "goes without --run"},
    {"check --devices all --device 0", "--device", "goes without --devices"},

    {"train cartpole --devices all --device 0", "--device", "goes without --devices"},
    {"train cartpole --processes 1", "--processes", "goes with --program"},
    {"train cartpole --lanes 1", "--lanes", "goes with --program"},
    {"eval policy --max-steps 9", "--max-steps", "goes with --program"},
    {"train cartpole --audit 1", "--audit", "goes with --devices"},
    {"eval policy --devices all --device 0", "--device", "goes without --devices"},

    {"inspect text --job last", "--job", "goes without shape"},
    {"inspect --kernel file --space file --job last", "--job", "goes without --kernel"},
    {"inspect text --space file", "--space", "goes with --kernel"},
    {"inspect --job last --shapes file", "--shapes", "goes without --job"},
    {"inspect text --all --configurations 3", "--configurations", "goes without --all"},
    {"inspect text --all --seed 3", "--seed", "goes with --configurations"},
    {"inspect text --no-tuning", "--no-tuning", kUnknown},

    {"bench rollout --shape elements=9", "--shape", kUnknown},
    {"bench kernel --shape elements=9 --problem foo", "--problem", "goes without --shape"},
    {"bench kernel --problem foo --all --configurations 3", "--configurations", "goes without --all"},
    {"bench kernel --all --seed 3", "--seed", "goes without --all"},
    {"bench tuner --surface file --candidates 300", "--candidates", "goes without --surface"},

    {"tune --shapes file --strategy eggroll --step nonsense", "--step", kUnknown},
    {"tune --shapes file --transfer /nonexistent", "--transfer", kUnknown},
    {"tune --job last --shapes file", "--shapes", "goes without --job"},
    {"tune --prior file", "--prior", kUnknown},
    {"tune --strategy greedy --algebra host", "--algebra", "goes with --strategy natural or bayes"},
    {"tune --no-tuning", "--no-tuning", "goes with --algebra device or auto"},
    {"tune device --algebra host --no-tuning", "--no-tuning", "goes with --algebra device or auto"},
    {"tune --budget 5 table list", "--budget", "goes after the subcommand"},
    {"tune --json surface file", "--json", "goes after the subcommand"},
    {"tune kernel file --space file --job last", "--job", kUnknown},
    {"tune kernel file --space file --no-tuning", "--no-tuning", kUnknown},
    {"tune surface file --step natural", "--step", "goes with --strategy eggroll or smoothed"},
    {"tune surface file --lr .1 --strategy bayes", "--lr", "goes with --strategy eggroll or smoothed"},
    {"tune surface file --strategy greedy --transfer file", "--transfer", "goes with --strategy natural"},
    {"tune surface file --prior file", "--prior", kUnknown},
    {"tune surface file --algebra device --strategy random", "--algebra", "goes with --strategy natural or bayes"},
    {"tune surface file --device 0", "--device", "goes with --algebra device or auto"},
    {"tune surface file --algebra host --no-tuning", "--no-tuning", "goes with --algebra device or auto"},
    {"tune surface file --again", "--again", kUnknown},
    {"tune table list --device 0", "--device", kUnknown},
    {"tune table list --budget 3", "--budget", kUnknown},
    {"tune table show kernel my.comp --device 0", "--device", "goes with a shape of Yolk's kernels"},
    {"tune table export file --device 0", "--device", kUnknown},
    {"tune table forget all --configuration a=1", "--configuration", kUnknown},
    {"tune report page --strategy random,greedy --step natural", "--step", "goes with --strategy eggroll or smoothed"},
    {"tune report page --device 0", "--device", kUnknown},

    {"system xor evaluate --json --predictions", "--predictions", "goes without --json"},
    {"system xor optimize --audit .5", "--audit", "goes with --devices"},
    {"system xor evaluate --devices all", "--devices", kUnknown},
    {"system xor optimize --dry-run --out file", "--out", "goes without --dry-run"},
    {"system xor optimize --dry-run --log file", "--log", "goes without --dry-run"},
    {"system xor ablate --generations 3", "--generations", "goes with --how freeze"},
    {"system xor ablate --how perturb --seeds 3", "--seeds", "goes with --how freeze"},
    {"system xor ablate --noise .1", "--noise", "goes with --how perturb"},
    {"system xor ablate --devices all", "--devices", "goes with --how freeze or perturb"},
    {"system xor ablate --how freeze --draws 8", "--draws", "goes with --how zero, reset or perturb"},
    {"system xor graph --seed 1", "--seed", kUnknown},
};

std::vector<std::string> words_of(const char* line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

class no_effect : public InFolder {
   protected:
    [[nodiscard]] Ran run(const char* line) const {
        std::map<std::string, std::string> variables = only("/nonexistent/icd.json");
        variables["YOLK_TABLE"] = (folder_ / "table.sqlite").string();
        return run_command(words_of(line), variables);
    }
};

TEST_F(no_effect, flags_are_refused_by_name) {
    for (const Refusal& refusal : kRefusals) {
        const Ran ran = run(refusal.line);
        EXPECT_EQ(ran.code, 2) << refusal.line << "\n" << ran.err;
        EXPECT_EQ(ran.out, "") << refusal.line;
        EXPECT_THAT(ran.err, AllOf(StartsWith("yolk: error: "), HasSubstr(refusal.flag), HasSubstr(refusal.why)))
            << refusal.line;
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "a table was begun";
}

// Where each of them does have an effect, the next complaint is another one: here that no driver is there.
TEST_F(no_effect, flags_are_taken_where_they_have_one) {
    for (const char* line :
         {"check --run cartpole --population 8 --seed 3 --no-antithetic --fitness centred-rank",
          "check --kernel noise --seed 3", "bench kernel --kernel optimizer --shape elements=9 --all",
          "tune --algebra auto --no-tuning --device 0", "tune device --strategy natural --job cartpole",
          "system xor ablate --how freeze --generations 2 --seed 4",
          "tune table explain matmul m=8 n=8 k=8 --device 0"}) {
        const Ran ran = run(line);
        EXPECT_EQ(ran.code, 1) << line << "\n" << ran.err;
        EXPECT_THAT(ran.err, HasSubstr("mesa-vulkan-drivers")) << line;
    }
}

TEST_F(no_effect, old_flags_of_tune_name_the_new_command) {
    const std::pair<const char*, const char*> kMoved[]{
        {"tune --surface file --strategy random --repeats 3 --transfer a b", "yolk tune surface FILE"},
        {"tune --kernel my.comp --space space.json", "yolk tune kernel FILE --space FILE"},
        {"tune --list", "yolk tune table list"},
        {"tune --list --json", "yolk tune table list"},
        {"tune --show x", "yolk tune table show SHAPE"},
        {"tune --explain x --json", "yolk tune table explain SHAPE"},
        {"tune --export file", "yolk tune table export FILE"},
        {"tune --import file", "yolk tune table import FILE"},
        {"tune --pin x --configuration a=1", "yolk tune table pin SHAPE"},
        {"tune --forget all", "yolk tune table forget WHAT"},
        {"tune --job cartpole --report page", "yolk tune report FILE"},
    };
    for (const auto& [line, instead] : kMoved) {
        const Ran ran = run(line);
        EXPECT_EQ(ran.code, 2) << line;
        EXPECT_EQ(ran.out, "") << line;
        EXPECT_THAT(ran.err, AllOf(HasSubstr("is now a command of its own"), HasSubstr(instead))) << line;
    }
}

// In the order in which they were given, with the command that has them.
TEST_F(no_effect, unknown_flags_say_whose_they_are) {
    const Ran several = run("tune --shapes F --strategy eggroll --step nonsense --lr 77 --transfer /nonexistent");
    EXPECT_THAT(several.err, HasSubstr("not expected: --step nonsense --lr 77 --transfer /nonexistent; --step is a "
                                       "flag of yolk tune surface, yolk tune report (see yolk tune --help)"));
    EXPECT_THAT(run("tune kernel f --space f --job last").err,
                HasSubstr("--job is a flag of yolk tune, yolk tune device"));
    EXPECT_THAT(run("train cartpole --no-such").err, HasSubstr("not expected: --no-such (see yolk train --help)"));
}

// A positional argument that is called like a command is not taken for one.
TEST_F(no_effect, arguments_may_be_called_like_commands) {
    const Ran forgot = run("tune table forget kernel");
    EXPECT_EQ(forgot.code, 0) << forgot.err;
    EXPECT_THAT(forgot.out, HasSubstr("0 shapes forgotten"));
    EXPECT_THAT(run("tune surface train").err, HasSubstr("'train'"));
}

TEST_F(no_effect, commands_without_a_subcommand_say_what_there_is) {
    EXPECT_THAT(run("tune table").err, HasSubstr("list, show, explain, export, import, pin or forget"));
    for (const char* line : {"fly", "tune fly", "tune table fly", "system fly", "system xor fly"})
        EXPECT_THAT(run(line).err, HasSubstr("not expected: fly")) << line;
    for (const char* line : {"", "system", "system xor"}) EXPECT_EQ(run(line).code, 2) << line;
}

}  // namespace
}  // namespace yolk::cli
