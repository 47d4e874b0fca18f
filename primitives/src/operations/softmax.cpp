// SPDX-License-Identifier: Apache-2.0
#include "yolk/softmax.hpp"

#include <array>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "row_program_plan.hpp"
#include "yolk/internal/primitives/row_steps.hpp"

namespace yolk {
namespace {

ViewShape softmax_view(const SoftmaxDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}};
}

Result<PipelinesOf<SoftmaxDesc>> build_softmax(const Device& device, const SoftmaxDesc& desc) {
    return build_row_program(device, row_program_of(desc), "[softmax]");
}
Result<RowProgramDispatch> bind_softmax(const Device& device, const SoftmaxDesc& desc,
                                        const PipelinesOf<SoftmaxDesc>& pipeline, const SoftmaxViews& views,
                                        const BufferView& /*scratch*/) {
    return bind_row_program(device, row_program_of(desc), pipeline, std::array{views.in}, views.out);
}

}  // namespace

template <>
const Operation<SoftmaxDesc>& operation_of<SoftmaxDesc>() {
    using Desc = SoftmaxDesc;
    using Views = SoftmaxViews;
    static const Operation<Desc> kOperation{
        .name = "softmax",
        .fields = {"softmax",
                   {extent<&Desc::members>("members").factor(), extent<&Desc::rows>("rows"),
                    extent<&Desc::columns>("columns"), variant<&Desc::logarithm>("log")}},
        .views = {{"in", ViewRole::Input, &Views::in, &softmax_view},
                  {"out", ViewRole::Output, &Views::out, &softmax_view}},
        .knobs = &knobs_by_program<Desc>,
        .legal = &legal_by_program<Desc>,
        .heuristic = &heuristic_by_program<Desc>,
        .build = &build_softmax,
        .bind = &bind_softmax,
        .record = &record_row_program<Desc>,
    };
    return kOperation;
}
template class Plan<SoftmaxDesc>;

}  // namespace yolk
