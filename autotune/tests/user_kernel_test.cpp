// SPDX-License-Identifier: Apache-2.0
// Shaders of a user's own on devices: right ones, and some that are wrong in one configuration on purpose.
#include <cmath>

#include "user_kernel_fixture.hpp"
#include "yolk/internal/autotune/recording.hpp"
#include "yolk/internal/shaders/kernel_compiler.hpp"
#include "yolk/internal/shaders/module_interface.hpp"

namespace yolk::autotune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class user_kernel : public UserKernelTest {};
YOLK_FOR_EACH_DEVICE(user_kernel);

TEST_P(user_kernel, wrong_configurations_are_quarantined_and_the_search_goes_on) {
    ASSERT_OK_AND_ASSIGN(const auto kernel, make(space_json()));
    const UserKernelSpace& counts = kernel->counts();
    EXPECT_EQ(counts.combinations, 16U);
    EXPECT_EQ(counts.against_constraints, 3U);
    EXPECT_EQ(counts.beyond_device, 3U);  // 4,096 invocations; of BROKEN nobody knows, it does not compile
    EXPECT_EQ(counts.legal, 10U);
    EXPECT_EQ(kernel->reference(), "the reference 'reference.comp'");
    EXPECT_THAT(kernel->unchecked_outputs(), IsEmpty());

    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome, tune(*kernel, {.tuner = {.strategy = "random", .budget = 20}}));
    EXPECT_EQ(outcome.measured, 10U);
    EXPECT_EQ(outcome.rejected, 7U);
    const TuningKey key = tuning_key(device().info(), kernel->space(device().info()));
    EXPECT_EQ(outcome.choice.key, key);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(folder_ / "table.sqlite"));
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file.quarantined());
    std::map<std::string, std::string> reasons;  // by mode
    for (const Quarantined& entry : quarantined) reasons[entry.configuration[1].second.text()] = entry.reason;
    ASSERT_THAT(quarantined, SizeIs(4));  // two workgroups each; what does not compile has not run
    EXPECT_THAT(reasons["WRONG"],
                AllOf(HasSubstr("1 of 1002 elements of 'b' are wrong; element 77"), HasSubstr("mode{")));
    EXPECT_THAT(reasons["OUTSIDE"], HasSubstr("written that the reference leaves alone"));
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key));
    const auto failed = std::ranges::find_if(
        samples, [](const TuningSample& s) { return s.configuration[1].second == KnobValue("BROKEN"); });
    ASSERT_NE(failed, samples.end());
    EXPECT_THAT(failed->reason, AllOf(HasSubstr("my.comp:13:"), HasSubstr("undefined_name")));

    // The winner as an engine reads it.
    const auto configuration = configuration_in(kernel->space(device().info()), outcome.choice.configuration);
    ASSERT_TRUE(configuration);
    const Json best = kernel->describe(*configuration);
    EXPECT_EQ(best["configuration"]["mode"], "RIGHT");
    EXPECT_EQ(best["defines"]["MODE"], "RIGHT");
    EXPECT_EQ(best["specialization"][0]["constant_id"], 0);
    EXPECT_EQ(best["specialization"][0]["type"], "u32");
    EXPECT_EQ(best["specialization"][0]["value"], best["configuration"]["wx"]);
    EXPECT_EQ(best["push_constants"], Json::array({1000}));
    EXPECT_EQ(best["dispatch"][0],
              (1000 + best["configuration"]["wx"].get<int>() - 1) / best["configuration"]["wx"].get<int>());
}

TEST_P(user_kernel, another_file_is_another_key_and_another_size_is_near) {
    ASSERT_OK_AND_ASSIGN(const auto first, make(space_json()));
    Json larger = space_json();
    larger["sizes"]["n"] = 1500;
    ASSERT_OK_AND_ASSIGN(const auto second, make(larger));
    write("reference.comp", std::string(kReference) + "// changed\n");
    ASSERT_OK_AND_ASSIGN(const auto third, make(space_json()));
    const auto shape = [this](const UserKernel& kernel) { return kernel.space(device().info()).shape(); };
    EXPECT_TRUE(tuning_distance(shape(*first), shape(*second)));
    EXPECT_FALSE(tuning_distance(shape(*first), shape(*third)));
}

// A list of values that is reordered or extended is another space of the same kernel: what is in the table is by value.
TEST_P(user_kernel, choices_outlive_another_list_of_values) {
    Json space = space_json();
    space["parameters"]["factor"] = {{"values", {0.5, 1.0}}, {"constant_id", 3}};
    space["parameters"]["mode"]["values"] = {"RIGHT", "WRONG"};
    space["default"] = {{"wx", 64}};
    ASSERT_OK_AND_ASSIGN(const auto first, make(space));
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome, tune(*first, {.tuner = {.strategy = "random", .budget = 20}}));
    const StoredConfiguration chosen = outcome.choice.configuration;
    ASSERT_THAT(chosen, SizeIs(3));
    EXPECT_EQ(chosen[1].second, KnobValue("RIGHT"));
    EXPECT_TRUE(chosen[2].second == KnobValue(0.5) || chosen[2].second == KnobValue(1));

    space["parameters"]["mode"]["values"] = {"OUTSIDE", "WRONG", "RIGHT"};
    space["parameters"]["factor"]["values"] = {2.0, 1.0, 0.25, 0.5};
    ASSERT_OK_AND_ASSIGN(const auto second, make(space));
    const TuningSpace other = second->space(device().info());
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(folder_ / "table.sqlite"));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    const TuningKey key = tuning_key(device().info(), other);
    EXPECT_EQ(key, outcome.choice.key);
    const KnownChoices known = known_choices(choices, key, other);
    ASSERT_TRUE(known.exact);
    const auto found = configuration_in(other, known.exact->configuration);
    ASSERT_TRUE(found);
    EXPECT_EQ(second->describe(*found)["configuration"]["mode"], "RIGHT");
    EXPECT_EQ(second->describe(*found)["configuration"]["factor"], chosen[2].second.json());
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key));
    EXPECT_GT(std::ranges::count_if(
                  samples, [&](const auto& s) { return configuration_in(other, s.configuration).has_value(); }),
              4);

    // A value that is gone: the kernel is tuned again, and its new choice replaces the old one.
    const TuningSpace without("kernel", {{"wx", {16, 64, 128}}, {"mode{WRONG|OUTSIDE}", {0, 1}}, {"factor", {1, 2}}},
                              {}, other.shape());
    const KnownChoices gone = known_choices(choices, key, without);
    EXPECT_FALSE(gone.exact);
    ASSERT_TRUE(gone.outdated);
    EXPECT_THAT(misfit_text(without, gone.outdated->configuration),
                HasSubstr("its mode is RIGHT, and the values are WRONG, OUTSIDE now"));
}

TEST_P(user_kernel, tells_values_that_nobody_has_measured) {
    Json space = space_json();
    space["parameters"]["mode"]["values"] = {"RIGHT"};
    Device copy = device();
    ASSERT_OK_AND_ASSIGN(Dispatcher own_dispatcher, Dispatcher::create(copy));
    std::optional<Machine> machine(Machine{std::move(copy), std::move(own_dispatcher)});
    const auto tuned = [&](const Json& of) -> Result<TuneUserKernelOutcome> {
        YOLK_TRY(const auto kernel, make(of));
        return tune_user_kernel(machine, *kernel, folder_ / "table.sqlite", {.strategy = "exhaustive", .budget = 8});
    };
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome first, tuned(space));
    ASSERT_TRUE(first.search);
    EXPECT_THAT(first.untried, IsEmpty());
    space["parameters"]["wx"]["values"] = {128, 16, 64, 32};
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome second, tuned(space));
    EXPECT_FALSE(second.search);
    EXPECT_TRUE(second.configuration);
    EXPECT_EQ(second.choice.configuration, first.choice.configuration);
    EXPECT_THAT(second.untried, ElementsAre("wx = 32"));
    space["parameters"]["wx"]["values"] = {8, 32};
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome third, tuned(space));
    ASSERT_TRUE(third.search);
    ASSERT_TRUE(third.configuration);
    EXPECT_NE(third.choice.configuration, first.choice.configuration);
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome fourth, tuned(space));
    EXPECT_FALSE(fourth.search);
    EXPECT_EQ(fourth.choice.configuration, third.choice.configuration);
}

TEST_P(user_kernel, can_be_held_against_golden_files_its_default_or_nothing) {
    Json space = space_json();
    space.erase("reference");
    space["default"] = {{"wx", 64}};
    {
        ASSERT_OK_AND_ASSIGN(const auto nothing, make(space));
        EXPECT_EQ(nothing->reference(), "");
        EXPECT_THAT(nothing->unchecked_outputs(), ElementsAre("b"));
        ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                             tune(*nothing, {.tuner = {.strategy = "exhaustive", .budget = 20}}));
        EXPECT_EQ(outcome.rejected, 3U);  // BROKEN; the others are the same each time
    }
    space["reference"] = "default";
    {
        ASSERT_OK_AND_ASSIGN(const auto by_default, make(space));
        EXPECT_THAT(by_default->reference(), HasSubstr("default"));
        ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                             tune(*by_default, {.tuner = {.strategy = "exhaustive", .budget = 20}}));
        EXPECT_EQ(outcome.rejected, 7U);
    }
    space.erase("reference");
    std::string golden(1002 * 4, '\0');
    write("golden.bin", golden);
    space["buffers"][1]["golden"] = "golden.bin";
    {
        ASSERT_OK_AND_ASSIGN(const auto by_file, make(space));
        EXPECT_EQ(by_file->reference(), "golden files");
        ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                             tune(*by_file, {.tuner = {.strategy = "exhaustive", .budget = 20}}));
        EXPECT_EQ(outcome.rejected, outcome.measured);
        EXPECT_THAT(outcome.choice.configuration, IsEmpty());
    }
    write("golden.bin", "short");
    EXPECT_THAT(told(space), HasSubstr("'golden.bin' has 5 bytes; the buffer has 4008"));
}

TEST_P(user_kernel, shader_and_declaration_must_agree) {
    EXPECT_THAT(told("/buffers/0/binding", 1), HasSubstr("has 'A' at binding 0, for which no buffer is declared"));
    EXPECT_THAT(told("/buffers/0/type", "u32"), HasSubstr("'a' is declared as u32; the shader 'my.comp' has f32"));
    EXPECT_THAT(told("/buffers/2", Json::parse(R"({"name": "c", "binding": 7, "type": "f32", "elements": 1,
                                                    "role": "scratch"})")),
                HasSubstr("'c' is declared at binding 7, which the shader 'my.comp' does not have; it has 0, 2"));
    Json readonly = space_json();
    readonly["buffers"][0]["role"] = "in_out";
    EXPECT_THAT(told(readonly), HasSubstr("can only read binding 0"));
    EXPECT_THAT(told("/push_constants", Json::array()), HasSubstr("has 4 bytes of push constants; 0 are declared"));
    EXPECT_THAT(told("/push_constants/0/type", "f32"),
                HasSubstr("push_constants[0] is f32; the shader 'my.comp' has u32"));
    EXPECT_THAT(told("/push_constants/0/value", -1), HasSubstr("is -1, which is not a valid u32"));
    EXPECT_THAT(told("/parameters/wx/constant_id", 9), HasSubstr("no specialization constant 9; it has 0, 3"));
    EXPECT_THAT(told("/parameters/f", Json::parse(R"({"values": [true, false], "constant_id": 3})")),
                HasSubstr("not a legal value of the specialization constant 3"));
    EXPECT_THAT(told("/parameters/wx/values", Json::array({64, 128, 2.5})), HasSubstr("2.5 is not a legal value"));
    EXPECT_THAT(told("/dispatch/0", "n - n"), HasSubstr("dispatches no workgroup"));
    EXPECT_THAT(told("/constraints", Json::array({"wx > 5000"})), HasSubstr("no configuration that is legal"));
    EXPECT_THAT(told("/default", Json{{"wx", 128}, {"mode", "WRONG"}}), HasSubstr("default configuration"));
    EXPECT_THAT(told("/sizes/n", std::int64_t{1} << 40), HasSubstr("a binding of"));
}

TEST_P(user_kernel, mistakes_in_shaders_are_told_by_their_lines) {
    EXPECT_THAT(told("/parameters/mode/values", Json::array({"BROKEN"})),
                AllOf(HasSubstr("'my.comp' does not compile:\n  my.comp:13:"), HasSubstr("undefined_name")));
    write("my.comp", "#version 460\n#include \"gone.h\"\nvoid main() {}\n");
    EXPECT_THAT(told(space_json()), AllOf(HasSubstr("my.comp:2"), HasSubstr("gone.h")));
    write("my.comp",
          "#version 460\nlayout(binding = 0) uniform sampler2D s;\nlayout(local_size_x = 1) in;\nvoid main() { "
          "vec4 v = texelFetch(s, ivec2(0), 0); }\n");
    EXPECT_THAT(told(space_json()), HasSubstr("not a single buffer"));
    write("my.comp", "");
    EXPECT_THAT(told(space_json()), HasSubstr("is empty"));
    write("my.comp", kShader);
    write("reference.comp", "#version 460\nvoid main() { x = 1; }\n");
    EXPECT_THAT(told(space_json()), HasSubstr("reference.comp:2:"));
    write("reference.comp",
          "#version 460\nlayout(binding = 0) buffer A { float a[]; };\nvoid main() { a[0] = 1.0; }\n");
    EXPECT_THAT(told(space_json()), HasSubstr("constant 5"));
    Json space = space_json();
    space["reference"].erase("constants");
    EXPECT_THAT(told(space), HasSubstr("The reference 'reference.comp' is wrong itself"));  // it changes an input
    write("reference.comp",
          "#version 460\nlayout(binding = 2) buffer B { float b[]; };\nvoid main() { b[0] += 1.0; }\n");
    EXPECT_THAT(told(space), HasSubstr("reads what it has not written"));
    write("reference.comp",
          "#version 460\nlayout(binding = 2) buffer B { float b[]; };\nvoid main() { if (b.length() == 0) b[0] = 1.0; "
          "}\n");
    EXPECT_THAT(told(space), HasSubstr("leaves all of 'b' unwritten"));
}

TEST_P(user_kernel, includes_lie_beside_the_shader) {
    write("my.comp", "#version 460\n#extension GL_GOOGLE_include_directive : require\n#include \"rest.glsl\"\n");
    write("rest.glsl", std::string(kShader).substr(std::string("#version 460\n").size()));
    ASSERT_OK_AND_ASSIGN(const auto kernel, make(space_json()));
    const auto variant = kernel->space(device().info()).shape().variant;
    write("rest.glsl", std::string(kShader).substr(std::string("#version 460\n").size()) + "// changed\n");
    ASSERT_OK_AND_ASSIGN(const auto changed, make(space_json()));
    EXPECT_NE(variant, changed->space(device().info()).shape().variant);
}

TEST(module_interface, computes_workgroups_from_constants) {
    KernelSource source{.name = "x.comp",
                        .text = R"(#version 460
layout(local_size_x_id = 4, local_size_y_id = 5) in;
layout(constant_id = 6) const bool kStaged = true;
layout(constant_id = 7) const int kDepth = 3;
layout(std430, binding = 3) readonly buffer Values { vec4 values[]; };
layout(binding = 1) uniform Settings { uint settings[4]; };
layout(push_constant) uniform Push { uint n; float scale; int steps[2]; };
shared vec2 tile[kStaged ? (gl_WorkGroupSize.x + 2) * gl_WorkGroupSize.y << uint(kDepth - 1) : 1];
void main() { tile[0] = values[0].xy * scale; barrier(); })",
                        .includes = {}};
    const auto spirv = compile_kernel(source);
    ASSERT_TRUE(spirv) << spirv.error().message;
    const auto interface = read_interface(*spirv);
    ASSERT_TRUE(interface);
    ASSERT_THAT(interface->bindings, SizeIs(2));
    EXPECT_TRUE(interface->bindings[0].is_uniform);
    EXPECT_EQ(interface->bindings[0].element, ScalarType::U32);
    EXPECT_TRUE(interface->bindings[1].is_readonly);
    EXPECT_EQ(interface->bindings[1].element, ScalarType::F32);
    EXPECT_EQ(interface->push_bytes, 16U);
    ASSERT_THAT(interface->constants, SizeIs(4));
    EXPECT_EQ(interface->constants[2].type, ScalarType::Bool);
    EXPECT_EQ(interface->constants[3].name, "kDepth");
    const std::vector<SpecConstant> constants{{4, 32}, {5, 8}, {7, 2}};
    const auto use = interface->workgroup(constants);
    ASSERT_TRUE(use);
    EXPECT_THAT(use->size, ElementsAre(32U, 8U, 1U));
    EXPECT_EQ(use->shared_bytes, 34U * 8U * 2U * 8U);
    const std::vector<SpecConstant> plain{{4, 32}, {5, 8}, {6, 0}};
    EXPECT_EQ(interface->workgroup(plain)->shared_bytes, 8U);
}

}  // namespace
}  // namespace yolk::autotune
