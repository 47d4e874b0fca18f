// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/train/policy_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "observation_sums.hpp"
#include "yolk/environment.hpp"
#include "yolk/host_environment.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/state_file.hpp"

namespace yolk::train {
namespace {

std::vector<std::uint64_t> shape_of(const ParameterDesc& p) {
    if (p.perturbation != Perturbation::LowRank && p.columns == 1) return {p.rows};
    return {p.rows, p.columns};
}

Result<void> append_parameter(const StateFile& file, const ParameterDesc& p, std::string_view what,
                              std::vector<float>& out) {
    const StoredTensor* const tensor = find_tensor(file.tensors, p.name);
    if (tensor == nullptr) return bad_input("{} has no tensor '{}', which its network needs.", what, shown(p.name));
    const std::vector<std::uint64_t> wanted = shape_of(p);
    if (tensor->shape != wanted) {
        return bad_input("Tensor '{}' of {} has the shape [{}]; its network needs [{}].", shown(p.name), what,
                         fmt::join(tensor->shape, ", "), fmt::join(wanted, ", "));
    }
    if (!std::all_of(tensor->values.begin(), tensor->values.end(), [](float v) { return std::isfinite(v); })) {
        return bad_input("Tensor '{}' of {} has values that are not finite, so the policy cannot be run.",
                         shown(p.name), what);
    }
    out.insert(out.end(), tensor->values.begin(), tensor->values.end());
    return {};
}

/// The environment of a policy. Running one on other dynamics than it was trained on would give returns that look like
/// its own, so another text is refused, even one that differs in a comment.
Result<EnvironmentInfo> environment_of(const Policy& policy, const LoadedEnvironment* own, std::string_view what) {
    if (is_host_source(policy.environment_source)) {
        if (own != nullptr)
            return bad_input("{} was trained on '{}', which the host steps, but a file '{}' was given. Leave it away.",
                             what, policy.task, own->info().name);
        YOLK_TRY(const HostEnvironmentInfo info, host_info_of_source(policy.environment_source));
        return EnvironmentInfo{
            .name = policy.task, .observation_count = info.observation_count, .action_count = info.actions.outputs()};
    }
    if (policy.environment_source.empty()) {
        if (own == nullptr) return find_environment(policy.task);
        return bad_input("{} was trained on the built-in environment '{}', but a file '{}' was given. Leave it away.",
                         what, shown(policy.task), shown(own->info().name));
    }
    if (own == nullptr) {
        return bad_input("{} was trained on '{}', an environment from a file (text {}). Give that file (--env).", what,
                         shown(policy.task), policy.environment_source);
    }
    if (own->info().name == policy.task && own->source_hash() == policy.environment_source) return own->info();
    return bad_input(
        "{} was trained on the environment '{}' (text {}), but '{}' (text {}) was given. Give the file as it was then.",
        what, shown(policy.task), policy.environment_source, shown(own->info().name), own->source_hash());
}

}  // namespace

std::uint32_t max_width_of(std::string_view environment_source) noexcept {
    return is_host_source(environment_source) ? kMaxHostWidth : kMaxWidth;
}

std::string text_of(const PolicyNetwork& network) {
    std::vector<std::string> parts;
    for (const std::uint32_t width : network.widths) parts.push_back(fmt::format("{}", width));
    if (network.recurrent != 0 && !parts.empty())
        parts.insert(parts.begin() + 1, fmt::format("{}r", network.recurrent));
    return fmt::format("{}", fmt::join(parts, ","));
}

std::optional<PolicyNetwork> network_of(std::string_view text) {
    PolicyNetwork network{.widths = {}};
    for (std::string_view rest = text; !rest.empty();) {
        std::uint32_t width = 0;
        const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), width);
        if (code != std::errc()) return std::nullopt;
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        const bool is_recurrent = rest.starts_with('r');
        if (is_recurrent) {
            network.recurrent = width;
            rest.remove_prefix(1);
        } else {
            network.widths.push_back(width);
        }
        if (rest.starts_with(',')) rest.remove_prefix(1);
    }
    if (text_of(network) != text) return std::nullopt;
    return network;
}

Result<void> check_sizes(const PolicyNetwork& network, std::uint32_t max_width) {
    const std::vector<std::uint32_t>& widths = network.widths;
    if (widths.size() < kMinWidths || widths.size() > kMaxWidths) {
        return bad_input("The network has {} widths; it must have from {} to {}.", widths.size(), kMinWidths,
                         kMaxWidths);
    }
    for (const std::uint32_t width : widths) {
        if (width < 1 || width > max_width) {
            return bad_input("The network [{}] has a width of {}; each must be from 1 to {}.", fmt::join(widths, ", "),
                             width, max_width);
        }
    }
    if (network.recurrent <= max_width) return {};
    return bad_input("The network has {} recurrent units; at most {} are allowed (0: no recurrent layer).",
                     network.recurrent, max_width);
}

Result<void> check_network(const PolicyNetwork& network, const EnvironmentInfo& environment, std::uint32_t max_width) {
    YOLK_TRY_VOID(check_sizes(network, max_width));
    const std::vector<std::uint32_t>& widths = network.widths;
    if (widths.front() != environment.observation_count || widths.back() != environment.action_count) {
        return bad_input(
            "The network [{}] does not fit the task {}: it must begin with {} (observations) and end with {} "
            "(actions).",
            fmt::join(widths, ", "), environment.name, environment.observation_count, environment.action_count);
    }
    return {};
}

Result<void> save_policy(const std::filesystem::path& path, const Policy& policy) {
    StateFile file{.fields = {{"task", policy.task},
                              {"network", text_of(policy.network)},
                              {"generations", policy.generations},
                              {"seed", policy.seed}}};
    if (policy.network.normalized) file.fields["normalize"] = true;
    if (!policy.environment_source.empty()) file.fields["environment_source"] = policy.environment_source;
    std::size_t offset = 0;
    for (const ParameterDesc& p : policy.network.parameters()) {
        const std::size_t count = std::size_t{p.rows} * p.columns;
        if (policy.parameters.size() - offset < count) break;
        const auto first = policy.parameters.begin() + static_cast<std::ptrdiff_t>(offset);
        StoredTensor tensor{
            .name = p.name, .shape = shape_of(p), .values = {first, first + static_cast<std::ptrdiff_t>(count)}};
        if (!std::all_of(tensor.values.begin(), tensor.values.end(), [](float v) { return std::isfinite(v); })) {
            return bad_input("The parameter '{}' has values that are not finite, so the policy is not saved.",
                             shown(p.name));
        }
        file.tensors.push_back(std::move(tensor));
        offset += count;
    }
    if (file.tensors.size() != policy.network.parameters().size() || offset != policy.parameters.size()) {
        return bad_input("The policy has {} values, which is not what its network [{}] needs.",
                         policy.parameters.size(), text_of(policy.network));
    }
    return write_state(path, kPolicyKind, std::move(file));
}

Result<Policy> load_policy(const std::filesystem::path& path, const LoadedEnvironment* own) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(const StateFile file, read_state(path, kPolicyKind));
    FieldReader reader(file.fields);
    Policy policy{.task = {}, .network = {.widths = {}}, .parameters = {}};
    reader("task", policy.task);
    reader("generations", policy.generations);
    reader("seed", policy.seed);
    reader.maybe("environment_source", policy.environment_source);
    reader.maybe("normalize", policy.network.normalized);
    std::string network;
    reader("network", network);
    if (std::optional<PolicyNetwork> read = network_of(network)) {
        read->normalized = policy.network.normalized;
        policy.network = *std::move(read);
    } else {
        reader.fail("network");
    }
    YOLK_TRY_VOID(check_fields(reader, kPolicyKind, what));
    YOLK_TRY(const EnvironmentInfo environment, environment_of(policy, own, what));
    YOLK_TRY_VOID(check_network(policy.network, environment, max_width_of(policy.environment_source)));
    const std::vector<ParameterDesc> parameters = policy.network.parameters();
    for (const ParameterDesc& p : parameters) YOLK_TRY_VOID(append_parameter(file, p, what, policy.parameters));
    if (file.tensors.size() != parameters.size()) {
        return bad_input("{} has {} tensors; its network has {}.", what, file.tensors.size(), parameters.size());
    }
    const std::span<const float> normalizer = std::span(policy.parameters).last(policy.network.normalizer_elements());
    const auto sums = sums_of(normalizer);
    if (!sums) return bad_input("Tensor 'observation.sums' of {} has digits that no observations sum to.", what);
    if (!std::ranges::equal(normalizer_of(*sums), normalizer)) {
        return bad_input(
            "Tensors 'observation.shift' and 'observation.scale' of {} do not follow from its 'observation.sums'.",
            what);
    }
    return policy;
}

}  // namespace yolk::train
