// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/cross_entropy.hpp"

#include <array>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_ce = abi::cross_entropy;

constexpr std::uint64_t kCrossEntropyCost = 28;  // an exponential

ViewShape logits_view(const CrossEntropyDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}};
}
ViewShape targets_view(const CrossEntropyDesc& desc) {
    if (desc.shared_targets) return {.extents = {{"rows", desc.rows}}, .dtype = DType::U32};
    return {.extents = {{"members", desc.members}, {"rows", desc.rows}}, .dtype = DType::U32};
}
ViewShape losses_view(const CrossEntropyDesc& desc) { return {{{"members", desc.members}, {"rows", desc.rows}}}; }
ViewShape status_view(const CrossEntropyDesc& /*desc*/) { return {.extents = {{"1", 1}}, .dtype = DType::U32}; }

Result<PipelinesOf<CrossEntropyDesc>> build_cross_entropy(const Device& device, const CrossEntropyDesc& desc) {
    YOLK_TRY_VOID(check_row_loops(device, "[cross_entropy]", desc.columns, {.reductions = 2}, *desc.config));
    const std::array constants{SpecConstant{abi_ce::kSpecWorkgroupSize, row_workgroup_size(*desc.config)},
                               SpecConstant{abi_ce::kSpecRowLanes, desc.config->lanes_per_row}};
    return device.pipeline(
        desc.config->row_per_invocation != 0 ? kernels::kCrossEntropyByInvocation : kernels::kCrossEntropyByGroup,
        constants);
}

void record_cross_entropy(Recorder& recorder, const BindingsOf<CrossEntropyDesc>& binding,
                          const CrossEntropyDesc& desc) noexcept {
    const std::uint64_t rows = std::uint64_t{desc.members} * desc.rows;
    recorder.dispatch(binding,
                      {
                          .row_count = static_cast<std::uint32_t>(rows),
                          .columns = desc.columns,
                          .target_count = desc.shared_targets ? desc.rows : static_cast<std::uint32_t>(rows),
                      },
                      row_grid(rows, desc.columns, kCrossEntropyCost, *desc.config));
}

}  // namespace

template <>
const Operation<CrossEntropyDesc>& operation_of<CrossEntropyDesc>() {
    using Desc = CrossEntropyDesc;
    using Views = CrossEntropyViews;
    static const Operation<Desc> kOperation{
        .name = "cross_entropy",
        .fields = {"cross_entropy",
                   {extent<&Desc::members>("members").factor(), extent<&Desc::rows>("rows"),
                    extent<&Desc::columns>("columns").required().from(1),
                    variant<&Desc::shared_targets>("shared_targets")}},
        .views = {{"logits", ViewRole::Input, &Views::logits, &logits_view},
                  {"targets", ViewRole::Input, &Views::targets, &targets_view},
                  {"losses", ViewRole::Output, &Views::losses, &losses_view},
                  {"status", ViewRole::InOut, &Views::status, &status_view}},
        .knobs = &row_knobs<Desc>,
        .legal = &legal_rows<Desc>,
        .heuristic = &heuristic_rows<Desc>,
        .build = &build_cross_entropy,
        .record = &record_cross_entropy,
    };
    return kOperation;
}
template class Plan<CrossEntropyDesc>;

}  // namespace yolk
