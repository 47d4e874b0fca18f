// SPDX-License-Identifier: Apache-2.0
#include "adapter_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/safetensors.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/json.hpp"

namespace yolk::transformer {
namespace {

constexpr std::size_t kMostAdapterBytes = std::size_t{4} << 30U;
constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20U;
/// peft's names: this, the module, and which factor.
constexpr std::string_view kAdapted = "base_model.model.";
constexpr std::string_view kBert = "bert.";
constexpr std::string_view kFactorA = ".lora_A.weight", kFactorB = ".lora_B.weight";
constexpr std::string_view kWeightEnding = ".weight";
/// Among the metadata, where Yolk made the adapter.
constexpr const char* kHashOfBase = "yolk.base";

std::filesystem::path config_path(const std::filesystem::path& folder) { return folder / "adapter_config.json"; }
std::filesystem::path factors_path(const std::filesystem::path& folder) { return folder / "adapter_model.safetensors"; }

/// What peft calls a factor of the matrix.
std::string factor_name(std::string_view matrix, std::string_view factor) {
    return fmt::format("{}{}{}", kAdapted, matrix.substr(0, matrix.size() - kWeightEnding.size()), factor);
}

struct ConfigOfAdapter {
    AdapterInfo info;
    double scale = 1.0;
};

/// A setting that would make another sum of the factors.
Result<void> only(const Json& config, const char* name, const Json& allowed, const std::string& what) {
    const auto found = config.find(name);
    if (found == config.end() || found->is_null() || *found == allowed) return {};
    return unsupported("'{}' in {} is {}; only {} is supported.", name, what, shown(to_line(*found)), to_line(allowed));
}

Result<ConfigOfAdapter> read_config(const std::filesystem::path& folder) {
    const std::string what = fmt::format("'{}'", shown(config_path(folder)));
    YOLK_TRY(const std::string text, read_text(config_path(folder), kMostConfigBytes));
    YOLK_TRY(const Json config, parse_json(text, what));
    if (!config.is_object() || config.value("peft_type", Json()) != "LORA")
        return unsupported("{} does not describe an adapter of the kind LORA.", what);
    const auto whole = [&](const char* name) -> Result<double> {
        const auto found = config.find(name);
        if (found != config.end() && found->is_number() && found->get<double>() > 0.0) return found->get<double>();
        return bad_input("'{}' in {} must be a number above 0.", name, what);
    };
    for (const char* const name : {"fan_in_fan_out", "use_dora", "lora_bias"})
        YOLK_TRY_VOID(only(config, name, false, what));
    for (const char* const name : {"rank_pattern", "alpha_pattern"})
        YOLK_TRY_VOID(only(config, name, Json::object(), what));
    YOLK_TRY_VOID(only(config, "bias", "none", what));
    ConfigOfAdapter read;
    YOLK_TRY(const double rank, whole("r"));
    YOLK_TRY(const double alpha, whole("lora_alpha"));
    read.info.rank = static_cast<std::uint32_t>(std::min(rank, 65536.0));
    read.scale = alpha / (config.value("use_rslora", Json()) == true ? std::sqrt(rank) : rank);
    const Json model = config.value("base_model_name_or_path", Json());
    if (model.is_string()) read.info.model = model.get<std::string>();
    return read;
}

/// The matrix that a tensor of the file belongs to, and whether it is its B.
Result<std::pair<std::string, bool>> place_of(const std::string& name, const std::string& what) {
    std::string_view rest = name;
    const bool is_b = rest.ends_with(kFactorB);
    if (rest.starts_with(kAdapted) && (is_b || rest.ends_with(kFactorA))) {
        rest.remove_prefix(kAdapted.size());
        if (rest.starts_with(kBert)) rest.remove_prefix(kBert.size());
        rest.remove_suffix(is_b ? kFactorB.size() : kFactorA.size());
        return std::pair(fmt::format("{}{}", rest, kWeightEnding), is_b);
    }
    return unsupported("{} has the tensor '{}', which is no factor of a LORA adapter.", what, shown(name));
}

Result<void> take_factor(Adapter& adapter, StoredTensor& tensor, const EncoderWeights& weights,
                         const std::string& what) {
    YOLK_TRY(const auto place, place_of(tensor.name, what));
    const auto& [matrix, is_b] = place;
    const std::string label = fmt::format("Tensor '{}' of {}", shown(tensor.name), what);
    const auto weight = weights.tensors.find(matrix);
    if (weight == weights.tensors.end() || weight->second.shape().rank() != 2) {
        return bad_input("{} is for a matrix '{}', which the model has not: it is the adapter of another model.", label,
                         shown(matrix));
    }
    AdapterFactors& factors = adapter[matrix];
    factors.out = weight->second.shape()[0];
    factors.in = weight->second.shape()[1];
    const std::uint64_t side = is_b ? factors.out : factors.in;
    const std::size_t of_side = is_b ? 0 : 1;
    if (tensor.shape.size() != 2 || tensor.shape[of_side] != side || tensor.shape[1 - of_side] == 0) {
        return bad_input("{} is [{}], and the matrix [{}, {}]: it is the adapter of another model.", label,
                         fmt::join(tensor.shape, ", "), factors.out, factors.in);
    }
    const std::uint64_t rank = tensor.shape[1 - of_side];
    if (factors.rank != 0 && factors.rank != rank)
        return bad_input("{} has a rank of {}; its other factor has {}.", label, rank, factors.rank);
    factors.rank = rank;
    if (tensor.values.empty())
        return unsupported("{} has the dtype {}; F32, F16 and BF16 are supported.", label, tensor.dtype);
    if (!std::ranges::all_of(tensor.values, [](float value) { return std::isfinite(value); }))
        return bad_input("{} has values that are not finite.", label);
    (is_b ? factors.b : factors.a) = std::move(tensor.values);
    return {};
}

}  // namespace

std::vector<float> AdapterFactors::added_to(std::span<const float> weight) const {
    std::vector<float> sum(weight.begin(), weight.end());
    std::vector<double> row(in);
    for (std::uint64_t o = 0; o < out; ++o) {
        std::ranges::fill(row, 0.0);
        for (std::uint64_t r = 0; r < rank; ++r) {
            const double factor = scale * double{b[o * rank + r]};
            for (std::uint64_t i = 0; i < in; ++i) row[i] += factor * double{a[r * in + i]};
        }
        for (std::uint64_t i = 0; i < in; ++i) {
            float& element = sum[o * in + i];
            element = static_cast<float>(double{element} + row[i]);
        }
    }
    return sum;
}

std::string hash_of_adapted(const Matrices& weights, const Adapter& adapter) {
    Hasher hasher;
    for (const auto& [name, factors] : adapter) {
        hasher.add(std::as_bytes(std::span(name)));
        hasher.add_values(weights.at(name).values());
    }
    return hasher.hex();
}

Result<void> write_adapter_config(const std::filesystem::path& folder, const AdapterInfo& info) {
    const Json config{{"base_model_name_or_path", info.model},
                      {"bias", "none"},
                      {"fan_in_fan_out", false},
                      {"inference_mode", true},
                      {"init_lora_weights", true},
                      {"lora_alpha", info.rank},
                      {"lora_dropout", 0.0},
                      {"peft_type", "LORA"},
                      {"r", info.rank},
                      {"target_modules", info.modules},
                      {"task_type", "FEATURE_EXTRACTION"}};
    return write_file_atomically(config_path(folder), std::string_view(config.dump(2) + "\n"));
}

Result<void> write_adapter(const std::filesystem::path& folder, const Adapter& adapter, const std::string& hash) {
    TensorFile file{.metadata = {{"format", "pt"}, {kHashOfBase, hash}}, .tensors = {}};
    for (const auto& [matrix, factors] : adapter) {
        for (const std::vector<float>* values : {&factors.a, &factors.b}) {
            if (std::ranges::all_of(*values, [](float value) { return std::isfinite(value); })) continue;
            return failed_work("The adapter of '{}' has values that are not finite, and is not saved.", matrix);
        }
        file.tensors.push_back({factor_name(matrix, kFactorA), {factors.rank, factors.in}, factors.a});
        file.tensors.push_back({factor_name(matrix, kFactorB), {factors.out, factors.rank}, factors.b});
    }
    YOLK_TRY(const std::vector<std::byte> bytes, encode_safetensors(file));
    return write_file_atomically(factors_path(folder), bytes);
}

Result<AdapterInfo> read_adapter_config(const std::filesystem::path& folder) {
    YOLK_TRY(ConfigOfAdapter config, read_config(folder));
    return std::move(config.info);
}

Result<void> add_adapter(const std::filesystem::path& folder, EncoderWeights& weights) {
    const std::string what = fmt::format("'{}'", shown(factors_path(folder)));
    YOLK_TRY(const ConfigOfAdapter config, read_config(folder));
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(factors_path(folder), kMostAdapterBytes));
    YOLK_TRY(TensorFile file, decode_foreign_safetensors(bytes, what));
    Adapter adapter;
    for (StoredTensor& tensor : file.tensors) YOLK_TRY_VOID(take_factor(adapter, tensor, weights, what));
    if (adapter.empty()) return bad_input("{} has no tensor.", what);
    for (auto& [matrix, factors] : adapter) {
        if (factors.a.empty() || factors.b.empty())
            return bad_input("{} has only one factor for the matrix '{}'.", what, matrix);
        factors.scale = config.scale;
    }
    const auto base = std::ranges::find(file.metadata, kHashOfBase, [](const auto& entry) { return entry.first; });
    if (base != file.metadata.end() && base->second != hash_of_adapted(weights.tensors, adapter)) {
        return bad_input("{} was made for other weights: it is the adapter of another model{}.", what,
                         config.info.model.empty() ? "" : fmt::format(", '{}'", shown(config.info.model)));
    }
    for (const auto& [matrix, factors] : adapter) {
        hyper::Tensor& weight = weights.tensors.at(matrix);
        YOLK_TRY(weight, hyper::Tensor::create(weight.shape(), factors.added_to(weight.values())));
    }
    return {};
}

}  // namespace yolk::transformer
