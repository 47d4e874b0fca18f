// SPDX-License-Identifier: Apache-2.0
#include "yolk/reduce.hpp"

#include <array>
#include <utility>
#include <vector>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "row_program_plan.hpp"
#include "yolk/internal/primitives/row_steps.hpp"

namespace yolk {
namespace {

ViewShape reduce_in(const ReduceDesc& desc) {
    return {{{"outer", desc.outer}, {"columns", desc.columns}, {"inner", desc.inner}}};
}
ViewShape reduce_out(const ReduceDesc& desc) {
    return {.extents = {{"outer", desc.outer}, {"inner", desc.inner}},
            .dtype = desc.operation == ReduceOperation::Argmax ? DType::U32 : DType::F32};
}

Result<PipelinesOf<ReduceDesc>> build_reduce(const Device& device, const ReduceDesc& desc) {
    return build_row_program(device, row_program_of(desc), "[reduce]");
}
Result<RowProgramDispatch> bind_reduce(const Device& device, const ReduceDesc& desc,
                                       const PipelinesOf<ReduceDesc>& pipeline, const ReduceViews& views,
                                       const BufferView& /*scratch*/) {
    return bind_row_program(device, row_program_of(desc), pipeline, std::array{views.in}, views.out);
}

}  // namespace

template <>
const Operation<ReduceDesc>& operation_of<ReduceDesc>() {
    using Desc = ReduceDesc;
    using Views = ReduceViews;
    static const Operation<Desc> kOperation{
        .name = "reduce",
        .fields = {"reduce",
                   {extent<&Desc::inner>("inner").factor(), extent<&Desc::outer>("outer"),
                    extent<&Desc::columns>("columns").required().from(1), variant<&Desc::operation>("operation")}},
        .views = {{"in", ViewRole::Input, &Views::in, &reduce_in}, {"out", ViewRole::Output, &Views::out, &reduce_out}},
        .knobs = &knobs_by_program<Desc>,
        .legal = &legal_by_program<Desc>,
        .heuristic = &heuristic_by_program<Desc>,
        .build = &build_reduce,
        .bind = &bind_reduce,
        .record = &record_row_program<Desc>,
    };
    return kOperation;
}
template class Plan<ReduceDesc>;

}  // namespace yolk
