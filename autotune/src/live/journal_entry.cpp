// SPDX-License-Identifier: Apache-2.0
#include "journal_entry.hpp"

#include <fmt/format.h>

#include "yolk/autotune/tune_live.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"

namespace yolk::autotune {
namespace {

constexpr const char* kEndedWhileRunning = "The process ended while it ran.";

}  // namespace

Json journal_entry(const TuningKey& key, const NamedConfiguration& configuration) {
    return {{"device", key.device.device},
            {"driver", key.device.driver},
            {"family", key.family},
            {"kernels", key.kernels},
            {"variant", key.shape.variant},
            {"extents", key.shape.extents},
            {"configuration", Json::parse(configuration_text(configuration))}};
}

std::optional<Quarantined> parse_journal_entry(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    for (const char* name : {"device", "driver", "family", "kernels", "variant"}) {
        if (!json.contains(name) || !json[name].is_string()) return std::nullopt;
    }
    if (!json.contains("configuration") || !json.contains("extents") || !json["extents"].is_array())
        return std::nullopt;
    std::optional<NamedConfiguration> configuration = parse_configuration(json["configuration"].dump());
    if (!configuration) return std::nullopt;
    TuningKey key{.device = {.device = json["device"], .driver = json["driver"]},
                  .family = json["family"],
                  .shape = {.variant = json["variant"], .extents = {}},
                  .kernels = json["kernels"]};
    for (const Json& extent : json["extents"]) {
        if (!extent.is_number_unsigned()) return std::nullopt;
        key.shape.extents.push_back(extent.get<std::uint64_t>());
    }
    return Quarantined{std::move(key), std::move(*configuration), kEndedWhileRunning};
}

std::filesystem::path journal_folder(const std::filesystem::path& table) {
    std::filesystem::path folder = table;
    return folder += ".running";
}

Result<std::size_t> recover_journals(const TuningFile& file) {
    std::size_t count = 0;
    for (const std::string& text : RunJournal::take_abandoned(journal_folder(file.path()))) {
        const std::optional<Quarantined> entry = parse_journal_entry(text);
        if (!entry) continue;  // the process ended while it wrote: nothing had begun to run
        YOLK_TRY_VOID(file.quarantine(*entry));
        log_warning(fmt::format("A process ended while it ran {} with {}; this configuration is quarantined.",
                                shape_text(entry->key.family, entry->key.shape),
                                configuration_text(entry->configuration)));
        ++count;
    }
    return count;
}

}  // namespace yolk::autotune
