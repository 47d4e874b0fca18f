// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/environment_compiler.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <vector>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/shaders/environments.hpp"

namespace yolk {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A whole environment of 24 lines; tests change lines of it.
std::vector<std::string> small_environment() {
    return {"#include \"yolk/exact/environment_prelude.h\"",                                     // 1
            "ENVIRONMENT_BEGIN(small)",                                                          // 2
            "EXACT_CONST uint kObservationCount = 3u;",                                          // 3
            "EXACT_CONST uint kActionCount = 2u;",                                               // 4
            "EXACT_CONST uint kMaxSteps = 50u;",                                                 // 5
            "EXACT_CONST uint kSolvedReturn = 0x41200000u;",                                     // 6
            "EXACT_CONST uint kBestReturn = 0x41A00000u;",                                       // 7
            "struct State { float x; uint steps; };",                                            // 8
            "EXACT_FUNCTION State environment_reset(uvec4 words) {",                             // 9
            "    State state;",                                                                  // 10
            "    state.x = exact_uniform(words.x);",                                             // 11
            "    state.steps = 0u;",                                                             // 12
            "    return state; }",                                                               // 13
            "EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, o, 3)) {",  // 14
            "    o[0] = state.x; o[1] = state.x; o[2] = state.x; }",                             // 15
            "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint a) {",    // 16
            "    exact_float x = state.x + exact_from_bits(kExactHalf);",                        // 17
            "    state.x = x;",                                                                  // 18
            "    StepResult result;",                                                            // 19
            "    result.reward = exact_from_bits(kExactOne);",                                   // 20
            "    result.terminated = a == 1u;",                                                  // 21
            "    return result;",                                                                // 22
            "}",                                                                                 // 23
            "ENVIRONMENT_END"};                                                                  // 24
}

std::string text_of(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

/// The small environment with line `number` (from 1) in other words.
std::string with_line(std::size_t number, const std::string& line) {
    std::vector<std::string> lines = small_environment();
    lines.at(number - 1) = line;
    return text_of(lines);
}

std::string error_of(const std::string& source) {
    const auto compiled = compile_environment(source, "dir/my_env.glsl");
    if (compiled) return "compiled";
    EXPECT_EQ(compiled.error().kind, ErrorKind::BadInput);
    return compiled.error().message;
}

std::string inexact_reason_of(const std::string& source) {
    const auto compiled = compile_environment(source, "my_env.glsl");
    return compiled ? compiled->inexact_reason : compiled.error().message;
}

TEST(environment_compiler, gives_the_modules_and_what_the_source_says) {
    const auto compiled = compile_environment(text_of(small_environment()), "my_env.glsl");
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_EQ(compiled->facts.observation_count, 3U);
    EXPECT_EQ(compiled->facts.action_count, 2U);
    EXPECT_EQ(compiled->facts.state_words, 2U);
    EXPECT_EQ(compiled->facts.max_steps, 50U);
    EXPECT_EQ(compiled->facts.solved_return, 10.0F);
    EXPECT_EQ(compiled->facts.best_return, 20.0F);
    EXPECT_EQ(compiled->inexact_reason, "");
    EXPECT_NE(compiled->looped, compiled->unrolled);
}

TEST(environment_compiler, makes_the_builds_own_modules_of_a_built_in_environment) {
    const auto source = read_file(YOLK_ENVIRONMENTS_FOLDER "/cartpole.glsl", std::size_t{1} << 20U);
    ASSERT_TRUE(source) << source.error().message;
    const auto compiled =
        compile_environment({reinterpret_cast<const char*>(source->data()), source->size()}, "cartpole.glsl");
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_THAT(compiled->looped, ElementsAreArray(kernels::kRolloutCartpole.spirv));
    EXPECT_THAT(compiled->unrolled, ElementsAreArray(kernels::kRolloutCartpoleUnrolled.spirv));
    EXPECT_THAT(compiled->packed, ElementsAreArray(kernels::kRolloutCartpolePacked.spirv));
    EXPECT_THAT(compiled->looped_fast, ElementsAreArray(kernels::kRolloutCartpoleFast.spirv));
    EXPECT_THAT(compiled->unrolled_fast, ElementsAreArray(kernels::kRolloutCartpoleUnrolledFast.spirv));
    EXPECT_THAT(compiled->packed_fast, ElementsAreArray(kernels::kRolloutCartpolePackedFast.spirv));
    EXPECT_EQ(compiled->inexact_reason, "");
    EXPECT_EQ(compiled->facts.state_words, sizeof(exact::cartpole::State) / 4);
    EXPECT_EQ(compiled->facts.max_steps, exact::cartpole::kMaxSteps);
}

/// The small environment with two continuous actions: three lines before kMaxSteps, and a step of floats.
std::vector<std::string> continuous_environment() {
    std::vector<std::string> lines = small_environment();
    lines[0] = "#define ENVIRONMENT_CONTINUOUS\n" + lines[0];
    lines[3] +=
        "\nEXACT_CONST uint kActionSquashed = 0u;"
        "\nEXACT_CONST uint kActionLow[kActionCount] = {0xC0000000u, 0u};"
        "\nEXACT_CONST uint kActionHigh[kActionCount] = {0x40400000u, 0x3F800000u};";
    lines[15] = "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, EXACT_IN_ARRAY(float, a, 2)) {";
    lines[20] = "    result.terminated = a[1] > a[0];";
    return lines;
}

/// The error for the continuous environment with one text in place of another.
std::string continuous_error(const std::string& from, const std::string& to) {
    std::string text = text_of(continuous_environment());
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return "nothing to replace";
    return error_of(text.replace(at, from.size(), to));
}

TEST(environment_compiler, tells_continuous_actions_and_their_bounds) {
    const auto compiled = compile_environment(text_of(continuous_environment()), "my_env.glsl");
    ASSERT_TRUE(compiled) << compiled.error().message;
    const exact::EnvironmentActions& actions = compiled->facts.actions;
    EXPECT_TRUE(actions.continuous);
    EXPECT_FALSE(actions.squashed);
    EXPECT_EQ(actions.low[0], -2.0F);
    EXPECT_EQ(actions.high[0], 3.0F);
    EXPECT_EQ(actions.low[1], 0.0F);
    EXPECT_EQ(actions.high[1], 1.0F);
    EXPECT_EQ(compiled->inexact_reason, "");
    const auto discrete = compile_environment(text_of(small_environment()), "my_env.glsl");
    ASSERT_TRUE(discrete) << discrete.error().message;
    EXPECT_FALSE(discrete->facts.actions.continuous);
}

TEST(environment_compiler, refuses_bounds_that_are_none) {
    EXPECT_THAT(continuous_error("0xC0000000u", "0x40800000u"),
                HasSubstr("action 0 has the low bound 4 and the high bound 3; the low one must be the lower"));
    EXPECT_THAT(continuous_error("0x3F800000u", "0u"), HasSubstr("action 1 has the low bound 0 and the high bound 0"));
    EXPECT_THAT(continuous_error("0xC0000000u", "0x7FC00000u"), HasSubstr("a bound of action 0 is nan"));
    EXPECT_THAT(continuous_error("0x3F800000u", "0x7F800000u"), HasSubstr("a bound of action 1 is inf"));
    EXPECT_THAT(continuous_error("0x3F800000u", "0x00000001u"), HasSubstr("a bound of action 1 is 1e-45"));
    EXPECT_THAT(continuous_error("kActionSquashed = 0u", "kActionSquashed = 2u"), HasSubstr("kActionSquashed is 2"));
    EXPECT_THAT(continuous_error("kActionLow[kActionCount] = {0xC0000000u, 0u}", "kActionLow[1] = {0xC0000000u}"),
                HasSubstr("kActionLow has 1 bounds and kActionHigh 2; kActionCount is 2"));
    EXPECT_THAT(continuous_error("EXACT_CONST uint kActionLow[kActionCount] = {0xC0000000u, 0u};", ""),
                AllOf(HasSubstr("it does not define `EXACT_CONST uint kActionLow[kActionCount]"),
                      Not(HasSubstr("the kernel's own"))));
    EXPECT_THAT(continuous_error("EXACT_IN_ARRAY(float, a, 2)", "uint b"), HasSubstr("EXACT_IN_ARRAY(float, action"));
    std::vector<std::string> many = continuous_environment();
    many[3] =
        "EXACT_CONST uint kActionCount = 17u; EXACT_CONST uint kActionSquashed = 1u;"
        "EXACT_CONST uint kActionLow[1] = {0u}; EXACT_CONST uint kActionHigh[1] = {0x3F800000u};";
    many[15] = "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, EXACT_IN_ARRAY(float, a, 17)) {";
    EXPECT_THAT(error_of(text_of(many)), HasSubstr("kActionCount is 17; an environment has at most 16"));
}

TEST(environment_compiler, shows_the_files_own_lines) {
    EXPECT_THAT(error_of(with_line(11, "    state.x = unknown_thing;")),
                AllOf(HasSubstr("dir/my_env.glsl:11: 'unknown_thing' : undeclared identifier"),
                      Not(HasSubstr("environment.glsl"))));
    EXPECT_THAT(error_of(with_line(18, "    state.x = x")), HasSubstr("dir/my_env.glsl:19: '' :  syntax error"));
    EXPECT_THAT(error_of(with_line(21, "    result.terminated = a;")), HasSubstr("dir/my_env.glsl:21: "));
    EXPECT_THAT(error_of(with_line(20, "    result.prize = 1.0;")), HasSubstr("dir/my_env.glsl:20: 'prize'"));
    EXPECT_THAT(error_of(with_line(2, "#if kNothing(")), HasSubstr("dir/my_env.glsl:2: "));
    // Both lines of a source with two mistakes.
    std::vector<std::string> lines = small_environment();
    lines[10] = "    state.x = first_mistake;";
    lines[17] = "    state.x = second_mistake;";
    EXPECT_THAT(error_of(text_of(lines)),
                AllOf(HasSubstr("my_env.glsl:11: 'first_mistake'"), HasSubstr("my_env.glsl:18: 'second_mistake'")));
}

TEST(environment_compiler, names_the_part_of_the_interface_that_is_missing) {
    struct Part {
        std::vector<std::size_t> lines;
        std::string declaration;
    };
    const std::vector<Part> parts{{{3}, "EXACT_CONST uint kObservationCount"},
                                  {{4}, "EXACT_CONST uint kActionCount"},
                                  {{5}, "EXACT_CONST uint kMaxSteps"},
                                  {{6}, "EXACT_CONST uint kSolvedReturn"},
                                  {{7}, "EXACT_CONST uint kBestReturn"},
                                  {{9, 10, 11, 12, 13}, "EXACT_FUNCTION State environment_reset(uvec4 words)"},
                                  {{14, 15}, "EXACT_PROCEDURE environment_observe("},
                                  {{16, 17, 18, 19, 20, 21, 22, 23}, "EXACT_FUNCTION StepResult environment_step("}};
    for (const Part& part : parts) {
        std::vector<std::string> lines = small_environment();
        for (const std::size_t line : part.lines) lines[line - 1].clear();
        EXPECT_THAT(error_of(text_of(lines)), HasSubstr("dir/my_env.glsl: it does not define `" + part.declaration));
    }
    EXPECT_THAT(error_of("// nothing but a comment\n"),
                AllOf(HasSubstr("it does not define `EXACT_CONST uint kObser"),
                      HasSubstr("not #include \"yolk/exact/environment_prelude")));
    EXPECT_THAT(error_of(with_line(8, "")), HasSubstr("dir/my_env.glsl:9: "));  // State is used from there on
    EXPECT_THAT(error_of("#include \"yolk/exact/environment_prelude.h\"\n"),
                HasSubstr("define `struct State { ... }`"));
}

TEST(environment_compiler, names_the_part_of_the_interface_that_has_another_form) {
    EXPECT_THAT(error_of(with_line(3, "uint kObservationCount = 3u;")),
                HasSubstr("`EXACT_CONST uint kObservationCount"));
    EXPECT_THAT(error_of(with_line(16,
                                   "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state) { uint a = "
                                   "0u;")),
                HasSubstr("its form of environment_step is not `EXACT_FUNCTION StepResult "
                          "environment_step(EXACT_INOUT(State) state, uint "
                          "action)`"));
    EXPECT_THAT(
        error_of(with_line(14, "EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, o, 4)) {")),
        HasSubstr("`EXACT_PROCEDURE environment_observe("));
}

TEST(environment_compiler, refuses_what_is_no_source) {
    EXPECT_THAT(error_of(""), HasSubstr("'dir/my_env.glsl' is empty"));
    EXPECT_THAT(error_of(" \n\t\r\n"), HasSubstr("'dir/my_env.glsl' is empty"));
    EXPECT_THAT(error_of(text_of(small_environment()) + std::string(1, '\0')), HasSubstr("it has a zero byte"));
    EXPECT_THAT(error_of("\xff\xfe\x01"), StartsWith("The environment 'dir/my_env.glsl' cannot be used:"));
    EXPECT_THAT(error_of(with_line(23, "")), HasSubstr("open"));
    EXPECT_THAT(error_of("#if 1\n" + text_of(small_environment())), HasSubstr("dir/my_env.glsl"));
}

TEST(environment_compiler, an_environment_is_one_file) {
    EXPECT_THAT(error_of(with_line(2, "#include \"other.glsl\"")),
                AllOf(HasSubstr("dir/my_env.glsl:2: "), HasSubstr("\"other.glsl\" cannot be included")));
    EXPECT_THAT(error_of(with_line(2, "#include \"/etc/hostname\"")), HasSubstr("cannot be included"));
    EXPECT_THAT(error_of(with_line(2, "#include \"environment.glsl\"")), HasSubstr("cannot be included"));
    EXPECT_THAT(error_of(with_line(2, "#include \"philox.glsl\"")), HasSubstr("cannot be included"));
    EXPECT_EQ(error_of(with_line(2, "#include \"yolk/exact/exact_math.h\"")), "compiled");
}

TEST(environment_compiler, refuses_what_breaks_the_rules_of_a_roll_out) {
    EXPECT_THAT(error_of(with_line(18, "for (uint i = 0u; i < 4u; ++i) state.x = x;")),
                AllOf(StartsWith("dir/my_env.glsl:18: "), HasSubstr("there is a loop")));
    std::vector<std::string> lines = small_environment();
    lines[1] = "uint hidden_count;";
    lines[17] = "    state.x = x; hidden_count += 1u;";
    EXPECT_THAT(error_of(text_of(lines)), HasSubstr("the variable 'hidden_count' outside of its functions"));
    EXPECT_THAT(error_of(with_line(18, "    state.x = x + float(gl_GlobalInvocationID.x);")),
                HasSubstr("the variable 'gl_GlobalInvocationID' outside of its functions"));
    EXPECT_THAT(error_of(with_line(18, "    state.x = float(double(x));")), HasSubstr("capability 10"));
}

TEST(environment_compiler, refuses_names_that_the_kernel_has) {
    EXPECT_THAT(error_of(with_line(2, "EXACT_CONST uint FROZEN = 1u;")),
                AllOf(HasSubstr("dir/my_env.glsl: it does not go together with the kernel's own rollout.comp"),
                      HasSubstr("'FROZEN'")));
}

TEST(environment_compiler, refuses_constants_outside_their_ranges) {
    EXPECT_THAT(error_of(with_line(4, "EXACT_CONST uint kActionCount = 0u;")),
                HasSubstr("kActionCount is 0; it must be from 1 to 256"));
    EXPECT_THAT(error_of(with_line(4, "EXACT_CONST uint kActionCount = 257u;")),
                HasSubstr("kActionCount is 257; it must be from 1 to 256"));
    EXPECT_THAT(error_of(with_line(5, "EXACT_CONST uint kMaxSteps = 0u;")), HasSubstr("kMaxSteps is 0"));
    EXPECT_THAT(error_of(with_line(5, "EXACT_CONST uint kMaxSteps = 0xFFFFFFFFu;")), HasSubstr("from 1 to 1000000"));
    EXPECT_THAT(error_of(with_line(8, "struct State { float x; uint steps; float more[255]; };")),
                HasSubstr("the number of 32-bit words in State is 257"));
    EXPECT_THAT(error_of(with_line(8, "struct State { };")), HasSubstr("dir/my_env.glsl:8: "));
    EXPECT_THAT(error_of(with_line(6, "EXACT_CONST uint kSolvedReturn = 0x7FC00000u;")),
                HasSubstr("kSolvedReturn is nan"));
    EXPECT_THAT(error_of(with_line(7, "EXACT_CONST uint kBestReturn = 0u;")), HasSubstr("kBestReturn 0"));
}

TEST(environment_compiler, says_where_arithmetic_is_not_of_class_p) {
    EXPECT_THAT(inexact_reason_of(with_line(20, "    result.reward = x * x;")),
                AllOf(StartsWith("my_env.glsl:20: "), HasSubstr("not declared exact_float")));
    EXPECT_THAT(inexact_reason_of(with_line(17, "    exact_float x = state.x / exact_from_bits(kExactThreeHalves);")),
                AllOf(StartsWith("my_env.glsl:17: "), HasSubstr("exact_reciprocal")));
    EXPECT_THAT(inexact_reason_of(with_line(17, "    exact_float x = sin(state.x);")),
                AllOf(StartsWith("my_env.glsl:17: "), HasSubstr("built-in function")));
    EXPECT_THAT(inexact_reason_of(with_line(17, "    exact_float x = mod(state.x, exact_from_bits(kExactOne));")),
                AllOf(StartsWith("my_env.glsl:17: "), HasSubstr("remainder")));
    EXPECT_THAT(inexact_reason_of(with_line(17, "    exact_float x = dot(vec2(state.x), vec2(state.x));")),
                AllOf(StartsWith("my_env.glsl:17: "), HasSubstr("no fixed order")));
    // Integers, selects and negation are exact without a word.
    EXPECT_EQ(inexact_reason_of(with_line(18,
                                          "    state.x = state.steps > 2u ? -x : x; state.steps = min(state.steps + "
                                          "1u, 7u) % 5u;")),
              "");
}

}  // namespace
}  // namespace yolk
