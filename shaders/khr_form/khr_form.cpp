// SPDX-License-Identifier: Apache-2.0
#include "khr_form.hpp"

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace yolk {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
constexpr std::size_t kBoundWord = 3;

// Opcodes and capabilities: the unified grammar of SPIR-V (Khronos' SPIRV-Headers, spirv.core.grammar.json).
enum Opcode : std::uint32_t {
    kName = 5,
    kMemberName = 6,
    kExtension = 10,
    kCapability = 17,
    kTypeInt = 21,
    kTypeFloat = 22,
    kConstantTrue = 41,
    kConstantFalse = 42,
    kConstant = 43,
    kSpecConstantTrue = 48,
    kSpecConstantFalse = 49,
    kSpecConstantOp = 52,
    kFunction = 54,
    kDecorate = 71,
    kMemberDecorate = 72,
    kSelect = 169,
    kTypeKhr = 4456,
    kLoadKhr = 4457,
    kStoreKhr = 4458,
    kMulAddKhr = 4459,
    kLengthKhr = 4460,
    kTypeNv = 5358,
    kLoadNv = 5359,
    kStoreNv = 5360,
    kMulAddNv = 5361,
    kLengthNv = 5362,
};
constexpr std::uint32_t kCapabilityFloat16 = 9;
constexpr std::uint32_t kCapabilityNv = 5357;
constexpr std::uint32_t kCapabilityKhr = 6022;
constexpr std::uint32_t kCapabilityBf16 = 5116;
constexpr std::uint32_t kCapabilityBf16Matrix = 5118;
constexpr std::uint32_t kEncodingBf16 = 0;  ///< of a type of floats
constexpr std::string_view kExtensionNv = "SPV_NV_cooperative_matrix";
constexpr std::string_view kExtensionKhr = "SPV_KHR_cooperative_matrix";
constexpr std::string_view kExtensionBf16 = "SPV_KHR_bfloat16";
/// Of a multiplication: the components of a, b, the sums and the result are signed.
constexpr std::uint32_t kAllSigned = 0xF;

/// Which operand of a multiplication the matrices of a type are.
enum Use : std::uint32_t { kUseA = 0, kUseB = 1, kUseSum = 2, kUseCount = 3 };

struct Instruction {
    std::uint32_t opcode = 0;
    std::span<const std::uint32_t> operands;
};

bool refers_to_its_first_operand(std::uint32_t opcode) noexcept {
    return opcode == kName || opcode == kMemberName || opcode == kDecorate || opcode == kMemberDecorate;
}

bool is_constant(std::uint32_t opcode) noexcept {
    return opcode == kConstantTrue || opcode == kConstantFalse || opcode == kSpecConstantTrue ||
           opcode == kSpecConstantFalse || opcode == kSpecConstantOp;
}

/// The fewest operands that the translation reads.
std::size_t operands_needed(std::uint32_t opcode) noexcept {
    switch (opcode) {
        case kCapability: return 1;
        case kTypeFloat: return 2;
        case kTypeInt: return 3;
        case kStoreNv: return 4;
        case kTypeNv:
        case kLoadNv:
        case kMulAddNv: return 5;
        default: return 0;
    }
}

/// Instructions of a module; nothing where its words are no module.
std::optional<std::vector<Instruction>> parse(std::span<const std::uint32_t> words) {
    if (words.size() < kHeaderWords || words[0] != kMagic) return {};
    std::vector<Instruction> instructions;
    for (std::size_t at = kHeaderWords; at < words.size();) {
        const std::size_t length = words[at] >> 16U;
        if (length == 0 || length > words.size() - at) return {};
        const Instruction one{words[at] & 0xFFFFU, words.subspan(at + 1, length - 1)};
        if (one.operands.size() < operands_needed(one.opcode)) return {};
        instructions.push_back(one);
        at += length;
    }
    return instructions;
}

class Translation {
   public:
    Translation(std::span<const std::uint32_t> nv, HalfForm halves) : nv_(nv), bf16_(halves == HalfForm::BF16) {}

    KhrForm run() {
        const auto instructions = parse(nv_);
        if (!instructions) return {{}, "It is not a module of SPIR-V."};
        read(*instructions);
        if (!problem_.empty()) return {{}, problem_};
        out_.assign(nv_.begin(), nv_.begin() + kHeaderWords);
        for (const Instruction& one : *instructions) write(one);
        out_[kBoundWord] = bound_;
        if (!problem_.empty()) return {{}, problem_};
        return {out_, {}};
    }

   private:
    void read(const std::vector<Instruction>& instructions) {
        bound_ = nv_[kBoundWord];
        std::set<std::uint32_t> constants;              // ids
        std::map<std::uint32_t, std::uint32_t> matrix;  // types of matrices by their ids; a type stands for itself
        for (const Instruction& one : instructions) {
            const auto operand = [&](std::size_t i) { return one.operands[i]; };
            if (one.opcode == kTypeNv) matrix[operand(0)] = operand(0);
            read_components(one);
            if (one.operands.size() < 2 || refers_to_its_first_operand(one.opcode)) continue;
            if (is_constant(one.opcode)) constants.insert(operand(1));
            if (matrix.contains(operand(0))) matrix[operand(1)] = operand(0);
            if (one.opcode == kLoadNv) layouts_[operand(4)] = 0;
            if (one.opcode == kStoreNv) layouts_[operand(3)] = 0;
            if (one.opcode != kMulAddNv) continue;
            for (std::size_t i = 2; i < 5; ++i) check_sign(matrix[operand(i)]);
            set_use(matrix[operand(2)], kUseA);
            set_use(matrix[operand(3)], kUseB);
            set_use(matrix[operand(4)], kUseSum);
        }
        if (uses_.empty()) problem_ = "It multiplies no matrices of the NV form.";
        if (bf16_ && half_ == 0) problem_ = "It has no 16-bit floats that could become bf16.";
        for (const auto& [boolean, number] : layouts_) {
            if (!constants.contains(boolean))
                problem_ = "A matrix is read or written in a layout that is not a constant.";
        }
    }
    /// Types of numbers, and of matrices by theirs.
    void read_components(const Instruction& one) {
        const auto& o = one.operands;
        if (one.opcode == kTypeFloat && o[1] == 16) half_ = o[0];
        if (one.opcode == kTypeInt) signs_[o[0]] = o[2] == 1 ? Sign::Signed : Sign::Unsigned;
        if (one.opcode == kTypeNv && signs_.contains(o[1])) signs_[o[0]] = signs_[o[1]];
        // A type's own instruction names it first, too; others with that name first give a value of it.
        if (bf16_ && half_ != 0 && one.opcode != kTypeFloat && one.opcode != kTypeNv && o.size() > 1 && o[0] == half_ &&
            !refers_to_its_first_operand(one.opcode))
            problem_ = "It computes with 16-bit floats, which bf16 does not.";
    }
    void check_sign(std::uint32_t matrix_type) {
        const auto sign = signs_.find(matrix_type);
        if (sign == signs_.end()) return;
        if (sign->second == Sign::Unsigned) problem_ = "It multiplies unsigned integers.";
        is_signed_ = true;
    }
    void set_use(std::uint32_t type, Use use) {
        const auto [known, is_new] = uses_.emplace(type, use);
        if (!is_new && known->second != use)
            problem_ = "A type of matrices is two operands of multiplications; give its sides constants of their own.";
    }

    void put(std::uint32_t opcode, std::initializer_list<std::uint32_t> operands,
             std::span<const std::uint32_t> rest = {}) {
        const std::size_t length = 1 + operands.size() + rest.size();
        out_.push_back(static_cast<std::uint32_t>(length) << 16U | opcode);
        out_.insert(out_.end(), operands);
        out_.insert(out_.end(), rest.begin(), rest.end());
    }
    void write(const Instruction& one) {
        const auto& o = one.operands;
        switch (one.opcode) {
            case kCapability: write_capability(o[0]); break;
            case kExtension: write_extension(o); break;
            case kTypeNv: write_type(o); break;
            case kLoadNv: put(kLoadKhr, {o[0], o[1], o[2], layouts_[o[4]], o[3]}, o.subspan(5)); break;
            case kStoreNv: put(kStoreKhr, {o[0], o[1], layouts_[o[3]], o[2]}, o.subspan(4)); break;
            case kMulAddNv:
                if (is_signed_)
                    put(kMulAddKhr, {o[0], o[1], o[2], o[3], o[4], kAllSigned});
                else
                    put(kMulAddKhr, {}, o);
                break;
            case kTypeFloat:
                if (bf16_ && o[1] == 16)
                    put(kTypeFloat, {o[0], o[1], kEncodingBf16});
                else
                    put(kTypeFloat, {}, o);
                break;
            case kLengthNv: put(kLengthKhr, {}, o); break;
            default:
                if (one.opcode == kFunction && !wrote_layouts_) write_layouts();
                put(one.opcode, {}, o);
                if (one.opcode == kTypeInt) write_numbers(o);
        }
    }
    void write_extension(std::span<const std::uint32_t> text) {
        const std::string_view name(reinterpret_cast<const char*>(text.data()), text.size() * sizeof(text[0]));
        if (name.substr(0, kExtensionNv.size() + 1) != std::string_view(kExtensionNv.data(), kExtensionNv.size() + 1))
            return put(kExtension, {}, text);
        write_text(kExtensionKhr);
        if (bf16_) write_text(kExtensionBf16);
    }
    void write_text(std::string_view name) {
        Words words(name.size() / sizeof(std::uint32_t) + 1);
        std::memcpy(words.data(), name.data(), name.size());
        put(kExtension, {}, words);
    }
    void write_capability(std::uint32_t capability) {
        if (bf16_ && capability == kCapabilityFloat16) {
            put(kCapability, {kCapabilityBf16});
            put(kCapability, {kCapabilityBf16Matrix});
            return;
        }
        put(kCapability, {capability == kCapabilityNv ? kCapabilityKhr : capability});
    }
    void write_type(std::span<const std::uint32_t> o) {
        const auto use = uses_.find(o[0]);
        if (use == uses_.end()) {
            problem_ = "No multiplication uses a type of matrices.";
            return;
        }
        if (integer_ == 0) problem_ = "It has no 32-bit unsigned integers before its matrices.";
        put(kTypeKhr, {o[0], o[1], o[2], o[3], o[4], numbers_.at(use->second)});
    }
    /// Uses and layouts need the numbers 0, 1 and 2: constants behind the type of integers.
    void write_numbers(std::span<const std::uint32_t> o) {
        if (o[1] != 32 || o[2] != 0) return;
        integer_ = o[0];
        for (std::uint32_t value = 0; value < kUseCount; ++value) {
            numbers_.at(value) = bound_++;
            put(kConstant, {integer_, numbers_.at(value), value});
        }
    }
    /// In front of the functions, for booleans and integers may come in any order: by columns 1, by rows 0.
    void write_layouts() {
        wrote_layouts_ = true;
        for (auto& [boolean, number] : layouts_) {
            number = bound_++;
            put(kSpecConstantOp, {integer_, number, kSelect, boolean, numbers_[1], numbers_[0]});
        }
    }

    enum class Sign { Signed, Unsigned };

    std::span<const std::uint32_t> nv_;
    bool bf16_ = false;
    Words out_;
    std::string problem_;
    std::uint32_t bound_ = 0;                         ///< the first id that is free
    std::map<std::uint32_t, Use> uses_;               ///< of types
    std::map<std::uint32_t, Sign> signs_;             ///< of types of integers, and of matrices of them
    std::uint32_t half_ = 0;                          ///< the type of 16-bit floats
    bool is_signed_ = false;                          ///< its matrices are of integers
    std::map<std::uint32_t, std::uint32_t> layouts_;  ///< numbers by the booleans that they stand for
    std::uint32_t integer_ = 0;                       ///< the type
    std::array<std::uint32_t, kUseCount> numbers_{};  ///< constants
    bool wrote_layouts_ = false;
};

}  // namespace

KhrForm to_khr_form(std::span<const std::uint32_t> nv, HalfForm halves) { return Translation(nv, halves).run(); }

}  // namespace yolk
