// SPDX-License-Identifier: Apache-2.0
// Making a system better: the interface of searches, EGGROLL over numbers, vectors and matrices together, training by
// derivatives, and prompt searches by turns with either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/evolve/bounds.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/models.hpp"
#include "yolk/prompts.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {

struct GenerationReport {
    std::uint32_t generation = 0;  ///< from 0
    double mean = 0.0;             ///< rewards of the population
    double best = 0.0;
    double unperturbed = 0.0;  ///< reward of the unperturbed parameters before this generation's update
    std::optional<double> held_out{};
    std::map<std::string, double> looked{};  ///< what OptimizeOptions::look found, where held_out is given
    std::uint64_t metric_calls = 0;          ///< so far
    std::uint32_t failed = 0;                ///< candidates of this generation that count as the worst
    /// Parameters that were left as they were since the last report, because a step would have made them, or their
    /// moments, not finite.
    std::uint64_t skipped_elements = 0;
    double sigma = 0.0;
    double learning_rate = 0.0;
    double seconds = 0.0;
    /// Of the models in force, so far in this search: calls, tokens and cost.
    std::uint64_t model_calls = 0;
    std::uint64_t tokens = 0;
    double cost = 0.0;
    /// Over several devices: what each did since the last report, held-out examples included.
    std::vector<evolve::WorkerShare> shares{};
    std::vector<evolve::RankShare> ranks{};  ///< over several ranks: what each evaluated
    evolve::Traffic traffic{};               ///< and what this one exchanged since the last report
};
[[nodiscard]] Json to_json(const GenerationReport& report);

/// Generations whose reports an outcome keeps, at least; twice as many at most.
inline constexpr std::size_t kLeastHistory = 1U << 15U;

class Search;

/// K-FAC (Martens and Grosse 2015): steps along the derivatives, each layer's preconditioned by the inverses of two
/// covariances, of what goes into it and of what comes back to it for targets that are drawn from the model.
struct KfacOptions {
    float learning_rate = 0.1F;  ///< finite; at least evolve::kMinScale
    float damping = 1e-3F;       ///< from 0; sqrt(damping), shared out, is added to both covariances' diagonals
    float decay = 0.95F;         ///< of the covariances' averages, in [0, 1)
};

/// Training by derivatives: `pullback` of the mean reward, on the device.
struct GradientOptions {
    /// Of the step along the derivatives. Adam: Kingma and Ba 2015, Algorithm 1.
    OptimizerRule rule = OptimizerRule::Adam;
    float learning_rate = 1e-3F;       ///< finite; at least evolve::kMinScale
    float learning_rate_decay = 1.0F;  ///< per step, in (0, 1]
    std::uint32_t warm_up = 0;         ///< steps over which the learning rate grows evenly from nothing
    float beta1 = 0.9F;                ///< of momentum and Adam, in [0, 1)
    float beta2 = 0.999F;              ///< of Adam, in [0, 1)
    float epsilon = 1e-8F;             ///< of Adam, in [2^-40, 1]
    /// K-FAC for matrices of at most 1,024 rows and columns that one `linear` multiplies by and nothing else reads;
    /// `rule` for the others. Warm-up and decay are those above. For examples of one structure, without a checkpoint.
    /// A metric that does not say how targets are drawn (Metric::sampled) has the examples' own stand in.
    std::optional<KfacOptions> kfac{};
    /// Hyperfunctions whose parameters are trained this way; all whose parameters are weights, and have a derivative,
    /// where none is named.
    std::vector<std::string> groups{};
};

/// Prompts: a search over the groups of text that are optimized (docs/prompts.md). Candidates are judged on the
/// held-out examples where they are given, otherwise on the examples, and what they are reflected on are the examples.
struct TextOptions {
    TextSearch* search = nullptr;  ///< nullptr: GEPA, as `gepa` says
    GepaOptions gepa{};
    /// Who reflects, asked with the tag "reflection". Without one: the models in force, by that tag.
    std::optional<Models> reflector{};
    TextBudget budget{};        ///< of all rounds together: each gets an equal share of what is left
    std::uint32_t rounds = 1;   ///< of a prompt search and then `generations` of the search of numbers, at least 1
    bool numbers = true;        ///< false: prompts only; so it is where no numbers are optimized
    double failed_score = 0.0;  ///< of an example that failed: the worst there is, for metrics that go below 0
    std::function<bool(const TextStep&)> on_step{};  ///< false: stop there, the best so far kept
};

/// Where the system's devices are those of one rank (evolve::Devices::with), the ranks make one search together. All
/// of them call optimize() with the same system, examples and options, and all get the parameters of a search by one.
/// Candidates are shared by measured rates; log, held-out examples and the best mean are rank 0's. on_generation is
/// called on each: the search ends where one of them says so.
struct OptimizeOptions {
    /// The settings of EGGROLL, as in training (TrainOptions::evolution), with a smaller population and smaller steps
    /// by default (evolve::kSystemDefaults). Over a system they mean:
    /// - sigma: in search coordinates (parameters.hpp);
    /// - rank: of the noise of matrices that declare none (MatrixWeight::noise_rank);
    /// - determinism: of the update, and of populations (PopulationOptions), unless a pool of devices is exact;
    /// - freeze: hyperfunctions; freeze_vectors: those whose parameters are a vector of weights;
    /// - episodes: stays 1, as samples_per_example is what repeats an evaluation.
    evolve::SystemEvolutionOptions evolution{};
    /// Of EGGROLL; of training by derivatives, steps along them.
    std::uint32_t generations = 50;
    /// Each generation is evaluated on so many of the examples, drawn without replacement: each pass over all of them
    /// is shuffled anew, and what is left of a pass when it does not fill a generation is left out. Seed and generation
    /// alone decide. Rewards of different generations are then of different examples: the outcome's parameters are
    /// those with the best held-out reward where `held_out` is given, otherwise the last ones. 0: all, in each
    /// generation.
    std::uint32_t examples_per_generation = 0;
    std::uint32_t samples_per_example = 1;  ///< host functions and metric are run so many times, rewards averaged
    PopulationOptions population_options{};
    std::uint64_t metric_budget =
        0;                 ///< metric calls (one per candidate and sample; those of held_out aside); 0: no limit
    bool dry_run = false;  ///< only says what it would cost
    /// Trains by derivatives in place of EGGROLL, or, where not all optimized hyperfunctions are trained by them,
    /// beside it: each step first moves those along the derivatives, then makes one generation of EGGROLL over the
    /// others. Needs a metric with a traced form.
    std::optional<GradientOptions> gradient{};
    std::span<const Example> held_out{};
    std::uint32_t held_out_every = 1;  ///< generations between two looks at them; 0: at the start and the end alone
    /// Asked with each held-out reward of a generation, on rank 0: figures about the mean that was scored, in search
    /// coordinates, for the report and the log. An error ends the search.
    std::function<Result<std::map<std::string, double>>(std::span<const float> mean)> look{};
    std::filesystem::path log{};  ///< JSON lines: generations, and at the end calls and latencies per hyperfunction
    std::function<bool(const GenerationReport&)> on_generation{};  ///< false: stop there, the best so far kept
    Search* search = nullptr;                                      ///< nullptr: EGGROLL
    /// Where EGGROLL keeps what it can go on from, atomically: every `checkpoint_every` generations, and at the end.
    /// Empty: nowhere.
    std::filesystem::path checkpoint{};
    std::uint32_t checkpoint_every = 10;  ///< generations; 0: at the end alone
    /// Where EGGROLL writes each generation (yolk/run_log.hpp), from which replay() gives the parameters after
    /// any of them; the same bytes on any devices and ranks in exact mode. A search that resumes goes on with it.
    /// Empty: nowhere.
    std::filesystem::path run_log{};
    /// Prompts, before and between searches of numbers. `checkpoint` has then where the rounds stand, and beside it,
    /// named after it, a file of the search that is under way. One process, on any devices.
    std::optional<TextOptions> text{};
    std::uint64_t kept_log_bytes = 0;  ///< of what is in the log, where the search begins; a resumed one knows itself
    /// Goes on from `checkpoint`, to the parameters of a search that was never interrupted; generations, budget and
    /// held-out examples may be others. Costs, failures and generations are counted on, and the log goes on where it
    /// fits; the history has the generations since. Without such a file it begins anew, with a notice.
    bool resume = false;
};
[[nodiscard]] Result<void> validate(const KfacOptions& options);
[[nodiscard]] Result<void> validate(const GradientOptions& options);
/// The first setting outside its limits; evolve::validate's words for those of `evolution`, which a search of the
/// caller's own may read as it likes.
[[nodiscard]] Result<void> validate(const OptimizeOptions& options);

/// What an optimization would take at most, the start and the final mean included; known before it starts.
struct OptimizeCost {
    std::uint64_t metric_calls = 0;
    std::uint64_t host_calls = 0;  ///< without retries
    std::uint64_t dispatches = 0;
    std::uint64_t numbers = 0;  ///< search coordinates
    // Of the models in force, reflection included. For a dry run: calls, at most; the rest is not known before.
    std::uint64_t model_calls = 0;
    std::uint64_t tokens = 0;
    double cost = 0.0;
};

/// One prompt search of an optimization.
struct TextRound {
    double start_mean = 0.0;  ///< of scores on the validation examples
    double best_mean = 0.0;   ///< of the texts that were kept
    std::uint32_t iterations = 0;
    std::string stopped_by{};
    TextCost cost{};
};
[[nodiscard]] Json to_json(const TextRound& round);

struct OptimizeOutcome {
    /// With prompts both are of the validation examples: the mean of the first texts with the first numbers, and of
    /// what was kept at the end.
    double start_reward = 0.0;
    double best_reward = 0.0;  ///< of the parameters that were kept
    std::optional<double> held_out_start{};
    std::optional<double> held_out_best{};
    std::uint32_t generations = 0;   ///< done
    std::uint32_t resumed_from = 0;  ///< of them by an earlier search, whose checkpoint this one went on from
    std::string stopped_by;          ///< "generations", "budget", "caller", "dry run"
    OptimizeCost cost{};             ///< expected for a dry run, counted otherwise
    std::uint64_t failed_candidates = 0;
    std::uint32_t skipped_generations = 0;  ///< that changed nothing, as no reward of theirs was finite
    std::uint64_t skipped_elements = 0;     ///< as GenerationReport::skipped_elements, of all generations
    /// The last of them, kLeastHistory or more where there were as many: a search may run for weeks.
    std::vector<GenerationReport> history{};
    std::vector<std::string> fallbacks{};
    /// Over several devices: what each did in the whole search. Empty where one made everything.
    std::vector<evolve::WorkerShare> shares{};
    /// In fast mode over several devices: the last bits of rewards may depend on which device evaluated a candidate.
    bool depends_on_placement = false;
    /// Sentences about the devices: which were dropped and why, what fast mode leaves open, what an audit undid.
    std::vector<std::string> notes{};
    /// evolve::state_hash of the search coordinates that were kept, and of `generations`: the same for the same search
    /// on any devices and ranks in exact mode. Empty for a dry run.
    std::string state_hash{};
    std::vector<evolve::RankShare> ranks{};  ///< over several ranks: what each evaluated in the generations
    evolve::Traffic traffic{};               ///< and what this one exchanged
    std::vector<TextRound> text_rounds{};
    std::optional<TextForecast> text_forecast{};  ///< of a dry run with prompts: of all rounds
};
/// Without history and fallbacks.
[[nodiscard]] Json to_json(const OptimizeOutcome& outcome);
/// The part of it that says where the search ran: devices and ranks if there were several, and notes.
[[nodiscard]] Json places_json(const OptimizeOutcome& outcome);

/// Derivatives of the mean reward of a step's examples, on the device.
class Gradients {
   public:
    virtual ~Gradients() = default;
    /// Whose parameters they are by, and why other optimized groups have none, as sentences.
    [[nodiscard]] virtual std::span<const std::string> groups() const noexcept = 0;
    [[nodiscard]] virtual std::span<const std::string> refused() const noexcept = 0;
    /// The reward at the mean, which lies on the device, packed as the search table is; of rows that the host reads
    /// `host` [element_count] has the values. Waits for the reward; work that the same dispatcher is given later finds
    /// gradient() at that mean. Errors: the driver's, host functions'.
    [[nodiscard]] virtual Result<double> evaluate(const BufferView& mean, std::span<const float> host,
                                                  std::uint32_t step) = 0;
    /// fp32 [element_count], an ascent direction; 0 for other groups, and for those that K-FAC moves.
    [[nodiscard]] virtual BufferView gradient() const noexcept = 0;
    /// Moves the parameters of K-FAC's groups, of which evaluate() was asked last; the value is how many of them were
    /// left as they were, since they would not have been finite. Waits. Nothing without any.
    [[nodiscard]] virtual Result<std::uint64_t> move_by_kfac(const BufferView& /*parameters*/, std::uint32_t /*step*/) {
        return std::uint64_t{0};
    }
};

class SystemObjective;

/// What a search works on: it makes rewards, counts what they cost, and remembers the best. One thread at a time.
class Objective {
   public:
    explicit Objective(SystemObjective& of) noexcept : of_(&of) {}
    Objective(const Objective&) = delete;
    Objective& operator=(const Objective&) = delete;

    [[nodiscard]] const SearchSpace& space() const noexcept;  ///< table and starting coordinates
    [[nodiscard]] const OptimizeOptions& options() const noexcept;
    /// Of search coordinates, the fields'. evolve::move_into_bounds() keeps them.
    [[nodiscard]] std::span<const evolve::ElementBounds> bounds() const noexcept;

    /// Rewards of points in search coordinates [count, table.element_count()], clamped into the bounds; failed ones are
    /// NaN. All of them compete for the result. An empty result: the budget does not cover them, stop. Ranks share the
    /// work, and all get the rewards of all.
    [[nodiscard]] Result<std::vector<double>> evaluate(std::span<const float> points, std::uint32_t count);
    /// The same of perturbations. Of them the mean (member -1) competes, where it is among them.
    [[nodiscard]] Result<std::vector<double>> evaluate(const Perturbations& candidates);
    /// What one generation came to, for the history, the log and the caller; `mean` is what the held-out examples are
    /// scored at. Costs in the report are filled in here. Returns false where the caller wants to stop.
    [[nodiscard]] bool report(const GenerationReport& report, std::span<const float> mean);
    /// The same at the mean of perturbations, wherever that is.
    [[nodiscard]] bool report(const GenerationReport& report, const Perturbations& around);

    // Of searches that compute on the device themselves.
    /// Of the one device, or of the first that is in use.
    [[nodiscard]] Dispatcher& dispatcher() noexcept;
    /// Where candidates are dealt out to several devices: those. nullptr: there is one.
    [[nodiscard]] evolve::DevicePool* devices() noexcept;
    /// Rows of space().table, ascending, that the host reads of a mean on the device: those with bounds, and what
    /// host functions are given.
    [[nodiscard]] std::span<const ParameterId> host_rows() const noexcept;
    /// Derivatives of the mean reward by these groups (all that have one where none is named). Errors: a metric without
    /// a traced form, a named group without a derivative (why), none with one, those of planning.
    [[nodiscard]] Result<std::unique_ptr<Gradients>> gradients(std::span<const std::string> groups);

   private:
    SystemObjective* of_;
};

struct SearchReplay {
    std::uint64_t seed = 0;
    std::uint32_t population = 0;
    std::uint32_t generations_in_log = 0;
    std::uint64_t torn_bytes = 0;  ///< at the log's end: an unfinished generation that was not read
    std::uint32_t generation = 0;  ///< applied
    std::string state_hash{};      ///< evolve::state_hash of the search's state after it
    std::string state_digest{};
    /// Of rules that end in floats: as evolve::replay_log's.
    std::optional<std::uint32_t> differs_from{};
};
/// Rebuilds a search from its log (OptimizeOptions::run_log) without evaluating anything: the system's parameters,
/// which must be those that the search began with, become the mean after `generation` generations, all where it is not
/// given. The examples say which hyperfunctions there are. Errors, which leave the parameters as they were: a log that
/// is missing, foreign, damaged, of another system, other parameters, or that begins later; a generation past its end;
/// an integer rule's state that differs from the log's.
[[nodiscard]] Result<SearchReplay> replay(System& system, std::span<const Example> examples,
                                          const std::filesystem::path& log,
                                          std::optional<std::uint32_t> generation = {});

/// A search of the caller's own (OptimizeOptions::search).
class Search {
   public:
    virtual ~Search() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    /// Candidates that a generation evaluates, for the dry run.
    [[nodiscard]] virtual std::uint64_t candidates_per_generation(const OptimizeOptions& options) const = 0;
    [[nodiscard]] virtual Result<void> run(Objective& objective) = 0;
};

}  // namespace yolk::hyper
