// SPDX-License-Identifier: Apache-2.0
#include "byte_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "yolk/internal/core/printable.hpp"

namespace yolk::train {
namespace {

constexpr std::string_view kResidualPrefix = "residual.";

void add_tensors(StateFile& file, const ByteSetup& setup, std::span<const float> values, std::string_view prefix) {
    std::size_t first = 0;
    for (const ParameterDesc& p : setup.table.parameters()) {
        const std::size_t count = std::size_t{p.rows} * p.columns;
        const auto part = values.subspan(first, count);
        const bool is_vector = p.perturbation == Perturbation::Vector;
        file.tensors.push_back(
            {.name = std::string(prefix) + p.name,
             .shape = is_vector ? std::vector<std::uint64_t>{p.rows} : std::vector<std::uint64_t>{p.rows, p.columns},
             .values = {part.begin(), part.end()}});
        first += count;
    }
}

Result<std::vector<float>> take_tensors(const StateFile& file, const ByteSetup& setup, std::string_view prefix,
                                        float most, std::string_view what) {
    std::vector<float> values;
    for (const ParameterDesc& p : setup.table.parameters()) {
        const std::string name = std::string(prefix) + p.name;
        const StoredTensor* const tensor = find_tensor(file.tensors, name);
        if (tensor == nullptr || tensor->values.size() != std::size_t{p.rows} * p.columns) {
            return bad_input("{} has no tensor '{}' of {} values, which its settings need.", what, name,
                             std::size_t{p.rows} * p.columns);
        }
        const bool whole = std::ranges::all_of(
            tensor->values, [most](float v) { return std::abs(v) <= most && v == std::nearbyint(v); });
        if (!whole) {
            return bad_input("Tensor '{}' of {} has a value that is no whole number from {} to {}.", name, what, -most,
                             most);
        }
        values.insert(values.end(), tensor->values.begin(), tensor->values.end());
    }
    return values;
}

}  // namespace

std::filesystem::path byte_model_path(const std::filesystem::path& folder) { return folder / "model.safetensors"; }

Result<void> save_byte_model(const std::filesystem::path& file, const ByteModelState& state, const ByteSetup& setup) {
    StateFile stored;
    Json settings = Json::object();
    for (const auto& [name, value] : state.settings) settings[name] = value;
    stored.fields = {{"settings", settings}, {"generation", state.generation}, {"state_hash", state.state_hash}};
    add_tensors(stored, setup, state.weights, "");
    if (!state.residual.empty()) add_tensors(stored, setup, state.residual, kResidualPrefix);
    return write_state(file, kByteModelKind, std::move(stored));
}

Result<LoadedByteModel> load_byte_model(const std::filesystem::path& file) {
    const std::string what = fmt::format("'{}'", shown(file));
    YOLK_TRY(const StateFile stored, read_state(file, kByteModelKind));
    LoadedByteModel loaded;
    FieldReader reader(stored.fields);
    reader("settings", loaded.state.settings);
    reader("generation", loaded.state.generation);
    reader("state_hash", loaded.state.state_hash);
    YOLK_TRY_VOID(check_fields(reader, kByteModelKind, what));
    YOLK_TRY(const ByteSettings settings, byte_settings_of(evolve::SettingReader(loaded.state.settings, what)));
    YOLK_TRY(loaded.setup, set_up_bytes(settings));
    YOLK_TRY(loaded.state.weights, take_tensors(stored, loaded.setup, "", 127.0F, what));
    if (settings.feedback != 0) {
        YOLK_TRY(loaded.state.residual, take_tensors(stored, loaded.setup, kResidualPrefix, 32768.0F, what));
    }
    return loaded;
}

}  // namespace yolk::train
