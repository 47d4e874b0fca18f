// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/perturbed_embedding.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "perturbed_linear_shape.hpp"
#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/core/check.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_pe = abi::perturbed_embedding;

ConfigSpace<PerturbedEmbeddingConfig> perturbed_embedding_space(const DeviceInfo& /*info*/,
                                                                const PerturbedEmbeddingDesc& desc) {
    return {"perturbed_embedding",
            {{"workgroup_size", &PerturbedEmbeddingConfig::workgroup_size, workgroup_sizes()}},
            {},
            {.variant = fmt::format("f32{}{}", desc.shared_ids ? ", shared ids" : "", without_pairs(desc.antithetic)),
             .extents = {desc.members, desc.rows, desc.table_rows, desc.columns, desc.rank}}};
}

Result<PerturbedEmbeddingPlan> plan_perturbed_embedding(const Device& device, const PerturbedEmbeddingDesc& desc) {
    const std::uint64_t rank = desc.rank;
    YOLK_TRY_VOID(check_range(rank, 1, kMaxRank, "rank of [perturbed_embedding]"));
    YOLK_TRY_VOID(check_range(desc.parameter.value, 0, kMaxParameterId, "parameter of [perturbed_embedding]"));
    YOLK_TRY_VOID(
        check_range(desc.table_rows * rank, 0, kMaxNoiseElements, "table_rows * rank of [perturbed_embedding]"));
    YOLK_TRY_VOID(check_range((desc.columns + 8 * rank) * rank, 0, kMaxNoiseElements,
                              "(columns + 8 * rank) * rank of [perturbed_embedding]"));
    if (!desc.config)
        return plan_tuned(device, desc, perturbed_embedding_space(device.info(), desc), PerturbedEmbeddingConfig{},
                          &plan_perturbed_embedding);
    YOLK_TRY_VOID(perturbed_embedding_space(device.info(), desc).check(*desc.config));
    PerturbedEmbeddingPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    YOLK_TRY(plan.output_bytes_, binding_bytes(device, {desc.members, desc.rows, desc.columns},
                                               "the output view of [perturbed_embedding]"));
    YOLK_TRY(plan.weights_bytes_,
             binding_bytes(device, {desc.table_rows, desc.columns}, "the weights view of [perturbed_embedding]"));
    YOLK_TRY(plan.ids_bytes_, binding_bytes(device, {desc.shared_ids ? 1 : desc.members, desc.rows},
                                            "the ids view of [perturbed_embedding]"));
    if (plan.output_bytes_ == 0) return plan;
    const std::array constants{SpecConstant{abi_pe::kSpecWorkgroupSize, desc.config->workgroup_size},
                               SpecConstant{abi_pe::kSpecRank, desc.rank},
                               SpecConstant{abi_pe::kSpecSharedIds, desc.shared_ids ? 1U : 0U},
                               SpecConstant{abi_pe::kSpecAntithetic, desc.antithetic ? 1U : 0U}};
    YOLK_TRY(plan.pipeline_, device.pipeline(kernels::kPerturbedEmbedding, constants));
    return plan;
}

Result<BoundPerturbedEmbedding> PerturbedEmbeddingPlan::bind(const PerturbedEmbeddingViews& views,
                                                             const BufferView& /*scratch*/) const {
    BoundPerturbedEmbedding bound;
    bound.desc_ = desc_;
    if (output_bytes_ == 0) return bound;
    YOLK_TRY_VOID(check_views(*device_, "[perturbed_embedding]",
                              {{.view = views.weights, .needed_bytes = weights_bytes_, .name = "weights"},
                               {.view = views.ids, .needed_bytes = ids_bytes_, .name = "ids"}},
                              {{.view = views.output, .needed_bytes = output_bytes_, .name = "output"},
                               {.view = views.status, .needed_bytes = kElementBytes, .name = "status"}}));
    // A binding may not be empty; of a table without rows nothing is read.
    const BufferView& weights = weights_bytes_ == 0 ? views.ids : views.weights;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{weights, views.ids, views.output, views.status}));
    return bound;
}

void BoundPerturbedEmbedding::record(Recorder& recorder, const NoiseContext& when,
                                     std::int32_t first_member) const noexcept {
    YOLK_ASSERT(first_member >= -1);
    if (desc_.members == 0 || desc_.rows == 0 || desc_.columns == 0) return;
    const double scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(desc_.rank)) / kNoiseVariance;
    const auto stream = [&](Domain domain) {
        return desc_.parameter.value | (static_cast<std::uint32_t>(domain) << 24U);
    };
    const std::uint64_t pairs = pairs_drawn(desc_.members, first_member, desc_.antithetic);
    const std::uint64_t column_groups = ceil_div(desc_.columns, projection_step(desc_.rank));
    const ScopedLabel label(recorder, "perturbed_embedding");
    recorder.dispatch(binding_,
                      {
                          .seed_low = static_cast<std::uint32_t>(when.seed),
                          .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
                          .row_stream = stream(Domain::A),
                          .column_stream = stream(Domain::B),
                          .time = when.time,
                          .first_member = first_member,
                          .members = desc_.members,
                          .rows = desc_.rows,
                          .table_rows = desc_.table_rows,
                          .columns = desc_.columns,
                          .scale = exact::exact_flush_operand(static_cast<float>(scale)),
                      },
                      grid_of(pairs * desc_.rows * column_groups, desc_.config->workgroup_size,
                              4 * kNoiseBlockCost * ceil_div(desc_.rank, 8U)));
}

}  // namespace yolk
