// SPDX-License-Identifier: Apache-2.0
// Shaders that would take this process down, or keep it for hours, are errors in words.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/worker.hpp"
#include "yolk/internal/shaders/environment_compiler.hpp"
#include "yolk/internal/shaders/kernel_compiler.hpp"

namespace yolk {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string told(const std::string& body, const std::string& before = "") {
    const KernelSource source{.name = "my.comp",
                              .text =
                                  "#version 460\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B { int b[]; "
                                  "};\n" +
                                  before + "void main() {\n" + body + "\n}\n",
                              .includes = {}};
    const auto spirv = compile_kernel(source);
    return spirv ? "compiled" : spirv.error().message;
}

std::string sum_of(int terms) {
    std::string sum = "b[0] = 1";
    for (int i = 1; i < terms; ++i) sum += i % 40 == 0 ? "\n+b[1]" : "+b[1]";
    return sum + ";";
}

std::string environment_told(const std::string& step, const std::string& before = "") {
    const std::string source =
        "#include \"yolk/exact/environment_prelude.h\"\nENVIRONMENT_BEGIN(small)\nEXACT_CONST uint kObservationCount = "
        "1u;\nEXACT_CONST uint kActionCount = 2u;\nEXACT_CONST uint kMaxSteps = 50u;\nEXACT_CONST uint kSolvedReturn = "
        "0x41200000u;\nEXACT_CONST uint kBestReturn = 0x41A00000u;\nstruct State { uint steps; };\nEXACT_FUNCTION "
        "State "
        "environment_reset(uvec4 words) {\n    State state;\n    state.steps = words.x;\n    return state; "
        "}\nEXACT_PROCEDURE environment_observe(State state, EXACT_OUT_ARRAY(float, o, 1)) {\n    o[0] = "
        "exact_uniform(state.steps); }\n" +
        before +  // from line 15 on
        "EXACT_FUNCTION StepResult environment_step(EXACT_INOUT(State) state, uint a) {\n" + step +
        "\n    StepResult result;\n    result.reward = exact_from_bits(kExactOne);\n    result.terminated = a == 1u;\n "
        "   "
        "return result;\n}\nENVIRONMENT_END\n";
    const auto compiled = compile_environment(source, "my_env.glsl");
    return compiled ? "compiled" : compiled.error().message;
}

TEST(compile_apart, what_ends_a_compiler_ends_no_caller) {
    EXPECT_EQ(told(sum_of(1'000)), "compiled");
    EXPECT_THAT(told(sum_of(400'000)),
                AllOf(HasSubstr("'my.comp' cannot be compiled: the compiler "), HasSubstr("split it up")));
    EXPECT_THAT(told("b[0] = " + std::string(400'000, '(') + "1" + std::string(400'000, ')') + ";"),
                Not(HasSubstr("compiled:")));
    std::string sum = sum_of(400'000);
    for (std::size_t at = sum.find("b["); at != std::string::npos; at = sum.find("b[", at)) sum.replace(at, 4, "a");
    EXPECT_THAT(environment_told("    uint x" + sum.substr(1)),
                HasSubstr("'my_env.glsl' cannot be compiled: the compiler "));
    EXPECT_EQ(environment_told("    state.steps += 1u;"), "compiled");
}

TEST(compile_apart, macros_that_grow_have_a_limit) {
    std::string macros = "#define A0 b[0]\n";
    for (int i = 1; i < 40; ++i)
        macros += "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) + "+A" + std::to_string(i - 1) + "\n";
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_THAT(told("b[1] = A39;", macros), HasSubstr("'my.comp' cannot be compiled: the compiler "));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::minutes(3));
}

TEST(compile_apart, a_recursion_has_a_function_and_a_line) {
    EXPECT_THAT(told("b[0] = f(3);", "int f(int n) {\n    return n == 0 ? 1 : n * f(n - 1);\n}\n"),
                AllOf(HasSubstr("my.comp:4: 'f' : calls 'f', which calls it again"), Not(HasSubstr(":0:"))));
    EXPECT_THAT(told("b[0] = g(3);", "int g(int n);\nint f(int n) { return g(n); }\n\nint g(int n) { return f(n); }\n"),
                AnyOf(HasSubstr("my.comp:5: 'f' : calls 'g'"), HasSubstr("my.comp:7: 'g' : calls 'f'")));
    EXPECT_THAT(environment_told("    state.steps = f(state.steps);", "uint f(uint n) { return f(n + 1u); }\n"),
                HasSubstr("my_env.glsl:15: 'f' : calls 'f'"));
}

TEST(compile_apart, switches_and_local_arrays_have_limits) {
    const auto switch_of = [](int cases) {
        std::string text = "switch (a) {\n";
        for (int i = 0; i < cases; ++i)
            text += "case " + std::to_string(i) + ": r = " + std::to_string(i % 7) + "; break;\n";
        return text + "default: r = 9; }\n";
    };
    EXPECT_EQ(told("int a = b[0], r = 0;\n" + switch_of(1000) + "b[0] = r;"), "compiled");
    EXPECT_THAT(
        told("int a = b[0], r = 0;\n" + switch_of(5000) + "b[0] = r;"),
        AllOf(HasSubstr("my.comp, in the function 'main': a switch has 5000 cases"), HasSubstr("1024 are allowed")));
    EXPECT_THAT(environment_told("    int r = 0;\n" + switch_of(1) + "    state.steps = uint(r);"),
                Not(HasSubstr("cases;")));
    std::string cases = switch_of(5000);
    cases.replace(cases.find("(a)"), 3, "(int(a))");
    EXPECT_THAT(environment_told("    int r = 0;\n" + cases + "    state.steps = uint(r);"),
                AllOf(HasSubstr("my_env.glsl:17: a switch has 5000 cases"), HasSubstr("1024 are allowed")));
    EXPECT_THAT(
        environment_told("    uint big[25000000];\n    big[a] = a;\n    state.steps = big[state.steps % 25000000u];"),
        AllOf(HasSubstr("my_env.glsl"), HasSubstr("local variables take 95.4 MiB"), HasSubstr("64.0 KiB are allowed")));
    EXPECT_THAT(environment_told("    state.steps = state.steps" +
                                 [] {
                                     std::string text;
                                     for (int i = 0; i < 30'000; ++i) text += i % 40 == 0 ? "\n+a" : "+a";
                                     return text;
                                 }() +
                                 ";"),
                AnyOf(HasSubstr("instructions of SPIR-V; at most 20000 are allowed"), HasSubstr("cannot be compiled")));
}

TEST(compile_apart, without_a_worker_it_says_so) {
    ASSERT_EQ(::setenv("YOLK_WORKER", "/absent/yolk-worker", 1), 0);
    const std::string message = told("b[0] = 77;");
    ::unsetenv("YOLK_WORKER");
    EXPECT_THAT(message, AllOf(HasSubstr("/absent/yolk-worker"), HasSubstr("does not exist")));
    EXPECT_EQ(told("b[0] = 77;"), "compiled");
    const auto worker = find_worker();
    ASSERT_TRUE(worker) << worker.error().message;
    EXPECT_EQ(worker->filename(), "yolk-worker");
}

// A stand-in passes the arguments on as a program of another version would give them.
TEST(compile_apart, a_worker_of_another_version_is_refused) {
    const auto worker = find_worker();
    ASSERT_TRUE(worker) << worker.error().message;
    const fs::path script = fs::path(::testing::TempDir()) / fmt::format("worker-{}.sh", ::getpid());
    ASSERT_TRUE(write_file_atomically(
        script, fmt::format("#!/bin/sh\nexec '{}' \"$1\" \"$2\" \"$3\" \"$4\" \"$5\" 0.0.9\n", worker->string())));
    fs::permissions(script, fs::perms::owner_all);
    ASSERT_EQ(::setenv("YOLK_WORKER", script.c_str(), 1), 0);
    const std::string message = told("b[0] = 78;");
    ::unsetenv("YOLK_WORKER");
    fs::remove(script);
    EXPECT_THAT(message, AllOf(HasSubstr(worker->string()), HasSubstr("was started by a program of Yolk 0.0.9"),
                               HasSubstr("$YOLK_WORKER")));
    EXPECT_EQ(told("b[0] = 78;"), "compiled");
}

}  // namespace
}  // namespace yolk
