// SPDX-License-Identifier: Apache-2.0
// Names that come out of files: whatever reads them, none steers the terminal or begins a line of its own.
#include <gtest/gtest.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

/// As JSON writes it, and as a message shows it.
constexpr const char* kWritten = R"(n\nyolk: error: forged\u001b[31m)";
constexpr const char* kShown = R"(n\nyolk: error: forged\x1b[31m)";

struct NamesIn {
    std::string file;
    std::string text;
    std::vector<std::string> command;  ///< "@" stands for the file
    bool is_shown = true;
};

class names_in_files : public InFolder {
   protected:
    [[nodiscard]] Ran ran(const NamesIn& tried) const {
        write_text(folder_ / tried.file, tried.text);
        std::vector<std::string> command = tried.command;
        for (std::string& word : command)
            if (word == "@") word = (folder_ / tried.file).string();
        return run_command(command, only(kLavapipe));
    }
};

TEST_F(names_in_files, begin_no_line_and_steer_nothing) {
    const std::string n = kWritten;
    const std::string own = (std::filesystem::path(YOLK_EXAMPLES_FOLDER) / "09_own_kernel/my.comp").string();
    const std::string picture = (folder_ / "picture.svg").string();
    const std::string run = R"({"event": "begun", "task": ")" + n +
                            R"(", "seed": 1, "population": 64})"
                            "\n";
    const std::vector<NamesIn> all{
        {"twice.jsonl",
         R"({"event": 1, ")" + n + R"(": 1, ")" + n + "\": 2}\n",
         {"plot", "@", "--out", picture},
         false},
        {"run.jsonl", run, {"plot", "@", "--out", picture}, false},
        {"flat.json", R"([{")" + n + R"(": 1, "time": 2, "speed": 1}, {"time": 2}])", {"tune", "surface", "@"}},
        {"twice.json", R"([{")" + n + R"(": 1, ")" + n + R"(": 2}])", {"tune", "surface", "@"}},
        {"space.json", R"({"parameters": {")" + n + R"(": [1, 2]}})", {"tune", "kernel", own, "--space", "@"}},
        {"key.json", R"({")" + n + R"(": 1})", {"tune", "kernel", own, "--space", "@"}},
        {"table.json", R"({"format": ")" + n + R"("})", {"tune", "table", "import", "@"}, false},
    };
    for (const NamesIn& each : all) {
        SCOPED_TRACE(each.file);
        const Ran out = ran(each);
        const std::string text = out.out + out.err;
        EXPECT_EQ(text.find_first_of("\x1b\x9b"), std::string::npos) << text;
        EXPECT_EQ(text.find("\nyolk: error: forged"), std::string::npos) << text;
        EXPECT_TRUE(!each.is_shown || text.find(kShown) != std::string::npos) << text;
    }
}

}  // namespace
}  // namespace yolk::cli
