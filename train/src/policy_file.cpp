// SPDX-License-Identifier: Apache-2.0
#include "yolk/train/policy_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "yolk/core/file.hpp"
#include "yolk/core/printable.hpp"
#include "yolk/core/safetensors.hpp"
#include "yolk/primitives/environment_file.hpp"

namespace yolk::train {
namespace {

constexpr std::string_view kFormat = "yolk-policy-2";
constexpr std::string_view kUnsealedFormat = "yolk-policy-1";
constexpr const char* kSourceKey = "environment_source";  // absent: a built-in environment
/// Far above any policy that fits the roll-out kernel (64 KiB of parameters), far below what could hurt.
constexpr std::size_t kMaxPolicyBytes = std::size_t{16} << 20U;

std::vector<std::uint64_t> shape_of(const ParameterDesc& p) {
    if (p.perturbation == Perturbation::Vector) return {p.rows};
    return {p.rows, p.columns};
}

/// All of `text` as one number.
template <class Integer>
Result<Integer> parse_number(std::string_view text, std::string_view label) {
    Integer value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || text.empty()) {
        return bad_input("{} is '{}'; it must be a number from 0 to {}.", label, text,
                         std::numeric_limits<Integer>::max());
    }
    return value;
}

Result<std::string> metadata(const TensorFile& file, std::string_view key, std::string_view what) {
    const std::string* const value = file.find_metadata(key);
    if (value == nullptr)
        return bad_input("{} has no metadata '{}': it is not a policy of Yolk, or it is damaged.", what, key);
    return *value;
}

Result<PolicyNetwork> parse_widths(std::string_view text, std::string_view what) {
    PolicyNetwork network;
    network.widths.clear();
    const std::string label = fmt::format("A width of the network of {}", what);
    while (network.widths.size() <= kMaxWidths) {
        const std::size_t comma = text.find(',');
        YOLK_TRY(const std::uint32_t width, parse_number<std::uint32_t>(text.substr(0, comma), label));
        network.widths.push_back(width);
        if (comma == std::string_view::npos) return network;
        text.remove_prefix(comma + 1);
    }
    return bad_input("The network of {} has more than {} widths.", what, kMaxWidths);
}

Result<void> append_parameter(const TensorFile& file, const ParameterDesc& p, std::string_view what,
                              std::vector<float>& out) {
    const StoredTensor* const tensor = file.find_tensor(p.name);
    if (tensor == nullptr) return bad_input("{} has no tensor '{}', which its network needs.", what, p.name);
    const std::vector<std::uint64_t> wanted = shape_of(p);
    if (tensor->shape != wanted) {
        return bad_input("Tensor '{}' of {} has the shape [{}]; its network needs [{}].", p.name, what,
                         fmt::join(tensor->shape, ", "), fmt::join(wanted, ", "));
    }
    if (!std::all_of(tensor->values.begin(), tensor->values.end(), [](float v) { return std::isfinite(v); })) {
        return bad_input("Tensor '{}' of {} has values that are not finite, so the policy cannot be run.", p.name,
                         what);
    }
    out.insert(out.end(), tensor->values.begin(), tensor->values.end());
    return {};
}

/// The environment of a policy. Running one on other dynamics than it was trained on would give returns that look like
/// its own, so another text is refused, even one that differs in a comment.
Result<EnvironmentInfo> environment_of(const Policy& policy, const LoadedEnvironment* own, std::string_view what) {
    if (policy.environment_source.empty()) {
        if (own == nullptr) return find_environment(policy.task);
        return bad_input("{} was trained on the built-in environment '{}', but a file '{}' was given. Leave it away.",
                         what, policy.task, own->info().name);
    }
    if (own == nullptr) {
        return bad_input("{} was trained on '{}', an environment from a file (text {}). Give that file (--env).", what,
                         policy.task, policy.environment_source);
    }
    if (own->info().name == policy.task && own->source_hash() == policy.environment_source) return own->info();
    return bad_input(
        "{} was trained on the environment '{}' (text {}), but '{}' (text {}) was given. Give the file as it was then.",
        what, policy.task, policy.environment_source, own->info().name, own->source_hash());
}

}  // namespace

Result<void> check_network(const PolicyNetwork& network, const EnvironmentInfo& environment) {
    const std::vector<std::uint32_t>& widths = network.widths;
    if (widths.size() < kMinWidths || widths.size() > kMaxWidths) {
        return bad_input("The network has {} widths; it must have from {} to {}.", widths.size(), kMinWidths,
                         kMaxWidths);
    }
    for (const std::uint32_t width : widths) {
        if (width < 1 || width > kMaxWidth) {
            return bad_input("The network [{}] has a width of {}; each must be from 1 to {}.", fmt::join(widths, ", "),
                             width, kMaxWidth);
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
    TensorFile file;
    file.metadata = {{"format", std::string(kFormat)},
                     {"task", policy.task},
                     {"network", fmt::format("{}", fmt::join(policy.network.widths, ","))},
                     {"generations", std::to_string(policy.generations)},
                     {"seed", std::to_string(policy.seed)},
                     {"yolk_version", YOLK_VERSION}};
    if (!policy.environment_source.empty()) file.metadata.emplace_back(kSourceKey, policy.environment_source);
    std::size_t offset = 0;
    for (const ParameterDesc& p : policy.network.parameters()) {
        const std::size_t count = std::size_t{p.rows} * p.columns;
        if (policy.parameters.size() - offset < count) break;
        const auto first = policy.parameters.begin() + static_cast<std::ptrdiff_t>(offset);
        StoredTensor tensor{
            .name = p.name, .shape = shape_of(p), .values = {first, first + static_cast<std::ptrdiff_t>(count)}};
        if (!std::all_of(tensor.values.begin(), tensor.values.end(), [](float v) { return std::isfinite(v); })) {
            return bad_input("The parameter '{}' has values that are not finite, so the policy is not saved.", p.name);
        }
        file.tensors.push_back(std::move(tensor));
        offset += count;
    }
    if (file.tensors.size() != policy.network.parameters().size() || offset != policy.parameters.size()) {
        return bad_input("The policy has {} values, which is not what its network [{}] needs.",
                         policy.parameters.size(), fmt::join(policy.network.widths, ", "));
    }
    YOLK_TRY(const std::vector<std::byte> bytes, encode_safetensors(file));
    return write_file_atomically(path, bytes);
}

Result<Policy> load_policy(const std::filesystem::path& path, const LoadedEnvironment* own) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMaxPolicyBytes));
    YOLK_TRY(const TensorFile file, decode_safetensors(bytes, what));
    YOLK_TRY_VOID(metadata(file, "format", what));
    YOLK_TRY_VOID(check_format(file, kFormat, kUnsealedFormat, what));
    Policy policy;
    YOLK_TRY(policy.task, metadata(file, "task", what));
    if (const std::string* const source = file.find_metadata(kSourceKey)) policy.environment_source = *source;
    YOLK_TRY(const EnvironmentInfo environment, environment_of(policy, own, what));
    YOLK_TRY(const std::string widths, metadata(file, "network", what));
    YOLK_TRY(policy.network, parse_widths(widths, what));
    YOLK_TRY_VOID(check_network(policy.network, environment));
    YOLK_TRY(const std::string generations, metadata(file, "generations", what));
    YOLK_TRY(policy.generations,
             parse_number<std::uint32_t>(generations, fmt::format("The generation count of {}", what)));
    YOLK_TRY(const std::string seed, metadata(file, "seed", what));
    YOLK_TRY(policy.seed, parse_number<std::uint64_t>(seed, fmt::format("The seed of {}", what)));
    const std::vector<ParameterDesc> parameters = policy.network.parameters();
    for (const ParameterDesc& p : parameters) YOLK_TRY_VOID(append_parameter(file, p, what, policy.parameters));
    if (file.tensors.size() != parameters.size()) {
        return bad_input("{} has {} tensors; its network has {}.", what, file.tensors.size(), parameters.size());
    }
    return policy;
}

}  // namespace yolk::train
