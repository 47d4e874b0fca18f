// SPDX-License-Identifier: Apache-2.0
// Embeddings of texts, as a user makes them.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

class embed_command : public InFolder {
   protected:
    [[nodiscard]] static std::string model() { return std::string(YOLK_MODELS_FOLDER) + "/bert"; }
    [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] Ran run(std::vector<std::string> arguments, const char* driver = kLavapipe) const {
        arguments.insert(arguments.begin(), "embed");
        return run_command(arguments, only(driver));
    }
};

TEST_F(embed_command, a_line_is_a_text) {
    write_text(at("texts"), "the cat sat\r\n\na mat");
    const Json stored = Json::parse(read_text(std::string(YOLK_MODELS_FOLDER) + "/embeddings.json")).at("bert");
    const Ran json = run({model(), "--input", at("texts"), "--json"});
    ASSERT_EQ(json.code, 0) << json.err;
    ASSERT_EQ(json.lines().size(), 3U);
    const Json empty = json.lines()[1].at("embedding");  // the second of the stored texts is empty, too
    ASSERT_EQ(empty.size(), stored[1].size());
    for (std::size_t i = 0; i < empty.size(); ++i)
        EXPECT_NEAR(empty[i].get<double>(), stored[1][i].get<double>(), 1e-5);  // encoder_test.cpp derives it
    const Ran plain = run({model(), "--input", at("texts")});
    EXPECT_EQ(std::ranges::count(plain.out, '\n'), 3);
    EXPECT_EQ(std::ranges::count(plain.out, ' '), 3 * 23);
}

TEST_F(embed_command, exact_mode_has_one_file_on_both_drivers) {
    write_text(at("texts"), "the cat sat on the mat\nevolution strategies train models\n");
    std::vector<std::string> files;
    for (const char* const driver : {kLavapipe, kSwiftShader}) {
        const Ran ran =
            run({model(), "--input", at("texts"), "--out", at("made.npy"), "--determinism", "exact"}, driver);
        ASSERT_EQ(ran.code, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("2 embeddings of 24 numbers"));
        files.push_back(read_text(at("made.npy")));
    }
    EXPECT_EQ(files[0], files[1]);
    ASSERT_EQ(files[0].size(), 128U + 2 * 24 * 4);  // NumPy aligns the data to 64 bytes
    EXPECT_EQ(files[0].substr(1, 5), "NUMPY");
    EXPECT_THAT(files[0], HasSubstr("'descr': '<f4', 'fortran_order': False, 'shape': (2, 24), }"));
    double length = 0.0;
    for (std::size_t i = 0; i < 24; ++i) {
        float value = 0.0F;
        std::memcpy(&value, files[0].data() + 128 + 4 * i, 4);
        length += double{value} * value;
    }
    EXPECT_NEAR(length, 1.0, 1e-6);
}

TEST_F(embed_command, texts_come_from_standard_input) {
    const Ran ran = run_shell(
        "printf 'the cat\\na mat\\n' | \"$YOLK\" embed '" + model() + "' --out '" + at("made.npy") + "' --json",
        only(kLavapipe));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.last().at("texts"), 2);
    EXPECT_EQ(ran.last().at("width"), 24);
    const Ran none = run_shell("\"$YOLK\" embed '" + model() + "' </dev/null", only(kLavapipe));
    EXPECT_EQ(none.code, 0) << none.err;
    EXPECT_EQ(none.out, "");
}

TEST_F(embed_command, mistakes_are_named) {
    write_text(at("texts"), "good\nbad \xFF\n");
    EXPECT_THAT(run({model(), "--input", at("texts")}).err, HasSubstr("Line 2 of '" + at("texts") + "' is not UTF-8"));
    write_text(at("texts"), "good\n");
    EXPECT_THAT(run({at("none"), "--input", at("texts")}).err, HasSubstr("none' is no folder"));
    EXPECT_THAT(run({model(), "--input", at("none")}).err, HasSubstr("none"));
    EXPECT_THAT(run({model(), "--input", at("texts"), "--batch", "0"}).err, HasSubstr("1 to 1,024"));
    const Ran unwritable = run({model(), "--input", at("texts"), "--out", at("no/made.npy")});
    EXPECT_EQ(unwritable.code, 1);
    EXPECT_THAT(unwritable.err, HasSubstr("made.npy"));
}

}  // namespace
}  // namespace yolk::cli
