// SPDX-License-Identifier: Apache-2.0
// Every module of the catalogue against its ABI header, as C++ sees it.
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "abi_families.hpp"
#include "reflected_module.hpp"

namespace yolk {

// Names in failures instead of bytes.
void PrintTo(const BlockMember& member, std::ostream* out) {
    *out << member.name << " (offset " << member.offset_bytes << ", " << member.size_bytes << " bytes, kind "
         << static_cast<int>(member.kind) << ")";
}
constexpr std::array kKindNames{" storage", " uniform", " texel"};
void PrintTo(const ReflectedBinding& binding, std::ostream* out) {
    *out << "set " << binding.set << " binding " << binding.binding
         << kKindNames.at(static_cast<std::size_t>(binding.kind));
}

namespace {

using ::testing::AnyOf;
using ::testing::AnyOfArray;
using ::testing::ContainerEq;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr std::uint32_t kMaxPushConstantBytes = 128;
constexpr std::uint32_t kSpirvCapabilityGroupNonUniform = 61;
constexpr std::uint32_t kSpirvCapabilitySampledBuffer = 46;  // texel buffers: every Vulkan device has them

BindingKind kind_of(const KernelModule& kernel, std::uint32_t b) {
    if (((kernel.uniform_mask >> b) & 1U) != 0) return BindingKind::Uniform;
    return (((kernel.texel_mask | kernel.texel4_mask) >> b) & 1U) != 0 ? BindingKind::Texel : BindingKind::Storage;
}

struct Subject {
    const KernelModule* kernel;
    const AbiFamily* family;
    ReflectedModule module;
};

// The whole catalogue, reflected once.
const std::vector<Subject>& subjects() {
    static const std::vector<Subject> all = [] {
        std::vector<Subject> list;
        for (const KernelModule* kernel : reflected_kernels()) {
            list.push_back({kernel, abi_family_of(kernel->name), *reflect(kernel->spirv)});
        }
        return list;
    }();
    return all;
}

std::set<std::uint32_t> values_of(const std::vector<AbiConstant>& constants) {
    std::set<std::uint32_t> values;
    for (const AbiConstant& constant : constants) values.insert(constant.value);
    return values;
}

TEST(reflection, every_module_belongs_to_a_family) {
    EXPECT_EQ(subjects().size(), abi_modules().size());
    for (const Subject& subject : subjects()) EXPECT_NE(subject.family, nullptr) << subject.kernel->name;
}

TEST(reflection, one_compute_entry_point_called_main) {
    for (const Subject& subject : subjects()) {
        EXPECT_THAT(subject.module.entry_points, ElementsAre("compute main")) << subject.kernel->name;
    }
}

/// The header's names of bindings that the module has two variables for.
std::vector<std::string> declared_twice(const Subject& subject) {
    std::vector<std::string> names;
    std::set<ReflectedBinding> seen;
    for (const ReflectedBinding& binding : subject.module.bindings) {
        if (seen.insert(binding).second) continue;
        for (const AbiConstant& named : subject.family->bindings) {
            if (named.value == binding.binding) names.emplace_back(named.name);
        }
    }
    return names;
}

// Bindings of a module are among 0 ... n - 1 of set 0, each a uniform or a storage buffer as the header's mask says. A
// pass of a family may leave some to other passes, but every one is used by some pass. None has two variables, but for
// an output that is stored by elements and by vectors.
TEST(reflection, bindings_are_those_of_the_header) {
    std::map<const AbiFamily*, std::set<ReflectedBinding>> used;
    std::map<const AbiFamily*, std::set<ReflectedBinding>> expected;
    for (const Subject& subject : subjects()) {
        for (std::uint32_t b = 0; b < subject.kernel->binding_count; ++b) {
            expected[subject.family].insert({0, b, kind_of(*subject.kernel, b)});
        }
        const std::vector<ReflectedBinding>& bindings = subject.module.bindings;
        EXPECT_THAT(bindings, Each(AnyOfArray(expected[subject.family]))) << subject.kernel->name;
        EXPECT_THAT(subject.module.other_resources, IsEmpty()) << subject.kernel->name;
        used[subject.family].insert(bindings.begin(), bindings.end());
        EXPECT_THAT(declared_twice(subject), AnyOf(IsEmpty(), ElementsAre("kBindOut"))) << subject.kernel->name;
    }
    EXPECT_THAT(used, ContainerEq(expected));
}

// The named bindings of a header cover 0 ... kBindingCount - 1; passes of one family may name the same binding
// differently.
TEST(reflection, named_bindings_are_all_there_are) {
    for (const Subject& subject : subjects()) {
        std::set<std::uint32_t> expected;
        for (std::uint32_t b = 0; b < subject.kernel->binding_count; ++b) expected.insert(b);
        EXPECT_EQ(values_of(subject.family->bindings), expected) << subject.family->name;
        const KernelModule& kernel = *subject.kernel;
        EXPECT_EQ((kernel.uniform_mask | kernel.texel_mask | kernel.texel4_mask) >> kernel.binding_count, 0U)
            << subject.family->name;
        EXPECT_EQ(
            std::popcount(kernel.uniform_mask) + std::popcount(kernel.texel_mask) + std::popcount(kernel.texel4_mask),
            std::popcount(kernel.uniform_mask | kernel.texel_mask | kernel.texel4_mask))
            << subject.kernel->name << ": a binding is of two kinds";
    }
}

// Every member's name, offset, size and type; the sizes add up to the structure, so neither side has one more.
TEST(reflection, push_constants_are_the_params_of_the_header) {
    for (const Subject& subject : subjects()) {
        const auto name = subject.kernel->name;
        EXPECT_EQ(subject.module.push_constant_blocks, 1U) << name;
        EXPECT_THAT(subject.module.push_constants, ContainerEq(subject.family->members)) << name;
        std::size_t member_bytes = 0;
        for (const BlockMember& member : subject.family->members) member_bytes += member.size_bytes;
        EXPECT_EQ(member_bytes, subject.family->params_bytes)
            << name << ": padding, or a member the test does not know";
        EXPECT_EQ(subject.kernel->params_bytes, subject.family->params_bytes) << name;
        EXPECT_LE(subject.kernel->params_bytes, kMaxPushConstantBytes) << name;
    }
}

// A module has no specialization constant that its header does not name, and each has four bytes.
TEST(reflection, specialization_constants_are_declared) {
    for (const Subject& subject : subjects()) {
        const std::set<std::uint32_t> declared = values_of(subject.family->specs);
        EXPECT_EQ(declared.size(), subject.family->specs.size()) << subject.family->name << ": an id is used twice";
        for (const ReflectedSpec& spec : subject.module.specs) {
            EXPECT_TRUE(declared.contains(spec.id)) << subject.kernel->name << ": undeclared constant_id " << spec.id;
            EXPECT_TRUE(spec.is_4_bytes) << subject.kernel->name << ": constant_id " << spec.id;
        }
    }
}

// Each id that a header names exists in at least one module of the family (a family's passes need not share all of
// them).
TEST(reflection, declared_specialization_constants_exist) {
    std::map<const AbiFamily*, std::set<std::uint32_t>> used;
    for (const Subject& subject : subjects()) {
        for (const ReflectedSpec& spec : subject.module.specs) used[subject.family].insert(spec.id);
    }
    for (const auto& [family, ids] : used) EXPECT_EQ(ids, values_of(family->specs)) << family->name;
}

/// What a module may declare beyond the floor, by KernelModule::needs.
struct Above {
    std::vector<std::uint32_t> capabilities;
    std::vector<std::string> extensions;
};
Above above_the_floor(std::uint32_t needs) {
    // Shader, StorageBuffer16BitAccess, the dot products, Float16, VulkanMemoryModel, the forms of matrices, bf16,
    // Int8.
    switch (needs) {
        case kNeedsNothing: return {{1}, {}};
        case kNeedsStorage16: return {{1, 4433}, {}};
        case kNeedsIntegerDot: return {{1, 6018, 6019}, {"SPV_KHR_integer_dot_product"}};
        case kNeedsCooperativeNv: return {{1, 9, 5345, 5357}, {"SPV_NV_cooperative_matrix"}};
        case kNeedsCooperativeKhr: return {{1, 9, 5345, 6022}, {"SPV_KHR_cooperative_matrix"}};
        case kNeedsCooperativeBf16:
            return {{1, 5116, 5118, 5345, 6022}, {"SPV_KHR_cooperative_matrix", "SPV_KHR_bfloat16"}};
        case kNeedsCooperativeI8: return {{1, 39, 5345, 6022}, {"SPV_KHR_cooperative_matrix"}};
        default: return {};
    }
}

/// Its workgroup deals fragments to subgroups by their numbers, which every Vulkan 1.1 device gives.
bool shares_among_subgroups(const KernelModule& kernel) {
    return std::string_view(kernel.name).starts_with("matmul_cooperative_") ||
           std::string_view(kernel.name).starts_with("matrix_multiply_add_") ||
           std::string_view(kernel.name).starts_with("matmul_i8_cooperative_");
}

// The portable floor: no 16- or 64-bit types, no subgroup operations, no extension; scalar block layout needs no
// capability. A module that declares a need has what that needs, and no more.
TEST(reflection, nothing_above_the_floor_but_what_is_declared) {
    for (const Subject& subject : subjects()) {
        Above above = above_the_floor(subject.kernel->needs);
        if ((subject.kernel->texel_mask | subject.kernel->texel4_mask) != 0)
            above.capabilities.push_back(kSpirvCapabilitySampledBuffer);
        if (shares_among_subgroups(*subject.kernel)) above.capabilities.push_back(kSpirvCapabilityGroupNonUniform);
        EXPECT_THAT(subject.module.capabilities, UnorderedElementsAreArray(above.capabilities)) << subject.kernel->name;
        EXPECT_THAT(subject.module.extensions, UnorderedElementsAreArray(above.extensions)) << subject.kernel->name;
    }
}

TEST(reflection, rejects_what_is_not_spirv) {
    const std::vector<std::uint32_t> words(16, 0x01020304U);
    EXPECT_FALSE(reflect(words).has_value());
}

}  // namespace
}  // namespace yolk
