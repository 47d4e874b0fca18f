// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/context/tuning_key.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/json.hpp"

namespace yolk::autotune {
namespace {

/// A configuration with all its samples.
struct RecordedRow {
    std::vector<double> milliseconds;
    std::string reason;  ///< of a failure
    [[nodiscard]] bool failed() const { return !reason.empty() || milliseconds.empty(); }
    [[nodiscard]] bool is_wrong() const { return reason.starts_with(kWrongResult); }
    /// T4's word.
    [[nodiscard]] const char* invalidity() const {
        return !failed() ? "correct" : is_wrong() ? "correctness" : "runtime";
    }
};

std::map<Configuration, RecordedRow> recorded_rows(const TuningSpace& space, const std::vector<TuningSample>& samples) {
    std::map<Configuration, RecordedRow> rows;
    for (const TuningSample& sample : samples) {
        const std::optional<Configuration> configuration = configuration_in(space, sample.configuration);
        if (!configuration || !space.check(*configuration)) continue;
        RecordedRow& row = rows[*configuration];
        if (std::isfinite(sample.milliseconds)) {
            row.milliseconds.push_back(sample.milliseconds);
        } else {
            // That a result was wrong says more than how another run failed.
            if (!row.is_wrong()) row.reason = sample.reason.empty() ? "failed" : sample.reason;
        }
    }
    return rows;
}

std::string kernel_tuner_text(const TuningSpace& space, const std::map<Configuration, RecordedRow>& rows,
                              const std::string& device) {
    Json json{{"device_name", device},
              {"kernel_name", space.family()},
              {"problem_size", Json(space.shape().extents)},
              {"tune_params_keys", Json::array()},
              {"tune_params", Json::object()},
              {"objective", "time"},
              {"cache", Json::object()}};
    for (const TuningKnob& knob : space.knobs()) {
        const KnobMeaning meaning = meaning_of(knob.name);
        Json values(knob.values);
        for (std::size_t i = 0; i < meaning.values.size(); ++i) values[i] = meaning.values[i].json();
        json["tune_params_keys"].push_back(meaning.name);
        json["tune_params"][meaning.name] = std::move(values);
    }
    for (const auto& [configuration, row] : rows) {
        const StoredConfiguration kept = stored_configuration(space, configuration);
        const auto text = [](const auto& knob) {
            const std::string plain = knob.second.text();
            return plain.find(',') == std::string::npos ? plain : to_line(knob.second.json());
        };
        const std::string name = fmt::format("{}", fmt::join(kept | std::views::transform(text), ","));
        Json entry = configuration_json(kept);
        if (row.failed()) {
            entry["time"] = "RuntimeFailedConfig";
        } else {
            entry["time"] = median_of(row.milliseconds);
            entry["times"] = row.milliseconds;
        }
        json["cache"][name] = std::move(entry);
    }
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string t4_text(const TuningSpace& space, const std::map<Configuration, RecordedRow>& rows,
                    const std::string& device) {
    Json results = Json::array();
    for (const auto& [configuration, row] : rows) {
        Json result{{"configuration", configuration_json(stored_configuration(space, configuration))},
                    {"objectives", Json::array({"time"})},
                    {"times", {{"runtimes", row.failed() ? Json::array() : Json(row.milliseconds)}}},
                    {"invalidity", row.invalidity()},
                    {"correctness", row.failed() ? 0 : 1},
                    {"measurements", Json::array()}};
        if (!row.failed()) {
            result["measurements"].push_back(
                {{"name", "time"}, {"value", median_of(row.milliseconds)}, {"unit", "milliseconds"}});
        }
        results.push_back(std::move(result));
    }
    const Json json{{"schema_version", "1.0.0"},
                    {"metadata", {{"device", device}, {"kernel", shape_text(space.family(), space.shape())}}},
                    {"results", std::move(results)}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

RecordingFormat recording_format(const std::filesystem::path& path) {
    std::string name = path.filename().string();
    std::ranges::transform(name, name.begin(), [](char c) { return c == 'T' ? 't' : c; });
    return name.ends_with(".t4.json") ? RecordingFormat::T4 : RecordingFormat::KernelTuner;
}

Result<void> check_recording_place(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return {};
    YOLK_TRY(const std::string begin, read_beginning(path, std::size_t{1} << 16U));
    const bool is_recording = begin.starts_with('{') && (begin.find("\"tune_params_keys\"") != std::string::npos ||
                                                         begin.find("\"schema_version\"") != std::string::npos);
    if (begin.empty() || is_recording) return {};
    return bad_input("'{}' is not a recording, and is left as it is. Name another file, or one that is not there yet.",
                     shown(path));
}

Result<void> write_recording(const std::filesystem::path& path, std::string_view text) {
    YOLK_TRY_VOID(check_recording_place(path));
    return write_file_atomically(path, text);
}

Result<std::string> recording_text(const TuningSpace& space, const std::vector<TuningSample>& samples,
                                   const std::string& device, RecordingFormat format) {
    for (const TuningKnob& knob : space.knobs()) {
        const std::string name = meaning_of(knob.name).name;
        if (format == RecordingFormat::T4 || (name != "time" && name != "times" && name != "__error__")) continue;
        return bad_input(
            "A knob is named '{}', as is what Kernel Tuner's format has of a measurement. Record as T4: NAME.t4.json. "
            "The table has the measurements.",
            shown(name));
    }
    const std::map<Configuration, RecordedRow> rows = recorded_rows(space, samples);
    return format == RecordingFormat::T4 ? t4_text(space, rows, device) : kernel_tuner_text(space, rows, device);
}

}  // namespace yolk::autotune
