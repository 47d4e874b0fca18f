// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_embedding.hpp"

#include <array>
#include <cmath>

#include "operation_plan.hpp"
#include "perturbed_linear_shape.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_pe = abi::perturbed_embedding;

Result<void> check_perturbed_embedding(const PerturbedEmbeddingDesc& desc) {
    const std::uint64_t rank = desc.rank;
    YOLK_TRY_VOID(check_range(desc.parameter.value, 0, kMaxParameterId, "parameter of [perturbed_embedding]"));
    YOLK_TRY_VOID(
        check_range(desc.table_rows * rank, 0, kMaxNoiseElements, "table_rows * rank of [perturbed_embedding]"));
    return check_range((desc.columns + 8 * rank) * rank, 0, kMaxNoiseElements,
                       "(columns + 8 * rank) * rank of [perturbed_embedding]");
}

ViewShape weights_view(const PerturbedEmbeddingDesc& desc) {
    return {{{"table_rows", desc.table_rows}, {"columns", desc.columns}}};
}
ViewShape ids_view(const PerturbedEmbeddingDesc& desc) {
    if (desc.shared_ids) return {{{"rows", desc.rows}}, DType::U32};
    return {{{"members", desc.members}, {"rows", desc.rows}}, DType::U32};
}
ViewShape output_view(const PerturbedEmbeddingDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}};
}
ViewShape status_view(const PerturbedEmbeddingDesc& /*desc*/) { return {{{"1", 1}}, DType::U32}; }

std::vector<Knob<PerturbedEmbeddingConfig>> perturbed_embedding_knobs(const DeviceInfo& /*info*/,
                                                                      const PerturbedEmbeddingDesc& /*desc*/) {
    return {{"workgroup_size", &PerturbedEmbeddingConfig::workgroup_size, workgroup_sizes()}};
}

PerturbedEmbeddingConfig perturbed_embedding_heuristic(const DeviceInfo& /*info*/,
                                                       const PerturbedEmbeddingDesc& /*desc*/) {
    return {};
}

Result<PipelinesOf<PerturbedEmbeddingDesc>> build_perturbed_embedding(const Device& device,
                                                                      const PerturbedEmbeddingDesc& desc) {
    const std::array constants{SpecConstant{abi_pe::kSpecWorkgroupSize, desc.config->workgroup_size},
                               SpecConstant{abi_pe::kSpecRank, desc.rank},
                               SpecConstant{abi_pe::kSpecSharedIds, desc.shared_ids ? 1U : 0U},
                               SpecConstant{abi_pe::kSpecAntithetic, desc.antithetic ? 1U : 0U},
                               SpecConstant{abi_pe::kSpecVectors, desc.columns % 4 == 0 ? 1U : 0U}};
    return device.pipeline(kernels::kPerturbedEmbedding, constants);
}

void record_perturbed_embedding(Recorder& recorder, const BindingsOf<PerturbedEmbeddingDesc>& binding,
                                const PerturbedEmbeddingDesc& desc, const NoiseContext& when,
                                OrDefault<std::int32_t> first_member) noexcept {
    YOLK_ASSERT(first_member.value >= -1);
    const double scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
    const auto stream = [&](Domain domain) {
        return desc.parameter.value | (static_cast<std::uint32_t>(domain) << 24U);
    };
    const std::uint64_t pairs = pairs_drawn(desc.members, first_member.value, desc.antithetic);
    const std::uint64_t column_groups = ceil_div(desc.columns, projection_step(desc.rank));
    recorder.dispatch(binding,
                      {
                          .seed_low = static_cast<std::uint32_t>(when.seed),
                          .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
                          .row_stream = stream(Domain::A),
                          .column_stream = stream(Domain::B),
                          .time = when.time,
                          .first_member = first_member.value,
                          .members = desc.members,
                          .rows = desc.rows,
                          .table_rows = desc.table_rows,
                          .columns = desc.columns,
                          .scale = exact::exact_flush_operand(static_cast<float>(scale)),
                      },
                      grid_of(pairs * desc.rows * column_groups, desc.config->workgroup_size,
                              4 * kNoiseBlockCost * ceil_div(desc.rank, 8U)));
}

}  // namespace

template <>
const Operation<PerturbedEmbeddingDesc>& operation_of<PerturbedEmbeddingDesc>() {
    using Desc = PerturbedEmbeddingDesc;
    using Views = PerturbedEmbeddingViews;
    static const Operation<Desc> kOperation{
        .name = "perturbed_embedding",
        .fields = {"perturbed_embedding",
                   {extent<&Desc::members>("members"), extent<&Desc::rows>("rows").otherwise("1"),
                    extent<&Desc::table_rows>("table_rows"), extent<&Desc::columns>("columns"),
                    extent<&Desc::rank>("rank").from(1, kMaxRank), variant<&Desc::shared_ids>("shared_ids"),
                    variant<&Desc::antithetic>("pairs")}},
        .views = {{"weights", ViewRole::Input, &Views::weights, &weights_view},
                  {"ids", ViewRole::Input, &Views::ids, &ids_view},
                  {"output", ViewRole::Output, &Views::output, &output_view},
                  {"status", ViewRole::InOut, &Views::status, &status_view}},
        .knobs = &perturbed_embedding_knobs,
        .heuristic = &perturbed_embedding_heuristic,
        .check = &check_perturbed_embedding,
        .build = &build_perturbed_embedding,
        .record = &record_perturbed_embedding,
    };
    return kOperation;
}
template class Plan<PerturbedEmbeddingDesc>;

}  // namespace yolk
