// SPDX-License-Identifier: Apache-2.0
// What a user's shader may include, and what it may not.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "yolk/internal/shaders/kernel_compiler.hpp"

namespace yolk {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "secret_of_another_folder";

/// folder/own is the shader's; folder/other is not.
class kernel_source : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("yolk-includes-" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_ / "own" / "deep");
        fs::create_directories(folder_ / "own-too");
        fs::create_directories(folder_ / "other");
        write("other/secret.h", std::string("#error ") + kSecret + "\n");
        write("own-too/secret.h", std::string("#error ") + kSecret + "\n");
        write("own/beside.h", "#define VALUE 1.0\n");
        write("own/deep/inner.h", "#include \"../beside.h\"\n");
    }
    void TearDown() override { fs::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

    /// What comes of a shader whose second line is this: "compiled" or the error.
    [[nodiscard]] std::string told(const std::string& line, const std::vector<fs::path>& folders = {}) const {
        write("own/my.comp", "#version 460\n" + line +
                                 "\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B { float b[]; };\n"
                                 "#ifndef VALUE\n#define VALUE 0.0\n#endif\nvoid main() { b[0] = VALUE; }\n");
        const auto source = load_kernel_source(folder_ / "own" / "my.comp", folders);
        if (!source) return source.error().message;
        const auto spirv = compile_kernel(*source);
        return spirv ? "compiled" : spirv.error().message;
    }
    fs::path folder_;
};

TEST_F(kernel_source, includes_lie_in_its_folder_and_below) {
    EXPECT_EQ(told("#include \"beside.h\""), "compiled");
    EXPECT_EQ(told("#include \"deep/inner.h\""), "compiled");
    EXPECT_EQ(told("#include \"deep/../beside.h\""), "compiled");
    EXPECT_EQ(told("#include \"" + (folder_ / "own" / "beside.h").string() + "\""), "compiled");
    fs::create_symlink("beside.h", folder_ / "own" / "link.h");
    EXPECT_EQ(told("#include \"link.h\""), "compiled");
    EXPECT_EQ(told("#include \"yolk/exact/exact_math.h\""), "compiled");
}

TEST_F(kernel_source, what_lies_elsewhere_is_not_read) {
    fs::create_symlink(folder_ / "other" / "secret.h", folder_ / "own" / "link.h");
    fs::create_directory_symlink(folder_ / "other", folder_ / "own" / "linked");
    for (const std::string& name :
         {std::string("/etc/passwd"), std::string("../other/secret.h"), (folder_ / "other" / "secret.h").string(),
          std::string("deep/../../other/secret.h"), std::string("link.h"), std::string("linked/secret.h"),
          std::string("../own-too/secret.h")}) {
        EXPECT_THAT(told("#include \"" + name + "\""),
                    AllOf(HasSubstr("my.comp:2:"), HasSubstr("is outside of '"), HasSubstr("--include"),
                          Not(HasSubstr(kSecret)), Not(HasSubstr("root:"))));
    }
    write("own/deep/out.h", "\n#include \"../../other/secret.h\"\n");
    EXPECT_THAT(told("#include \"deep/out.h\""), AllOf(HasSubstr("deep/out.h:2:"), HasSubstr("is outside of '")));
    // Nobody asks for it.
    EXPECT_EQ(told("#if 0\n#include \"/etc/passwd\"\n#endif"), "compiled");
    EXPECT_THAT(told("#include \"yolk/internal/abi/prelude.h\""), HasSubstr("was not found beside the shader"));
}

TEST_F(kernel_source, folders_can_be_added) {
    EXPECT_THAT(told("#include \"secret.h\"", {folder_ / "other"}), HasSubstr(kSecret));
    EXPECT_THAT(told("#include \"../other/secret.h\"", {folder_ / "other"}), HasSubstr(kSecret));
    EXPECT_THAT(told("#include \"../own-too/secret.h\"", {folder_ / "other"}), HasSubstr("is outside of '"));
    EXPECT_THAT(told("#include \"beside.h\"", {folder_ / "absent"}), HasSubstr("There is no folder"));
    EXPECT_THAT(told("#include \"beside.h\"", {folder_ / "own" / "beside.h"}), HasSubstr("There is no folder"));
}

TEST_F(kernel_source, what_is_no_regular_file_is_named) {
    ASSERT_EQ(::mkfifo((folder_ / "own" / "pipe.h").c_str(), 0600), 0);
    EXPECT_THAT(told("#include \"pipe.h\""), AllOf(HasSubstr("my.comp:2:"), HasSubstr("a named pipe")));
    EXPECT_THAT(told("#include \"deep\""), AllOf(HasSubstr("my.comp:2:"), HasSubstr("a folder")));
    EXPECT_THAT(told("#include \"/dev/zero\""), AllOf(HasSubstr("my.comp:2:"), HasSubstr("is outside of '")));
    EXPECT_THAT(told("#include \"/dev/zero\"", {"/dev"}), AllOf(HasSubstr("my.comp:2:"), HasSubstr("device")));
    write("own/zero.h", std::string("a\0b", 3));
    EXPECT_THAT(told("#include \"zero.h\""), AllOf(HasSubstr("my.comp:2:"), HasSubstr("zero byte")));
}

TEST_F(kernel_source, an_include_of_itself_has_a_limit) {
    write("own/self.h", "\n#include \"self.h\"\n");
    EXPECT_THAT(told("#include \"self.h\""), AllOf(HasSubstr("self.h:2:"), HasSubstr("does it include itself?"),
                                                   HasSubstr("\"self.h\" is included 32 deep")));
    EXPECT_THAT(told("#include \"my.comp\""), HasSubstr("is included 32 deep"));
    write("own/a.h", "#include \"b.h\"\n#include \"b.h\"\n");
    write("own/b.h", "#include \"a.h\"\n#include \"a.h\"\n");
    EXPECT_THAT(told("#include \"a.h\""), HasSubstr("is included 32 deep"));
    // Two to the power of thirty without any that includes itself.
    for (int i = 0; i < 30; ++i) {
        const std::string next = i == 29 ? "beside.h" : "n" + std::to_string(i + 1) + ".h";
        write("own/n" + std::to_string(i) + ".h", "#include \"" + next + "\"\n#include \"" + next + "\"\n");
    }
    EXPECT_THAT(told("#include \"n0.h\""), HasSubstr("is one include too many: 4096 are the limit"));
}

}  // namespace
}  // namespace yolk
