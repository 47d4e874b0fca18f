// SPDX-License-Identifier: Apache-2.0
#include "yolk/normalize.hpp"

#include <array>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_no = abi::normalize;

constexpr std::uint64_t kNormalizeCost = 8;
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
    const bool is_layer = desc.rule == NormalizeRule::Layer;
    YOLK_TRY_VOID(check_row_loops(device, "[normalize]", desc.columns,
                                  {.reductions = is_layer ? std::uint64_t{2} : std::uint64_t{1}, .writes = 1},
                                  *desc.config));
    const std::array constants{
        SpecConstant{abi_no::kSpecWorkgroupSize, row_workgroup_size(*desc.config)},
        SpecConstant{abi_no::kSpecRowLanes, desc.config->lanes_per_row},
        SpecConstant{abi_no::kSpecKeptWords, kept_words_constant(desc.columns, *desc.config)},
        SpecConstant{abi_no::kSpecCentred, is_layer ? 1U : 0U},
        SpecConstant{abi_no::kSpecHasScale, desc.scale != RowVector::None ? 1U : 0U},
        SpecConstant{abi_no::kSpecHasBias, desc.bias != RowVector::None ? 1U : 0U},
    };
    return device.pipeline(row_kernel(*desc.config, kernels::kNormalizeByGroup, kernels::kNormalizeByInvocation,
                                      kernels::kNormalizeByInvocationTexel),
                           constants);
}

void record_normalize(Recorder& recorder, const BindingsOf<NormalizeDesc>& binding,
                      const NormalizeDesc& desc) noexcept {
    const std::uint64_t rows = std::uint64_t{desc.members} * desc.rows;
    recorder.dispatch(binding,
                      {
                          .row_count = static_cast<std::uint32_t>(rows),
                          .rows = desc.rows,
                          .columns = desc.columns,
                          .scale_stride = row_vector_stride(desc.scale, desc.columns),
                          .bias_stride = row_vector_stride(desc.bias, desc.columns),
                          .factor = 1.0F / static_cast<float>(desc.columns),
                          .epsilon = desc.epsilon,
                      },
                      row_grid(rows, desc.columns, kNormalizeCost, *desc.config));
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
        .knobs = &row_knobs<Desc, &always_may_keep<Desc>>,
        .legal = &legal_rows<Desc>,
        .heuristic = &heuristic_rows<Desc, &never_keeps<Desc>>,
        .check = &check_normalize,
        .build = &build_normalize,
        .record = &record_normalize,
    };
    return kOperation;
}
template class Plan<NormalizeDesc>;

}  // namespace yolk
