// SPDX-License-Identifier: Apache-2.0
#include "tune_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "numbers.hpp"
#include "output.hpp"
#include "tune_explain.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/autotune/tuning_file.hpp"
#include "yolk/autotune/tuning_transfer.hpp"
#include "yolk/autotune/user_kernel.hpp"
#include "yolk/core/file.hpp"

namespace yolk::cli {
namespace {

using autotune::Quarantined;
using autotune::TuningChoice;
using autotune::TuningFile;
using autotune::TuningKey;
using autotune::TuningSample;

constexpr std::size_t kLargestImport = std::size_t{1} << 28U;

std::string values_text(const NamedConfiguration& configuration) {
    std::string text;
    for (const auto& [name, value] : configuration)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
    return text;
}

Json entry_json(const TuningChoice& choice) {
    Json json = autotune::choice_json(choice);
    json["current"] = choice.key.kernels == autotune::kernel_hash(choice.key.family);
    return json;
}

std::string speed_up_text(const TuningChoice& choice) {
    if (!(choice.milliseconds > 0.0) || !(choice.heuristic_milliseconds > 0.0)) return "-";
    return fmt::format("{:.2f}x", choice.heuristic_milliseconds / choice.milliseconds);
}

Result<int> list(const CommonFlags& common) {
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    if (common.json) {
        Json all = Json::array();
        for (const TuningChoice& choice : choices) all.push_back(entry_json(choice));
        print_json({{"table", file.path().string()}, {"choices", std::move(all)}});
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"shape", "device", "tuned ms", "speed-up", "", "configuration"}};
    for (const TuningChoice& choice : choices) {
        const bool current = choice.key.kernels == autotune::kernel_hash(choice.key.family);
        rows.push_back({autotune::shape_text(choice.key.family, choice.key.shape),
                        choice.key.device.driver.substr(0, choice.key.device.driver.find(';')),
                        fmt::format("{:.4g}", choice.milliseconds), speed_up_text(choice),
                        choice.pinned ? "pinned" : (current ? "" : "other kernels"),
                        values_text(choice.configuration)});
    }
    print_line(table(rows));
    print_line(fmt::format("{} choices in {}", choices.size(), file.path().string()));
    return 0;
}

/// Samples and quarantine of one key.
Result<void> show_key(const TuningFile& file, const TuningKey& key, const CommonFlags& common) {
    YOLK_TRY(const std::vector<TuningSample> samples, file.samples(key));
    YOLK_TRY(const std::vector<Quarantined> quarantined, file.quarantined());
    Json json{{"shape", autotune::shape_text(key.family, key.shape)},
              {"samples", Json::array()},
              {"quarantined", Json::array()}};
    for (const TuningSample& sample : samples) {
        const bool good = std::isfinite(sample.milliseconds);
        json["samples"].push_back({{"configuration", autotune::configuration_json(sample.configuration)},
                                   {"milliseconds", good ? Json(sample.milliseconds) : Json()},
                                   {"reason", sample.reason},
                                   {"final", sample.stage == autotune::SampleStage::Final}});
    }
    for (const Quarantined& entry : quarantined) {
        if (entry.key != key) continue;
        json["quarantined"].push_back(
            {{"configuration", autotune::configuration_json(entry.configuration)}, {"reason", entry.reason}});
    }
    if (common.json) {
        print_json(json);
        return {};
    }
    for (const TuningSample& sample : samples) {
        const bool good = std::isfinite(sample.milliseconds);
        print_line(fmt::format("{:>10}  {}  {}{}", good ? fmt::format("{:.4g} ms", sample.milliseconds) : "failed",
                               sample.stage == autotune::SampleStage::Final ? "final " : "search",
                               values_text(sample.configuration), good ? "" : ": " + sample.reason));
    }
    for (const Json& entry : json["quarantined"])
        print_line(
            fmt::format("quarantined {}: {}", entry["configuration"].dump(), entry["reason"].get<std::string>()));
    print_line(fmt::format("{} samples of {}", samples.size(), json["shape"].get<std::string>()));
    return {};
}

/// Kernels of users' own are named by a part of what --list shows: their files need not be there.
Result<int> show_own(const std::string& text, const CommonFlags& common) {
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const std::vector<TuningKey> keys, file.keys());
    std::size_t shown = 0;
    for (const TuningKey& key : keys) {
        if (key.family != autotune::kUserKernelFamily) continue;
        if (autotune::shape_text(key.family, key.shape).find(text) == std::string::npos) continue;
        YOLK_TRY_VOID(show_key(file, key, common));
        ++shown;
    }
    if (shown > 0) return 0;
    return bad_input(
        fmt::format("The table has no kernel of your own with '{}' in its name; --list shows them.", text));
}

Result<int> show(const std::string& text, const CommonFlags& common) {
    if (is_own(text)) return show_own(text, common);
    YOLK_TRY(const ExplainRequest request, ask(text, common));
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY_VOID(show_key(file, request.key, common));
    return 0;
}

Result<int> export_table(const std::string& path) {
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    YOLK_TRY_VOID(write_file_atomically(path, autotune::export_text(choices)));
    print_line(fmt::format("{} choices written to {}", choices.size(), path));
    return 0;
}

Result<int> import_table(const std::string& path) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestImport));
    std::string text(bytes.size(), '\0');
    std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    YOLK_TRY(const autotune::Imported imported, autotune::import_text(text, fmt::format("'{}'", path)));
    YOLK_TRY(const TuningFile file, open_table());
    std::size_t written = 0;
    for (const TuningChoice& choice : imported.choices) {
        YOLK_TRY(const bool taken, file.put(choice, std::nullopt));
        written += taken ? 1U : 0U;
    }
    print_line(fmt::format("{} of {} choices taken; {} are no choices and were left out", written,
                           imported.choices.size(), imported.left_out));
    return 0;
}

Result<Configuration> parse_configuration(const TuningSpace& space, const std::string& text) {
    NamedConfiguration named;
    for (const std::string_view part : split_commas(text)) {
        const std::size_t sign = part.find('=');
        const auto value = sign == std::string_view::npos ? Result<std::uint32_t>(bad_input(""))
                                                          : parse_number<std::uint32_t>(part.substr(sign + 1));
        if (!value) return bad_input(fmt::format("--configuration holds '{}'; it is knob=value,knob=value.", part));
        named.emplace_back(part.substr(0, sign), *value);
    }
    std::optional<Configuration> configuration = ordered_configuration(space, named);
    if (!configuration) {
        std::string names;
        for (const TuningKnob& knob : space.knobs()) names += (names.empty() ? "" : ", ") + knob.name;
        return bad_input(fmt::format("--configuration must give each knob of {} once: {}.", space.family(), names));
    }
    YOLK_TRY_VOID(space.check(*configuration));
    return *std::move(configuration);
}

Result<int> pin(const TableFlags& flags, const CommonFlags& common) {
    YOLK_TRY(const ExplainRequest request, ask(flags.pin, common));
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    std::optional<TuningChoice> choice = autotune::known_choices(choices, request.key).exact;
    if (!flags.configuration.empty()) {
        YOLK_TRY(const Configuration configuration, parse_configuration(request.space, flags.configuration));
        choice = TuningChoice{.key = request.key, .configuration = named_configuration(request.space, configuration)};
    }
    if (!choice) {
        return bad_input(fmt::format("Nothing is tuned for {}; tune it, or give --configuration knob=value,...",
                                     autotune::shape_text(request.key.family, request.key.shape)));
    }
    choice->pinned = true;
    YOLK_TRY_VOID(file.put(*choice, std::nullopt));
    print_line(fmt::format("pinned for {}: {}", autotune::shape_text(request.key.family, request.key.shape),
                           values_text(choice->configuration)));
    return 0;
}

/// "all", a family, or a family and, after a colon, a part of the shape's text.
Result<int> forget_choices(const std::string& what) {
    YOLK_TRY(const TuningFile file, open_table());
    const std::size_t colon = std::min(what.find(':'), what.size());
    std::string part = colon < what.size() ? what.substr(colon + 1) : std::string();
    part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    YOLK_TRY(const std::size_t count, file.forget(what == "all" ? "" : what.substr(0, colon), part));
    print_line(fmt::format("{} shapes forgotten, their samples and quarantine with them", count));
    return 0;
}

}  // namespace

void add_table_flags(App& app, TableFlags& flags) {
    app.add_flag("--list", flags.list, "What the table holds");
    app.add_option("--show", flags.show, "All samples of a shape, and what is quarantined")->type_name("SHAPE");
    app.add_option("--explain", flags.explain,
                   "Which source answers for a shape (the table, a near shape, the heuristic ...), and why")
        ->type_name("SHAPE");
    app.add_option("--export", flags.export_to, "Write all choices as JSON")->type_name("FILE");
    app.add_option("--import", flags.import_from, "Read choices; a better or pinned one in the table stays")
        ->type_name("FILE");
    app.add_option("--pin", flags.pin, "No tuning replaces this shape's choice, or --configuration")
        ->type_name("SHAPE");
    app.add_option("--configuration", flags.configuration, "Of --pin: knob=value,knob=value")->type_name("VALUES");
    app.add_option("--forget", flags.forget, "all, a family, or 'family: part of a shape as --list shows it'")
        ->type_name("WHAT");
}

Result<int> tune_table(const TableFlags& flags, const CommonFlags& common) {
    if (flags.list) return list(common);
    if (!flags.show.empty()) return show(flags.show, common);
    if (!flags.explain.empty()) return explain(flags.explain, flags.prior, common);
    if (!flags.export_to.empty()) return export_table(flags.export_to);
    if (!flags.import_from.empty()) return import_table(flags.import_from);
    if (!flags.pin.empty()) return pin(flags, common);
    return forget_choices(flags.forget);
}

}  // namespace yolk::cli
