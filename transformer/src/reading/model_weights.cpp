// SPDX-License-Identifier: Apache-2.0
#include "model_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "model_json.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/safetensors.hpp"

namespace yolk::transformer {
namespace {

constexpr std::size_t kMostWeightBytes = std::size_t{16} << 30U;
constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

struct StoredIn {
    StoredTensor tensor;
    std::string what;  ///< the file
};
/// By the name without the prefix.
using StoredTensors = std::map<std::string, StoredIn, std::less<>>;

Result<hyper::Tensor> take_tensor(StoredIn& stored, const ExpectedTensor& expected) {
    StoredTensor& tensor = stored.tensor;
    const std::string label = fmt::format("Tensor '{}' of {}", shown(tensor.name), stored.what);
    if (tensor.shape != expected.shape) {
        return bad_input("{} is [{}]; config.json implies [{}]. Weights and configuration are of two models.", label,
                         fmt::join(tensor.shape, ", "), fmt::join(expected.shape, ", "));
    }
    if (tensor.values.empty())
        return unsupported("{} has the dtype {}; F32, F16 and BF16 are supported.", label, tensor.dtype);
    const auto bad = std::ranges::find_if(tensor.values, [](float value) { return !std::isfinite(value); });
    if (bad != tensor.values.end())
        return bad_input("{} has the value {} at element {}; weights must be finite.", label, *bad,
                         bad - tensor.values.begin());
    return hyper::Tensor::create(Shape(expected.shape), std::move(tensor.values));
}

Result<void> add_file(const std::filesystem::path& path, const WeightRules& rules, StoredTensors& stored) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMostWeightBytes));
    YOLK_TRY(TensorFile file, decode_foreign_safetensors(bytes, what));
    for (StoredTensor& tensor : file.tensors) {
        const std::string_view name = tensor.name;
        std::string plain(name.starts_with(rules.prefix) ? name.substr(rules.prefix.size()) : name);
        const auto known = stored.find(plain);
        if (known != stored.end() && known->second.what == what)
            return bad_input("{} has both '{}' and '{}'.", what, shown(known->second.tensor.name), shown(tensor.name));
        if (known != stored.end())
            return bad_input("Both {} and {} have the tensor '{}'.", known->second.what, what, shown(tensor.name));
        stored.emplace(std::move(plain), StoredIn{.tensor = std::move(tensor), .what = what});
    }
    return {};
}

/// The files that an index names, each once. Errors: no index, a name that leads out of the folder.
Result<std::set<std::string>> files_of_index(const std::filesystem::path& path) {
    YOLK_TRY(const ModelJson index, read_model_json(path));
    const Json* const map = index.find("weight_map");
    if (map == nullptr || !map->is_object() || map->empty())
        return bad_input("{} has no 'weight_map' of tensors and their files.", index.what);
    std::set<std::string> files;
    for (const auto& [tensor, file] : map->items()) {
        const std::string name = file.is_string() ? file.get<std::string>() : std::string();
        if (name.empty() || std::filesystem::path(name).filename() != name)
            return bad_input("{} says that the tensor '{}' is in {}; it must be a file of the same folder.", index.what,
                             shown(tensor), shown(to_line(file)));
        files.insert(name);
    }
    return files;
}

}  // namespace

Result<ModelWeights> read_model_weights(const std::filesystem::path& folder, std::span<const ExpectedTensor> expected,
                                        const WeightRules& rules) {
    StoredTensors stored;
    std::string what = fmt::format("'{}'", shown(folder / kOneFile));
    if (!std::filesystem::exists(folder / kOneFile) && std::filesystem::exists(folder / kIndex)) {
        YOLK_TRY(const std::set<std::string> files, files_of_index(folder / kIndex));
        for (const std::string& file : files) YOLK_TRY_VOID(add_file(folder / file, rules, stored));
        what = fmt::format("'{}'", shown(folder / kIndex));
    } else {
        YOLK_TRY_VOID(add_file(folder / kOneFile, rules, stored));
    }
    ModelWeights weights;
    for (const ExpectedTensor& one : expected) {
        const auto found = stored.find(one.name);
        if (found == stored.end()) {
            return bad_input("{} has no tensor '{}' of the shape [{}], which config.json implies.", what, one.name,
                             fmt::join(one.shape, ", "));
        }
        YOLK_TRY(hyper::Tensor tensor, take_tensor(found->second, one));
        weights.tensors.emplace(one.name, std::move(tensor));
        stored.erase(found);
    }
    for (const auto& [name, other] : stored) {
        if (rules.leaves_out == nullptr || !rules.leaves_out(name)) {
            return bad_input("{} has the tensor '{}', for which a model as config.json describes it has no place.",
                             other.what, shown(other.tensor.name));
        }
        weights.left_out.push_back(other.tensor.name);
    }
    return weights;
}

}  // namespace yolk::transformer
