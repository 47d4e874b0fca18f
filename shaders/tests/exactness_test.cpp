// SPDX-License-Identifier: Apache-2.0
// That every violation is found where it is planted, and that there is none in the modules of the catalogue which are
// not marked TOLERANT. What plans give to a driver is read by oracle/tests/contraction_test.cpp.
#include "yolk/internal/shaders/exactness.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <spirv-tools/libspirv.hpp>
#include <string>
#include <vector>

#include "allowed_instructions.hpp"
#include "yolk/internal/abi/rollout.h"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/default_constants.hpp"
#include "yolk/internal/shaders/environment_compiler.hpp"
#include "yolk/internal/shaders/kernel_compiler.hpp"
#include "yolk/internal/shaders/specialize.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Words = std::vector<std::uint32_t>;

/// Fails the test where the module cannot be read.
std::vector<InexactInstruction> inexact_in(const Words& spirv) {
    auto found = find_inexact(spirv);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : std::vector<InexactInstruction>{};
}
std::vector<std::string> texts(const std::vector<InexactInstruction>& all) {
    std::vector<std::string> list;
    for (const InexactInstruction& one : all) list.push_back(to_string(one));
    return list;
}

/// A shader that computes `body` from x, y and z and ends in value.
Words compiled(const std::string& body, const std::string& functions = "", bool optimized = false) {
    const KernelSource source{.name = "planted.comp",
                              .text = "#version 460\nlayout(set = 0, binding = 0) buffer B { float b[]; };\n" +
                                      functions + "\nvoid main() {\n    float x = b[0], y = b[1], z = b[2];\n" + body +
                                      "\n    b[3] = value;\n}\n",
                              .includes = {}};
    auto spirv = compile_kernel(source, {.optimized = optimized});
    EXPECT_TRUE(spirv) << spirv.error().message;
    return spirv ? *std::move(spirv) : Words{};
}

/// A module of SPIR-V's assembly with `body` in main, which has the constants %one and %two, and %half for conversions.
Words assembled(const std::string& body, const std::string& annotations = "", const std::string& head = "",
                const std::string& types = "") {
    spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
    std::string messages;
    tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t& at, const char* text) {
        messages += fmt::format("{}: {}\n", at.line, text);
    });
    Words words;
    const std::string text =
        "OpCapability Shader\n" + head +
        "%glsl = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel Logical GLSL450\n"
        "OpEntryPoint GLCompute %main \"main\"\nOpExecutionMode %main LocalSize 1 1 1\n" +
        annotations +
        "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%float = OpTypeFloat 32\n"
        "%uint = OpTypeInt 32 0\n%v2 = OpTypeVector %float 2\n%m2 = OpTypeMatrix %v2 2\n"
        "%one = OpConstant %float 1\n%two = OpConstant %float 2\n%word = OpConstant %uint 3\n"
        "%pair = OpConstantComposite %v2 %one %two\n%square = OpConstantComposite %m2 %pair %pair\n" +
        types + "%main = OpFunction %void None %fn\n%label = OpLabel\n" + body + "OpReturn\nOpFunctionEnd\n";
    EXPECT_TRUE(tools.Assemble(text, &words)) << messages << text;
    return words;
}

TEST(exactness, decorated_arithmetic_integers_and_selects_are_exact) {
    EXPECT_THAT(texts(inexact_in(compiled("    precise float value = x * y + z - -x;"))), IsEmpty());
    EXPECT_THAT(texts(inexact_in(compiled(
                    "    float value = x < y ? x : float(min(floatBitsToInt(y), abs(floatBitsToInt(z))) * 3);"))),
                IsEmpty());
    EXPECT_THAT(texts(inexact_in(compiled("    precise vec3 v = vec3(x, y, z) * y;\n    float value = v.x;"))),
                IsEmpty());
}

TEST(exactness, arithmetic_without_the_decoration_is_found) {
    for (const char* arithmetic :
         {"x + y", "x - y", "x * y", "-x", "(vec3(x, y, z) + vec3(y)).x", "(vec2(x, y) * z).y"}) {
        const auto found = inexact_in(compiled(fmt::format("    float value = {};", arithmetic)));
        EXPECT_THAT(texts(found), ElementsAre(HasSubstr("not declared exact_float"))) << arithmetic;
    }
}

// glslang's `precise` reaches back through one function only.
TEST(exactness, what_precise_does_not_reach_is_found_in_called_functions) {
    const std::string product = "float product(float a, float b) { return a * b; }";
    const auto found = inexact_in(compiled("    precise float value = product(x, y) + z;", product));
    ASSERT_THAT(texts(found), ElementsAre(HasSubstr("not declared exact_float")));
    EXPECT_THAT(found[0].function, HasSubstr("product("));
    const std::string inner = "float inner(float a) { return a + 1.0; }\nfloat outer(float a) { return inner(a); }";
    EXPECT_THAT(inexact_in(compiled("    precise float value = outer(x);", inner)), SizeIs(1));
    EXPECT_THAT(inexact_in(compiled("    float value = x; if (y > 1e30) value = x * y;")), SizeIs(1)) << "rarely run";
}

// SPIRV-Tools copies instructions where it inlines functions, with new ids.
TEST(exactness, optimizing_keeps_what_is_decorated_and_what_is_not) {
    const std::string exact = "float product(float a, float b) { precise float p = a * b; return p; }";
    const std::string inexact = "float product(float a, float b) { return a * b; }";
    const std::string twice = "    precise float value = product(x, y) + product(y, z);";
    EXPECT_THAT(texts(inexact_in(compiled(twice, exact, true))), IsEmpty());
    EXPECT_THAT(inexact_in(compiled(twice, inexact, true)), SizeIs(2)) << "both copies";
}

TEST(exactness, built_ins_division_and_sums_without_order_are_found_though_precise) {
    for (const char* built_in :
         {"fma(x, y, z)", "sqrt(x)", "inversesqrt(x)", "exp(x)", "exp2(x)", "log(x)", "pow(x, y)", "sin(x)", "tanh(x)",
          "mix(x, y, z)", "length(vec2(x, y))", "normalize(vec2(x, y)).x", "distance(vec2(x), vec2(y, z))", "min(x, y)",
          "clamp(x, y, z)", "fract(x)", "uintBitsToFloat(packHalf2x16(vec2(x * y, z)))", "unpackHalf2x16(7u).x"}) {
        const auto found = inexact_in(compiled(fmt::format("    precise float value = {};", built_in)));
        EXPECT_THAT(texts(found), ElementsAre(HasSubstr("GLSL's built-in function"))) << built_in;
    }
    const auto why = [](const char* expression) {
        return texts(inexact_in(compiled(fmt::format("    precise float value = {};", expression))));
    };
    EXPECT_THAT(why("x / y"), ElementsAre(HasSubstr("division")));
    EXPECT_THAT(why("mod(x, y)"), ElementsAre(HasSubstr("remainder")));
    EXPECT_THAT(why("dot(vec2(x, y), vec2(z))"), ElementsAre(HasSubstr("no fixed order")));
    EXPECT_THAT(why("(mat2(x, y, z, x) * vec2(x, y)).x"), ElementsAre(HasSubstr("no fixed order")));
}

TEST(exactness, each_instruction_is_found_in_assembly) {
    for (const char* one :
         {"OpFNegate %float %one", "OpFAdd %float %one %two", "OpFSub %float %one %two", "OpFMul %v2 %pair %pair",
          "OpVectorTimesScalar %v2 %pair %two", "OpFDiv %float %one %two", "OpFRem %float %one %two",
          "OpFMod %float %one %two", "OpDot %float %pair %pair", "OpMatrixTimesScalar %m2 %square %two",
          "OpVectorTimesMatrix %v2 %pair %square", "OpMatrixTimesVector %v2 %square %pair",
          "OpMatrixTimesMatrix %m2 %square %square", "OpOuterProduct %m2 %pair %pair", "OpQuantizeToF16 %float %one",
          "OpExtInst %float %glsl Fma %one %two %one", "OpExtInst %float %glsl Sqrt %two",
          "OpExtInst %uint %glsl PackHalf2x16 %pair"}) {
        const Words module = assembled(fmt::format("%5 = {}\n", one));
        const auto found = inexact_in(module);
        ASSERT_THAT(found, SizeIs(1)) << one;
        EXPECT_EQ(found[0].line, 0U) << one;
        EXPECT_THAT(to_string(found[0]), HasSubstr(fmt::format(": %{} (opcode {})", found[0].id, found[0].opcode)));
    }
    const std::string both = "%5 = OpFAdd %float %one %two\n%6 = OpFMul %float %5 %two\n";
    EXPECT_THAT(inexact_in(assembled(both, "OpDecorate %5 NoContraction\n")), SizeIs(1));
    EXPECT_THAT(inexact_in(assembled(both, "OpDecorate %5 NoContraction\nOpDecorate %6 NoContraction\n")), IsEmpty());
    EXPECT_THAT(inexact_in(assembled(both, "OpDecorate %5 RelaxedPrecision\n")), SizeIs(2));
}

TEST(exactness, conversions_to_16_bits_are_found_and_those_from_16_bits_are_exact) {
    const std::string head = "OpCapability Float16\n",
                      types = "%half = OpTypeFloat 16\n%vhalf = OpTypeVector %half 2\n";
    const std::string narrow = "%5 = OpFMul %float %one %two\n%6 = OpFConvert %half %5\n";
    const auto found = inexact_in(assembled(narrow, "OpDecorate %5 NoContraction\n", head, types));
    EXPECT_THAT(texts(found), ElementsAre(HasSubstr("16-bit floats")));
    EXPECT_THAT(inexact_in(assembled("%6 = OpFConvert %vhalf %pair\n", "", head, types)), SizeIs(1));
    const std::string widen = "%half_one = OpConstant %half 1\n";
    EXPECT_THAT(inexact_in(assembled("%6 = OpFConvert %float %half_one\n", "", head, types + widen)), IsEmpty());
}

// A module's words, since the assembler of Debian 12 has no KHR form.
TEST(exactness, matrix_units_are_exact_on_integers_only) {
    for (const std::uint32_t component_type : {21U, 22U}) {
        Words module{0x07230203, 0x00010500, 0, 100, 0};
        const auto add = [&](std::uint32_t opcode, const Words& operands) {
            module.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16U | opcode);
            module.insert(module.end(), operands.begin(), operands.end());
        };
        add(component_type, component_type == 21 ? Words{1, 32, 1} : Words{1, 32});
        add(4456, {2, 1, 7, 8, 9, 10});     // OpTypeCooperativeMatrixKHR
        add(4459, {2, 20, 21, 22, 23, 0});  // OpCooperativeMatrixMulAddKHR
        EXPECT_THAT(inexact_in(module), SizeIs(component_type == 22 ? 1 : 0));
    }
    EXPECT_THAT(inexact_in({kernels::kMatmulCooperativeKhr.spirv.begin(), kernels::kMatmulCooperativeKhr.spirv.end()}),
                Not(IsEmpty()));
}

TEST(exactness, what_is_not_spirv_is_refused) {
    EXPECT_FALSE(find_inexact({}));
    EXPECT_FALSE(find_inexact(Words(9, 0x01020304)));
    Words cut = assembled("%5 = OpFAdd %float %one %two\n");
    cut.resize(cut.size() - 3);  // inside the addition
    EXPECT_FALSE(find_inexact(cut));
}

/// Of a kernel that is not TOLERANT: what is neither exact nor allowed. `loops`: indices in loops that are unrolled
/// before a driver sees them are known only then.
std::vector<std::string> violations(const KernelModule& kernel, const Words& spirv, bool loops = false) {
    std::vector<InexactInstruction> found = inexact_in(spirv);
    std::erase_if(found, [&](const InexactInstruction& one) {
        return is_allowed(kernel.name, one) || (loops && one.is_undefined);
    });
    return texts(found);
}
Words words_of(const KernelModule& kernel) { return {kernel.spirv.begin(), kernel.spirv.end()}; }

TEST(exactness, every_kernel_that_is_not_tolerant_is_exact) {
    std::size_t exact = 0;
    for (const KernelModule* kernel : kernels::all()) {
        if (kernel->tolerant) continue;
        ++exact;
        EXPECT_THAT(violations(*kernel, words_of(*kernel), kernel->unrolled), IsEmpty())
            << kernel->name << ": mend it, or mark it TOLERANT in shaders/kernels.cmake where it is of class T";
    }
    EXPECT_GT(exact, 100U);
}

// A mark that hides nothing is wrong, and so is one that a kernel has lost.
TEST(exactness, every_tolerant_kernel_has_a_reason) {
    for (const KernelModule* kernel : kernels::all()) {
        if (!kernel->tolerant) continue;
        EXPECT_THAT(inexact_in(words_of(*kernel)), Not(IsEmpty())) << kernel->name;
    }
}

TEST(exactness, each_allowance_is_needed) {
    for (const AllowedInstructions& allowed : allowed_instructions()) {
        const auto kernel = std::ranges::find(kernels::all(), allowed.kernel, &KernelModule::name);
        ASSERT_NE(kernel, kernels::all().end()) << allowed.kernel;
        std::set<std::uint32_t> opcodes;
        for (const InexactInstruction& one : inexact_in(words_of(**kernel))) {
            if (!one.is_undefined) opcodes.insert(one.opcode);
        }
        EXPECT_THAT(opcodes, ::testing::ElementsAreArray(allowed.opcodes)) << allowed.kernel;
        EXPECT_FALSE((*kernel)->tolerant) << allowed.kernel;
    }
}

/// The catalogue as drivers are given it.
std::vector<std::pair<std::string_view, std::vector<InexactInstruction>>> undefined_in_the_catalogue() {
    std::vector<std::pair<std::string_view, std::vector<InexactInstruction>>> all;
    for (const KernelModule* kernel : kernels::all()) {
        if (kernel->tolerant) continue;
        Words words = words_of(*kernel);
        if (kernel->unrolled) words = specialize(*kernel, {}).value();
        auto found = inexact_in(words);
        std::erase_if(found, [](const InexactInstruction& one) { return !one.is_undefined; });
        all.emplace_back(kernel->name, std::move(found));
    }
    return all;
}

TEST(exactness, each_allowance_of_what_is_undefined_is_needed) {
    const auto catalogue = undefined_in_the_catalogue();
    for (const AllowedUndefined& allowed : allowed_undefined()) {
        if (!allowed.by_default) continue;  // oracle.no_contraction has other configurations
        std::set<std::uint32_t> opcodes;
        for (const auto& [kernel, found] : catalogue) {
            for (const InexactInstruction& one : found) {
                if (allows(allowed, kernel, one)) opcodes.insert(one.opcode);
            }
        }
        EXPECT_THAT(opcodes, ::testing::ElementsAreArray(allowed.opcodes))
            << allowed.kernels << ' ' << allowed.function << ": " << allowed.why;
    }
}

// The unroller drops decorations, and specialize() adds them again.
TEST(exactness, unrolled_kernels_stay_exact) {
    for (const KernelModule* kernel : kernels::all()) {
        if (!kernel->unrolled || kernel->tolerant) continue;
        const auto specialized = specialize(*kernel, {});
        ASSERT_TRUE(specialized) << specialized.error().message;
        EXPECT_THAT(violations(*kernel, *specialized), IsEmpty()) << kernel->name;
    }
}

TEST(exactness, environments_compiled_from_files_are_exact_inside_the_roll_out) {
    for (const char* file : {YOLK_ENVIRONMENTS_FOLDER "/cartpole.glsl", YOLK_ENVIRONMENTS_FOLDER "/acrobot.glsl",
                             YOLK_ENVIRONMENTS_FOLDER "/pendulum.glsl"}) {
        const auto source = read_file(file, std::size_t{1} << 20U);
        ASSERT_TRUE(source) << source.error().message;
        const auto compiled =
            compile_environment({reinterpret_cast<const char*>(source->data()), source->size()}, file);
        ASSERT_TRUE(compiled) << compiled.error().message;
        EXPECT_EQ(compiled->inexact_reason, "") << file;
        // Sizes of private arrays: a plan's network begins with the observations and ends with the actions.
        const std::vector<SpecConstant> sizes{{abi::rollout::kSpecWidth0, compiled->facts.observation_count},
                                              {abi::rollout::kSpecWidth2, compiled->facts.action_count}};
        for (const Words* exact : {&compiled->looped, &compiled->unrolled, &compiled->packed}) {
            const Words words = with_default_constants(*exact, sizes);
            EXPECT_THAT(violations({.name = "rollout_of_a_file", .spirv = words}, words), IsEmpty()) << file;
        }
        for (const Words* fast : {&compiled->looped_fast, &compiled->unrolled_fast, &compiled->packed_fast})
            EXPECT_THAT(inexact_in(*fast), Not(IsEmpty())) << file;
    }
}

}  // namespace
}  // namespace yolk
