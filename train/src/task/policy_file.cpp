// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/train/policy_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "yolk/environment.hpp"
#include "yolk/host_environment.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/state_file.hpp"

namespace yolk::train {
namespace {

std::vector<std::uint64_t> shape_of(const ParameterDesc& p) {
    if (p.perturbation == Perturbation::Vector) return {p.rows};
    return {p.rows, p.columns};
}

std::string text_of_widths(const PolicyNetwork& network) { return fmt::format("{}", fmt::join(network.widths, ",")); }

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

Result<void> check_network(const PolicyNetwork& network, const EnvironmentInfo& environment, std::uint32_t max_width) {
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
                              {"network", text_of_widths(policy.network)},
                              {"generations", policy.generations},
                              {"seed", policy.seed}}};
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
                         policy.parameters.size(), fmt::join(policy.network.widths, ", "));
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
    std::string network;
    reader("network", network);
    const Json widths = parse_json(fmt::format("[{}]", network), "the network").value_or(nullptr);
    for (const Json& width : widths) {
        if (width.is_number_unsigned()) policy.network.widths.push_back(width.get<std::uint32_t>());
    }
    if (text_of_widths(policy.network) != network) reader.fail("network");
    YOLK_TRY_VOID(check_fields(reader, kPolicyKind, what));
    YOLK_TRY(const EnvironmentInfo environment, environment_of(policy, own, what));
    YOLK_TRY_VOID(check_network(policy.network, environment, max_width_of(policy.environment_source)));
    const std::vector<ParameterDesc> parameters = policy.network.parameters();
    for (const ParameterDesc& p : parameters) YOLK_TRY_VOID(append_parameter(file, p, what, policy.parameters));
    if (file.tensors.size() != parameters.size()) {
        return bad_input("{} has {} tensors; its network has {}.", what, file.tensors.size(), parameters.size());
    }
    return policy;
}

}  // namespace yolk::train
