// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/normalize.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_no = abi::normalize;

constexpr std::uint64_t kNormalizeCost = 8;
constexpr float kLeastEpsilon = 0x1p-40F;  // an operand of the operand rule (docs/adr/0002)
constexpr float kLargestEpsilon = 0x1p40F;

Result<void> check_normalize(const NormalizeDesc& desc) {
    const bool is_layer = desc.rule == NormalizeRule::Layer;
    if (!is_layer && desc.rule != NormalizeRule::RootMeanSquare) {
        return bad_input(fmt::format("the rule of [normalize] is {}; it must be Layer (0) or RootMeanSquare (1).",
                                     static_cast<int>(desc.rule)));
    }
    if (!(desc.epsilon >= kLeastEpsilon && desc.epsilon <= kLargestEpsilon)) {
        return bad_input(fmt::format("epsilon of [normalize] is {}; it must be from {} to {}.", desc.epsilon,
                                     kLeastEpsilon, kLargestEpsilon));
    }
    YOLK_TRY_VOID(check_row_vector(desc.scale, "the kind of scale of [normalize]"));
    YOLK_TRY_VOID(check_row_vector(desc.bias, "the kind of bias of [normalize]"));
    if (!is_layer && desc.bias != RowVector::None) {
        return bad_input(
            "[normalize] was given a bias for RootMeanSquare, which takes no bias. Use Layer, or leave the bias out.");
    }
    return {};
}

}  // namespace

ConfigSpace<RowConfig> normalize_space(const DeviceInfo& /*info*/, const NormalizeDesc& desc) {
    return row_space("normalize", {.variant = fmt::format(
                                       "f32, rule {}, scale {}, bias {}", static_cast<std::uint32_t>(desc.rule),
                                       static_cast<std::uint32_t>(desc.scale), static_cast<std::uint32_t>(desc.bias)),
                                   .extents = {row_count(desc.members, desc.rows), desc.columns}});
}

Result<NormalizePlan> plan_normalize(const Device& device, const NormalizeDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, normalize_space(device.info(), desc),
                          heuristic_row_config(device.info(), desc.columns), &plan_normalize);
    YOLK_TRY_VOID(normalize_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_normalize(desc));
    NormalizePlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    YOLK_TRY(plan.size_bytes_,
             binding_bytes(device, {desc.members, desc.rows, desc.columns}, "the in view of [normalize]"));
    if (plan.size_bytes_ == 0) return plan;
    const bool is_layer = desc.rule == NormalizeRule::Layer;
    YOLK_TRY_VOID(check_row_loops(device, "[normalize]", desc.columns,
                                  {.reductions = is_layer ? std::uint64_t{2} : std::uint64_t{1}, .writes = 1},
                                  *desc.config));
    const std::array constants{
        SpecConstant{abi_no::kSpecWorkgroupSize, row_workgroup_size(*desc.config)},
        SpecConstant{abi_no::kSpecCentred, is_layer ? 1U : 0U},
        SpecConstant{abi_no::kSpecHasScale, desc.scale != RowVector::None ? 1U : 0U},
        SpecConstant{abi_no::kSpecHasBias, desc.bias != RowVector::None ? 1U : 0U},
    };
    const auto& kernel =
        desc.config->row_per_invocation != 0 ? kernels::kNormalizeByInvocation : kernels::kNormalizeByGroup;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundNormalize> NormalizePlan::bind(const NormalizeViews& views, const BufferView& /*scratch*/) const {
    const std::uint64_t scale_bytes =
        size_bytes_ == 0 ? 0 : row_vector_bytes(desc_.scale, desc_.members, desc_.columns);
    const std::uint64_t bias_bytes = size_bytes_ == 0 ? 0 : row_vector_bytes(desc_.bias, desc_.members, desc_.columns);
    YOLK_TRY_VOID(check_views(*device_, "[normalize]",
                              {{.view = views.in, .needed_bytes = size_bytes_, .name = "in"},
                               {.view = views.scale, .needed_bytes = scale_bytes, .name = "scale"},
                               {.view = views.bias, .needed_bytes = bias_bytes, .name = "bias"}},
                              {{.view = views.out, .needed_bytes = size_bytes_, .name = "out"}}));
    BoundNormalize bound;
    bound.desc_ = desc_;
    if (size_bytes_ == 0) return bound;
    // What there is none of is not read, but a binding may not be empty.
    const BufferView scale = scale_bytes == 0 ? views.in : views.scale;
    const BufferView bias = bias_bytes == 0 ? views.in : views.bias;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{views.in, scale, bias, views.out}));
    return bound;
}

void BoundNormalize::record(Recorder& recorder) const noexcept {
    const std::uint64_t rows = std::uint64_t{desc_.members} * desc_.rows;
    if (rows == 0 || desc_.columns == 0) return;
    const ScopedLabel label(recorder, "normalize");
    recorder.dispatch(binding_,
                      {
                          .row_count = static_cast<std::uint32_t>(rows),
                          .rows = desc_.rows,
                          .columns = desc_.columns,
                          .scale_stride = row_vector_stride(desc_.scale, desc_.columns),
                          .bias_stride = row_vector_stride(desc_.bias, desc_.columns),
                          .factor = 1.0F / static_cast<float>(desc_.columns),
                          .epsilon = desc_.epsilon,
                      },
                      row_grid(rows, desc_.columns, kNormalizeCost, *desc_.config));
}

}  // namespace yolk
