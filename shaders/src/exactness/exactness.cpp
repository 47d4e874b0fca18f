// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/shaders/exactness.hpp"

#include <fmt/format.h>

#include <spirv/unified1/GLSL.std.450.h>
#include <map>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "spirv_module.hpp"
#include "undefined_operations.hpp"

namespace yolk {
namespace {

// Not in Debian 12's headers: the KHR form of cooperative matrices (Khronos' SPIRV-Headers, spirv.core.grammar.json).
constexpr std::uint32_t kTypeCooperativeMatrixKhr = 4456;
constexpr std::uint32_t kCooperativeMatrixMulAddKhr = 4459;

constexpr std::string_view kUndecorated =
    "the value of this arithmetic is not declared exact_float, so a driver may contract or reorder it";
constexpr std::string_view kNoOrder =
    "products of vectors and matrices are summed in no fixed order; write the sums out";
constexpr std::string_view kToHalf =
    "devices round differently when they convert to 16-bit floats; use yolk/exact/exact_half.h";
constexpr std::string_view kSpecial =
    "devices may take every float for a finite one here; use exact_is_nan of yolk/exact/exact_activations.h, or "
    "compare "
    "exact_bits";
constexpr std::string_view kBuiltIn =
    "GLSL's built-in function is not the same on every device; there are the functions of yolk/exact/exact_math.h, and "
    "selects (x < y ? x : y)";

/// Of GLSL.std.450: on integers, and so exact.
bool is_exact_built_in(std::uint32_t number) noexcept {
    switch (number) {
        case GLSLstd450SAbs:
        case GLSLstd450SSign:
        case GLSLstd450UMin:
        case GLSLstd450SMin:
        case GLSLstd450UMax:
        case GLSLstd450SMax:
        case GLSLstd450UClamp:
        case GLSLstd450SClamp:
        case GLSLstd450FindILsb:
        case GLSLstd450FindSMsb:
        case GLSLstd450FindUMsb: return true;
        default: return false;
    }
}

/// Ids are SPIR-V's.
class ExactnessReader {
   public:
    explicit ExactnessReader(const SpirvModule& module) : module_(module) {}
    /// Why an instruction is not exact; empty where it is. In the module's order.
    [[nodiscard]] std::string_view reason(const SpirvInstruction& one);

   private:
    void declare_type(const SpirvInstruction& one);
    [[nodiscard]] std::string_view built_in_reason(const SpirvInstruction& one) const;

    const SpirvModule& module_;
    std::map<std::uint32_t, std::uint32_t> float_bits_;  ///< of float types, and of vectors and matrices of them
};

void ExactnessReader::declare_type(const SpirvInstruction& one) {
    const bool is_composite = one.op == spv::OpTypeVector || one.op == spv::OpTypeMatrix ||
                              one.op == spv::OpTypeCooperativeMatrixNV || one.op == kTypeCooperativeMatrixKhr;
    if (one.op == spv::OpTypeFloat) float_bits_[one.word(1)] = one.word(2);
    if (!is_composite) return;
    if (const auto of = float_bits_.find(one.word(2)); of != float_bits_.end()) float_bits_[one.word(1)] = of->second;
}

std::string_view ExactnessReader::built_in_reason(const SpirvInstruction& one) const {
    if (one.words.size() < 5 || module_.harmless_sets.contains(one.word(3))) return {};
    const bool is_exact = module_.glsl_sets.contains(one.word(3)) && is_exact_built_in(one.word(4));
    return is_exact ? std::string_view() : kBuiltIn;
}

std::string_view ExactnessReader::reason(const SpirvInstruction& one) {
    declare_type(one);
    const auto bits = float_bits_.find(one.type);
    switch (one.op) {
        case spv::OpFNegate:
        case spv::OpFAdd:
        case spv::OpFSub:
        case spv::OpFMul:
        case spv::OpVectorTimesScalar:
            return module_.uncontracted.contains(one.result) ? std::string_view() : kUndecorated;
        case spv::OpFDiv: return "division is not the same on every device; use exact_reciprocal";
        case spv::OpFRem:
        case spv::OpFMod: return "the remainder of floats is not the same on every device";
        case spv::OpIsNan:
        case spv::OpIsInf: return kSpecial;
        case spv::OpDot:
        case spv::OpMatrixTimesScalar:
        case spv::OpVectorTimesMatrix:
        case spv::OpMatrixTimesVector:
        case spv::OpMatrixTimesMatrix:
        case spv::OpOuterProduct: return kNoOrder;
        case spv::OpCooperativeMatrixMulAddNV:
        case kCooperativeMatrixMulAddKhr: return bits == float_bits_.end() ? std::string_view() : kNoOrder;
        case spv::OpGroupFAdd:
        case spv::OpGroupNonUniformFAdd:
        case spv::OpGroupNonUniformFMul:
        case spv::OpAtomicFAddEXT: return "floats of several invocations are combined in no fixed order";
        case spv::OpQuantizeToF16: return kToHalf;
        case spv::OpFConvert: return bits != float_bits_.end() && bits->second == 16 ? kToHalf : std::string_view();
        case spv::OpExtInst: return built_in_reason(one);
        default: return {};
    }
}

InexactInstruction placed(const SpirvModule& module, const SpirvInstruction& one, std::string_view why) {
    const auto name = module.names.find(one.function);
    const auto file = module.strings.find(one.file);
    const bool has_line = one.line != 0 && file != module.strings.end();
    return {.opcode = one.op,
            .id = one.result != 0 ? one.result : one.word(1),
            .function = name == module.names.end() ? fmt::format("%{}", one.function) : name->second,
            .file = has_line ? file->second : std::string(),
            .line = has_line ? one.line : 0,
            .why = why};
}

}  // namespace

Result<std::vector<InexactInstruction>> find_inexact(std::span<const std::uint32_t> spirv, bool lists_undefined) {
    YOLK_TRY(const SpirvModule module, SpirvModule::read(spirv));
    const std::vector<UndefinedOperation> undefined =
        lists_undefined ? find_undefined(module) : std::vector<UndefinedOperation>();
    ExactnessReader reader(module);
    std::vector<InexactInstruction> all;
    auto next = undefined.begin();
    for (std::size_t i = 0; i < module.instructions.size(); ++i) {
        const SpirvInstruction& one = module.instructions[i];
        if (const std::string_view why = reader.reason(one); !why.empty()) all.push_back(placed(module, one, why));
        if (next != undefined.end() && next->instruction == i) {
            all.push_back(placed(module, one, next->why));
            all.back().is_undefined = true;
            all.back().may_end_process = next->is_trap;
            all.back().by_parameters = next->given;
            ++next;
        }
    }
    return all;
}

std::string to_string(const InexactInstruction& instruction) {
    const std::string line =
        instruction.line == 0 ? std::string() : fmt::format(" {}:{}", instruction.file, instruction.line);
    return fmt::format("{}{}: %{} (opcode {}): {}", instruction.function, line, instruction.id, instruction.opcode,
                       instruction.why);
}

}  // namespace yolk
