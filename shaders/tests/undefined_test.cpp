// SPDX-License-Identifier: Apache-2.0
// That exact mode refuses what GLSL leaves undefined for some operands, with the environment's own line and what to
// write instead, and accepts the same operations where bounds show that only others occur.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/shaders/environment_compiler.hpp"

namespace yolk {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// An environment whose line 10 is `functions` and whose line 20 is `statements` of its step, both on one line.
std::string environment_with(const std::string& statements, const std::string& functions = "") {
    return fmt::format(
        "#include \"yolk/exact/environment_prelude.h\"\n"
        "ENVIRONMENT_BEGIN(small)\n"
        "EXACT_CONST uint kObservationCount = 2u;\n"
        "EXACT_CONST uint kActionCount = 3u;\n"
        "EXACT_CONST uint kMaxSteps = 50u;\n"
        "EXACT_CONST uint kSolvedReturn = 0x41200000u;\n"
        "EXACT_CONST uint kBestReturn = 0x41A00000u;\n"
        "struct State {{ float x; uint n; int k; uint m; }};\n\n"
        "{}\n"
        "EXACT_FUNCTION State environment_reset(uvec4 words) {{\n"
        "    State state;\n"
        "    state.x = exact_uniform(words.x); state.n = 0u; state.k = int(words.y); state.m = 1u;\n"
        "    return state;\n"
        "}}\n"
        "EXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, o, 2)) {{\n"
        "    o[0] = state.x; o[1] = state.x;\n"
        "}}\n"
        "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint action) {{\n"
        "{}\n"
        "    StepResult result;\n"
        "    result.reward = state.x; result.terminated = action == 1u;\n"
        "    return result;\n"
        "}}\n"
        "ENVIRONMENT_END\n",
        functions, statements);
}

/// Why exact mode refuses it, or any mode does ("refused: ..."); empty where it is accepted.
std::string refusal_of(const std::string& statements, const std::string& functions = "") {
    const auto compiled = compile_environment(environment_with(statements, functions), "my_env.glsl");
    return compiled ? compiled->inexact_reason : "refused: " + compiled.error().message;
}

struct Case {
    std::string statements;
    std::string functions = "";
};

void expect_refused(const std::vector<Case>& cases, const std::string& where, const std::string& why) {
    for (const auto& [statements, functions] : cases)
        EXPECT_THAT(refusal_of(statements, functions), AllOf(StartsWith(where), HasSubstr(why)))
            << functions << ' ' << statements;
}

void expect_accepted(const std::vector<Case>& cases) {
    for (const auto& [statements, functions] : cases)
        EXPECT_EQ(refusal_of(statements, functions), "") << functions << ' ' << statements;
}

TEST(undefined, division_and_remainder) {
    const std::string here = "refused: my_env.glsl:20: ";  // in any mode: a division by zero ends the process on some
    expect_refused({{"state.k = (int(action) - 7) % (int(state.n) + 2);"},
                    {"state.k = state.k % 3;"},
                    {"state.k = state.k / 3;"},
                    {"state.k = 7 / state.k;"},
                    {"state.k = (-2147483647 - 1) / state.k;"},
                    {"state.k /= -1;"},
                    {"state.k = (ivec2(state.k) % 3).x;"}},
                   here, "Use exact_divide or exact_remainder, or uints");
    expect_refused({{"state.n = 5u / state.n;"},
                    {"state.n %= state.m;"},
                    {"state.n = (uvec2(state.n) / uvec2(3u, state.m)).x;"},
                    {"if (state.m <= 4u) state.n %= state.m;"},
                    {"state.n = state.n % (state.m + 1u);"}},
                   here, "the divisor may be 0");
    expect_accepted({{"state.n = state.n % 5u + state.n / 7u;"},
                     {"if (state.m != 0u) state.n %= state.m;"},
                     {"state.n = state.m > 3u ? state.n / state.m : 0u;"},
                     {"state.n = state.n / max(state.m, 1u);"},
                     {"int m = state.k & 0xFF; state.k = m % 7 + m / 3;"},
                     {"state.k = exact_divide(state.k, state.k) + exact_remainder(state.k, int(state.n));"},
                     {"state.n = exact_divide(state.n, state.m) + exact_remainder(state.n, state.m);"}});
}

TEST(undefined, shifts_and_bit_fields) {
    const std::string here = "my_env.glsl:20: ";
    expect_refused({{"state.n = 1u << state.n;"},
                    {"state.n = state.n >> state.k;"},
                    {"state.k = state.k >> 32;"},
                    {"state.n <<= min(state.n, 32u);"},
                    {"state.n = (uvec2(1u) << uvec2(3u, state.n)).x;"},
                    {"switch (state.n) { case 33u: state.n = 1u << state.n; break; default: state.n = 2u; }"}},
                   here, "Use exact_shift_left or exact_shift_right");
    expect_refused({{"state.n = bitfieldExtract(state.n, state.k, 4);"},
                    {"state.k = bitfieldExtract(state.k, 30, 3);"},
                    {"state.n = bitfieldInsert(state.n, 3u, 8, int(state.m));"}},
                   here, "Use exact_extract_bits or exact_insert_bits");
    expect_accepted(
        {{"state.n = 1u << (state.n & 31u);"},
         {"state.n = state.n >> 31;"},
         {"if (state.n < 32u) state.n = 1u << state.n;"},
         {"state.n = 1u << min(state.n, 31u);"},
         {"state.n = 1u << (state.n % 32u);"},
         {"switch (state.n) { case 31u: state.n = 1u << state.n; break; default: state.n = 2u; }"},
         {"state.n = bit(state.n, 3u) + bit(state.n, 31u);", "uint bit(uint x, uint at) { return x >> at & 1u; }"},
         {"state.n = bitfieldExtract(state.n, 3, 5) + bitfieldInsert(0u, state.n, 24, 8);"},
         {"state.n = exact_shift_left(state.n, state.m) + exact_shift_right(state.n, state.m);"},
         {"state.k = exact_shift_right(state.k, state.m);"},
         {"state.n = exact_insert_bits(state.n, exact_extract_bits(state.n, 3u, state.m), state.m, 3u);"}});
    expect_refused({{"state.n = bit(state.n, 32u);", "uint bit(uint x, uint at) { return x >> at & 1u; }"}},
                   "my_env.glsl:10: ", "shift");
}

TEST(undefined, conversions_of_floats) {
    expect_refused({{"state.k = int(state.x);"},
                    {"state.n = uint(state.x);"},
                    {"state.k = ivec2(vec2(state.x)).y;"},
                    {"state.n = uint(vec2(state.x).y);"}},
                   "my_env.glsl:20: ", "Use exact_to_int or exact_to_uint");
    expect_refused({{"if (isnan(state.x)) state.n = 1u;"}, {"state.n = isinf(state.x) ? 1u : 0u;"}},
                   "my_env.glsl:20: ", "exact_is_nan");
    expect_accepted({{"state.k = exact_to_int(state.x); state.n = exact_to_uint(state.x);"},
                     {"state.x = float(state.k); state.x = float(state.n); state.n = uint(state.k);"}});
}

TEST(undefined, limits_of_clamp) {
    expect_refused({{"state.k = clamp(state.k, 3, int(action));"}, {"state.n = clamp(state.n, state.m, 7u);"}},
                   "my_env.glsl:20: ", "Use min(max(x, low), high)");
    expect_accepted({{"state.k = clamp(state.k, -3, 7);"}, {"state.n = clamp(state.n, action, 7u);"}});
}

TEST(undefined, indices) {
    const std::string table = "uint t[3] = uint[3](1u, 2u, 3u); ";
    const std::string here = "refused: my_env.glsl:20: ";  // in any mode: a store beyond the end overwrites other data
    expect_refused({{table + "state.n = t[state.n];"},
                    {table + "t[state.k] = 3u; state.n = t[0];"},
                    {"const uint c[2] = uint[2](1u, 2u); state.n = c[action];"},
                    {table + "if (state.n <= 3u) state.n = t[state.n];"},
                    {table + "uint i = state.n; if (i < 3u) { i += 1u; state.n = t[i]; }"},
                    {table + "if (state.k < 3) state.n = t[state.k];"},
                    {"vec3 v = vec3(state.x); state.x = v[state.n];"},
                    {"vec3 v = vec3(state.x); v[state.n] = state.x; state.x = v.x;"},
                    {"mat2 m = mat2(state.x); state.x = m[state.n][1];"},
                    {"mat2 m = mat2(state.x); state.x = m[1][state.n];"}},
                   here, "Use exact_index(index, count)");
    expect_accepted({{table + "state.n = t[action] + t[state.n % 3u] + t[min(state.n, 2u)] + t[clamp(state.k, 0, 2)];"},
                     {table + "state.n = t[exact_index(state.n, 3u)] + t[exact_index(state.k, 3)];"},
                     {table + "if (state.k >= 0 && state.k < 3) state.n = t[state.k];"},
                     {table + "if (state.n > 2u || state.k < 0) state.n = 0u; else state.n = t[state.n];"},
                     {table + "state.n = state.n > 2u ? 0u : t[state.n];"},
                     {table + "uint i = state.n; if (i > 2u) { i = 2u; } t[i] += 1u; state.n = t[0];"},
                     {"vec3 v = vec3(state.x); v[action] = state.x; state.x = v[state.n % 3u];"}});
}

TEST(undefined, reads_of_what_nothing_has_written) {
    const std::string why = "that nothing has written";
    const std::string some = "void some(out uint a, uint c) { if (c > 2u) a = 1u; }";
    expect_refused({{"float y; if (action == 0u) y = state.x; state.x = y;"},
                    {"float y; state.x = y;"},
                    {"float y[2]; y[action & 1u] = state.x; state.x = y[0];"},
                    {"State s; s.x = state.x; state = s;"},
                    {"uint q; some(q, state.n); state.n = q;", some},
                    {"uint q; more(q); state.n = q;", "void more(inout uint a) { a += 1u; }"}},
                   "my_env.glsl:20: ", why);
    expect_refused({{"uint q = 0u; more(q); state.n = q;", "void more(out uint a) { a += 1u; }"}},
                   "my_env.glsl:10: ", why);
    expect_accepted({{"float y; if (action == 0u) y = state.x; else y = exact_from_bits(kExactOne); state.x = y;"},
                     {"float y[2]; y[0] = state.x; y[1] = state.x; state.x = y[action & 1u];"},
                     {"State s; s.x = state.x; s.n = 1u; s.k = 0; s.m = 2u; state = s;"},
                     {"uint q = 0u; more(q); state.n = q;", "void more(inout uint a) { a += 1u; }"}});
    // What the step gives, and what the policy sees.
    std::string source = environment_with("");
    source.replace(source.find("result.reward = state.x;"), 24, "");
    auto compiled = compile_environment(source, "my_env.glsl");
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_THAT(compiled->inexact_reason, AllOf(StartsWith("my_env.glsl:23: "), HasSubstr(why)));
    source = environment_with("");
    source.replace(source.find("o[1] = state.x;"), 15, "");
    compiled = compile_environment(source, "my_env.glsl");
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_THAT(compiled->inexact_reason, HasSubstr(why));
}

TEST(undefined, missing_returns) {
    expect_refused(
        {{"state.n = f(state.n);", "uint f(uint a) { if (a > 3u) return 1u; }"},
         {"state.n = f(state.n);", "uint f(uint a) { switch (a) { case 0u: return 1u; case 1u: return 2u; } }"}},
        "my_env.glsl:10: ", "Return a value on every way");
    expect_accepted(
        {{"state.n = f(state.n);", "uint f(uint a) { if (a > 3u) { return 1u; } else { return 2u; } }"},
         {"state.n = f(state.n);", "uint f(uint a) { switch (a) { case 0u: return 1u; default: return 2u; } }"}});
}

TEST(undefined, barriers) {
    expect_refused({{"if (action == 0u) barrier();"}, {"memoryBarrier();"}},
                   "refused: my_env.glsl:20: ", "there is a barrier");
}

TEST(undefined, what_is_too_long_to_follow) {
    std::string functions = "uint f0(uint a) { return a; } ";
    for (int i = 1; i <= 120; ++i) functions += fmt::format("uint f{}(uint a) {{ return f{}(a) + 1u; }} ", i, i - 1);
    expect_refused({{"state.n = f120(state.n);", functions}}, "my_env.glsl:10: ", "too many ways to follow");
    expect_accepted({{"state.n = f90(state.n);", functions}});
    // Twice the calls of the one before: each is followed once.
    functions = "uint f0(uint a) { return a; } ";
    for (int i = 1; i <= 40; ++i)
        functions += fmt::format("uint f{0}(uint a) {{ return f{1}(a) + f{1}(a + 1u); }} ", i, i - 1);
    expect_accepted({{"state.n = f40(state.n);", functions}});
}

// Only what the roll-out calls is in the module.
TEST(undefined, what_nothing_calls_is_left_out) { EXPECT_EQ(refusal_of("", "uint f(uint a) { return 1u << a; }"), ""); }

}  // namespace
}  // namespace yolk
