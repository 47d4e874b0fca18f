// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "layers.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/state_file.hpp"

namespace yolk::tasks {
namespace {

constexpr std::size_t kMostLayers = 32;
constexpr std::uint32_t kMostWidth = 1U << 20U;

/// All tensors of a model's file, in their order, and where each is kept.
template <class M>
auto tensors_of(M& model) {
    using Values = std::conditional_t<std::is_const_v<M>, const std::vector<float>, std::vector<float>>;
    std::vector<std::pair<LayerParameter, Values*>> all;
    const std::uint64_t width = widths_of(model).front();
    all.emplace_back(LayerParameter{"input.mean", {width}}, &model.standardization.mean);
    all.emplace_back(LayerParameter{"input.scale", {width}}, &model.standardization.scale);
    const std::vector<LayerParameter> parameters = parameters_of(model);
    for (std::size_t i = 0; i < parameters.size(); ++i) all.emplace_back(parameters[i], &model.parameters[i]);
    return all;
}

Result<void> check_tensor(const LayerParameter& parameter, const std::vector<float>& values, std::string_view what) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : parameter.shape) count *= extent;
    if (values.size() != count)
        return bad_input("{}: '{}' has {} values; [{}] are needed.", what, parameter.name, values.size(),
                         fmt::join(parameter.shape, ", "));
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return {};
    return bad_input("{}: '{}' has values that are not finite.", what, parameter.name);
}

/// What the sizes in a header may be: what is read next costs as much memory as they say.
bool has_good_sizes(const Model& model) {
    std::uint64_t inputs = model.shape.empty() ? 0 : 1;
    for (const std::uint32_t extent : model.shape) inputs = std::min<std::uint64_t>(inputs * extent, UINT32_MAX);
    return inputs >= 1 && inputs <= kMostWidth && model.classes.size() >= 2 && model.classes.size() <= kMostWidth &&
           model.network.hidden.size() <= kMostLayers &&
           std::ranges::all_of(model.network.hidden, [](std::uint32_t w) { return w >= 1 && w <= kMostWidth; });
}

template <class Fields>
void model_fields(Fields& fields, Model& model, std::string& activation) {
    fields("data", model.data);
    fields("shape", model.shape);
    fields("columns", model.columns);
    fields("classes", model.classes);
    fields("hidden", model.network.hidden);
    fields("activation", activation);
    fields("generations", model.generations);
    fields("seed", model.seed);
}

struct ModelHead {
    Model model{};
    std::string activation{};
};
template <class Fields>
void each_field(Fields& fields, ModelHead& head) {
    model_fields(fields, head.model, head.activation);
}

}  // namespace

Result<void> save_model(const std::filesystem::path& path, const Model& model) {
    const std::string what = fmt::format("The model for '{}'", shown(path));
    if (!has_good_sizes(model) || model.parameters.size() != parameters_of(model).size())
        return bad_input("{} does not have the parameters of its network, and is not saved.", what);
    StateFile file{.fields = FieldWriter::json_of(
                       ModelHead{.model = model, .activation = std::string(to_string(model.network.activation))})};
    for (const auto& [parameter, values] : tensors_of(model)) {
        YOLK_TRY_VOID(check_tensor(parameter, *values, what));
        file.tensors.push_back({.name = parameter.name, .shape = parameter.shape, .values = *values});
    }
    return write_state(path, kModelKind, std::move(file));
}

Result<Model> load_model(const std::filesystem::path& path) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(StateFile file, read_state(path, kModelKind));
    FieldReader reader(file.fields);
    ModelHead head;
    head.model.network.hidden.clear();  // what is read is added
    each_field(reader, head);
    YOLK_TRY_VOID(check_fields(reader, kModelKind, what));
    Model& model = head.model;
    if (!has_good_sizes(model)) return unreadable_state(kModelKind, what, "its sizes are no network's");
    YOLK_TRY(model.network.activation, parse_activation(head.activation));
    model.parameters.resize(parameters_of(model).size());
    for (const auto& [parameter, values] : tensors_of(model)) {
        if (!take_tensor(file, parameter.name, *values))
            return unreadable_state(kModelKind, what, fmt::format("it has no tensor '{}'", parameter.name));
        YOLK_TRY_VOID(check_tensor(parameter, *values, what));
    }
    return std::move(model);
}

}  // namespace yolk::tasks
