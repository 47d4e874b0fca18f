// SPDX-License-Identifier: Apache-2.0
// A language model over bytes in pure integers, trained on any file: int8 weights that move by one
// (docs/bytes.md). In exact mode, which is the only one, the same weights on every device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "yolk/devices.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"

namespace yolk::train {

/// Everything that the weights of a run depend on, its text aside.
struct ByteSettings {
    std::uint32_t width = 32;        ///< a multiple of 8, at most 256
    std::uint32_t layers = 1;        ///< 1 ... 16
    std::uint32_t population = 512;  ///< members, in pairs; at most 32,768
    std::uint32_t group = 64;        ///< members that read one stretch of the text; even
    std::uint32_t steps = 64;        ///< bytes of a stretch that are scored, per generation
    std::uint32_t context = 16;      ///< bytes that are read before them
    std::uint32_t rank = 1;          ///< of the perturbations: 1, 4 or 16
    std::uint32_t sigma_shift = 4;   ///< sigma = 2^-sigma_shift of a weight's unit of 16
    std::uint32_t alpha_rate = 15;   ///< alpha = 1 / (alpha_rate / 1000 * generation + 1): which moves are significant
    bool symmetric = true;           ///< rounds to nearest; false: to minus infinity, as published
    std::uint32_t feedback = 0;      ///< sixteenths of a deviation that move a weight by one; 0: the threshold
    std::uint32_t held_out = 10;     ///< percent of the text, its end, that training never reads; 1 ... 50
    std::uint64_t seed = 1;
    friend bool operator==(const ByteSettings&, const ByteSettings&) = default;
};

struct ByteOptions {
    std::filesystem::path data{};
    ByteSettings settings{};
    std::uint32_t generations = 1000;
    double minutes = 0.0;                  ///< ends training after the generation that passes it; 0: no limit
    std::uint32_t evaluate_every = 50;     ///< generations between two scores of the held-out text; 0: at the end
    std::uint32_t checkpoint_every = 100;  ///< 0: at the end
    /// model.safetensors, metrics.jsonl, log.yolk; empty: nothing is written.
    std::filesystem::path out = "yolk-bytes";
    bool resume = false;
};

struct ByteReport {
    std::uint32_t generation = 0;      ///< from 0
    double bits = 0.0;                 ///< per byte, mean of the population
    std::optional<double> held_out{};  ///< bits per byte of the unperturbed model, where it was due
    double seconds = 0.0;              ///< since training started
    double members_per_second = 0.0;
    std::string state_hash{}, state_digest{};
};
[[nodiscard]] Json to_json(const ByteReport& report);

/// Bits per byte of a text's end by models of the text before it, and of the whole by compressors.
struct ByteBaselines {
    double unigram = 0.0, bigram = 0.0;
    std::optional<double> gzip{}, xz{};  ///< of the programs, where there are any
};

struct ByteOutcome {
    std::uint32_t generations = 0, resumed_from = 0;
    bool interrupted = false;
    double held_out = 0.0;  ///< bits per byte
    double seconds = 0.0, members_per_second = 0.0;
    std::string state_hash{};
    ByteBaselines baselines{};
    std::filesystem::path model{};
    std::filesystem::path previous{};  ///< where the run is now that was in the folder
};

/// Returning false ends training there, with everything saved.
using OnByteGeneration = std::function<bool(const ByteReport&)>;

/// Errors: settings outside their limits (what was given, what is allowed), a file that is missing, empty or shorter
/// than a stretch in either part, a folder that cannot be written, to resume one without a model or of other settings
/// or another text; the device's.
[[nodiscard]] Result<ByteOutcome> train_bytes(const evolve::Devices& devices, const ByteOptions& options,
                                              const OnByteGeneration& on_generation = {});

/// The state hash after each generation by the exact twin, without a device.
[[nodiscard]] Result<std::vector<std::string>> train_bytes_twin(const ByteOptions& options);

/// The state hash after `generation` generations (unset: all) of the run whose log it is, which needs no text.
/// Errors: a log that is damaged or of another kind of run, states that are not the log's.
[[nodiscard]] Result<std::string> replay_bytes(const evolve::Devices& devices, const std::filesystem::path& log,
                                               std::optional<std::uint32_t> generation = {});

struct SampleOptions {
    std::uint32_t length = 200;      ///< bytes
    std::uint32_t temperature = 16;  ///< sixteenths: 16 as the model says, 8 halves it, 0 takes the likeliest
    std::uint64_t seed = 1;
    std::string prompt{};  ///< read first, after a 0
};
/// Text by the model in a file, in integers alone: the same bytes everywhere. Errors: a file of another kind, a
/// temperature above 256.
[[nodiscard]] Result<std::string> sample_bytes(const std::filesystem::path& model, const SampleOptions& options = {});

}  // namespace yolk::train
