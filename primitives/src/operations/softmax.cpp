// SPDX-License-Identifier: Apache-2.0
#include "yolk/softmax.hpp"

#include <array>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_s = abi::softmax;

constexpr std::uint64_t kSoftmaxCost = 48;  // two exponentials

ViewShape softmax_view(const SoftmaxDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}};
}

Result<PipelinesOf<SoftmaxDesc>> build_softmax(const Device& device, const SoftmaxDesc& desc) {
    YOLK_TRY_VOID(check_row_loops(device, "[softmax]", desc.columns, {.reductions = 2, .writes = 1}, *desc.config));
    const std::array constants{
        SpecConstant{abi_s::kSpecWorkgroupSize, row_workgroup_size(*desc.config)},
        SpecConstant{abi_s::kSpecRowLanes, desc.config->lanes_per_row},
        SpecConstant{abi_s::kSpecKeptWords, kept_words_constant(desc.columns, *desc.config)},
        SpecConstant{abi_s::kSpecLogarithm, desc.logarithm ? 1U : 0U},
    };
    return device.pipeline(row_kernel(*desc.config, kernels::kSoftmaxByGroup, kernels::kSoftmaxByInvocation,
                                      kernels::kSoftmaxByInvocationTexel),
                           constants);
}

void record_softmax(Recorder& recorder, const BindingsOf<SoftmaxDesc>& binding, const SoftmaxDesc& desc) noexcept {
    const std::uint64_t rows = std::uint64_t{desc.members} * desc.rows;
    recorder.dispatch(binding, {.row_count = static_cast<std::uint32_t>(rows), .columns = desc.columns},
                      row_grid(rows, desc.columns, kSoftmaxCost, *desc.config));
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
        .knobs = &row_knobs<Desc, &always_may_keep<Desc>>,
        .legal = &legal_rows<Desc>,
        .heuristic = &heuristic_rows<Desc, &always_may_keep<Desc>>,
        .build = &build_softmax,
        .record = &record_softmax,
    };
    return kOperation;
}
template class Plan<SoftmaxDesc>;

}  // namespace yolk
