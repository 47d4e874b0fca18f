// SPDX-License-Identifier: Apache-2.0
#include "journal_entry.hpp"

#include <fmt/format.h>

#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

constexpr const char* kEndedWhileRunning = "The process ended while it ran.";

}  // namespace

Json journal_entry(const TuningKey& key, const StoredConfiguration& configuration) {
    Json json = key_json(key);
    json["configuration"] = configuration_json(configuration);
    return json;
}

std::optional<Quarantined> parse_journal_entry(const std::string& text) {
    const Json json = parse_json(text, "an entry").value_or(nullptr);
    std::optional<TuningKey> key = key_of_json(json);
    if (!key || !json.contains("configuration")) return std::nullopt;
    std::optional<StoredConfiguration> configuration = configuration_of_json(json["configuration"]);
    if (!configuration) return std::nullopt;
    return Quarantined{std::move(*key), std::move(*configuration), kEndedWhileRunning};
}

std::filesystem::path journal_folder(const std::filesystem::path& table) { return path_beside(table, ".running"); }

Result<std::size_t> recover_journals(const TuningFile& file, const KnownEnd* known) {
    std::size_t count = 0;
    for (const std::string& text : RunJournal::take_abandoned(journal_folder(file.path()))) {
        std::optional<Quarantined> entry = parse_journal_entry(text);
        if (!entry) continue;  // the process ended while it wrote: nothing had begun to run
        if (known != nullptr && entry->key == known->key) {
            entry->reason = known->reason;
            YOLK_TRY_VOID(file.add(
                entry->key,
                {.configuration = entry->configuration, .milliseconds = kInvalidCost, .reason = entry->reason}));
        }
        YOLK_TRY_VOID(file.quarantine(*entry));
        log_warning(fmt::format("A process ended while it ran {} with {}; this configuration is quarantined. {}",
                                shape_text(entry->key.family, entry->key.shape),
                                configuration_text(entry->configuration), entry->reason));
        ++count;
    }
    return count;
}

}  // namespace yolk::autotune
