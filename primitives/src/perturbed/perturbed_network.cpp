// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "operation_plan.hpp"
#include "program_fields.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_pn = abi::perturbed_network;
static_assert(kMostNetworkLayers == abi_pn::kMostLayers);
static_assert(kMostNetworkProducts <= abi_pn::kUniformElements);

std::uint64_t network_products(const PerturbedNetworkDesc& desc) noexcept {
    std::uint64_t products = 0;
    for (std::size_t l = 0; l < desc.layers(); ++l) products += std::uint64_t{desc.widths[l]} * desc.widths[l + 1];
    return products;
}

std::uint64_t network_noise(const PerturbedNetworkDesc& desc) noexcept {
    std::uint64_t elements = 0;
    for (std::size_t l = 0; l < desc.layers(); ++l) {
        elements += (std::uint64_t{desc.widths[l]} + desc.widths[l + 1]) * desc.rank;
        if (desc.has_bias(l)) elements += desc.widths[l + 1];
    }
    return elements;
}

Result<void> check_perturbed_network(const PerturbedNetworkDesc& desc) {
    if (desc.widths.size() < 2 || desc.widths.size() > kMostNetworkLayers + 1)
        return bad_input("[perturbed_network] has {} widths; it must have 2 to {}.", desc.widths.size(),
                         kMostNetworkLayers + 1);
    for (const std::uint32_t width : desc.widths)
        YOLK_TRY_VOID(check_range(width, 1, kMostNetworkWidth, "width of [perturbed_network]"));
    YOLK_TRY_VOID(check_range(network_products(desc), 0, kMostNetworkProducts, "products of [perturbed_network]"));
    YOLK_TRY_VOID(check_range(network_noise(desc), 0, kMostNetworkNoise, "noise elements of [perturbed_network]"));
    if (desc.biases >> desc.layers() != 0)
        return bad_input("[perturbed_network] has {} layers, and a bias of one that is not there.", desc.layers());
    for (std::size_t l = 0; l < desc.layers(); ++l) {
        YOLK_TRY_VOID(check_range(desc.weights[l].value, 0, kMaxParameterId, "parameter of [perturbed_network]"));
        YOLK_TRY_VOID(check_range(desc.bias_vectors[l].value, 0, kMaxParameterId, "parameter of [perturbed_network]"));
    }
    return {};
}

namespace {

/// An element of noise costs its share of a block and the operation that uses it.
constexpr std::uint64_t kDrawnElementCost = kNoiseBlockCost / kNoiseElementsPerBlock + 1;

std::vector<ViewShape> weights_views(const PerturbedNetworkDesc& desc) {
    std::vector<ViewShape> shapes;
    for (std::size_t l = 0; l < desc.layers(); ++l)
        shapes.push_back({.extents = {{"outputs", desc.widths[l + 1]}, {"inputs", desc.widths[l]}}, .uniform = true});
    return shapes;
}
std::vector<ViewShape> bias_views(const PerturbedNetworkDesc& desc) {
    std::vector<ViewShape> shapes;
    for (std::size_t l = 0; l < desc.layers(); ++l) {
        if (desc.has_bias(l)) shapes.push_back({.extents = {{"outputs", desc.widths[l + 1]}}, .uniform = true});
    }
    return shapes;
}
ViewShape input_view(const PerturbedNetworkDesc& desc) {
    const std::uint64_t members = desc.shared_input ? 1 : desc.members;
    return {{{"members", members}, {"rows", desc.rows}, {"inputs", desc.widths.front()}}};
}
ViewShape output_view(const PerturbedNetworkDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"outputs", desc.widths.back()}}};
}

std::vector<Knob<PerturbedNetworkConfig>> perturbed_network_knobs(const DeviceInfo& /*info*/,
                                                                  const PerturbedNetworkDesc& /*desc*/) {
    return {{"workgroup_size", &PerturbedNetworkConfig::workgroup_size, {8, 32, 64, 128, 256}},
            {"rows_per_invocation", &PerturbedNetworkConfig::rows_per_invocation, {1, 4, 8, 16, 32, 64}},
            {"both_sides", &PerturbedNetworkConfig::both_sides, {0, 1}}};
}

Result<void> legal_perturbed_network(const DeviceInfo& /*info*/, const PerturbedNetworkDesc& desc,
                                     const PerturbedNetworkConfig& config) {
    if (config.rows_per_invocation > std::max(1U, desc.rows))
        return bad_input("rows_per_invocation must not exceed the rows of a member.");
    if (config.both_sides == 1 && !desc.antithetic)
        return bad_input("Without antithetic sampling a pair has one side: both_sides must be 0.");
    return {};
}

// CPU drivers draw noise once for all rows of a pair. GPUs take the most invocations.
PerturbedNetworkConfig perturbed_network_heuristic(const DeviceInfo& info, const PerturbedNetworkDesc& desc) {
    if (info.kind != DeviceKind::Cpu) return {};
    PerturbedNetworkConfig config{.workgroup_size = 8, .both_sides = desc.antithetic ? 1U : 0U};
    for (const std::uint32_t rows : {4U, 8U, 16U, 32U, 64U}) {
        if (rows <= desc.rows) config.rows_per_invocation = rows;
    }
    return config;
}

std::vector<SpecConstant> network_constants(const PerturbedNetworkDesc& desc) {
    std::vector<SpecConstant> constants{
        {abi_pn::kSpecWorkgroupSize, desc.config->workgroup_size},
        {abi_pn::kSpecRows, desc.config->rows_per_invocation},
        {abi_pn::kSpecRank, desc.rank},
        {abi_pn::kSpecLayers, static_cast<std::uint32_t>(desc.layers())},
        {abi_pn::kSpecBiases, desc.biases},
        {abi_pn::kSpecInputIsShared, desc.shared_input ? 1U : 0U},
        {abi_pn::kSpecAntithetic, desc.antithetic ? 1U : 0U},
        {abi_pn::kSpecBothSides, desc.config->both_sides},
    };
    for (std::uint32_t w = 0; w <= kMostNetworkLayers; ++w)
        constants.push_back({abi_pn::kSpecWidth0 + w, w < desc.widths.size() ? desc.widths[w] : 0});
    for (std::uint32_t l = 0; l < kMostNetworkLayers; ++l) {
        const Activation activation = l < desc.layers() ? desc.activations[l] : Activation::Identity;
        constants.push_back({abi_pn::kSpecActivation0 + l, static_cast<std::uint32_t>(activation)});
    }
    return constants;
}

Result<PipelinesOf<PerturbedNetworkDesc>> build_perturbed_network(const Device& device,
                                                                  const PerturbedNetworkDesc& desc) {
    const bool exact = desc.determinism == Determinism::Exact;
    return device.pipeline(exact ? kernels::kPerturbedNetwork : kernels::kPerturbedNetworkFast,
                           network_constants(desc));
}

// What a layer lacks is bound to something that is there, for a binding may not be empty.
Result<BindingsOf<PerturbedNetworkDesc>> bind_perturbed_network(const Device& device, const PerturbedNetworkDesc& desc,
                                                                const PipelinesOf<PerturbedNetworkDesc>& made,
                                                                const PerturbedNetworkViews& views,
                                                                const BufferView& /*scratch*/) {
    std::array<BufferView, abi_pn::kBindingCount> bound;
    bound.fill(views.weights.front());
    bound[abi_pn::kBindInput] = views.input;
    bound[abi_pn::kBindOut] = views.output;
    std::size_t bias = 0;
    for (std::size_t l = 0; l < desc.layers(); ++l) {
        bound[abi_pn::kBindWeights0 + l] = views.weights[l];
        if (desc.has_bias(l)) bound[abi_pn::kBindBias0 + l] = views.biases[bias++];
    }
    return device.bind(made, bound);
}

void record_perturbed_network(Recorder& recorder, const BindingsOf<PerturbedNetworkDesc>& binding,
                              const PerturbedNetworkDesc& desc, const NoiseContext& when,
                              OrDefault<std::int32_t> first_member) noexcept {
    YOLK_ASSERT(first_member.value >= -1);
    const auto operand = [](double scale) { return exact::exact_flush_operand(static_cast<float>(scale)); };
    const auto sigma = static_cast<double>(when.sigma);
    const std::uint32_t rows = desc.config->rows_per_invocation;
    const abi_pn::Params params{
        .seed_low = static_cast<std::uint32_t>(when.seed),
        .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
        .time = when.time,
        .first_member = first_member.value,
        .members = desc.members,
        .rows = desc.rows,
        .scale = operand(sigma / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance),
        .vector_scale = operand(sigma / std::sqrt(static_cast<double>(kNoiseVariance))),
        .weights0 = desc.weights[0].value,
        .weights1 = desc.weights[1].value,
        .weights2 = desc.weights[2].value,
        .weights3 = desc.weights[3].value,
        .bias0 = desc.bias_vectors[0].value,
        .bias1 = desc.bias_vectors[1].value,
        .bias2 = desc.bias_vectors[2].value,
        .bias3 = desc.bias_vectors[3].value,
        .zero = 0.0F,
    };
    const bool both = desc.config->both_sides == 1;
    const std::uint64_t prepared = both ? pairs_drawn(desc.members, first_member.value, true) : desc.members;
    const std::uint64_t served = std::uint64_t{both ? 2U : 1U} * rows;
    recorder.dispatch(binding, params,
                      grid_of(prepared * ceil_div(desc.rows, rows), desc.config->workgroup_size,
                              network_noise(desc) * kDrawnElementCost + served * network_products(desc)));
}

constexpr auto kActivationWords = enum_words(Activation{});

std::string print_activations(const PerturbedNetworkDesc& desc) {
    std::size_t count = kMostNetworkLayers;
    while (count > 1 && desc.activations[count - 1] == Activation::Identity) --count;
    std::string text;
    for (std::size_t l = 0; l < count; ++l) text += (l == 0 ? "" : "-") + std::string(word_of(desc.activations[l]));
    return text;
}
bool parse_activations(PerturbedNetworkDesc& desc, std::string_view text) {
    const std::vector<std::string_view> words = detail::split_words(text, '-');
    if (words.size() > kMostNetworkLayers) return false;
    std::array<Activation, kMostNetworkLayers> activations{};
    for (std::size_t l = 0; l < words.size(); ++l) {
        const auto found = std::ranges::find(kActivationWords, words[l]);
        if (found == kActivationWords.end()) return false;
        activations[l] = static_cast<Activation>(found - kActivationWords.begin());
    }
    desc.activations = activations;
    return true;
}

bool parse_widths(PerturbedNetworkDesc& desc, std::string_view text) {
    auto widths = detail::parse_numbers(detail::split_words(text, '-'));
    if (!widths || widths->size() < 2 || widths->size() > kMostNetworkLayers + 1) return false;
    if (!std::ranges::all_of(*widths, [](std::uint32_t width) { return width >= 1 && width <= kMostNetworkWidth; }))
        return false;
    desc.widths = *std::move(widths);
    return true;
}

Field<PerturbedNetworkDesc> widths_field() {
    return {.info = {.name = "widths",
                     .role = FieldRole::Extent,
                     .allowed = "2 to 5 numbers from 1 to 64, joined by -",
                     .fallback = {},
                     .is_list = true},
            .print = &detail::print_list<PerturbedNetworkDesc, &PerturbedNetworkDesc::widths, '-'>,
            .parse = &parse_widths};
}

Field<PerturbedNetworkDesc> activations_field() {
    return {.info = {.name = "activations",
                     .role = FieldRole::Neither,
                     .allowed = "for each layer identity, relu, gelu, silu, tanh or sigmoid, joined by -",
                     .fallback = "identity"},
            .print = &print_activations,
            .parse = &parse_activations};
}

}  // namespace

template <>
const Operation<PerturbedNetworkDesc>& operation_of<PerturbedNetworkDesc>() {
    using Desc = PerturbedNetworkDesc;
    using Views = PerturbedNetworkViews;
    static const Operation<Desc> kOperation{
        .name = "perturbed_network",
        .fields = {"perturbed_network",
                   {extent<&Desc::members>("members"), extent<&Desc::rows>("rows").otherwise("1"), widths_field(),
                    activations_field(), variant<&Desc::biases>("biases").from(0, 15),
                    extent<&Desc::rank>("rank").from(1, kMaxRank), variant<&Desc::shared_input>("shared_input"),
                    variant<&Desc::antithetic>("pairs"), variant<&Desc::determinism>("determinism")}},
        .views = {{.name = "weights", .list = &Views::weights, .list_shapes = &weights_views},
                  {.name = "biases", .list = &Views::biases, .list_shapes = &bias_views},
                  {.name = "input", .role = ViewRole::Input, .view = &Views::input, .shape = &input_view},
                  {.name = "output", .role = ViewRole::Output, .view = &Views::output, .shape = &output_view}},
        .knobs = &perturbed_network_knobs,
        .legal = &legal_perturbed_network,
        .heuristic = &perturbed_network_heuristic,
        .check = &check_perturbed_network,
        .build = &build_perturbed_network,
        .bind = &bind_perturbed_network,
        .record = &record_perturbed_network,
    };
    return kOperation;
}
template class Plan<PerturbedNetworkDesc>;

}  // namespace yolk
