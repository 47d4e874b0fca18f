// SPDX-License-Identifier: Apache-2.0
#include "yolk/byte_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "operation_plan.hpp"
#include "yolk/exact/exact_bytes.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_bm = abi::byte_model;

struct ByteModelPipelines {
    PipelineOf<abi_bm::Params> prepare, step;
    std::uint32_t steps_per_dispatch = 0;
    MemoryNeeds scratch{};
};

struct ByteModelBindings {
    BindingOf<abi_bm::Params> prepare, step;
    std::uint32_t steps_per_dispatch = 0;
    std::uint32_t pairs_at_once = 0;
};

namespace {

constexpr std::uint32_t kValues = exact::kByteValues;
/// More scratch than this is not asked for: the pairs that it holds keep any device busy.
constexpr std::uint64_t kMostByteScratch = std::uint64_t{128} << 20U;

/// Words of a row of `width` elements.
std::uint32_t row_words(const ByteModelDesc& desc) noexcept { return desc.width / 4; }

std::uint32_t byte_weight_words(const ByteModelDesc& desc) noexcept {
    const std::uint32_t row = row_words(desc);
    return 2 * kValues * row + row + desc.layers * (4 * row + 12 * desc.width * row);
}
std::uint32_t byte_noise_words(const ByteModelDesc& desc) noexcept {
    if (desc.mean_only) return 0;
    const std::uint32_t row = row_words(desc);
    return 2 * (kValues / 4 + row) * desc.rank + row + desc.layers * (4 * row + 18 * row * desc.rank);
}
std::uint32_t byte_noise_blocks(const ByteModelDesc& desc) noexcept {
    return desc.mean_only ? 0 : 2 * (kValues + desc.width) / 8 + desc.width / 8 + desc.layers * 22 * desc.width / 8;
}

std::uint32_t pairs_of_call(const ByteModelDesc& desc) noexcept { return ceil_div(desc.members, 2U); }
std::uint64_t bytes_per_pair(const ByteModelDesc& desc) noexcept {
    return 4 * (std::uint64_t{byte_noise_words(desc)} + 2 * (std::uint64_t{desc.layers} * row_words(desc) + 1));
}
std::uint64_t byte_scratch(const ByteModelDesc& desc, std::uint64_t pairs) noexcept {
    return std::uint64_t{4} * byte_weight_words(desc) +
           round_up(pairs, std::uint64_t{desc.config->pairs}) * bytes_per_pair(desc);
}

/// Shared memory of a workgroup (shaders/byte_model/byte_model.comp).
std::uint64_t byte_shared_bytes(const ByteModelDesc& desc, const ByteModelConfig& config) noexcept {
    const std::uint64_t members = std::uint64_t{2} * config.pairs;
    return 4 * members *
           ((std::uint64_t{6} + desc.layers) * row_words(desc) + std::max(desc.width, kValues / 4) + desc.rank + 5);
}

/// What one step costs of the loop limit: each loop of the kernel, as written.
std::uint64_t byte_step_loops(const ByteModelDesc& desc) noexcept {
    const std::uint64_t workgroup = desc.config->workgroup_size, members = std::uint64_t{2} * desc.config->pairs;
    const std::uint64_t row = row_words(desc), width = desc.width;
    const auto each = [&](std::uint64_t count, std::uint64_t inside) {
        return loop_cost(ceil_div(count, workgroup), inside);
    };
    // byte_log has a loop of 15; what follows a product is one of four loops, of which each counts where it is skipped.
    const std::uint64_t finish = loop_cost(members, loop_cost(desc.rank));
    const auto product = [&](std::uint64_t rows, std::uint64_t words) {
        return each(members * desc.rank, loop_cost(words)) + each(rows / 4, loop_cost(words) + finish) + 8;
    };
    const std::uint64_t begin = each(members * row, loop_cost(desc.rank) + loop_cost(desc.layers));
    const std::uint64_t normal = each(members, loop_cost(row)) + each(members * row, 0);
    const std::uint64_t layer = 2 * normal + 4 * product(width, row) + product(4 * width, row) + product(width, width) +
                                3 * each(members * row, 0) + 6;
    const std::uint64_t head =
        normal + product(kValues, row) + each(members * kValues / 4, 0) + each(members, loop_cost(15)) + 1;
    return begin + desc.layers * layer + head;
}

/// Multiply-adds of a byte and member.
std::uint64_t byte_step_work(const ByteModelDesc& desc) noexcept {
    return std::uint64_t{desc.width} * (kValues + std::uint64_t{12} * desc.width * desc.layers);
}

std::uint32_t whole_root(std::uint32_t n) noexcept {
    std::uint32_t root = 1;
    while ((root + 1) * (root + 1) <= n) ++root;
    return root;
}

ViewShape byte_parameters_view(const ByteModelDesc& desc) {
    return {.extents = {{"elements", std::uint64_t{4} * byte_weight_words(desc)}}};
}
ViewShape byte_text_view(const ByteModelDesc& desc) {
    return {.extents = {{"words", ceil_div(std::uint64_t{desc.text_bytes}, std::uint64_t{4})}}, .dtype = DType::U32};
}
ViewShape byte_returns_view(const ByteModelDesc& desc) { return {.extents = {{"members", desc.members}}}; }

std::vector<Knob<ByteModelConfig>> byte_model_knobs(const DeviceInfo& /*info*/, const ByteModelDesc& /*desc*/) {
    return {{"workgroup_size", &ByteModelConfig::workgroup_size, {8, 16, 32, 64, 128, 256}},
            {"pairs", &ByteModelConfig::pairs, {1, 2, 4}},
            {"dot", &ByteModelConfig::dot, {0, 1}}};
}

Result<void> legal_byte_model(const DeviceInfo& info, const ByteModelDesc& desc, const ByteModelConfig& config) {
    if (config.dot == 1 && !path_is_open(info, LowPrecisionPath::IntegerDot))
        return bad_input("The path int8-dot is closed on this device; dot must be 0.");
    const std::uint64_t bytes = byte_shared_bytes(desc, config);
    if (bytes <= info.limits.max_shared_memory_size) return {};
    return bad_input("{} pairs of width {} need {} bytes of shared memory; the device has {}.", config.pairs,
                     desc.width, bytes, info.limits.max_shared_memory_size);
}

/// An invocation for each four rows of a square matrix, a subgroup at least; more members share a weight that is read
/// where shared memory holds them.
ByteModelConfig byte_model_heuristic(const DeviceInfo& info, const ByteModelDesc& desc) {
    ByteModelConfig config{.workgroup_size = std::clamp(std::bit_ceil(row_words(desc)), 16U, 64U)};
    if (info.kind != DeviceKind::Cpu) config.workgroup_size = std::max(config.workgroup_size, 32U);
    config.pairs = info.kind == DeviceKind::Cpu ? 2 : 4;
    while (config.pairs > 1 && !legal_byte_model(info, desc, config)) config.pairs /= 2;
    if (info.features.integer_dot_accelerated && path_is_open(info, LowPrecisionPath::IntegerDot)) config.dot = 1;
    return config;
}

Result<void> check_byte_model(const ByteModelDesc& desc) {
    if (desc.width % 8 != 0) {
        return bad_input("The width of [byte_model] is {}; it must be a multiple of 8 from 8 to {}.", desc.width,
                         kMostByteWidth);
    }
    if (desc.rank != 1 && desc.rank != 4 && desc.rank != 16) {
        return bad_input("The rank of [byte_model] is {}; it may be 1, 4 or 16, whose roots are shifts.", desc.rank);
    }
    // Of the widest product, 3 u A over all columns, with u = x B; and the sum that it is added to.
    const std::uint64_t inputs = std::uint64_t{4} * desc.width;
    const std::uint64_t largest = (std::uint64_t{3} * 30 * 30 * 127 * desc.rank + 127 * 127) * inputs;
    if (largest >= 1U << 30U) {
        return bad_input(
            "A product of [byte_model] may reach {} at width {} and rank {}; int32 holds it below 2^30. Give a smaller "
            "width or rank.",
            largest, desc.width, desc.rank);
    }
    if (!desc.mean_only && desc.members % 2 != 0)
        return bad_input("[byte_model] has {} members; they come in pairs, so give an even number.", desc.members);
    if (desc.members > desc.population) {
        return bad_input("[byte_model] has {} members at once, of a population of {}; give at most as many.",
                         desc.members, desc.population);
    }
    if (std::uint64_t{desc.steps} + desc.context < desc.text_bytes) return {};
    return bad_input("The text of [byte_model] has {} bytes; a stretch takes {} and the byte after it.",
                     desc.text_bytes, std::uint64_t{desc.steps} + desc.context);
}

Result<PipelinesOf<ByteModelDesc>> build_byte_model(const Device& device, const ByteModelDesc& desc) {
    auto made = std::make_shared<ByteModelPipelines>();
    const ByteModelConfig& config = *desc.config;
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    const std::uint64_t fixed = loop_cost(std::uint64_t{2} * config.pairs * desc.layers * row_words(desc)) * 2;
    const std::uint64_t steps = iterations_within(loops > fixed ? loops - fixed : 0, byte_step_loops(desc));
    if (steps == 0) {
        return unsupported(
            "The device makes {} loop iterations per invocation; [byte_model] needs {} for one byte. Use a smaller "
            "width or fewer layers, or a larger workgroup.",
            loops, byte_step_loops(desc));
    }
    const std::uint64_t group_work = byte_step_work(desc) * 2 * config.pairs;
    const std::uint64_t short_work = std::max<std::uint64_t>(device.max_workgroup_cost() / group_work, 1);
    made->steps_per_dispatch =
        static_cast<std::uint32_t>(std::min({steps, short_work, std::uint64_t{desc.steps} + desc.context}));
    const std::array constants{SpecConstant{abi_bm::kSpecWorkgroupSize, config.workgroup_size},
                               SpecConstant{abi_bm::kSpecWidth, desc.width},
                               SpecConstant{abi_bm::kSpecLayers, desc.layers},
                               SpecConstant{abi_bm::kSpecRank, desc.rank},
                               SpecConstant{abi_bm::kSpecPairs, config.pairs},
                               SpecConstant{abi_bm::kSpecSymmetric, desc.symmetric ? 1U : 0U},
                               SpecConstant{abi_bm::kSpecMeanOnly, desc.mean_only ? 1U : 0U}};
    YOLK_TRY(made->prepare, device.pipeline(kernels::kByteModelPrepare, constants));
    YOLK_TRY(made->step, device.pipeline(config.dot == 1 ? kernels::kByteModelDot : kernels::kByteModel, constants));
    const std::uint64_t most = std::min(kMostByteScratch, device.info().limits.max_storage_buffer_range);
    const std::uint64_t least = byte_scratch(desc, 1);
    made->scratch = {.size_bytes = std::max(least, std::min(byte_scratch(desc, pairs_of_call(desc)), most)),
                     .least_bytes = least};
    return PipelinesOf<ByteModelDesc>(std::move(made));
}

MemoryNeeds byte_model_scratch(const ByteModelDesc& /*desc*/, const PipelinesOf<ByteModelDesc>& made) {
    return made->scratch;
}

Result<BindingsOf<ByteModelDesc>> bind_byte_model(const Device& device, const ByteModelDesc& desc,
                                                  const PipelinesOf<ByteModelDesc>& made, const ByteModelViews& views,
                                                  const BufferView& scratch) {
    auto bound = std::make_shared<ByteModelBindings>();
    bound->steps_per_dispatch = made->steps_per_dispatch;
    const std::uint64_t left = scratch.size_bytes - std::uint64_t{4} * byte_weight_words(desc);
    const std::uint64_t pairs = left / bytes_per_pair(desc) / desc.config->pairs * desc.config->pairs;
    bound->pairs_at_once =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(pairs, round_up(pairs_of_call(desc), desc.config->pairs)));
    const std::array bindings{views.parameters, views.text, views.returns, scratch};
    YOLK_TRY(bound->prepare, device.bind(made->prepare, bindings));
    YOLK_TRY(bound->step, device.bind(made->step, bindings));
    return BindingsOf<ByteModelDesc>(std::move(bound));
}

abi_bm::Params fixed_byte_params(const ByteModelDesc& desc, const ByteModelBindings& bound, const NoiseContext& when) {
    const ByteStretches stretches = byte_stretches(desc, when.generation);
    const std::uint32_t root = whole_root(desc.width), wide_root = whole_root(4 * desc.width);
    const std::uint32_t first_state = byte_weight_words(desc) + bound.pairs_at_once * byte_noise_words(desc);
    return {.seed_low = static_cast<std::uint32_t>(when.seed),
            .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
            .time = when.time,
            .first_pair = 0,  // this and what else is 0: of a dispatch
            .pair_count = 0,
            .members = 0,
            .first_result = 0,
            .first_member = 0,
            .group = desc.group,
            .span = stretches.span,
            .distance = stretches.distance,
            .advance = stretches.advance,
            .context = desc.context,
            .first_step = 0,
            .step_count = 0,
            .last_step = desc.context + desc.steps,
            .sigma_shift = desc.sigma_shift,
            .matrix_shift = 4 + desc.sigma_shift +
                            (desc.rank == 16  ? 2U
                             : desc.rank == 4 ? 1U
                                              : 0U),
            .root = root,
            .magic = exact::byte_scale_magic(root),
            .wide_root = wide_root,
            .wide_magic = exact::byte_scale_magic(wide_root),
            .weight_words = byte_weight_words(desc),
            .noise_words = byte_noise_words(desc),
            .first_state = first_state,
            .first_score = first_state + 2 * bound.pairs_at_once * desc.layers * row_words(desc)};
}

void record_byte_steps(Recorder& recorder, const ByteModelDesc& desc, const ByteModelBindings& bound,
                       abi_bm::Params params) noexcept {
    const std::uint32_t workgroup = desc.config->workgroup_size;
    recorder.dispatch(bound.prepare, params,
                      grid_of(params.weight_words + std::uint64_t{params.pair_count} * byte_noise_blocks(desc),
                              workgroup, std::uint64_t{64} * desc.rank));
    for (params.first_step = 0; params.first_step < params.last_step; params.first_step += params.step_count) {
        recorder.barrier(Barrier::ComputeToCompute);
        params.step_count = std::min(bound.steps_per_dispatch, params.last_step - params.first_step);
        recorder.dispatch(
            bound.step, params,
            LinearGrid{.groups = ceil_div(params.pair_count, desc.config->pairs),
                       .cost_per_group = byte_step_work(desc) * 2 * desc.config->pairs * params.step_count});
    }
}

void record_byte_model(Recorder& recorder, const BindingsOf<ByteModelDesc>& bound, const ByteModelDesc& desc,
                       const NoiseContext& when, OrDefault<ByteModelPart> part) noexcept {
    const std::uint32_t members = part.value.members == 0 ? desc.members : part.value.members;
    const std::uint32_t first = part.value.first_member;
    if (members > desc.members || first > desc.population || members > desc.population - first ||
        (!desc.mean_only && (first % 2 != 0 || members % 2 != 0))) {
        return recorder.refuse(
            Error{ErrorKind::BadInput,
                  fmt::format("A part of [byte_model] has {} members from {} on; a call has at most {} of {}, in whole "
                              "pairs.",
                              members, first, desc.members, desc.population)});
    }
    abi_bm::Params params = fixed_byte_params(desc, *bound, when);
    for (std::uint32_t done = 0; done < members; done += 2 * bound->pairs_at_once) {
        if (done != 0) recorder.barrier(Barrier::ComputeToCompute);  // the next pairs take over the scratch
        params.members = std::min(members - done, 2 * bound->pairs_at_once);
        params.pair_count = ceil_div(params.members, 2U);
        params.first_result = done;
        params.first_member = first + done;
        params.first_pair = params.first_member / 2;
        record_byte_steps(recorder, desc, *bound, params);
    }
}

Fields<ByteModelDesc> byte_model_fields() {
    using Desc = ByteModelDesc;
    return {"byte_model",
            {extent<&Desc::width>("width").from(8, kMostByteWidth),
             extent<&Desc::layers>("layers").from(1, kMostByteLayers),
             extent<&Desc::population>("population").from(1, UINT32_MAX),
             extent<&Desc::members>("members").from(1, UINT32_MAX), extent<&Desc::group>("group").from(1, UINT32_MAX),
             extent<&Desc::steps>("steps").from(1, 1U << 15U), extent<&Desc::context>("context").from(0, 1U << 15U),
             extent<&Desc::text_bytes>("text").from(0, 1U << 31U), extent<&Desc::rank>("rank").from(1, 16),
             extent<&Desc::sigma_shift>("sigma_shift").from(0, 12), variant<&Desc::symmetric>("symmetric"),
             variant<&Desc::mean_only>("mean")}};
}

}  // namespace

std::vector<ParameterDesc> byte_model_parameters(std::uint32_t width, std::uint32_t layers) {
    std::vector<ParameterDesc> all;
    const auto matrix = [&](std::string name, std::uint32_t rows, std::uint32_t columns) {
        all.push_back({.name = std::move(name), .rows = rows, .columns = columns});
    };
    const auto vector = [&](std::string name) {
        all.push_back({.name = std::move(name), .rows = width, .perturbation = Perturbation::Vector});
    };
    matrix("embedding", kValues, width);
    for (std::uint32_t l = 0; l < layers; ++l) {
        const std::string layer = fmt::format("layer{}.", l);
        vector(layer + "norm1");
        matrix(layer + "gate_input", width, width);
        matrix(layer + "gate_state", width, width);
        vector(layer + "gate_bias");
        matrix(layer + "candidate_input", width, width);
        matrix(layer + "candidate_state", width, width);
        vector(layer + "candidate_bias");
        vector(layer + "norm2");
        matrix(layer + "up", 4 * width, width);
        matrix(layer + "down", width, 4 * width);
    }
    vector("norm");
    matrix("head", kValues, width);
    return all;
}

ByteStretches byte_stretches(const ByteModelDesc& desc, std::uint32_t generation) noexcept {
    const std::uint32_t span = desc.text_bytes - desc.steps - desc.context;
    return {.span = span,
            .distance = span / ceil_div(desc.population, desc.group),
            .advance = static_cast<std::uint32_t>(std::uint64_t{generation} * desc.steps % span)};
}

template <>
const Operation<ByteModelDesc>& operation_of<ByteModelDesc>() {
    using Desc = ByteModelDesc;
    using Views = ByteModelViews;
    static const Operation<Desc> kOperation{
        .name = "byte_model",
        .fields = byte_model_fields(),
        .views = {{"parameters", ViewRole::Input, &Views::parameters, &byte_parameters_view},
                  {"text", ViewRole::Input, &Views::text, &byte_text_view},
                  {"returns", ViewRole::Output, &Views::returns, &byte_returns_view}},
        .knobs = &byte_model_knobs,
        .legal = &legal_byte_model,
        .heuristic = &byte_model_heuristic,
        .check = &check_byte_model,
        .build = &build_byte_model,
        .scratch = &byte_model_scratch,
        .bind = &bind_byte_model,
        .record = &record_byte_model,
    };
    return kOperation;
}
template class Plan<ByteModelDesc>;

}  // namespace yolk
