// SPDX-License-Identifier: Apache-2.0
// The log of a run as a file: its settings, and what the scores of each generation came to. With the first values,
// which follow from the seed, it is the run: applying its generations one after the other gives the state after any of
// them (replay_log). It knows nothing of tasks. Reading trusts nothing.
//
// Layout, little endian. Header: magic "YOLKLOG\n", version as 32 bits, bytes of the text as 32 bits, the text (JSON),
// XXH3-64 over everything before it. Then records, all of one size: generation and flags as 32 bits each, the policy's
// mean return as fp32, 32 bits of zeros, the state digest after the generation (16 bytes), the summary of the scores
// (abi::fitness::Summary), the weights (int8 or fp32), in version 2 the values that the generation sets of the
// parameters' last elements (fp32), and XXH3-64 over the header's checksum and the record. So a
// record of another log that lies in the same blocks of a disk does not pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/es_update.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/shaped_generation.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// The version of a log whose generations set no elements, and that of one whose generations do.
inline constexpr std::uint32_t kRunLogVersion = 1, kRunLogVersionWithTail = 2;

struct RunLogHeader {
    /// Name and value of everything that the bits of the run depend on, as text from which the value comes back.
    std::vector<std::pair<std::string, std::string>> settings{};
    FitnessWeights weights = FitnessWeights::I8;
    std::uint32_t weight_count = 0;      ///< per generation: one per pair; without pairs one per member
    std::uint32_t element_count = 0;     ///< of the parameters
    std::uint32_t first_generation = 0;  ///< generations done before the first record
    std::string first_digest{};          ///< evolve::state_digest of the state that they led to
    std::uint32_t tail_count = 0;        ///< elements that each generation sets (ShapedGeneration::tail)

    bool operator==(const RunLogHeader&) const = default;
};

/// The header for a run with these options, from the state that its first record is applied to. Error, Failed: a value
/// that is not finite.
[[nodiscard]] Result<RunLogHeader> run_log_header(std::vector<std::pair<std::string, std::string>> settings,
                                                  const EvolutionOptions& options, std::span<const float> parameters,
                                                  std::span<const float> optimizer_state, std::uint32_t generation,
                                                  std::uint32_t tail_count = 0);

struct LoggedGeneration {
    std::uint32_t generation = 0;  ///< from 0
    ShapedGeneration shaped{};
    std::optional<float> policy_mean{};  ///< mean return of the unperturbed policy after the update
    bool solved = false;                 ///< whether the task counted as solved after it
    std::string digest{};                ///< evolve::state_digest after it; empty where it is not known
};

/// Reads one record at a time, so that a log of any size takes the memory of a record. One thread at a time.
class RunLogReader {
   public:
    /// Reads the whole file once, for its checksums. A tail that is one unfinished record, with or without zeros behind
    /// it, is what a killed process or a power failure leaves: it is counted in torn_bytes() and not read. Errors: Io;
    /// BadInput for a file that is foreign, of a later version, or damaged (with the generation).
    [[nodiscard]] static Result<RunLogReader> open(const std::filesystem::path& path);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] const RunLogHeader& header() const noexcept { return header_; }
    /// Done at its end, those before its first record included.
    [[nodiscard]] std::uint32_t generations() const noexcept { return header_.first_generation + records_; }
    [[nodiscard]] std::uint64_t torn_bytes() const noexcept { return torn_bytes_; }

    /// Generation `generation`, from 0. Errors: one that the log does not have, Io, a file that was changed since.
    [[nodiscard]] Result<LoggedGeneration> read(std::uint32_t generation) const;
    /// The digest of the state after `generations` generations; empty where it is not known. Errors: read()'s.
    [[nodiscard]] Result<std::string> digest_after(std::uint32_t generations) const;

   private:
    friend class RunLogWriter;
    RunLogReader() = default;
    [[nodiscard]] Result<std::uint64_t> read_header();
    [[nodiscard]] Result<void> scan(std::uint64_t file_bytes);
    [[nodiscard]] Result<std::vector<std::byte>> record_at(std::uint32_t record) const;
    [[nodiscard]] bool is_whole(std::span<const std::byte> record) const;
    [[nodiscard]] Result<bool> is_zero(std::uint64_t from, std::uint64_t to) const;

    std::filesystem::path path_;
    Descriptor file_;
    RunLogHeader header_;
    std::uint64_t header_bytes_ = 0;
    std::uint64_t header_hash_ = 0;
    std::uint32_t records_ = 0;
    std::uint64_t torn_bytes_ = 0;
};

/// Appends whole records: on return from append() the system has the record, so that a killed process loses none. After
/// an error the file ends in a whole record. One thread at a time; keeping other processes away is the caller's part.
class RunLogWriter {
   public:
    /// A new log in place of any old one, which stays until the first append() replaces it atomically.
    [[nodiscard]] static RunLogWriter replace(std::filesystem::path path, RunLogHeader header);
    /// Goes on with a log after its first `generations` generations. What it has after them, a torn tail included, goes
    /// with the first append(), not before. Error: more generations than it has, fewer than it begins with.
    [[nodiscard]] static Result<RunLogWriter> continue_after(const RunLogReader& log, std::uint32_t generations);

    /// Errors: another generation than the next, weights of another kind or count, a malformed digest, a header of more
    /// than a mebibyte, Io.
    [[nodiscard]] Result<void> append(const LoggedGeneration& generation);
    /// Drops at once, and not with the next append(), what the file has after generations(); also after a power
    /// failure. A new log's old file stays. Error: Io.
    [[nodiscard]] Result<void> cut();
    /// What was appended survives a power failure. Error: Io.
    [[nodiscard]] Result<void> sync();
    [[nodiscard]] std::uint32_t generations() const noexcept { return next_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

   private:
    RunLogWriter() = default;
    [[nodiscard]] Result<void> write_first(std::span<const std::byte> record);
    [[nodiscard]] Result<void> open_at_end();

    std::filesystem::path path_;
    RunLogHeader header_;
    std::uint64_t header_hash_ = 0;
    std::uint32_t next_ = 0;  ///< generation of the next record
    std::uint64_t end_ = 0;   ///< bytes of the file that are ours and whole
    bool is_new_ = false;     ///< until the first append
    Descriptor file_;
};

// From the log of a run to its state after any generation, without evaluating anything.

/// Called after each generation with the number done; returning false ends the replay with an error, Cancelled.
using OnReplayed = std::function<bool(std::uint32_t generations)>;

/// Applies the log's generations to `run` until it has done `generations`, and compares the state's digest with the
/// log's before the first and after each. `run` has EvolutionParts::digest or no device, needs no evaluator, and is in
/// the state after some generation from the log's first on, or at the run's beginning.
///
/// The value is empty where all digests agree. Float weights give the same update only within a tolerance on another
/// device or with other tiles (docs/kernels/es_update.md): for such a log the number of generations after which the
/// state first differs is the value, and the replay goes on. For integer weights a difference is an error.
///
/// Errors: a log that begins later or ends sooner, a `run` that has done more than `generations` already, a state or a
/// generation whose digest is not the log's (Failed, with the generation), those of RunLogReader::read and
/// Evolution::apply.
[[nodiscard]] Result<std::optional<std::uint32_t>> replay_log(Evolution& run, const RunLogReader& log,
                                                              std::uint32_t generations,
                                                              const OnReplayed& on_replayed = {});

/// Whether the log goes on from the state with this digest after `generations` generations; false where its weights are
/// floats and the digests differ. Errors: as replay_log's for a state that is not the log's.
[[nodiscard]] Result<bool> goes_on_from(const RunLogReader& log, std::uint32_t generations, const std::string& digest);

}  // namespace yolk::evolve
