// SPDX-License-Identifier: Apache-2.0
#include "tune_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "output.hpp"
#include "select_device.hpp"
#include "tune_flags.hpp"
#include "yolk/internal/autotune/explain.hpp"
#include "yolk/internal/autotune/table_operations.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

using autotune::KeyContent;
using autotune::ShapeQuestion;

/// Of all subcommands; each has its own, and uses what it declares flags for.
struct TableFlags {
    std::vector<std::string> shape;                    ///< words of a shape, or one quoted text
    std::filesystem::path file;                        ///< exported to, imported from
    std::string what;                                  ///< forgotten
    std::optional<StoredConfiguration> configuration;  ///< pinned
    CommonFlags common;
    [[nodiscard]] std::string shape_words() const { return fmt::format("{}", fmt::join(shape, " ")); }
};

Result<TuningFile> open_table() {
    YOLK_TRY(const std::filesystem::path path, table_path());
    return TuningFile::open(path);
}

/// One that may only be read, too.
Result<TuningFile> table_to_read() {
    Result<TuningFile> file = open_table();
    if (file) return file;
    YOLK_TRY(const std::filesystem::path path, table_path());
    Result<std::optional<TuningFile>> existing = TuningFile::open_existing(path);
    if (existing && *existing) return **std::move(existing);
    return file;
}

std::string key_text(const TuningKey& key) { return shape_text(key.family, key.shape); }

bool has_current_kernels(const TuningChoice& choice) { return choice.key.kernels == kernel_hash(choice.key.family); }

std::string speed_up_text(const TuningChoice& choice) {
    if (!(choice.milliseconds > 0.0) || !(choice.heuristic_milliseconds > 0.0)) return "-";
    return fmt::format("{:.2f}x", choice.heuristic_milliseconds / choice.milliseconds);
}

Result<int> list_table(const TableFlags& flags) {
    YOLK_TRY(const TuningFile file, table_to_read());
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    if (flags.common.json) {
        Json all = Json::array();
        for (const TuningChoice& choice : choices) {
            all.push_back(choice_json(choice));
            all.back()["current"] = has_current_kernels(choice);
        }
        print_json({{"table", file.path().string()}, {"choices", std::move(all)}});
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"shape", "device", "tuned ms", "speed-up", "", "configuration"}};
    for (const TuningChoice& choice : choices) {
        rows.push_back({key_text(choice.key), choice.key.device.driver.substr(0, choice.key.device.driver.find(';')),
                        fmt::format("{:.4g}", choice.milliseconds), speed_up_text(choice),
                        choice.pinned ? "pinned" : (has_current_kernels(choice) ? "" : "other kernels"),
                        values_text(choice.configuration)});
    }
    print_line(table(rows));
    print_line("{} choices in {}", choices.size(), shown(file.path()));
    return 0;
}

Json content_json(const KeyContent& content) {
    Json json{{"shape", key_text(content.key)}, {"samples", Json::array()}, {"quarantined", Json::array()}};
    for (const TuningSample& sample : content.samples) {
        const bool good = std::isfinite(sample.milliseconds);
        json["samples"].push_back({{"configuration", configuration_json(sample.configuration)},
                                   {"milliseconds", good ? Json(sample.milliseconds) : Json()},
                                   {"reason", sample.reason},
                                   {"final", sample.stage == SampleStage::Final}});
    }
    for (const Quarantined& entry : content.quarantined) {
        json["quarantined"].push_back(
            {{"configuration", configuration_json(entry.configuration)}, {"reason", entry.reason}});
    }
    return json;
}

void print_content(const KeyContent& content) {
    for (const TuningSample& sample : content.samples) {
        const bool good = std::isfinite(sample.milliseconds);
        print_line("{:>10}  {}  {}{}", good ? fmt::format("{:.4g} ms", sample.milliseconds) : "failed",
                   sample.stage == SampleStage::Final ? "final " : "search", values_text(sample.configuration),
                   good ? "" : ": " + sample.reason);
    }
    for (const Quarantined& entry : content.quarantined)
        print_line("quarantined {}: {}", values_text(entry.configuration), entry.reason);
    print_line("{} samples of {}", content.samples.size(), key_text(content.key));
}

/// The device of the flags, and the shape on it.
Result<ShapeQuestion> asked_shape(const TableFlags& flags) {
    YOLK_TRY(const Device device, open_untuned(flags.common));
    return autotune::shape_question(device, flags.shape_words());
}

/// Kernels of users' own are named by a part of what the list shows: their files need not be there, nor their device.
Result<int> show_shape(const TableFlags& flags) {
    std::vector<KeyContent> contents;
    if (autotune::is_user_kernel(flags.shape_words())) {
        YOLK_TRY(const TuningFile file, table_to_read());
        YOLK_TRY(contents, autotune::user_kernels_with(file, flags.shape_words()));
    } else {
        YOLK_TRY(const ShapeQuestion question, asked_shape(flags));
        YOLK_TRY(const TuningFile file, table_to_read());
        YOLK_TRY(contents.emplace_back(), autotune::content_of(file, question.key));
    }
    for (const KeyContent& content : contents) {
        print_outcome(flags.common.json, content_json(content), [&content] { print_content(content); });
    }
    return 0;
}

Result<int> explain_shape(const TableFlags& flags) {
    YOLK_TRY(const ShapeQuestion question, asked_shape(flags));
    YOLK_TRY(const TuningFile file, table_to_read());
    YOLK_TRY(const std::vector<autotune::SourceAnswer> sources, autotune::explain(question, file));
    const TuningKey& key = question.key;
    if (flags.common.json) {
        Json json{{"shape", key_text(key)},      {"bucket", tuning_bucket(key.shape)},
                  {"device", key.device.device}, {"driver", key.device.driver},
                  {"kernels", key.kernels},      {"sources", Json::array()}};
        for (const autotune::SourceAnswer& source : sources) {
            json["sources"].push_back({{"source", source.source}, {"says", source.says}, {"answers", source.answers}});
            if (source.answers) json["answer"] = source.source;
        }
        print_json(json);
        return 0;
    }
    print_line("{} on {}", key_text(key), key.device.driver);
    std::vector<std::vector<std::string>> rows;
    rows.reserve(sources.size());
    for (const autotune::SourceAnswer& source : sources)
        rows.push_back({source.answers ? "->" : "", source.source, source.says});
    print_line(table(rows));
    return 0;
}

Result<int> export_choices(const TableFlags& flags) {
    YOLK_TRY(const TuningFile file, table_to_read());
    YOLK_TRY(const std::size_t count, autotune::export_table(file, flags.file));
    return print_outcome(flags.common.json, {{"exported", flags.file.string()}, {"choices", count}},
                         fmt::format("{} choices written to {}", count, shown(flags.file)));
}

Result<int> import_choices(const TableFlags& flags) {
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const autotune::ImportOutcome outcome, autotune::import_table(file, flags.file));
    return print_outcome(flags.common.json,
                         {{"imported", flags.file.string()},
                          {"choices", outcome.choices},
                          {"taken", outcome.taken},
                          {"left_out", outcome.left_out}},
                         fmt::format("{} of {} choices taken; {} entries are not choices and were left out",
                                     outcome.taken, outcome.choices, outcome.left_out));
}

/// "tile=8,splits=2".
Result<StoredConfiguration> parse_named_configuration(std::string_view text) {
    StoredConfiguration named;
    for (const std::string_view part : split_commas(text)) {
        const std::size_t sign = part.find('=');
        const auto value = sign == std::string_view::npos ? Result<std::uint32_t>(bad_input(""))
                                                          : parse_number<std::uint32_t>(part.substr(sign + 1));
        if (!value) return bad_input("'{}' is not knob=value,knob=value.", shown(part));
        named.emplace_back(part.substr(0, sign), *value);
    }
    return named;
}

Result<int> pin_shape(const TableFlags& flags) {
    YOLK_TRY(const ShapeQuestion question, asked_shape(flags));
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const TuningChoice choice, autotune::pin_choice(file, question, flags.configuration));
    const std::string shape = key_text(question.key);
    return print_outcome(flags.common.json,
                         {{"pinned", shape}, {"configuration", configuration_json(choice.configuration)}},
                         fmt::format("pinned for {}: {}", shape, values_text(choice.configuration)));
}

Result<int> forget_choices(const TableFlags& flags) {
    YOLK_TRY(const TuningFile file, open_table());
    YOLK_TRY(const std::size_t count, autotune::forget_shapes(file, flags.what));
    return print_outcome(flags.common.json, {{"forgotten", count}},
                         fmt::format("{} shapes forgotten, their samples and quarantine with them", count));
}

struct TableCommand {
    App* app;
    std::shared_ptr<TableFlags> flags = std::make_shared<TableFlags>();

    TableCommand(App& group, const char* name, const char* help) : app(group.add_subcommand(name, help)) {
        app->add_flag("--json", flags->common.json, "Standard output is JSON lines only; the last one is the outcome");
    }
    void takes_shape(const char* help) const {
        app->add_list("shape", flags->shape, help)->required()->type_name("SHAPE");
        add_device_choice(*app, flags->common);
    }
    void takes_file(const char* help) const {
        app->add_option("file", flags->file, help)->required()->type_name("FILE");
    }
    [[nodiscard]] Command runs(Result<int> (*run)(const TableFlags&)) const {
        return {app, [run, all = flags] { return run(*all); }};
    }
};

}  // namespace

Command add_tune_table(App& tune) {
    App* const group = tune.add_subcommand("table", "Show, explain or change the tuning table");
    const TableCommand list(*group, "list", "List all choices in the table");

    const TableCommand show(*group, "show", "Show all samples of a shape, and its quarantined configurations");
    show.takes_shape("Such as matmul m=512 n=512 k=512; kernel NAME for a kernel of your own");
    show.app->option("--device")
        ->only({"goes with a shape of Yolk's kernels, not with one of your own",
                [flags = show.flags] { return !autotune::is_user_kernel(flags->shape_words()); }});

    const TableCommand explain(
        *group, "explain", "Which source answers for a shape (the table, a near shape, the heuristic ...), and why");
    explain.takes_shape("Such as matmul m=512 n=512 k=512");

    const TableCommand exports(*group, "export", "Write all choices as JSON");
    exports.takes_file("Where to");
    const TableCommand imports(*group, "import", "Read choices; a better or pinned one in the table stays");
    imports.takes_file("What export wrote");

    const TableCommand pin(*group, "pin", "No tuning replaces this shape's choice, or --configuration");
    pin.takes_shape("Such as matmul m=512 n=512 k=512");
    add_parsed(*pin.app, "--configuration", pin.flags->configuration, "To pin instead: knob=value,knob=value",
               &parse_named_configuration)
        ->type_name("VALUES");

    const TableCommand forget(*group, "forget", "Forget choices, samples and quarantine");
    forget.app->add_option("what", forget.flags->what, "all, a family, or 'family: part of a shape as list shows it'")
        ->required()
        ->type_name("WHAT");

    const std::vector<Command> commands{list.runs(&list_table),        show.runs(&show_shape),
                                        explain.runs(&explain_shape),  exports.runs(&export_choices),
                                        imports.runs(&import_choices), pin.runs(&pin_shape),
                                        forget.runs(&forget_choices)};
    return {group, [commands] {
                return run_named(commands,
                                 "tune table needs a subcommand: list, show, explain, export, import, pin or "
                                 "forget (see yolk tune table --help).");
            }};
}

}  // namespace yolk::cli
