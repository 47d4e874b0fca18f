// SPDX-License-Identifier: Apache-2.0
#include "yolk/kernel_template.hpp"

#include <array>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

// Replace: shapes, knobs, heuristic, cost, what is built and recorded, and the declaration at the end. Its fields are
// the text, the tuning key, the checks and the line in docs/kernels/README.md; what may be left out of it, and what
// there is besides, is in yolk/internal/primitives/operation.hpp.
namespace yolk {
namespace {

namespace abi_kernel_template = abi::kernel_template;

constexpr std::uint64_t kKernelTemplateCost = 8;  // about the operations of one element

ViewShape kernel_template_view(const KernelTemplateDesc& desc) { return {.extents = {{"count", desc.count}}}; }

std::vector<Knob<KernelTemplateConfig>> kernel_template_knobs(const DeviceInfo& /*info*/,
                                                              const KernelTemplateDesc& /*desc*/) {
    return {{"workgroup_size", &KernelTemplateConfig::workgroup_size, workgroup_sizes()},
            {"elements_per_invocation", &KernelTemplateConfig::elements_per_invocation, {1, 2, 4, 8}}};
}

KernelTemplateConfig kernel_template_heuristic(const DeviceInfo& info, const KernelTemplateDesc& desc) {
    const auto [workgroup, items] = streaming_default(info, desc.count);
    return {.workgroup_size = workgroup, .elements_per_invocation = items};
}

Result<PipelinesOf<KernelTemplateDesc>> build_kernel_template(const Device& device, const KernelTemplateDesc& desc) {
    const std::array constants{
        SpecConstant{abi_kernel_template::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_kernel_template::kSpecElementsPerInvocation, desc.config->elements_per_invocation},
    };
    return device.pipeline(kernels::kKernelTemplate, constants);
}

void record_kernel_template(Recorder& recorder, const BindingsOf<KernelTemplateDesc>& binding,
                            const KernelTemplateDesc& desc) noexcept {
    const auto per_group = std::uint64_t{desc.config->workgroup_size} * desc.config->elements_per_invocation;
    recorder.dispatch(binding, {.count = desc.count}, grid_of(desc.count, per_group, kKernelTemplateCost));
}

}  // namespace

template <>
const Operation<KernelTemplateDesc>& operation_of<KernelTemplateDesc>() {
    using Desc = KernelTemplateDesc;
    using Views = KernelTemplateViews;
    static const Operation<Desc> kOperation{
        .name = "kernel_template",
        .fields = {"kernel_template", {extent<&Desc::count>("count")}},
        .views = {{"in", ViewRole::Input, &Views::in, &kernel_template_view},
                  {"out", ViewRole::Output, &Views::out, &kernel_template_view}},
        .knobs = &kernel_template_knobs,
        .heuristic = &kernel_template_heuristic,
        .build = &build_kernel_template,
        .record = &record_kernel_template,
    };
    return kOperation;
}
template class Plan<KernelTemplateDesc>;

}  // namespace yolk
