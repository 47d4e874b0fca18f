// SPDX-License-Identifier: Apache-2.0
#include "parameters_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "open_system.hpp"
#include "output.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

std::string kind_of(const hyper::ParameterSpec& spec) {
    if (spec.is_text) return "text";
    if (!spec.fields.empty()) return "fields";
    if (!spec.has_numbers()) return "none";
    return spec.is_matrix() ? "matrix" : "vector";
}

/// Weights by their shape: their values are what `save` is for.
Json describe_group(const hyper::ParameterGroup& group) {
    Json json{{"group", group.spec.name}, {"kind", kind_of(group.spec)}, {"optimize", group.spec.optimize}};
    if (group.spec.is_text) {
        json["text"] = group.text;
        json["most_bytes"] = group.spec.most_bytes;
    } else if (!group.spec.fields.empty()) {
        json["fields"] = Json::object();
        const std::vector<double> numbers = hyper::written_numbers(group.values);
        for (std::size_t i = 0; i < group.spec.fields.size(); ++i)
            json["fields"][group.spec.fields[i].name] =
                hyper::to_json(hyper::field_value(group.spec.fields[i], numbers[i]));
    } else if (group.spec.has_numbers()) {
        json["shape"] =
            std::vector<std::uint64_t>(group.values.shape().extents().begin(), group.values.shape().extents().end());
    }
    return json;
}

std::string value_text(const hyper::ParameterGroup& group) {
    if (group.spec.is_text) return to_line(Json(group.text));  // line ends as \n
    std::vector<std::string> fields;
    const std::vector<double> numbers =
        group.spec.fields.empty() ? std::vector<double>() : hyper::written_numbers(group.values);
    for (std::size_t i = 0; i < group.spec.fields.size(); ++i) {
        const hyper::Value value = hyper::field_value(group.spec.fields[i], numbers[i]);
        fields.push_back(fmt::format("{} {}", group.spec.fields[i].name, hyper::text_of(value)));
    }
    if (!fields.empty()) return fmt::format("{}", fmt::join(fields, ", "));
    return group.spec.has_numbers() ? group.values.shape().to_string() : "";
}

Result<int> run_parameters(const MakeSystemTask& make, const SystemFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags));
    std::vector<std::vector<std::string>> rows{{"group", "kind", "optimized", "now"}};
    for (const hyper::ParameterGroup& group : open->task.system->parameters().groups()) {
        if (flags.common.json) print_json(describe_group(group));
        rows.push_back({group.spec.name, kind_of(group.spec), group.spec.optimize ? "yes" : "no", value_text(group)});
    }
    if (!flags.common.json) print_line(table(rows));
    return 0;
}

}  // namespace

Command add_parameters_command(App& app, const MakeSystemTask& make) {
    const auto flags = std::make_shared<SystemFlags>();
    App* const command =
        app.add_subcommand("parameters", "Show what each hyperfunction has to tune: numbers and texts");
    add_system_flags(*command, *flags);
    return {.app = command, .run = [flags, make] { return run_parameters(make, *flags); }};
}

}  // namespace yolk::cli
