// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/state_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/state_file.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;

class state_file : public ::testing::Test {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-state-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path path() const { return folder_ / "s.safetensors"; }

    static ParameterSpec matrix(std::string name, std::uint64_t out = 2, std::uint64_t in = 3) {
        return {.name = std::move(name), .shape = {out, in}, .noise_rank = 2, .optimize = true};
    }
    static ParameterSpec knobs(double upper = 1.0, FieldKind kind = FieldKind::Integer,
                               std::vector<std::string> choices = {"curt", "long"}) {
        const double last = static_cast<double>(choices.size()) - 1.0;
        return {.name = "knobs",
                .shape = {3},
                .fields = {{.name = "heat", .initial = 0.5, .lower = 0.0, .upper = upper},
                           {.name = "tries", .kind = kind, .initial = 3, .lower = 1, .upper = 9},
                           {.name = "style", .kind = FieldKind::Choice, .upper = last, .choices = std::move(choices)}}};
    }
    /// A system whose parameters are these, the matrices counted up from 1.
    static System system_of(std::vector<ParameterSpec> specs) {
        System system("s", [](const Inputs& in) { return in["x"]; });
        for (ParameterSpec& spec : specs) {
            std::vector<float> values(*spec.shape.element_count());
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
            if (!spec.fields.empty()) values = {0.5F, 3.0F, 1.0F};
            EXPECT_OK(system.parameters().add(spec, *Tensor::create(spec.shape, values)));
        }
        return system;
    }
    [[nodiscard]] Result<StateInfo> load_into(System& system) const { return load_state(system, path()); }
    std::filesystem::path folder_;
};

TEST_F(state_file, round_trip) {
    System system = system_of({matrix("w"), knobs(), {.name = "b", .shape = {2}}});
    ASSERT_OK(system.parameters().set("w", *Tensor::create({2, 3}, {1, -2, 1e-30F, 4, 5.5F, -0.0F})));
    ASSERT_OK(system.parameters().set("knobs", Tensor::vector({0.125F, 7, 0})));
    ASSERT_OK(
        save_state(system, path(), {.scores = {{"reward", -0.25}, {"held_out", 3}}, .seed = 18446744073709551615U}));
    System fresh = system_of({matrix("w"), knobs(), {.name = "b", .shape = {2}}});
    ASSERT_OK_AND_ASSIGN(const StateInfo info, load_into(fresh));
    EXPECT_EQ(info.system, "s");
    EXPECT_EQ(info.scores, (std::map<std::string, double>{{"held_out", 3}, {"reward", -0.25}}));
    EXPECT_EQ(info.seed, 18446744073709551615U);
    for (const ParameterGroup& group : system.parameters().groups())
        EXPECT_EQ(fresh.parameters().find(group.spec.name)->values, group.values) << group.spec.name;
}
TEST_F(state_file, says_everything_that_no_longer_fits_and_changes_nothing) {
    System old = system_of({matrix("w"), knobs(), {.name = "gone", .shape = {2}}});
    ASSERT_OK(old.parameters().set("knobs", Tensor::vector({0.75F, 3, 1})));
    ASSERT_OK(save_state(old, path()));
    System changed = system_of(
        {matrix("w", 2, 4), knobs(0.6, FieldKind::Real, {"curt", "long", "rude"}), {.name = "new", .shape = {2}}});
    const ParameterSet before = changed.parameters();
    const Result<StateInfo> loaded = load_into(changed);
    ASSERT_TRUE(expect_error(loaded, ErrorKind::BadInput, "Nothing was changed"));
    for (const char* const part :
         {"'gone' is not in the system", "'new' is not in the file", "'w' had the shape [2, 3] and has [2, 4]",
          "'knobs.heat' is 0.75, above its bound 0.6", "'knobs.tries' was 'integer' and is 'real'",
          "'knobs.style' chose among [curt, long] and chooses among [curt, long, rude]"}) {
        EXPECT_NE(loaded.error().message.find(part), std::string::npos) << part << "\n" << loaded.error().message;
    }
    for (const ParameterGroup& group : before.groups())
        EXPECT_EQ(changed.parameters().find(group.spec.name)->values, group.values);
    System renamed = system_of({matrix("w"), knobs(), {.name = "gone", .shape = {2}}});
    ParameterSpec fields = knobs();
    fields.fields[0].name = "warmth";
    System other = system_of({matrix("w"), fields, {.name = "gone", .shape = {2}}});
    EXPECT_TRUE(expect_error(load_into(other), ErrorKind::BadInput, "had the fields [heat, tries, style]"));
    EXPECT_OK(load_into(renamed));
}
TEST_F(state_file, refuses_other_files) {
    System system = system_of({matrix("w")});
    EXPECT_TRUE(expect_error(load_into(system), ErrorKind::Io, "s.safetensors"));
    ASSERT_OK(write_file_atomically(path(), std::string_view("not a tensor in sight")));
    EXPECT_TRUE(expect_error(load_into(system), ErrorKind::BadInput, "s.safetensors"));
    const auto refused = [&](StateFile file, const char* part) {
        ASSERT_OK(write_state(path(), kSystemKind, std::move(file)));
        EXPECT_TRUE(expect_error(load_into(system), ErrorKind::BadInput, part));
    };
    const auto group = [](Json fields) { return Json::array({{{"name", "w"}, {"fields", std::move(fields)}}}); };
    const StoredTensor w{.name = "w", .shape = {2, 3}, .values = {1, 2, 3, 4, 5, 6}};
    refused({.fields = {{"groups", Json::array()}}, .tensors = {w}}, "1 tensors for 0 groups");
    refused({.fields = {{"groups", group(Json::array())}},
             .tensors = {{.name = "w", .shape = {2, 3}, .values = {1, 2, 3, 4, 5, NAN}}}},
            "not finite");
    refused({.fields = {{"groups", group(Json::array({{{"name", "x"}}}))}}, .tensors = {w}}, "'kind'");
    refused({.fields = {{"groups", group(3)}}, .tensors = {w}}, "'fields'");
    refused({.fields = {{"groups", Json::array({7})}}, .tensors = {w}}, "'name'");
    refused({.fields = {{"groups", 7}}, .tensors = {w}}, "'groups'");
    refused({.tensors = {w}}, "'groups'");
    refused({.fields = {{"groups", group(Json::array())}, {"seed", -1}}, .tensors = {w}}, "'seed'");
    refused({.fields = {{"groups", group(Json::array())}, {"scores", {{"reward", "high"}}}}, .tensors = {w}},
            "'scores'");
    EXPECT_TRUE(expect_error(save_state(system, folder_ / "no" / "s"), ErrorKind::Io, "s"));
    EXPECT_TRUE(expect_error(save_state(system, path(), {.scores = {{"reward", NAN}}}), ErrorKind::BadInput, "reward"));
}

}  // namespace
}  // namespace yolk::hyper
