// SPDX-License-Identifier: Apache-2.0
#include "yolk/reduce.hpp"

#include <array>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_r = abi::reduce;

std::uint64_t passes_of(ReduceOperation operation) noexcept { return operation == ReduceOperation::Argmax ? 2 : 1; }
bool reads_twice(const ReduceDesc& desc) { return passes_of(desc.operation) > 1; }

ViewShape reduce_in(const ReduceDesc& desc) {
    return {{{"outer", desc.outer}, {"columns", desc.columns}, {"inner", desc.inner}}};
}
ViewShape reduce_out(const ReduceDesc& desc) {
    return {.extents = {{"outer", desc.outer}, {"inner", desc.inner}},
            .dtype = desc.operation == ReduceOperation::Argmax ? DType::U32 : DType::F32};
}

Result<PipelinesOf<ReduceDesc>> build_reduce(const Device& device, const ReduceDesc& desc) {
    YOLK_TRY_VOID(
        check_row_loops(device, "[reduce]", desc.columns, {.reductions = passes_of(desc.operation)}, *desc.config));
    const std::array constants{
        SpecConstant{abi_r::kSpecWorkgroupSize, row_workgroup_size(*desc.config)},
        SpecConstant{abi_r::kSpecRowLanes, desc.config->lanes_per_row},
        SpecConstant{abi_r::kSpecKeptWords, kept_words_constant(desc.columns, *desc.config)},
        SpecConstant{abi_r::kSpecOperation, static_cast<std::uint32_t>(desc.operation)},
    };
    return device.pipeline(row_kernel(*desc.config, kernels::kReduceByGroup, kernels::kReduceByInvocation,
                                      kernels::kReduceByInvocationTexel),
                           constants);
}

void record_reduce(Recorder& recorder, const BindingsOf<ReduceDesc>& binding, const ReduceDesc& desc) noexcept {
    const std::uint64_t rows = std::uint64_t{desc.outer} * desc.inner;
    const bool is_mean = desc.operation == ReduceOperation::Mean;
    recorder.dispatch(binding,
                      {
                          .row_count = static_cast<std::uint32_t>(rows),
                          .columns = desc.columns,
                          .inner = desc.inner,
                          .factor = is_mean ? 1.0F / static_cast<float>(desc.columns) : 1.0F,
                      },
                      row_grid(rows, desc.columns, passes_of(desc.operation), *desc.config));
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
        .knobs = &row_knobs<Desc, &reads_twice>,
        .legal = &legal_rows<Desc>,
        .heuristic = &heuristic_rows<Desc, &never_keeps<Desc>>,
        .build = &build_reduce,
        .record = &record_reduce,
    };
    return kOperation;
}
template class Plan<ReduceDesc>;

}  // namespace yolk
