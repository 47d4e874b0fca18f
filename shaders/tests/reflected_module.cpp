// SPDX-License-Identifier: Apache-2.0
#include "reflected_module.hpp"

#include <fmt/format.h>
#include <spirv_cross/spirv_cross_c.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace yolk {

namespace {

struct DestroyContext {
    void operator()(spvc_context context) const { spvc_context_destroy(context); }
};
using OwnedContext = std::unique_ptr<std::remove_pointer_t<spvc_context>, DestroyContext>;

ScalarKind scalar_kind(spvc_type type) {
    if (spvc_type_get_vector_size(type) != 1 || spvc_type_get_bit_width(type) != 32) return ScalarKind::Other;
    switch (spvc_type_get_basetype(type)) {
        case SPVC_BASETYPE_UINT32: return ScalarKind::Uint;
        case SPVC_BASETYPE_INT32: return ScalarKind::Int;
        case SPVC_BASETYPE_FP32: return ScalarKind::Float;
        default: return ScalarKind::Other;
    }
}

void append_members(spvc_compiler compiler, spvc_type_id struct_id, std::size_t base,
                    std::vector<BlockMember>& members) {
    const spvc_type type = spvc_compiler_get_type_handle(compiler, struct_id);
    for (unsigned i = 0; i < spvc_type_get_num_member_types(type); ++i) {
        const spvc_type member = spvc_compiler_get_type_handle(compiler, spvc_type_get_member_type(type, i));
        unsigned offset = 0;
        std::size_t size = 0;
        spvc_compiler_type_struct_member_offset(compiler, type, i, &offset);
        spvc_compiler_get_declared_struct_member_size(compiler, type, i, &size);
        if (spvc_type_get_basetype(member) == SPVC_BASETYPE_STRUCT) {
            append_members(compiler, spvc_type_get_base_type_id(member), base + offset, members);
            continue;
        }
        members.push_back(
            {spvc_compiler_get_member_name(compiler, struct_id, i), base + offset, size, scalar_kind(member)});
    }
}

std::span<const spvc_reflected_resource> resources_of(spvc_resources resources, spvc_resource_type type) {
    const spvc_reflected_resource* list = nullptr;
    std::size_t count = 0;
    spvc_resources_get_resource_list_for_type(resources, type, &list, &count);
    return {list, count};
}

void read_resources(spvc_compiler compiler, spvc_resources resources, ReflectedModule& module) {
    const std::array kinds{std::pair{SPVC_RESOURCE_TYPE_UNIFORM_BUFFER, BindingKind::Uniform},
                           std::pair{SPVC_RESOURCE_TYPE_STORAGE_BUFFER, BindingKind::Storage},
                           std::pair{SPVC_RESOURCE_TYPE_SAMPLED_IMAGE, BindingKind::Texel}};
    for (const auto& [type, kind] : kinds) {
        for (const spvc_reflected_resource& resource : resources_of(resources, type)) {
            module.bindings.push_back({spvc_compiler_get_decoration(compiler, resource.id, SpvDecorationDescriptorSet),
                                       spvc_compiler_get_decoration(compiler, resource.id, SpvDecorationBinding),
                                       kind});
        }
    }
    for (const spvc_reflected_resource& block : resources_of(resources, SPVC_RESOURCE_TYPE_PUSH_CONSTANT)) {
        ++module.push_constant_blocks;
        append_members(compiler, block.base_type_id, 0, module.push_constants);
    }
    for (int type = SPVC_RESOURCE_TYPE_STAGE_INPUT; type <= SPVC_RESOURCE_TYPE_SHADER_RECORD_BUFFER; ++type) {
        if (type == SPVC_RESOURCE_TYPE_PUSH_CONSTANT || type == SPVC_RESOURCE_TYPE_SAMPLED_IMAGE) continue;
        for (const spvc_reflected_resource& other : resources_of(resources, static_cast<spvc_resource_type>(type))) {
            module.other_resources.emplace_back(other.name);
        }
    }
}

void read_specs(spvc_compiler compiler, ReflectedModule& module) {
    const spvc_specialization_constant* specs = nullptr;
    std::size_t count = 0;
    spvc_compiler_get_specialization_constants(compiler, &specs, &count);
    for (const spvc_specialization_constant& spec : std::span(specs, count)) {
        const spvc_constant constant = spvc_compiler_get_constant_handle(compiler, spec.id);
        const spvc_type type = spvc_compiler_get_type_handle(compiler, spvc_constant_get_type(constant));
        const bool is_boolean = spvc_type_get_basetype(type) == SPVC_BASETYPE_BOOLEAN;
        module.specs.push_back({spec.constant_id, is_boolean || scalar_kind(type) != ScalarKind::Other});
    }
}

void read_header(spvc_compiler compiler, ReflectedModule& module) {
    const spvc_entry_point* entry_points = nullptr;
    std::size_t count = 0;
    spvc_compiler_get_entry_points(compiler, &entry_points, &count);
    for (const spvc_entry_point& entry : std::span(entry_points, count)) {
        const bool is_compute = entry.execution_model == SpvExecutionModelGLCompute;
        module.entry_points.push_back(fmt::format("{} {}", is_compute ? "compute" : "other", entry.name));
    }
    const SpvCapability* capabilities = nullptr;
    spvc_compiler_get_declared_capabilities(compiler, &capabilities, &count);
    for (const SpvCapability capability : std::span(capabilities, count)) {
        module.capabilities.push_back(static_cast<std::uint32_t>(capability));
    }
    const char** extensions = nullptr;
    spvc_compiler_get_declared_extensions(compiler, &extensions, &count);
    for (const char* extension : std::span(extensions, count)) module.extensions.emplace_back(extension);
}

/// SPIRV-Cross knows no cooperative matrices. Their types become structures of one component here, which is what their
/// constants look like; function bodies are not looked into.
std::vector<std::uint32_t> without_cooperative_types(std::span<const std::uint32_t> spirv) {
    constexpr std::uint32_t kTypeNv = 5358, kTypeKhr = 4456, kTypeStruct = 30;
    constexpr std::size_t kHeaderWords = 5;
    std::vector<std::uint32_t> plain(spirv.begin(),
                                     spirv.begin() + static_cast<std::ptrdiff_t>(std::min(kHeaderWords, spirv.size())));
    for (std::size_t at = kHeaderWords; at < spirv.size();) {
        const std::size_t words = std::clamp<std::size_t>(spirv[at] >> 16U, 1, spirv.size() - at);
        const std::uint32_t opcode = spirv[at] & 0xFFFFU;
        if ((opcode == kTypeNv || opcode == kTypeKhr) && words > 2) {
            plain.insert(plain.end(), {(3U << 16U) | kTypeStruct, spirv[at + 1], spirv[at + 2]});
        } else {
            plain.insert(plain.end(), spirv.begin() + static_cast<std::ptrdiff_t>(at),
                         spirv.begin() + static_cast<std::ptrdiff_t>(at + words));
        }
        at += words;
    }
    return plain;
}

}  // namespace

Result<ReflectedModule> reflect(std::span<const std::uint32_t> given) {
    const std::vector<std::uint32_t> spirv = without_cooperative_types(given);
    spvc_context raw_context = nullptr;
    spvc_context_create(&raw_context);
    const OwnedContext context(raw_context);
    spvc_parsed_ir ir = nullptr;
    spvc_compiler compiler = nullptr;
    spvc_resources resources = nullptr;
    if (spvc_context_parse_spirv(context.get(), spirv.data(), spirv.size(), &ir) != SPVC_SUCCESS ||
        spvc_context_create_compiler(context.get(), SPVC_BACKEND_NONE, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP,
                                     &compiler) != SPVC_SUCCESS ||
        spvc_compiler_create_shader_resources(compiler, &resources) != SPVC_SUCCESS) {
        return bad_input(fmt::format("SPIRV-Cross: {}", spvc_context_get_last_error_string(context.get())));
    }
    ReflectedModule module;
    read_header(compiler, module);
    read_resources(compiler, resources, module);
    read_specs(compiler, module);
    return module;
}

}  // namespace yolk
