// SPDX-License-Identifier: Apache-2.0
// Files of a user's own where one of ours is wanted: refused by name, and left as they are.
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kEchoScript = "#!/bin/sh\necho mine\n";

class places : public InFolder {
   protected:
    void SetUp() override {
        InFolder::SetUp();
        write_text(script(), kEchoScript);
        write_text(folder_ / "shapes", "reduce outer=256 columns=64\n");
    }
    [[nodiscard]] std::filesystem::path script() const { return folder_ / "script.sh"; }
    /// `variable` names the script; standard error must name it, too.
    void refuses(const std::vector<std::string>& arguments, const std::string& variable) const {
        auto variables = only(kLavapipe);
        if (!variable.empty()) variables[variable] = script().string();
        const Ran ran = run_command(arguments, variables);
        EXPECT_EQ(ran.code, 2) << ran.err;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr(script().string()));
        EXPECT_THAT(ran.err, HasSubstr(variable));  // empty: in any
        EXPECT_EQ(read_text(script()), kEchoScript);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
    }
    [[nodiscard]] std::vector<std::string> train() const {
        return {"train", "cartpole", "--population", "64", "--generations", "1", "--json", "--quiet", "--out", ""};
    }
};

TEST_F(places, of_the_table_must_be_a_table) {
    for (const auto& arguments : {train(),
                                  std::vector<std::string>{"tune", "table", "list"},
                                  {"tune", "--shapes", (folder_ / "shapes").string(), "--budget", "2", "--json"}})
        refuses(arguments, "YOLK_TABLE");
}

TEST_F(places, of_the_caches_must_be_a_folder) {
    refuses(train(), "YOLK_CACHE");
    refuses({"tune", "table", "list"}, "YOLK_CACHE");
}

TEST_F(places, of_imports_must_hold_them) { refuses({"tune", "table", "import", script().string()}, ""); }

TEST_F(places, of_recordings_are_not_written_over) {
    refuses({"tune", "--shapes", (folder_ / "shapes").string(), "--budget", "2", "--record", script().string(),
             "--json", "--quiet"},
            "");
}

TEST_F(places, of_the_last_run_are_not_written_over) {
    auto variables = only(kLavapipe);
    variables["YOLK_TABLE"] = (folder_ / "table").string();
    write_text(folder_ / "table.last_run.json", kEchoScript);
    const Ran ran = run_command(train(), variables);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("table.last_run.json"));
    EXPECT_EQ(read_text(folder_ / "table.last_run.json"), kEchoScript);
    std::filesystem::remove(folder_ / "table.last_run.json");
    EXPECT_EQ(run_command(train(), variables).err, "");
    EXPECT_EQ(run_command(train(), variables).err, "");
    EXPECT_THAT(read_text(folder_ / "table.last_run.json"), HasSubstr("yolk_last_run"));
}

}  // namespace
}  // namespace yolk::cli
