// SPDX-License-Identifier: Apache-2.0
// Ask and tell: a run of EGGROLL whose members the caller scores, by whatever means. It gives their parameters, and
// takes their scores.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/context.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/evaluator.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/run_log.hpp"

namespace yolk::evolve {

struct AskedParts {
    std::vector<ParameterDesc> parameters{};
    std::vector<float> initial{};  ///< [element_count], in the order of `parameters`
    EvolutionOptions options{};
    std::filesystem::path log{};  ///< empty: none is written
};

/// A low-rank perturbation of one matrix, for all members: member m is M + scale * A[m] B[m]^T. Integers as fp32.
struct MemberFactors {
    std::vector<float> a, b;  ///< [population, rows, rank], [population, columns, rank]; the sign of the side is in `a`
    std::uint32_t rank = 1;
    float scale = 0.0F;  ///< sigma / sqrt(rank) / 85: the noise has the variance 85
};

/// Any thread, one at a time: calls wait for each other.
class AskedRun {
   public:
    /// Errors: Context::create's, ParameterTable's, Evolution::create's.
    [[nodiscard]] static Result<std::unique_ptr<AskedRun>> create(Context context, AskedParts parts);

    /// Members [first, first + values.size() / element_count) of the generation that is next, [count, element_count];
    /// on the processor's cores.
    [[nodiscard]] Result<void> members(std::uint32_t first, std::span<float> values);
    /// Error: a parameter that is no low-rank matrix.
    [[nodiscard]] Result<MemberFactors> factors(std::uint32_t parameter);
    /// Scores [episodes, population], higher is better, of the members of `generation`, which must be the next.
    [[nodiscard]] Result<GenerationSummary> tell(std::uint32_t generation, std::span<const float> scores);

    [[nodiscard]] std::uint32_t generation() const;
    [[nodiscard]] std::vector<float> parameters() const;
    [[nodiscard]] std::vector<float> optimizer_state() const;
    [[nodiscard]] Result<void> set_parameters(std::span<const float> values);
    [[nodiscard]] Result<std::string> state_hash() const;
    /// All that the next generation depends on, as a state file (yolk/internal/core/state_file.hpp); whole or not at
    /// all. Errors: Io.
    [[nodiscard]] Result<void> save(const std::filesystem::path& file) const;
    /// Goes on from a saved state of a run with the same settings and parameters; the log, where there is one, goes on
    /// after the state's generation. Errors: read_state's, a state of another run.
    [[nodiscard]] Result<void> load(const std::filesystem::path& file);
    /// Applies the log of a run with the same settings and first values up to a generation; all where it is not given.
    [[nodiscard]] Result<std::uint32_t> replay(const std::filesystem::path& log,
                                               std::optional<std::uint32_t> generation);
    [[nodiscard]] const EvolutionOptions& options() const noexcept { return options_; }
    [[nodiscard]] const ParameterTable& table() const noexcept { return table_; }
    [[nodiscard]] const DeviceInfo& device() const noexcept { return context_.device().info(); }

   private:
    AskedRun(Context context, EvolutionOptions options, ParameterTable table)
        : context_(std::move(context)), options_(std::move(options)), table_(std::move(table)) {}
    /// Makes the run anew, after `generation` generations.
    [[nodiscard]] Result<void> start(std::vector<float> initial, std::vector<float> optimizer_state,
                                     std::uint32_t generation);
    [[nodiscard]] Result<void> open_log();
    [[nodiscard]] NoiseContext next() const;
    [[nodiscard]] Result<void> log_generation();

    mutable std::mutex one_at_a_time_;
    Context context_;
    EvolutionOptions options_;
    ParameterTable table_;
    HostScoresEvaluator* scores_ = nullptr;  // the run's
    std::filesystem::path log_path_;
    std::optional<Evolution> run_;
    std::optional<RunLogWriter> log_;
};

}  // namespace yolk::evolve
