// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/tuning_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <ranges>
#include <span>
#include <tuple>

#include "sqlite.hpp"
#include "table_schema.hpp"
#include "yolk/internal/context/architecture.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// Where Yolks of different knobs have the same modules, each has a choice of its own: the one that comes second is
/// kept under the modules' hash and this, with a hash of the knobs' names.
constexpr std::string_view kKnobsMark = "; knobs ";

/// Of a row that begins with device, driver, family, kernels, variant, extents.
std::optional<TuningKey> key_of(const Statement& row) {
    std::optional<std::vector<std::uint64_t>> extents = parse_extents(row.text(5));
    if (!extents) return std::nullopt;
    return TuningKey{.device = {.device = row.text(0), .driver = row.text(1)},
                     .family = row.text(2),
                     .shape = {.variant = row.text(4), .extents = std::move(*extents)},
                     .kernels = row.text(3).substr(0, row.text(3).find(kKnobsMark))};
}

TuningKey key_with_knobs(TuningKey key, const StoredConfiguration& configuration) {
    std::vector<std::string> names;
    for (const auto& [name, value] : configuration) names.push_back(name);
    std::ranges::sort(names);
    const std::string text = fmt::format("{}", fmt::join(names, ","));
    key.kernels += fmt::format("{}{:016x}", kKnobsMark, hash64(std::as_bytes(std::span(text))));
    return key;
}

Statement& bind_key(Statement& statement, const TuningKey& key) {
    return statement.bind(key.device.device, key.device.driver, key.family, key.kernels, key.shape.variant,
                          Json(key.shape.extents).dump());
}

constexpr const char* kKeyColumns = "k.device, k.driver, k.family, k.kernels, k.variant, k.extents";

/// The key's row, made where there is none.
Result<std::int64_t> key_row(const Database& database, const TuningKey& key) {
    YOLK_TRY(Statement insert, database.prepare("INSERT INTO keys(device, driver, family, kernels, variant, extents) "
                                                "VALUES(?,?,?,?,?,?) ON CONFLICT DO NOTHING"));
    YOLK_TRY_VOID(bind_key(insert, key).run());
    YOLK_TRY(Statement select, database.prepare("SELECT id FROM keys WHERE device=? AND driver=? AND family=? AND "
                                                "kernels=? AND variant=? AND extents=?"));
    YOLK_TRY(const bool found, bind_key(select, key).step());
    if (!found) return io_error("The tuning table lost a key that was just written.", 0);
    return select.integer(0);
}

/// The row of the key that the choice goes to: another's, of other knobs, stays.
Result<std::int64_t> choice_row(const Database& database, const TuningChoice& choice) {
    YOLK_TRY(const std::int64_t row, key_row(database, choice.key));
    YOLK_TRY(Statement found, database.prepare("SELECT configuration FROM choices WHERE key=?"));
    YOLK_TRY(const bool there, found.bind(row).step());
    const std::optional<StoredConfiguration> current =
        there ? parse_configuration(found.text(0)) : std::optional<StoredConfiguration>();
    if (!current || same_knobs(*current, choice.configuration)) return row;
    return key_row(database, key_with_knobs(choice.key, choice.configuration));
}

bool is_time(const std::optional<double>& value) { return value && std::isfinite(*value) && *value >= 0.0; }

/// Smaller is better; a choice that was not measured is worth as much as the heuristic.
double quality(double milliseconds, double heuristic) {
    return milliseconds > 0.0 && heuristic > 0.0 ? milliseconds / heuristic : 1.0;
}

}  // namespace

struct TuningFile::Impl {
    std::filesystem::path path;
    Database database;
};

TuningFile::TuningFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TuningFile::~TuningFile() = default;
TuningFile::TuningFile(TuningFile&&) noexcept = default;
TuningFile& TuningFile::operator=(TuningFile&&) noexcept = default;
const std::filesystem::path& TuningFile::path() const noexcept { return impl_->path; }

std::filesystem::path default_table_path() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing of ours sets the environment
    if (const char* own = std::getenv("YOLK_TABLE"); own != nullptr && *own != '\0') return own;
    const std::filesystem::path folder = default_cache_folder();
    return folder.empty() ? folder : folder / "tuning.sqlite";
}

Result<TuningFile> TuningFile::open(const std::filesystem::path& path) {
    YOLK_TRY_VOID(check_place(path));
    std::error_code failed;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failed);
    for (int attempt = 0;; ++attempt) {
        YOLK_TRY(Database database, Database::open(path, OpenMode::Create));
        YOLK_TRY(const TableState state, examine_table(database, path, true));
        if (state == TableState::Foreign) return foreign_file(path, "another program's database");
        if (state == TableState::OtherVersion) return other_version(database, path);
        if (state == TableState::Good || state == TableState::Empty) {
            // Busy is no harm: the log of whoever holds the file is kept.
            static_cast<void>(database.execute("PRAGMA journal_mode=WAL"));
            YOLK_TRY_VOID(database.execute("PRAGMA synchronous=NORMAL"));
            if (state == TableState::Empty) YOLK_TRY_VOID(make_schema(database));
            return TuningFile(std::make_unique<Impl>(Impl{path, std::move(database)}));
        }
        if (attempt == 2) return io_error(fmt::format("The tuning table '{}' stays damaged.", shown(path)), 0);
        database = {};
        YOLK_TRY_VOID(set_aside(path, true));
    }
}

Result<std::optional<TuningFile>> TuningFile::open_existing(const std::filesystem::path& path) {
    std::error_code failed;
    if (path.empty() || !std::filesystem::exists(path, failed)) return std::optional<TuningFile>();
    YOLK_TRY_VOID(check_place(path));
    YOLK_TRY(Database database, Database::open(path, OpenMode::Existing));
    Result<TableState> examined = examine_table(database, path, false);
    const bool may_only_be_read = !examined && says_read_only(examined.error().native);
    if (may_only_be_read) {
        // SQLite keeps what was written last in a log beside the table, and locks there: in a folder that may not be
        // written to, it reads such a table only if it is told that nobody writes it.
        YOLK_TRY(database, Database::open(path, OpenMode::Unchanging));
        examined = examine_table(database, path, false);
    }
    YOLK_TRY(const TableState state, std::move(examined));
    if (state == TableState::Empty) return std::optional<TuningFile>();
    if (state == TableState::Foreign) return foreign_file(path, "another program's database");
    if (state == TableState::OtherVersion) return other_version(database, path);
    if (state == TableState::Damaged && may_only_be_read)
        return io_error(fmt::format("The tuning table '{}' is damaged, and may only be read.", shown(path)), 0);
    if (state == TableState::Damaged) {
        database = {};
        YOLK_TRY_VOID(set_aside(path, false));
        return std::optional<TuningFile>();
    }
    return std::optional<TuningFile>(TuningFile(std::make_unique<Impl>(Impl{path, std::move(database)})));
}

Result<std::vector<TuningChoice>> TuningFile::choices() const {
    YOLK_TRY(Statement rows,
             impl_->database.prepare(fmt::format("SELECT {}, c.configuration, c.milliseconds, c.heuristic, c.plain, "
                                                 "c.spread, c.evaluations, c.pinned FROM choices c JOIN keys k ON "
                                                 "k.id = c.key ORDER BY k.family, k.variant, k.id",
                                                 kKeyColumns)));
    return rows.all([](const Statement& row) -> std::optional<TuningChoice> {
        std::optional<TuningKey> key = key_of(row);
        std::optional<StoredConfiguration> configuration = parse_configuration(row.text(6));
        if (!key || !configuration || !is_time(row.real(7)) || !is_time(row.real(8)) || !is_time(row.real(9)) ||
            !is_time(row.real(10)))
            return std::nullopt;
        return TuningChoice{.key = std::move(*key),
                            .configuration = std::move(*configuration),
                            .milliseconds = *row.real(7),
                            .heuristic_milliseconds = *row.real(8),
                            .plain_milliseconds = *row.real(9),
                            .spread = *row.real(10),
                            .evaluations = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer(11), 0)),
                            .pinned = row.integer(12) != 0};
    });
}

Result<std::vector<Quarantined>> TuningFile::quarantined() const {
    YOLK_TRY(Statement rows,
             impl_->database.prepare(fmt::format("SELECT {}, q.configuration, q.reason FROM quarantine q JOIN keys k "
                                                 "ON k.id = q.key ORDER BY q.written",
                                                 kKeyColumns)));
    return rows.all([](const Statement& row) -> std::optional<Quarantined> {
        std::optional<TuningKey> key = key_of(row);
        std::optional<StoredConfiguration> configuration = parse_configuration(row.text(6));
        if (!key || !configuration) return std::nullopt;
        return Quarantined{std::move(*key), std::move(*configuration), row.text(7)};
    });
}

Result<std::vector<TuningKey>> TuningFile::keys() const {
    YOLK_TRY(Statement rows, impl_->database.prepare(fmt::format("SELECT {} FROM keys k", kKeyColumns)));
    YOLK_TRY(std::vector<TuningKey> all, rows.all(&key_of));
    const auto by = [](const TuningKey& key) {
        return std::tie(key.device.device, key.device.driver, key.family, key.shape.variant, key.shape.extents,
                        key.kernels);
    };
    std::ranges::sort(all, {}, by);
    const auto twice = std::ranges::unique(all, {}, by);
    all.erase(twice.begin(), twice.end());
    return all;
}

Result<std::vector<TuningSample>> TuningFile::samples(const TuningKey& key) const {
    YOLK_TRY(Statement rows,
             impl_->database.prepare("SELECT s.configuration, s.milliseconds, s.reason, s.stage FROM samples s JOIN "
                                     "keys k ON k.id = s.key WHERE k.device=? AND k.driver=? AND k.family=? AND "
                                     "k.kernels=? AND k.variant=? AND k.extents=? ORDER BY s.id"));
    bind_key(rows, key);
    return rows.all([](const Statement& row) -> std::optional<TuningSample> {
        std::optional<StoredConfiguration> configuration = parse_configuration(row.text(0));
        const std::optional<double> time = row.real(1);
        const bool measured = is_time(time) && *time > 0.0;
        if (!configuration) return std::nullopt;
        return TuningSample{.configuration = std::move(*configuration),
                            .milliseconds = measured ? *time : std::numeric_limits<double>::infinity(),
                            .reason = row.text(2),
                            .stage = row.text(3) == "final" ? SampleStage::Final : SampleStage::Search};
    });
}

Result<void> TuningFile::add(const TuningKey& key, const TuningSample& sample) const {
    YOLK_TRY(Transaction transaction, Transaction::begin(impl_->database));
    YOLK_TRY(const std::int64_t row, key_row(impl_->database, key));
    YOLK_TRY(Statement insert, impl_->database.prepare("INSERT INTO samples(key, configuration, milliseconds, reason, "
                                                       "stage, written) VALUES(?,?,?,?,?,?)"));
    const bool measured = std::isfinite(sample.milliseconds);
    insert.bind(row, configuration_text(sample.configuration),
                measured ? std::optional(sample.milliseconds) : std::nullopt, sample.reason,
                sample.stage == SampleStage::Final ? "final" : "search", now());
    YOLK_TRY_VOID(insert.run());
    return transaction.commit();
}

Result<bool> TuningFile::put(const TuningChoice& choice, const std::optional<StoredConfiguration>& expected) const {
    const Database& database = impl_->database;
    YOLK_TRY(Transaction transaction, Transaction::begin(database));
    YOLK_TRY(const std::int64_t row, choice_row(database, choice));
    {
        YOLK_TRY(Statement found, database.prepare("SELECT configuration, milliseconds, heuristic, pinned FROM "
                                                   "choices WHERE key=?"));
        YOLK_TRY(const bool there, found.bind(row).step());
        const std::optional<StoredConfiguration> current =
            there ? parse_configuration(found.text(0)) : std::optional<StoredConfiguration>();
        if (current && found.integer(3) != 0 && !choice.pinned) return false;
        const double quality_of_current = quality(found.real(1).value_or(0.0), found.real(2).value_or(0.0));
        if (current && !choice.pinned && current != expected && current != choice.configuration &&
            quality_of_current <= quality(choice.milliseconds, choice.heuristic_milliseconds))
            return false;
    }
    YOLK_TRY(Statement insert, database.prepare("INSERT OR REPLACE INTO choices(key, configuration, milliseconds, "
                                                "heuristic, plain, spread, evaluations, pinned, written) "
                                                "VALUES(?,?,?,?,?,?,?,?,?)"));
    insert.bind(row, configuration_text(choice.configuration), choice.milliseconds, choice.heuristic_milliseconds,
                choice.plain_milliseconds, choice.spread, static_cast<std::int64_t>(choice.evaluations),
                std::int64_t{choice.pinned ? 1 : 0}, now());
    YOLK_TRY_VOID(insert.run());
    YOLK_TRY_VOID(transaction.commit());
    return true;
}

Result<void> TuningFile::quarantine(const Quarantined& entry) const {
    YOLK_TRY(Transaction transaction, Transaction::begin(impl_->database));
    YOLK_TRY(const std::int64_t row, key_row(impl_->database, entry.key));
    YOLK_TRY(Statement insert, impl_->database.prepare("INSERT OR REPLACE INTO quarantine(key, configuration, reason, "
                                                       "written) VALUES(?,?,?,?)"));
    YOLK_TRY_VOID(insert.bind(row, configuration_text(entry.configuration), entry.reason, now()).run());
    return transaction.commit();
}

Result<std::size_t> TuningFile::forget(std::string_view family, std::string_view part) const {
    const Database& database = impl_->database;
    YOLK_TRY(Transaction transaction, Transaction::begin(database));
    std::vector<std::int64_t> chosen;
    {
        YOLK_TRY(Statement rows, database.prepare(fmt::format("SELECT {}, k.id FROM keys k", kKeyColumns)));
        YOLK_TRY(chosen, rows.all([&](const Statement& row) -> std::optional<std::int64_t> {
            const std::optional<TuningKey> key = key_of(row);
            const std::string text = key ? shape_text(key->family, key->shape) : std::string();
            const bool wanted = (family.empty() || row.text(2) == family) && text.find(part) != std::string::npos;
            return wanted ? std::optional(row.integer(6)) : std::nullopt;
        }));
    }
    for (const std::int64_t id : chosen) {
        for (const char* sql : {"DELETE FROM choices WHERE key=?", "DELETE FROM samples WHERE key=?",
                                "DELETE FROM quarantine WHERE key=?", "DELETE FROM keys WHERE id=?"}) {
            YOLK_TRY(Statement remove, database.prepare(sql));
            YOLK_TRY_VOID(remove.bind(id).run());
        }
    }
    YOLK_TRY_VOID(transaction.commit());
    return chosen.size();
}

std::string configuration_text(const StoredConfiguration& configuration) {
    return configuration_json(configuration).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<StoredConfiguration> parse_configuration(std::string_view text) {
    return configuration_of_json(parse_json(text, "a configuration").value_or(nullptr));
}

std::string values_text(const StoredConfiguration& configuration) {
    const auto text = [](const auto& pair) { return fmt::format("{} {}", pair.first, pair.second.text()); };
    return fmt::format("{}", fmt::join(configuration | std::views::transform(text), ", "));
}

TuningTable usable_choices(const std::vector<TuningChoice>& choices, const std::vector<Quarantined>& quarantined,
                           const DeviceKey& device) {
    std::vector<TuningEntry> entries;
    std::string family;
    std::string kernels;
    for (const TuningChoice& choice : choices) {
        const bool own = choice.key.device == device;
        // Proven on another device of the same architecture by the same driver; by another driver it is a guess, which
        // `yolk tune` tries and no plan takes. The same device under other limits is not "another".
        const bool alike = !own && choice.key.device.device != device.device &&
                           same_architecture(choice.key.device, device) && same_driver(choice.key.device, device);
        if (!own && !alike) continue;
        if (choice.key.family != family) {
            family = choice.key.family;
            kernels = kernel_hash(family);
        }
        const bool bad = std::ranges::any_of(quarantined, [&](const Quarantined& entry) {
            if (entry.configuration != choice.configuration || entry.key.family != choice.key.family) return false;
            // What went wrong here for any shape is not taken from elsewhere.
            return entry.key == choice.key || (alike && entry.key.device == device);
        });
        std::optional<NamedConfiguration> values = plain_configuration(choice.configuration);
        if (choice.key.kernels != kernels || bad || !values) continue;
        entries.push_back({.family = choice.key.family,
                           .shape = choice.key.shape,
                           .configuration = *std::move(values),
                           .pinned = choice.pinned,
                           .other_device = alike});
    }
    return TuningTable(std::move(entries));
}

Result<void> check_tuning_table(const std::filesystem::path& path) {
    const Result<std::optional<TuningFile>> file = TuningFile::open_existing(path);
    return file || file.error().kind != ErrorKind::BadInput ? Result<void>() : file.error();
}

std::size_t load_tuning(const Device& device, const std::filesystem::path& path) {
    const auto load = [&]() -> Result<TuningTable> {
        YOLK_TRY(const std::optional<TuningFile> file, TuningFile::open_existing(path));
        if (!file) return TuningTable();
        YOLK_TRY(const std::vector<TuningChoice> choices, file->choices());
        YOLK_TRY(const std::vector<Quarantined> quarantined, file->quarantined());
        return usable_choices(choices, quarantined, device_key(device.info()));
    };
    Result<TuningTable> table = load();
    if (!table && says_damaged(table.error().native)) {
        if (Result<void> renamed = set_aside(path, true); renamed) return 0;
    }
    if (!table && (table.error().kind == ErrorKind::BadInput || table.error().kind == ErrorKind::Unsupported)) {
        log_warning("No tuning is taken: " + table.error().message);
        return 0;
    }
    if (!table) {
        log(LogLevel::Info, fmt::format("The tuning table '{}' is not used: {}", shown(path), table.error().message));
        return 0;
    }
    const std::size_t count = table->entries().size();
    if (count > 0) device.set_tuning_table(std::make_shared<const TuningTable>(*std::move(table)));
    return count;
}

}  // namespace yolk
