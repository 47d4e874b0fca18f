// SPDX-License-Identifier: Apache-2.0
#include "rollout_layout.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "plan_checks.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"

namespace yolk {

namespace abi_ro = abi::rollout;

namespace {

// Above these a kernel that is written out takes too long to compile (processor time on lavapipe 22.3, whole process:
// 518 products 2.6 s, 786 4.3 s, 920 5.6 s, 1,030 7.8 s, 1,328 18 s), and an invocation's copy of the parameters no
// longer fits beside its noise in a core's cache (eight lanes, 64 KiB).
constexpr std::uint64_t kMaxUnrolledProducts = 1024;
constexpr std::uint32_t kMaxPrivateParameters = 2048;  // NVIDIA's compiler refuses 8,176 on an H200
// Of packed noise: one register each. Above, compilers of GPUs begin to spill (docs/kernels/rollout.md).
constexpr std::uint64_t kMaxPackedWords = 160;
// On CPU drivers: below 32 groups of 32 the last one counts; from there on both sizes are equally fast.
constexpr std::uint32_t kSmallWorkgroup = 8;
constexpr std::uint64_t kFewInvocations = 1024;
// On NVIDIA's driver nothing is packed: 255 registers and unpacking cost more than the noise in local memory. An H200
// (580.159, exact, 4-64-2): 65,536 members 6.7 ms, packed 8.3; 4,096 members, a warp for each multiprocessor, 3.2 with
// the parameters in the uniform buffer, 2.5 with a copy for each lane (21.6 with 65,536 members), packed 3.9.
constexpr std::uint32_t kNvidiaVendor = 0x10de;
constexpr std::uint64_t kCopiesPerUnit = 64;  // lanes

Result<void> check_network(const PolicyNetwork& network, const EnvironmentInfo& environment) {
    const auto& widths = network.widths;
    YOLK_TRY_VOID(check_range(widths.size(), 2, abi_ro::kMaxLayers + 1, "the number of widths of [rollout]'s network"));
    for (const std::uint32_t width : widths) {
        YOLK_TRY_VOID(check_range(width, 1, kMaxPolicyWidth, "a width of [rollout]'s network"));
    }
    YOLK_TRY_VOID(check_range(network.recurrent, 0, kMaxPolicyWidth, "the recurrent units of [rollout]'s network"));
    if (widths.front() == environment.observation_count && widths.back() == environment.action_count) return {};
    return bad_input(
        "The network of [rollout] has {} inputs and {} outputs; environment \"{}\" has {} observations and {} actions.",
        widths.front(), widths.back(), environment.name, environment.observation_count, environment.action_count);
}

Result<void> check_parameter(const ParameterDesc& given, const ParameterDesc& expected, const RolloutDesc& desc) {
    const bool same_shape =
        given.name == expected.name && given.rows == expected.rows && given.columns == expected.columns;
    if (!same_shape) {
        return bad_input(
            "[rollout] was given parameter \"{}\" of {} by {} where its network has \"{}\" of {} by {}. Use the "
            "network's parameters() in their order.",
            given.name, given.rows, given.columns, expected.name, expected.rows, expected.columns);
    }
    if (given.perturbation == Perturbation::Frozen) return {};
    if (!desc.mean_only && rank_of(given, desc.rank) != desc.rank) {
        return bad_input(
            "Parameter \"{}\" of [rollout] has noise of rank {}; all matrices of a network have one rank, here {}. "
            "Leave theirs at 0, or evaluate the population otherwise.",
            given.name, given.rank, desc.rank);
    }
    if (given.perturbation == expected.perturbation) return {};
    return bad_input(
        "Parameter \"{}\" of [rollout] has a perturbation that is not its own; only freezing it is allowed.",
        given.name);
}

Result<void> check_parameters(const RolloutDesc& desc) {
    const std::vector<ParameterDesc> expected = desc.network.parameters();
    const auto given = desc.parameters.parameters();
    if (given.size() != expected.size()) {
        return bad_input("[rollout] was given {} parameters; its network has {}.", given.size(), expected.size());
    }
    for (std::size_t p = 0; p < given.size(); ++p) YOLK_TRY_VOID(check_parameter(given[p], expected[p], desc));
    if (desc.parameters.element_count() <= abi_ro::kMaxParameterCount) return {};
    return bad_input(
        "The network of [rollout] has {} parameter elements; at most {} fit in a uniform buffer (64 KiB). Use smaller "
        "widths{}.",
        desc.parameters.element_count(), abi_ro::kMaxParameterCount,
        desc.network.recurrent == 0 ? "" : ", or fewer recurrent units");
}

Result<void> check_counts(const RolloutDesc& desc, const EnvironmentInfo& environment) {
    if (!desc.mean_only) YOLK_TRY_VOID(check_range(desc.members, 1, 0xFFFFFFFFU, "members of [rollout]"));
    YOLK_TRY_VOID(check_range(desc.episodes, 1, 0xFFFFFFFFU, "episodes of [rollout]"));
    YOLK_TRY_VOID(check_range(desc.max_steps, 0, environment.max_steps, "max_steps of [rollout]"));
    const std::uint32_t steps = desc.max_steps == 0 ? environment.max_steps : desc.max_steps;
    if (desc.network.normalized && !desc.mean_only && std::uint64_t{steps} * desc.episodes > 0xFFFFFFFFU) {
        return bad_input(
            "A member of [rollout] makes up to {} steps in each of {} episodes; observations are counted with 32 bits, "
            "so a normalized one makes at most {} in all. Use fewer.",
            steps, desc.episodes, 0xFFFFFFFFU);
    }
    return check_range(desc.rank, 1, kMaxRank, "rank of [rollout]");
}

std::uint32_t frozen_mask(const RolloutDesc& desc) noexcept {
    if (desc.mean_only) return 0xFFFFFFFFU;
    std::uint32_t mask = 0;
    const auto parameters = desc.parameters.parameters();
    for (std::size_t p = 0; p < std::min<std::size_t>(parameters.size(), 32); ++p) {
        if (parameters[p].perturbation == Perturbation::Frozen) mask |= 1U << p;
    }
    return mask;
}

bool is_perturbed(const RolloutLayout& layout, std::size_t parameter) noexcept {
    return (layout.frozen >> parameter & 1U) == 0;
}

/// A matrix with its bias: parameters 2l and 2l + 1.
struct LayerSize {
    std::uint64_t inputs = 0, outputs = 0;
};

/// Gate and candidate of a recurrent layer are the first two. Those that no network may have are left out.
class LayerSizes {
   public:
    explicit LayerSizes(const PolicyNetwork& network) noexcept {
        const std::vector<std::uint32_t>& widths = network.widths;
        if (widths.empty()) return;
        const std::uint64_t gate_inputs = std::uint64_t{widths.front()} + network.recurrent;
        for (int i = 0; i < 2 && network.recurrent != 0; ++i)
            sizes_.at(count_++) = {.inputs = gate_inputs, .outputs = network.recurrent};
        for (std::size_t layer = 0; layer + 1 < widths.size() && layer < abi_ro::kMaxLayers; ++layer) {
            const std::uint32_t inputs = layer == 0 && network.recurrent != 0 ? network.recurrent : widths[layer];
            sizes_.at(count_++) = {.inputs = inputs, .outputs = widths[layer + 1]};
        }
    }
    [[nodiscard]] auto begin() const noexcept { return sizes_.begin(); }
    [[nodiscard]] auto end() const noexcept { return sizes_.begin() + static_cast<std::ptrdiff_t>(count_); }

   private:
    std::array<LayerSize, abi_ro::kMaxLayers + 2> sizes_{};
    std::size_t count_ = 0;
};

bool any_matrix_perturbed(const RolloutLayout& layout) noexcept {
    for (std::size_t p = 0; p < layout.desc.parameters.parameters().size(); p += 2) {
        if (is_perturbed(layout, p)) return true;
    }
    return false;
}

std::uint64_t products_per_step(const RolloutDesc& desc) noexcept {
    const std::uint32_t frozen = frozen_mask(desc);
    std::uint64_t products = 0;
    std::uint32_t matrix = 0;
    for (const auto& [inputs, outputs] : LayerSizes(desc.network)) {
        products += inputs * outputs;
        if ((frozen >> matrix & 1U) == 0) products += (inputs + outputs) * desc.rank;
        matrix += 2;
    }
    return products;
}

std::uint64_t draw_cost(std::uint64_t elements) noexcept {
    return loop_cost(ceil_div(elements, std::uint64_t{kNoiseElementsPerBlock}));
}

/// What an invocation of a packed kernel keeps of its noise: the streams that shaders/rollout/packed_network.glsl
/// draws.
std::uint64_t packed_words(const RolloutDesc& desc) noexcept {
    const std::uint32_t frozen = frozen_mask(desc);
    const std::vector<std::uint32_t>& widths = desc.network.widths;
    const auto words = [](std::uint64_t elements) {
        return 2 * ceil_div(elements, std::uint64_t{kNoiseElementsPerBlock});
    };
    std::uint64_t sum = 0;
    for (std::size_t layer = 0; layer < 2; ++layer) {
        const std::uint64_t inputs = widths[layer];
        const std::uint64_t outputs = widths[layer + 1];
        if ((frozen >> (2 * layer) & 1U) == 0) sum += words(outputs * desc.rank) + words(inputs * desc.rank);
        if ((frozen >> (2 * layer + 1) & 1U) == 0) sum += words(outputs);
    }
    return sum;
}

bool fits_packed(const RolloutDesc& desc) noexcept {
    return desc.network.widths.size() == 3 && desc.network.recurrent == 0 && packed_words(desc) <= kMaxPackedWords;
}

/// Of invocations that share nothing. GPUs: a subgroup, so that none of its lanes is idle. CPU drivers: 32, or 8, a
/// vector of theirs, where groups of 32 would be so few that threads wait for the last one: 100 episodes are four
/// groups, and with two threads one has 64 of them.
std::uint32_t default_workgroup(const DeviceInfo& info, const RolloutDesc& desc) noexcept {
    const std::uint32_t fallback = RolloutConfig{}.workgroup_size;
    if (info.kind != DeviceKind::Cpu) return std::clamp(info.limits.subgroup_size, fallback, 256U);
    const std::uint64_t invocations = std::uint64_t{desc.mean_only ? 1 : desc.members} * desc.episodes;
    return invocations < kFewInvocations ? kSmallWorkgroup : fallback;
}

bool is_measured_nvidia(const DeviceInfo& info) noexcept {
    return info.vendor_id == kNvidiaVendor && info.limits.compute_units != 0;
}

/// Of the parameters, one for each lane.
bool affords_copies(const DeviceInfo& info, const RolloutDesc& desc, const RolloutConfig& config) noexcept {
    if (desc.network.layer_elements() > kMaxPrivateParameters) return false;
    if (info.kind == DeviceKind::Cpu) return true;
    const std::uint64_t invocations = std::uint64_t{desc.mean_only ? 1 : desc.members} * desc.episodes;
    return is_measured_nvidia(info) && config.unrolled != 0 &&
           invocations <= kCopiesPerUnit * info.limits.compute_units;
}

RolloutLoopCost packed_loop_cost(const RolloutLayout& layout) noexcept {
    const auto& widths = layout.desc.network.widths;
    const std::uint64_t rank = layout.rank;
    RolloutLoopCost cost;
    for (std::size_t layer = 0; layer < 2; ++layer) {
        if (is_perturbed(layout, 2 * layer))
            cost.start += draw_cost(widths[layer + 1] * rank) + draw_cost(widths[layer] * rank);
        if (is_perturbed(layout, 2 * layer + 1)) cost.start += draw_cost(widths[layer + 1]);
    }
    std::uint64_t unit = loop_cost(widths[0]) + loop_cost(widths[2]);
    if (is_perturbed(layout, 0)) {
        cost.step += loop_cost(rank, loop_cost(widths[0]));
        unit += loop_cost(rank);
    }
    if (is_perturbed(layout, 2)) {
        cost.step += loop_cost(rank, loop_cost(widths[2]));
        unit += loop_cost(rank);
    }
    cost.step += loop_cost(widths[2]) + loop_cost(rank) + loop_cost(widths[1], unit);
    return cost;
}

RolloutLoopCost plain_loop_cost(const RolloutLayout& layout) noexcept {
    RolloutLoopCost cost;
    if (layout.private_parameters) cost.start += loop_cost(layout.desc.network.layer_elements());
    if (const std::uint64_t units = layout.desc.network.recurrent; units != 0) {
        cost.start += 2 * loop_cost(units);  // loaded or set to zero, and kept
        cost.step += 4 * loop_cost(units);   // before and after the gate, after the candidate; where it starts again
    }
    std::size_t matrix = 0;
    for (const auto& [inputs, outputs] : LayerSizes(layout.desc.network)) {
        cost.start += loop_cost(outputs);
        if (is_perturbed(layout, matrix + 1)) cost.start += draw_cost(outputs);
        std::uint64_t chain = loop_cost(inputs);
        if (is_perturbed(layout, matrix)) {
            cost.start += draw_cost(outputs * layout.rank) + draw_cost(inputs * layout.rank);
            cost.step += loop_cost(layout.rank, loop_cost(inputs));
            chain += loop_cost(layout.rank);
        }
        cost.step += loop_cost(outputs, chain);
        matrix += 2;
    }
    return cost;
}

}  // namespace

/// CPU drivers: everything at constant indices in private memory, where the compiler can hold it. Elsewhere the
/// parameters stay in the uniform buffer, and the noise is packed where the network allows. The mean is rolled out so
/// few times that the time of compilation counts: it takes loops, and packed ones where they fit, which compile as
/// quickly as the others and run faster on every driver that was measured (docs/kernels/rollout.md).
RolloutConfig rollout_config(const DeviceInfo& info, const RolloutDesc& desc) noexcept {
    const bool small = products_per_step(desc) <= kMaxUnrolledProducts;
    constexpr std::uint32_t kAutomatic = RolloutConfig::kAutomatic;
    RolloutConfig config = desc.config.value_or(RolloutConfig{.workgroup_size = default_workgroup(info, desc)});
    if (config.packed == kAutomatic) {
        const bool pays = desc.mean_only || (info.kind != DeviceKind::Cpu && !(is_measured_nvidia(info) && small));
        config.packed = pays && fits_packed(desc) && config.unrolled != 0 &&
                        (config.private_parameters == 0 || config.private_parameters == kAutomatic);
    }
    if (config.unrolled == kAutomatic) config.unrolled = config.packed != 0 || (small && !desc.mean_only);
    if (config.private_parameters == kAutomatic)
        config.private_parameters = config.packed == 0 && affords_copies(info, desc, config);
    return config;
}

Result<void> legal_rollout(const DeviceInfo& /*info*/, const RolloutDesc& desc, const RolloutConfig& config) {
    if (config.private_parameters == 1 && desc.network.layer_elements() > kMaxPrivateParameters) {
        return bad_input("private_parameters is 1, which takes networks of at most {} parameters; this one has {}.",
                         kMaxPrivateParameters, desc.network.layer_elements());
    }
    if (config.packed != 1) return {};
    if (config.unrolled == 0 || config.private_parameters == 1)
        return bad_input("packed is 1, which needs unrolled 1 and private_parameters 0.");
    if (fits_packed(desc)) return {};
    return bad_input(
        "packed is 1, which takes networks of one hidden layer, without a recurrent one, whose noise fits {} words. "
        "The network has {} layers, {} recurrent units and rank {}; use packed 0.",
        kMaxPackedWords, desc.network.widths.size() - 1, desc.network.recurrent, desc.rank);
}

Result<void> check_rollout(const RolloutDesc& desc) {
    YOLK_TRY(const EnvironmentKernels environment, find_environment_kernels(desc));
    YOLK_TRY_VOID(check_network(desc.network, environment.info));
    YOLK_TRY_VOID(check_parameters(desc));
    return check_counts(desc, environment.info);
}

Result<RolloutLayout> make_rollout_layout(const RolloutDesc& desc) {
    RolloutLayout layout;
    layout.desc = desc;
    YOLK_TRY(layout.environment, find_environment_kernels(desc));
    layout.members = desc.mean_only ? 1 : desc.members;
    layout.max_steps = desc.max_steps == 0 ? layout.environment.info.max_steps : desc.max_steps;
    layout.frozen = frozen_mask(desc);
    layout.rank = any_matrix_perturbed(layout) ? desc.rank : 1;
    layout.unrolled = desc.config->unrolled != 0;
    layout.private_parameters = desc.config->private_parameters != 0;
    layout.packed = desc.config->packed != 0;
    layout.slot_words = layout.environment.info.state_words + 2;
    layout.slot_bytes = 4 * (std::uint64_t{layout.slot_words} + desc.network.recurrent);
    return layout;
}

RolloutLoopCost rollout_loop_cost(const RolloutLayout& layout) noexcept {
    RolloutLoopCost cost = layout.packed ? packed_loop_cost(layout) : plain_loop_cost(layout);
    const EnvironmentInfo& environment = layout.environment.info;
    cost.step += loop_cost(environment.observation_count) + loop_cost(environment.action_count);
    if (layout.desc.network.normalized && !layout.desc.mean_only) {
        cost.start += loop_cost(environment.observation_count) +
                      loop_cost(std::uint64_t{kObservationCounts} * environment.observation_count);
        cost.step += loop_cost(environment.observation_count);
    }
    return cost;
}

std::uint64_t rollout_step_cost(const RolloutLayout& layout) noexcept {
    constexpr std::uint64_t kTanhCost = 24;
    constexpr std::uint64_t kEnvironmentCost = 128;  // of cartpole's about 60; own ones may do more
    std::uint64_t cost = products_per_step(layout.desc) + kEnvironmentCost;
    for (const std::uint32_t width : layout.desc.network.widths) cost += kTanhCost * width;
    cost += std::uint64_t{2} * kTanhCost * layout.desc.network.recurrent;
    return cost;
}

Result<std::uint32_t> rollout_steps_per_dispatch(const RolloutLayout& layout, const RolloutBudget& budget) {
    const RolloutLoopCost cost = rollout_loop_cost(layout);
    const std::uint64_t left = budget.loops > cost.start ? budget.loops - cost.start : 0;
    const std::uint64_t steps = iterations_within(left, cost.step);
    if (steps == 0) {
        return unsupported(
            "The device makes {} loop iterations per invocation; [rollout] needs {} for one step of its network. Use "
            "smaller widths or a smaller rank.",
            budget.loops, cost.start + loop_cost(1, cost.step));
    }
    const std::uint64_t short_work = std::max<std::uint64_t>(
        budget.workgroup_cost / (rollout_step_cost(layout) * layout.desc.config->workgroup_size), 1);
    return static_cast<std::uint32_t>(
        std::min({steps, short_work, std::uint64_t{kMaxStepsPerDispatch}, std::uint64_t{layout.max_steps}}));
}

std::uint64_t rollout_indices(const RolloutLayout& layout) noexcept {
    return std::uint64_t{layout.members} * layout.desc.episodes;
}

std::uint64_t rollout_chunk(const RolloutLayout& layout, std::uint64_t scratch_bytes) noexcept {
    return std::min(rollout_indices(layout), scratch_bytes / layout.slot_bytes);
}

const Kernel<abi_ro::Params>& rollout_kernel(const RolloutLayout& layout) noexcept {
    const RolloutKernels& kernels =
        layout.desc.determinism == Determinism::Fast ? layout.environment.fast : layout.environment.exact;
    return layout.packed ? *kernels.packed : layout.unrolled ? *kernels.unrolled : *kernels.looped;
}

std::vector<SpecConstant> rollout_constants(const RolloutLayout& layout) {
    const auto& widths = layout.desc.network.widths;
    const auto width = [&](std::size_t i) { return i < widths.size() ? widths[i] : 1U; };
    return {
        {abi_ro::kSpecWorkgroupSize, layout.desc.config->workgroup_size},
        {abi_ro::kSpecParameterCount, layout.desc.network.layer_elements()},
        {abi_ro::kSpecPrivateParameters, layout.private_parameters ? 1U : 0U},
        {abi_ro::kSpecRank, layout.rank},
        {abi_ro::kSpecFrozen, layout.frozen},
        {abi_ro::kSpecLayers, static_cast<std::uint32_t>(widths.size() - 1)},
        {abi_ro::kSpecWidth0, width(0)},
        {abi_ro::kSpecWidth1, width(1)},
        {abi_ro::kSpecWidth2, width(2)},
        {abi_ro::kSpecWidth3, width(3)},
        {abi_ro::kSpecWidth4, width(4)},
        {abi_ro::kSpecAntithetic, layout.desc.antithetic ? 1U : 0U},
        {abi_ro::kSpecRecurrent, layout.desc.network.recurrent},
        {abi_ro::kSpecSlotWords, layout.slot_words},
        {abi_ro::kSpecNormalizer, layout.desc.network.normalized ? layout.desc.network.layer_elements() : 0U},
    };
}

}  // namespace yolk
