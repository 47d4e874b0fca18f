// SPDX-License-Identifier: Apache-2.0
#include "yolk/shaders/exactness.hpp"

#include <fmt/format.h>

#include <spirv/unified1/GLSL.std.450.h>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "spirv_words.hpp"

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

/// One pass over the module. Ids are SPIR-V's.
class ExactnessReader {
   public:
    void read(std::uint32_t op, std::span<const std::uint32_t> words) {
        declare(op, words);
        if (words.size() < 3) return;
        if (const std::string_view why = reason(op, words); !why.empty()) add(op, words[2], why);
    }
    [[nodiscard]] std::vector<InexactInstruction> take() { return std::move(found_); }

   private:
    void declare(std::uint32_t op, std::span<const std::uint32_t> words);
    void declare_type(std::uint32_t op, std::span<const std::uint32_t> words);
    /// Why an instruction with a type and a result is not exact; empty where it is.
    [[nodiscard]] std::string_view reason(std::uint32_t op, std::span<const std::uint32_t> words) const;
    [[nodiscard]] std::string_view built_in_reason(std::span<const std::uint32_t> words) const;
    void add(std::uint32_t op, std::uint32_t id, std::string_view why);

    std::map<std::uint32_t, std::string> strings_, names_;
    std::map<std::uint32_t, std::uint32_t> float_bits_;  ///< of float types, and of vectors and matrices of them
    std::set<std::uint32_t> uncontracted_, glsl_, harmless_sets_;
    std::uint32_t function_ = 0, line_file_ = 0, line_ = 0;
    std::vector<InexactInstruction> found_;
};

void ExactnessReader::declare_type(std::uint32_t op, std::span<const std::uint32_t> words) {
    const bool is_composite = op == spv::OpTypeVector || op == spv::OpTypeMatrix ||
                              op == spv::OpTypeCooperativeMatrixNV || op == kTypeCooperativeMatrixKhr;
    if (op == spv::OpTypeFloat) float_bits_[words[1]] = words[2];
    if (!is_composite) return;
    if (const auto of = float_bits_.find(words[2]); of != float_bits_.end()) float_bits_[words[1]] = of->second;
}

void ExactnessReader::declare(std::uint32_t op, std::span<const std::uint32_t> words) {
    if (op == spv::OpNoLine || op == spv::OpFunctionEnd) line_ = 0;
    if (words.size() < 3) return;
    declare_type(op, words);
    if (op == spv::OpString) strings_[words[1]] = literal_string(words.subspan(2));
    if (op == spv::OpName) names_[words[1]] = literal_string(words.subspan(2));
    if (op == spv::OpFunction) function_ = words[2];
    if (op == spv::OpDecorate && words[2] == spv::DecorationNoContraction) uncontracted_.insert(words[1]);
    if (op == spv::OpExtInstImport) {
        const std::string set = literal_string(words.subspan(2));
        if (set == "GLSL.std.450") glsl_.insert(words[1]);
        if (set.starts_with("NonSemantic.")) harmless_sets_.insert(words[1]);
    }
    if (op == spv::OpLine) {
        line_file_ = words[1];
        line_ = words[2];
    }
}

std::string_view ExactnessReader::built_in_reason(std::span<const std::uint32_t> words) const {
    if (words.size() < 5 || harmless_sets_.contains(words[3])) return {};
    const bool is_exact = glsl_.contains(words[3]) && is_exact_built_in(words[4]);
    return is_exact ? std::string_view() : kBuiltIn;
}

std::string_view ExactnessReader::reason(std::uint32_t op, std::span<const std::uint32_t> words) const {
    const auto bits = float_bits_.find(words[1]);
    switch (op) {
        case spv::OpFNegate:
        case spv::OpFAdd:
        case spv::OpFSub:
        case spv::OpFMul:
        case spv::OpVectorTimesScalar: return uncontracted_.contains(words[2]) ? std::string_view() : kUndecorated;
        case spv::OpFDiv: return "division is not the same on every device; use exact_reciprocal";
        case spv::OpFRem:
        case spv::OpFMod: return "the remainder of floats is not the same on every device";
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
        case spv::OpExtInst: return built_in_reason(words);
        default: return {};
    }
}

void ExactnessReader::add(std::uint32_t op, std::uint32_t id, std::string_view why) {
    const auto name = names_.find(function_);
    const auto file = strings_.find(line_file_);
    const bool has_line = line_ != 0 && file != strings_.end();
    found_.push_back({.opcode = op,
                      .id = id,
                      .function = name == names_.end() ? fmt::format("%{}", function_) : name->second,
                      .file = has_line ? file->second : std::string(),
                      .line = has_line ? line_ : 0,
                      .why = why});
}

}  // namespace

Result<std::vector<InexactInstruction>> find_inexact(std::span<const std::uint32_t> spirv) {
    if (spirv.size() < kSpirvHeaderWords || spirv[0] != spv::MagicNumber)
        return bad_input("The module is no SPIR-V: it does not begin with SPIR-V's header.");
    ExactnessReader reader;
    for (std::size_t at = kSpirvHeaderWords; at < spirv.size();) {
        const std::size_t count = spirv[at] >> spv::WordCountShift;
        if (count == 0 || count > spirv.size() - at)
            return bad_input("The module is no SPIR-V: word {} begins no instruction.", at);
        reader.read(spirv[at] & spv::OpCodeMask, spirv.subspan(at, count));
        at += count;
    }
    return reader.take();
}

std::string to_string(const InexactInstruction& instruction) {
    const std::string line =
        instruction.line == 0 ? std::string() : fmt::format(" {}:{}", instruction.file, instruction.line);
    return fmt::format("{}{}: %{} (opcode {}): {}", instruction.function, line, instruction.id, instruction.opcode,
                       instruction.why);
}

}  // namespace yolk
