// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/table_operations.hpp"

#include <gmock/gmock.h>

#include "table_folder.hpp"
#include "yolk/internal/autotune/algebra_choice.hpp"
#include "yolk/internal/autotune/tuning_jobs.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

using table_operations = TableFolder;

TuningKey own_key(const std::string& name) {
    TuningKey key = some_key();
    key.family = "kernel";
    key.shape = {.variant = name, .extents = {256}};
    return key;
}

TEST_F(table_operations, choices_are_carried_and_forgotten) {
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    ASSERT_OK(file.put(some_choice(some_key(512), 8, 1.0), std::nullopt));
    ASSERT_OK(file.put(some_choice(some_key(1024), 8, 1.0), std::nullopt));
    const std::filesystem::path exported = folder_ / "choices.json";
    ASSERT_OK_AND_ASSIGN(const std::size_t written, export_table(file, exported));
    EXPECT_EQ(written, 2U);

    ASSERT_OK_AND_ASSIGN(const std::size_t near, forget_shapes(file, "reduce: 1024"));
    EXPECT_EQ(near, 1U);
    ASSERT_OK_AND_ASSIGN(const std::size_t none, forget_shapes(file, "matmul"));
    EXPECT_EQ(none, 0U);
    ASSERT_OK_AND_ASSIGN(const std::size_t all, forget_shapes(file, "all"));
    EXPECT_EQ(all, 1U);
    ASSERT_OK_AND_ASSIGN(const ImportOutcome imported, import_table(file, exported));
    EXPECT_EQ(imported.choices, 2U);
    EXPECT_EQ(imported.taken, 2U);
    EXPECT_EQ(imported.left_out, 0U);
    EXPECT_FALSE(import_table(file, table()));
}

TEST_F(table_operations, content_is_that_of_one_key) {
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(table()));
    for (const TuningKey& key : {own_key("a.comp 1"), own_key("b.comp 2")}) {
        ASSERT_OK(file.add(key, {.configuration = {{"x", 8}}, .milliseconds = 1.5}));
        ASSERT_OK(file.quarantine({key, {{"x", 4}}, "wrong in " + key.shape.variant}));
    }
    ASSERT_OK_AND_ASSIGN(const KeyContent content, content_of(file, own_key("b.comp 2")));
    EXPECT_THAT(content.samples, SizeIs(1));
    ASSERT_THAT(content.quarantined, SizeIs(1));
    EXPECT_EQ(content.quarantined[0].reason, "wrong in b.comp 2");
    ASSERT_OK_AND_ASSIGN(const std::vector<KeyContent> some, user_kernels_with(file, "kernel a.comp"));
    ASSERT_THAT(some, SizeIs(1));
    EXPECT_EQ(some[0].key, own_key("a.comp 1"));
    ASSERT_OK_AND_ASSIGN(const std::vector<KeyContent> both, user_kernels_with(file, "kernel"));
    EXPECT_THAT(both, SizeIs(2));
    const auto none = user_kernels_with(file, "kernel c.comp");
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("'kernel c.comp'"));
}

TEST_F(table_operations, words_are_told_apart) {
    for (const char* own : {"kernel", "kernel my.comp"}) EXPECT_TRUE(is_user_kernel(own)) << own;
    for (const char* ours : {"", "kernels", "matmul m=8", "my kernel"}) EXPECT_FALSE(is_user_kernel(ours)) << ours;
    EXPECT_EQ(parse_algebra_place("device").value(), AlgebraPlace::Device);
    EXPECT_FALSE(parse_algebra_place("Device"));
    EXPECT_TRUE(has_algebra("bayes"));
    EXPECT_FALSE(has_algebra("greedy"));
}

class shape_questions : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(shape_questions);

TEST_P(shape_questions, a_pinned_choice_answers) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("yolk-questions-" + std::to_string(::getpid()));
    {
        ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(folder / "table.sqlite"));
        ASSERT_OK_AND_ASSIGN(const ShapeQuestion question, shape_question(device(), "optimizer elements=450"));
        const auto answering = [&]() -> std::string {
            const auto sources = explain(question, file);
            for (const SourceAnswer& source : sources.value()) {
                if (source.answers) return source.source;
            }
            return "";
        };
        EXPECT_EQ(answering(), "heuristic");
        EXPECT_FALSE(pin_choice(file, question, std::nullopt)) << "nothing is tuned";
        EXPECT_FALSE(pin_choice(file, question, StoredConfiguration{{"workgroup_size", 3}})) << "not in the space";
        EXPECT_FALSE(pin_choice(file, question, StoredConfiguration{{"tile", 4}})) << "not a knob";
        ASSERT_OK_AND_ASSIGN(const TuningChoice pinned,
                             pin_choice(file, question, StoredConfiguration{{"workgroup_size", 4}}));
        EXPECT_TRUE(pinned.pinned);
        ASSERT_OK(forget_shapes(file, "all"));
        ASSERT_OK(file.put({.key = question.key, .configuration = pinned.configuration}, std::nullopt));
        EXPECT_EQ(answering(), "exact");
        ASSERT_OK_AND_ASSIGN(const TuningChoice taken, pin_choice(file, question, std::nullopt));
        EXPECT_EQ(taken.configuration, pinned.configuration) << "what plans take is what is pinned";
        EXPECT_TRUE(taken.pinned);
        EXPECT_EQ(answering(), "exact");
    }
    std::filesystem::remove_all(folder);
    EXPECT_FALSE(shape_question(device(), "kernel my.comp")) << "no plan asks for it";
    EXPECT_FALSE(shape_question(device(), "chess n=3"));
}

TEST_P(shape_questions, jobs_have_problems) {
    ASSERT_OK_AND_ASSIGN(const WantedProblems named, wanted_problems({}));
    EXPECT_GT(named.problems.size(), 5U);
    ASSERT_OK_AND_ASSIGN(const WantedProblems lines,
                         wanted_problems({.lines = {"reduce outer=8 columns=4", "matmul m=8 n=8 k=8"}}));
    EXPECT_THAT(lines.problems, SizeIs(2));
    EXPECT_FALSE(wanted_problems({.name = "chess"}));
    EXPECT_FALSE(wanted_problems({.lines = {"reduce outer=x"}}));
    EXPECT_FALSE(wanted_problems({.file = "/nonexistent/shapes"}));
}

}  // namespace
}  // namespace yolk::autotune
