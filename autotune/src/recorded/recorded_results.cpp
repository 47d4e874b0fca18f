// SPDX-License-Identifier: Apache-2.0
// Formats that list results: T4, KTT's and CLBlast's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "recorded_tree.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

Result<Objective> t4_objective(const SortedJson& entry, const RecordPlace& place, const RecordingOptions& options) {
    if (!options.objective.empty()) return objective_of(options.objective, place.file);
    const SortedJson* const objectives = member(entry, "objectives");
    if (objectives == nullptr || !objectives->is_array() || objectives->empty() || !objectives->front().is_string())
        return Objective{};
    if (objectives->size() > 1) {
        return place.wrong(fmt::format("it has {} objectives. Choose one by --objective NAME.", objectives->size()));
    }
    return objective_of(objectives->front().get_ref<const std::string&>(), place.file);
}

/// The objective among the measurements; of a time that is not there, the mean of the runtimes.
Result<double> t4_cost(const SortedJson& entry, const Objective& objective, const RecordPlace& place) {
    const SortedJson* const measurements = member(entry, "measurements");
    if (measurements != nullptr && measurements->is_array()) {
        for (const SortedJson& measurement : *measurements) {
            const SortedJson* const value = member(measurement, "value");
            if (text_member(measurement, "name") != objective.name || value == nullptr) continue;
            return value->is_number() ? objective.cost_of(value->get<double>(), place.text()) : kInvalidCost;
        }
    }
    const SortedJson* const times = member(entry, "times");
    const SortedJson* const runtimes = times == nullptr ? nullptr : member(*times, "runtimes");
    if (objective.name != "time" || runtimes == nullptr || !runtimes->is_array() || runtimes->empty()) {
        return place.wrong(fmt::format("it is correct, but has no measurement of its objective '{}' and no runtimes.",
                                       shown(objective.name)));
    }
    double sum = 0.0;
    for (const SortedJson& runtime : *runtimes) sum += runtime.is_number() ? runtime.get<double>() : kInvalidCost;
    return cost_of(sum / static_cast<double>(runtimes->size()));
}

Result<bool> t4_is_correct(const SortedJson& entry, const RecordPlace& place) {
    constexpr std::array<std::string_view, 6> kWords{"correct",     "compile",     "runtime",
                                                     "constraints", "correctness", "timeout"};
    const SortedJson* const invalidity = member(entry, "invalidity");
    if (invalidity == nullptr || invalidity->is_null()) return true;
    const std::string word = text_member(entry, "invalidity");
    if (std::ranges::find(kWords, word) != kWords.end()) return word == "correct";
    return place.wrong(fmt::format("its 'invalidity' is {}, and T4 has {}.",
                                   invalidity->dump(-1, ' ', false, SortedJson::error_handler_t::replace),
                                   "correct, compile, runtime, constraints, correctness and timeout"));
}

/// KTT lists a configuration as pairs.
Result<SortedJson> ktt_values(const SortedJson& entry, const RecordPlace& place) {
    const SortedJson* const configuration = member(entry, "Configuration");
    if (configuration == nullptr || !configuration->is_array()) return place.wrong("there is no 'Configuration'.");
    SortedJson values = SortedJson::object();
    for (const SortedJson& pair : *configuration) {
        const SortedJson* const value = member(pair, "Value");
        const std::string parameter = text_member(pair, "Name");
        if (value == nullptr || parameter.empty())
            return place.wrong("its 'Configuration' has a pair without a 'Name' or a 'Value'.");
        if (!values.emplace(parameter, *value).second)
            return place.wrong(fmt::format("its 'Configuration' has '{}' twice.", shown(parameter)));
    }
    return values;
}

}  // namespace

Result<Records> parse_t4(const SortedJson& file, std::string_view name, const RecordingOptions& options) {
    Records records;
    const std::string version = text_member(file, "schema_version");
    if (!version.empty() && !version.starts_with("1."))
        return bad_input("{} is T4 of version {}; this Yolk reads version 1. Export it again as version 1.", name,
                         version);
    if (const SortedJson* const metadata = member(file, "metadata")) {
        records.device = text_member(*metadata, "device");
        records.kernel = text_member(*metadata, "kernel");
    }
    std::size_t number = 0;
    for (const SortedJson& entry : file["results"]) {
        const RecordPlace place{name, fmt::format("result {}", number++)};
        const SortedJson* const configuration = member(entry, "configuration");
        if (configuration == nullptr || !configuration->is_object()) return place.wrong("there is no 'configuration'.");
        double cost = kInvalidCost;
        YOLK_TRY(const bool is_correct, t4_is_correct(entry, place));
        if (is_correct) {
            YOLK_TRY(const Objective objective, t4_objective(entry, place, options));
            YOLK_TRY(cost, t4_cost(entry, objective, place));
        }
        YOLK_TRY_VOID(append_configuration(records, *configuration, cost, place));
    }
    return records;
}

Result<Records> parse_ktt(const SortedJson& file, std::string_view name, const RecordingOptions& options) {
    Objective objective{.name = "TotalDuration"};
    if (!options.objective.empty()) {
        YOLK_TRY(objective, objective_of(options.objective, name));
    }
    Records records;
    if (const SortedJson* const metadata = member(file, "Metadata")) records.device = text_member(*metadata, "Device");
    std::size_t number = 0;
    for (const SortedJson& entry : file["Results"]) {
        const RecordPlace place{name, fmt::format("result {}", number++)};
        YOLK_TRY(const SortedJson values, ktt_values(entry, place));
        if (records.kernel.empty()) records.kernel = text_member(entry, "KernelName");
        const std::string status = text_member(entry, "Status");
        if (status.empty()) return place.wrong("there is no 'Status'.");
        double cost = kInvalidCost;
        if (status == "Ok") {
            YOLK_TRY(cost, cost_member(entry, objective, place));
        }
        YOLK_TRY_VOID(append_configuration(records, values, cost, place));
    }
    return records;
}

Result<Records> parse_clblast(const SortedJson& file, std::string_view name, const RecordingOptions& options) {
    Objective objective;
    if (!options.objective.empty()) {
        YOLK_TRY(objective, objective_of(options.objective, name));
    }
    Records records{.names = {},
                    .domains = {},
                    .rows = {},
                    .costs = {},
                    .device = text_member(file, "device"),
                    .kernel = text_member(file, "kernel_family")};
    std::size_t number = 0;
    for (const SortedJson& entry : file["results"]) {
        const RecordPlace place{name, fmt::format("result {}", number++)};
        const SortedJson* const parameters = member(entry, "parameters");
        if (parameters == nullptr || !parameters->is_object()) return place.wrong("there is no object 'parameters'.");
        YOLK_TRY(const double cost, cost_member(entry, objective, place));
        YOLK_TRY_VOID(append_configuration(records, *parameters, cost, place));
    }
    return records;
}

}  // namespace yolk::autotune
