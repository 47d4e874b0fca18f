// SPDX-License-Identifier: Apache-2.0
// Texts in the file of a tuned system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fixtures.hpp"
#include "text_systems.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class text_files : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-text-state-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path path() const { return folder_ / "s.safetensors"; }

    /// A text "prompt" of at most `most_bytes`, and a vector "v".
    static System system_of(const std::string& text, std::uint64_t most_bytes = 64) {
        System system("s", [](const Inputs& in) { return in["x"]; });
        EXPECT_OK(system.parameters().add(
            {.name = "prompt", .shape = {0}, .optimize = true, .is_text = true, .most_bytes = most_bytes}, text));
        EXPECT_OK(system.parameters().add({.name = "v", .shape = {2}}, Tensor::vector({1, 2})));
        return system;
    }
    void store(std::string groups, std::vector<std::pair<std::string, std::string>> texts,
               std::vector<StoredTensor> tensors) const {
        StateFile file{.fields = {{"groups", std::move(groups)}}, .tensors = std::move(tensors)};
        for (auto& [name, text] : texts) file.fields[name] = std::move(text);
        ASSERT_OK(write_state(path(), kSystemKind, std::move(file)));
    }
    std::filesystem::path folder_;
};

TEST_F(text_files, round_trip) {
    const std::string said = "Zeile 1\n\"Zeile\" 2\t\xe2\x82\xac \\ {}";
    for (const std::string& text : {said, std::string()}) {
        System system = system_of("first");
        ASSERT_OK(system.parameters().set_text("prompt", text));
        ASSERT_OK(system.parameters().set("v", Tensor::vector({3, 4})));
        ASSERT_OK(save_state(system, path()));
        System fresh = system_of("first");
        ASSERT_OK(load_state(fresh, path()));
        EXPECT_EQ(fresh.parameters().find("prompt")->text, text);
        EXPECT_EQ(fresh.parameters().find("prompt")->initial_text, "first");
        EXPECT_EQ(fresh.parameters().find("v")->values, Tensor::vector({3, 4}));
    }
}

// A fresh program has the hyperfunctions; nothing has to be called before the file is there.
TEST_F(text_files, a_loaded_system_answers) {
    const auto prompt = prompt_of("Answer");
    const auto program = [=](const Inputs& in) { return prompt(in["q"]); };
    System tuned("asks", program);
    ASSERT_OK(tuned.call({{"q", "why?"}}));
    ASSERT_OK(tuned.parameters().set_text("prompt", "Answer in one word"));
    ASSERT_OK(save_state(tuned, path()));
    System fresh("asks", program);
    ASSERT_OK(fresh.add(prompt));
    ASSERT_OK(load_state(fresh, path()));
    EXPECT_EQ(fresh.function_runs(), 0U);
    EXPECT_EQ(fresh.call({{"q", "why?"}}).value(), Value("Answer in one word: why?"));
}

TEST_F(text_files, says_what_no_longer_fits_and_changes_nothing) {
    System old = system_of("a text of 20 letters");
    ASSERT_OK(save_state(old, path()));
    System shorter = system_of("short", 19);
    ASSERT_OK(shorter.parameters().set("v", Tensor::vector({7, 7})));
    EXPECT_THAT(
        refusal(load_state(shorter, path())),
        AllOf(HasSubstr("'prompt' had a text of 20 bytes and takes at most 19"), HasSubstr("Nothing was changed")));
    EXPECT_EQ(shorter.parameters().find("prompt")->text, "short");
    EXPECT_EQ(shorter.parameters().find("v")->values, Tensor::vector({7, 7}));

    System swapped("s", [](const Inputs& in) { return in["x"]; });
    ASSERT_OK(swapped.parameters().add({.name = "prompt", .shape = {2}}, Tensor::vector({1, 2})));
    ASSERT_OK(swapped.parameters().add({.name = "v", .shape = {0}, .is_text = true}, "now a text"));
    ASSERT_OK(swapped.parameters().add({.name = "new", .shape = {0}, .is_text = true}, ""));
    EXPECT_THAT(refusal(load_state(swapped, path())),
                AllOf(HasSubstr("'prompt' was a text and has numbers"), HasSubstr("'v' had numbers and is a text"),
                      HasSubstr("'new' is not in the file")));
    EXPECT_EQ(swapped.parameters().find("v")->text, "now a text");
}

TEST_F(text_files, refuses_hostile_files) {
    const StoredTensor v{.name = "v", .shape = {2}, .values = {1, 2}};
    const std::string one = R"([{"name":"prompt","fields":[],"kind":"text"},{"name":"v","fields":[]}])";
    const auto load = [&] {
        System system = system_of("abc");
        std::string why = refusal(load_state(system, path()));
        const bool went = why == "it went through";
        EXPECT_TRUE(went || system.parameters().find("prompt")->text == "abc") << why;
        return why;
    };
    store(one, {{"text of prompt", "fine"}}, {v});
    EXPECT_EQ(load(), "it went through");
    store(one, {}, {v});
    EXPECT_THAT(load(), HasSubstr("no text of 'prompt'"));
    store(one, {{"text of prompt", std::string(65, 'x')}}, {v});
    EXPECT_THAT(load(), HasSubstr("65 bytes and takes at most 64"));
    store(one, {{"text of prompt", "both"}}, {v, {.name = "prompt", .shape = {1}, .values = {1}}});
    EXPECT_THAT(load(), HasSubstr("a text and values of 'prompt'"));
    store(R"([{"name":"prompt","fields":[],"kind":"song"},{"name":"v","fields":[]}])", {}, {v});
    EXPECT_THAT(load(), HasSubstr("unknown kind"));
    store(R"([{"name":"prompt","fields":[],"kind":7},{"name":"v","fields":[]}])", {}, {v});
    EXPECT_THAT(load(), HasSubstr("'kind'"));

    // Bytes that are not UTF-8 do not even parse.
    store(one, {{"text of prompt", "a plain text"}}, {v});
    ASSERT_OK_AND_ASSIGN(std::vector<std::byte> bytes, read_file(path(), 1U << 20U));
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    bytes[all.find("a plain text")] = std::byte{0xff};
    ASSERT_OK(write_file_atomically(path(), bytes));
    EXPECT_NE(load(), "it went through");
}

TEST_F(text_files, texts_beyond_a_header_are_refused) {
    System system = system_of("abc", 2 * kMaxSafetensorsHeader);
    ASSERT_OK(system.parameters().set_text("prompt", std::string(kMaxSafetensorsHeader, 'x')));
    EXPECT_THAT(refusal(save_state(system, path())),
                AllOf(HasSubstr("header"), HasSubstr(std::to_string(kMaxSafetensorsHeader))));
}

}  // namespace
}  // namespace yolk::hyper
