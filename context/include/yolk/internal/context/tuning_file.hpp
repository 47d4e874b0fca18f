// SPDX-License-Identifier: Apache-2.0
// The tuning table on disk: a SQLite file that any number of processes read and write at once. It holds choices, every
// sample they rest on, and what must not be run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/context/knob_value.hpp"
#include "yolk/internal/context/tuning_key.hpp"
#include "yolk/internal/runtime/tuning_table.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// $YOLK_TABLE, else tuning.sqlite in default_cache_folder(); empty where there is no such folder.
[[nodiscard]] std::filesystem::path default_table_path();

/// A configuration that was chosen for a shape, and what it was measured against.
struct TuningChoice {
    TuningKey key;
    StoredConfiguration configuration;
    double milliseconds = 0.0;            ///< median of the final's rounds; 0 for one that was pinned unmeasured
    double heuristic_milliseconds = 0.0;  ///< of the same rounds
    double plain_milliseconds = 0.0;      ///< of the configuration struct as initialized; 0 where it is not legal
    double spread = 0.0;                  ///< interquartile range over the median
    std::uint64_t evaluations = 0;
    bool pinned = false;
};

/// Which part of a search a sample is of.
enum class SampleStage { Search, Final };

/// What the reason of a sample begins with where the results were wrong.
inline constexpr std::string_view kWrongResult = "Wrong result: ";

struct TuningSample {
    StoredConfiguration configuration;
    double milliseconds = 0.0;  ///< infinite where it failed
    std::string reason{};       ///< why; begins with kWrongResult where it ran and gave wrong results
    SampleStage stage = SampleStage::Search;
};

/// A configuration that is not to be run: it gave wrong results, or the process or the device ended while it ran.
struct Quarantined {
    TuningKey key;
    StoredConfiguration configuration;
    std::string reason;
};

/// One thread at a time; processes as many as there are.
class TuningFile {
   public:
    /// Makes folder and file where they are missing. A damaged table is renamed beside its place with a warning, and a
    /// new one begun. Rows that this Yolk cannot read stay. Whether it is a table of ours is decided by its content: a
    /// SQLite database with our application id, or with our tables where it is damaged. A file of 0 bytes becomes a
    /// table. Error (Io): cannot be made or opened; (BadInput): a folder, a table of another version, or a file of
    /// another's, which are left as they are.
    [[nodiscard]] static Result<TuningFile> open(const std::filesystem::path& path);
    /// The same without making one: nothing where there is none.
    [[nodiscard]] static Result<std::optional<TuningFile>> open_existing(const std::filesystem::path& path);
    ~TuningFile();
    TuningFile(TuningFile&&) noexcept;
    TuningFile& operator=(TuningFile&&) noexcept;

    [[nodiscard]] const std::filesystem::path& path() const noexcept;

    /// All that can be read; what cannot (text that is no configuration, a time that is no number) is left out.
    [[nodiscard]] Result<std::vector<TuningChoice>> choices() const;
    [[nodiscard]] Result<std::vector<Quarantined>> quarantined() const;
    /// All keys that choices, samples or quarantine belong to, sorted by device, driver, family, variant, extents.
    [[nodiscard]] Result<std::vector<TuningKey>> keys() const;
    /// Of one key, in the order in which they were written.
    [[nodiscard]] Result<std::vector<TuningSample>> samples(const TuningKey& key) const;

    [[nodiscard]] Result<void> add(const TuningKey& key, const TuningSample& sample) const;
    /// Writes the choice over `expected`, the one that it was measured against (nothing: there was none). Where another
    /// process has written a different one since, the one with the smaller time in units of the heuristic's stays. A
    /// pinned one stays against all that are not pinned. Whether it was written.
    /// A choice of other knobs is another Yolk's with the same modules, and stays beside it.
    [[nodiscard]] Result<bool> put(const TuningChoice& choice,
                                   const std::optional<StoredConfiguration>& expected) const;
    [[nodiscard]] Result<void> quarantine(const Quarantined& entry) const;
    /// Choices, samples and quarantine of the family (empty: of all) whose shape's text contains `part`; how many keys.
    [[nodiscard]] Result<std::size_t> forget(std::string_view family, std::string_view part) const;

    struct Impl;

   private:
    explicit TuningFile(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// What a run on this device may take from `choices`: those of its own device, driver and modules that are not
/// quarantined, and after them those of other devices of the same architecture with the same driver and modules. A pure
/// function.
[[nodiscard]] TuningTable usable_choices(const std::vector<TuningChoice>& choices,
                                         const std::vector<Quarantined>& quarantined, const DeviceKey& device);

/// For a path that a user named. Error (BadInput): something lies there that is not a table of ours.
[[nodiscard]] Result<void> check_tuning_table(const std::filesystem::path& path);

/// Reads the table at `path` (empty, or none there: nothing happens) and gives the device what it may take. How many
/// choices. A table that cannot be read is a notice, not an error: it is a cache. Without SQLite's library it is a
/// warning.
std::size_t load_tuning(const Device& device, const std::filesystem::path& path);

/// As JSON: {"tile": 8}. Parsing gives nothing for what is no such object.
[[nodiscard]] std::string configuration_text(const StoredConfiguration& configuration);
[[nodiscard]] std::optional<StoredConfiguration> parse_configuration(std::string_view text);
/// For people: "tile 8, splits 2".
[[nodiscard]] std::string values_text(const StoredConfiguration& configuration);

}  // namespace yolk
