// SPDX-License-Identifier: Apache-2.0
#include "yolk/normalize.hpp"

#include <algorithm>
#include <vector>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "row_program_plan.hpp"
#include "yolk/internal/primitives/row_steps.hpp"

namespace yolk {
namespace {

constexpr float kLeastEpsilon = 0x1p-40F;  // an operand of the operand rule (docs/adr/0002)
constexpr float kLargestEpsilon = 0x1p40F;

Result<void> check_normalize(const NormalizeDesc& desc) {
    if (!(desc.epsilon >= kLeastEpsilon && desc.epsilon <= kLargestEpsilon)) {
        return bad_input("epsilon of [normalize] is {}; it must be from {} to {}.", desc.epsilon, kLeastEpsilon,
                         kLargestEpsilon);
    }
    if (desc.rule != NormalizeRule::Layer && desc.bias != RowVector::None) {
        return bad_input(
            "[normalize] was given a bias for RootMeanSquare, which takes no bias. Use Layer, or leave the bias out.");
    }
    return {};
}

ViewShape rows_view(const NormalizeDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}};
}
ViewShape scale_view(const NormalizeDesc& desc) { return row_vector_view(desc.scale, desc.members, desc.columns); }
ViewShape bias_view(const NormalizeDesc& desc) { return row_vector_view(desc.bias, desc.members, desc.columns); }

Result<PipelinesOf<NormalizeDesc>> build_normalize(const Device& device, const NormalizeDesc& desc) {
    return build_row_program(device, row_program_of(desc), "[normalize]");
}
Result<RowProgramDispatch> bind_normalize(const Device& device, const NormalizeDesc& desc,
                                          const PipelinesOf<NormalizeDesc>& pipeline, const NormalizeViews& views,
                                          const BufferView& /*scratch*/) {
    std::vector<BufferView> inputs{views.in};
    if (desc.scale != RowVector::None) inputs.push_back(views.scale);
    if (desc.bias != RowVector::None) inputs.push_back(views.bias);
    return bind_row_program(device, row_program_of(desc), pipeline, inputs, views.out);
}

}  // namespace

template <>
const Operation<NormalizeDesc>& operation_of<NormalizeDesc>() {
    using Desc = NormalizeDesc;
    using Views = NormalizeViews;
    static const Operation<Desc> kOperation{
        .name = "normalize",
        .fields = {"normalize",
                   {extent<&Desc::members>("members").factor(), extent<&Desc::rows>("rows"),
                    extent<&Desc::columns>("columns"), variant<&Desc::rule>("rule"), variant<&Desc::scale>("scale"),
                    variant<&Desc::bias>("bias")}},
        .views = {{"in", ViewRole::Input, &Views::in, &rows_view},
                  {"scale", ViewRole::Input, &Views::scale, &scale_view},
                  {"bias", ViewRole::Input, &Views::bias, &bias_view},
                  {"out", ViewRole::Output, &Views::out, &rows_view}},
        .knobs = &knobs_by_program<Desc>,
        .legal = &legal_by_program<Desc>,
        .heuristic = &heuristic_by_program<Desc>,
        .check = &check_normalize,
        .build = &build_normalize,
        .bind = &bind_normalize,
        .record = &record_row_program<Desc>,
    };
    return kOperation;
}
template class Plan<NormalizeDesc>;

}  // namespace yolk
