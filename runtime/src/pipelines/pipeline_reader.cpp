// SPDX-License-Identifier: Apache-2.0
#include "pipeline_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "vk_result.hpp"

namespace yolk {
namespace {

std::string what_is_asked(const DeviceContext& context) {
    return fmt::format("read the statistics of a pipeline on device '{}'", context.info.name);
}

/// vk_list for structures that want their type and their storage before they are filled.
template <class Item, class Ask>
Result<std::vector<Item>> list_typed(const DeviceContext& context, VkStructureType type, Ask ask) {
    std::uint32_t count = 0;
    YOLK_TRY_VOID(vk_check(ask(&count, static_cast<Item*>(nullptr)), what_is_asked(context)));
    Item blank{};
    blank.sType = type;
    std::vector<Item> items(count, blank);
    YOLK_TRY_VOID(vk_check(ask(&count, items.data()), what_is_asked(context)));
    items.resize(count);
    return items;
}

StatisticValue value_of(const VkPipelineExecutableStatisticKHR& statistic) {
    switch (statistic.format) {
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return statistic.value.b32 != VK_FALSE;
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return std::int64_t{statistic.value.i64};
        case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return std::uint64_t{statistic.value.u64};
        default: return statistic.value.f64;
    }
}

Result<std::vector<InternalRepresentation>> read_representations(const DeviceContext& context,
                                                                 const VkPipelineExecutableInfoKHR& executable) {
    using Form = VkPipelineExecutableInternalRepresentationKHR;
    const auto ask = [&](std::uint32_t* count, Form* items) {
        return context.vk.vkGetPipelineExecutableInternalRepresentationsKHR(context.handle, &executable, count, items);
    };
    // The first answer has the sizes, the next the contents.
    YOLK_TRY(std::vector<Form> forms,
             list_typed<Form>(context, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR, ask));
    std::vector<std::string> contents;
    contents.reserve(forms.size());
    for (Form& form : forms) form.pData = contents.emplace_back(form.dataSize, '\0').data();
    auto count = static_cast<std::uint32_t>(forms.size());
    YOLK_TRY_VOID(vk_check(ask(&count, forms.data()), what_is_asked(context)));
    std::vector<InternalRepresentation> read;
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_text = forms[i].isText != VK_FALSE;
        // Text ends in a null, which is counted.
        contents[i].resize(is_text ? std::strlen(contents[i].c_str())
                                   : std::min(forms[i].dataSize, contents[i].size()));
        read.push_back({forms[i].name, std::move(contents[i]), is_text});
    }
    return read;
}

Result<PipelineExecutable> read_executable(const DeviceContext& context, const VkPipelineExecutableInfoKHR& info,
                                           const VkPipelineExecutablePropertiesKHR& properties,
                                           PipelineCapture capture) {
    using Statistic = VkPipelineExecutableStatisticKHR;
    const auto ask = [&](std::uint32_t* count, Statistic* items) {
        return context.vk.vkGetPipelineExecutableStatisticsKHR(context.handle, &info, count, items);
    };
    PipelineExecutable executable{.name = properties.name, .subgroup_size = properties.subgroupSize};
    YOLK_TRY(const std::vector<Statistic> statistics,
             list_typed<Statistic>(context, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR, ask));
    for (const Statistic& statistic : statistics)
        executable.statistics.push_back({statistic.name, value_of(statistic)});
    if (capture == PipelineCapture::Representations) {
        YOLK_TRY(executable.representations, read_representations(context, info));
    }
    return executable;
}

}  // namespace

VkPipelineCreateFlags capture_flags(PipelineCapture capture) noexcept {
    constexpr VkPipelineCreateFlags kStatistics = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    switch (capture) {
        case PipelineCapture::Nothing:
        case PipelineCapture::Code: return 0;
        case PipelineCapture::Statistics: return kStatistics;
        case PipelineCapture::Representations:
            return kStatistics | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    }
    return 0;
}

Result<std::vector<PipelineExecutable>> read_executables(const DeviceContext& context, VkPipeline pipeline,
                                                         PipelineCapture capture) {
    using Properties = VkPipelineExecutablePropertiesKHR;
    const VkPipelineInfoKHR info{.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    YOLK_TRY(const std::vector<Properties> listed,
             list_typed<Properties>(context, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR,
                                    [&](std::uint32_t* count, Properties* items) {
                                        return context.vk.vkGetPipelineExecutablePropertiesKHR(context.handle, &info,
                                                                                               count, items);
                                    }));
    std::vector<PipelineExecutable> executables;
    for (std::uint32_t i = 0; i < listed.size(); ++i) {
        const VkPipelineExecutableInfoKHR of{
            .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline, .executableIndex = i};
        YOLK_TRY(executables.emplace_back(), read_executable(context, of, listed[i], capture));
    }
    return executables;
}

}  // namespace yolk
