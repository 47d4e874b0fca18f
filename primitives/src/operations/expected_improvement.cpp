// SPDX-License-Identifier: Apache-2.0
#include "yolk/expected_improvement.hpp"

#include <algorithm>
#include <array>

#include "operation_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_ei = abi::expected_improvement;

constexpr std::uint64_t kGainCost = 128;  // an exponential, a root and two reciprocals

Result<void> check_expected_improvement(const ExpectedImprovementDesc& desc) {
    if (desc.stride >= desc.count) return {};
    return bad_input("stride of [expected_improvement] is {}, below its {} candidates; it is at least as many.",
                     desc.stride, desc.count);
}

ViewShape scores_view(const ExpectedImprovementDesc& desc) { return {{{"2", 2}, {"stride", desc.stride}}}; }
ViewShape steps_view(const ExpectedImprovementDesc& desc) { return {{{"steps", desc.steps}, {"stride", desc.stride}}}; }
ViewShape candidates_view(const ExpectedImprovementDesc& desc) { return {{{"count", desc.count}}}; }

std::vector<Knob<ExpectedImprovementConfig>> expected_improvement_knobs(const DeviceInfo& /*info*/,
                                                                        const ExpectedImprovementDesc& /*desc*/) {
    return {{"workgroup_size", &ExpectedImprovementConfig::workgroup_size, workgroup_sizes()}};
}

ExpectedImprovementConfig expected_improvement_heuristic(const DeviceInfo& /*info*/,
                                                         const ExpectedImprovementDesc& /*desc*/) {
    return {};
}

Result<PipelinesOf<ExpectedImprovementDesc>> build_expected_improvement(const Device& device,
                                                                        const ExpectedImprovementDesc& desc) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    if (desc.steps > budget) {
        return unsupported(
            "{} steps of [expected_improvement] are more than the {} that loops of this device may make; "
            "take fewer at a time.",
            desc.steps, budget);
    }
    const std::array constants{SpecConstant{abi_ei::kSpecWorkgroupSize, desc.config->workgroup_size}};
    return device.pipeline(kernels::kExpectedImprovement, constants);
}

void record_expected_improvement(Recorder& recorder, const BindingsOf<ExpectedImprovementDesc>& binding,
                                 const ExpectedImprovementDesc& desc,
                                 const ExpectedImprovementValues& values) noexcept {
    const std::uint32_t steps = std::min(values.steps, desc.steps);
    recorder.dispatch(binding,
                      {.count = desc.count,
                       .stride = desc.stride,
                       .steps = steps,
                       .level = values.level,
                       .best = values.best,
                       .deviation = values.deviation,
                       .mean_slack = values.mean_slack,
                       .variance_slack = values.variance_slack,
                       .stretch = values.stretch},
                      grid_of(desc.count, desc.config->workgroup_size, kGainCost + steps));
}

/// By text a row is as long as the candidates are many.
bool parse_candidates(ExpectedImprovementDesc& desc, std::string_view text) {
    if (!detail::parse_number(text, desc.count)) return false;
    desc.stride = desc.count;
    return true;
}

}  // namespace

template <>
const Operation<ExpectedImprovementDesc>& operation_of<ExpectedImprovementDesc>() {
    using Desc = ExpectedImprovementDesc;
    using Views = ExpectedImprovementViews;
    Field<Desc> count = extent<&Desc::count>("count");
    count.parse = &parse_candidates;
    static const Operation<Desc> kOperation{
        .name = "expected_improvement",
        .fields = {"expected_improvement", {std::move(count), extent<&Desc::steps>("steps").otherwise("2")}},
        .views = {{"scores", ViewRole::Input, &Views::scores, &scores_view},
                  {"left", ViewRole::Input, &Views::left, &steps_view},
                  {"right", ViewRole::Input, &Views::right, &steps_view},
                  {"prior", ViewRole::Input, &Views::prior, &candidates_view},
                  {"variances", ViewRole::InOut, &Views::variances, &candidates_view},
                  {"out", ViewRole::Output, &Views::out, &candidates_view}},
        .knobs = &expected_improvement_knobs,
        .heuristic = &expected_improvement_heuristic,
        .check = &check_expected_improvement,
        .build = &build_expected_improvement,
        .record = &record_expected_improvement,
    };
    return kOperation;
}
template class Plan<ExpectedImprovementDesc>;

}  // namespace yolk
