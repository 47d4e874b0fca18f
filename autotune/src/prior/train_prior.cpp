// SPDX-License-Identifier: Apache-2.0
// The population is perturbed as evolve's noise says, scored by replays on the host's threads, and everything after the
// scores (fitness, update from regenerated noise, optimizer) is done by evolve on the device.
#include "yolk/autotune/train_prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "prior_training.hpp"
#include "yolk/core/file.hpp"
#include "yolk/core/hash.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"
#include "yolk/core/printable.hpp"
#include "yolk/core/seal.hpp"
#include "yolk/core/writer_lock.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/primitives/perturbed_linear.hpp"
#include "yolk/primitives/perturbed_vector.hpp"
#include "yolk/reference/member_weights.hpp"
#include "yolk/reference/twin.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::autotune {
namespace {

constexpr int kCheckpointVersion = 2;
constexpr std::size_t kLargestCheckpoint = 1U << 24U;
/// Searches of the comparison must not be those of a generation.
constexpr std::uint64_t kComparisonSeed = 0x5DEECE66DULL;
constexpr double kSignificant = 2.0;  // standard errors

/// The values of one member (-1: the centre), as the device's update will understand them.
std::vector<float> member_values(const ParameterTable& table, std::span<const float> centre, const NoiseContext& when,
                                 std::int32_t member) {
    std::vector<float> values;
    for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
        const ParameterDesc& desc = table.parameters()[id];
        const std::uint32_t count = desc.rows * desc.columns;
        const std::span<const float> own = centre.subspan(table.offset(ParameterId{id}), count);
        if (desc.perturbation == Perturbation::Vector) {
            const PerturbedVectorDesc vector{.members = 1, .element_count = count, .parameter = ParameterId{id}};
            const auto moved = reference::twin_result<float>(vector, {own}, when, member);
            values.insert(values.end(), moved.begin(), moved.end());
            continue;
        }
        const std::vector<double> moved = reference::perturbed_weights(
            {.members = 1, .in = desc.columns, .out = desc.rows, .parameter = ParameterId{id}}, own, when, member);
        std::ranges::transform(moved, std::back_inserter(values), [](double v) { return static_cast<float>(v); });
    }
    return values;
}

class Training {
   public:
    Training(const Device& device, Dispatcher& dispatcher, std::vector<DeviceGroup> groups, ParameterTable table,
             const TrainPriorOptions& options, std::string fingerprint)
        : device_(device),
          dispatcher_(dispatcher),
          groups_(std::move(groups)),
          table_(std::move(table)),
          options_(options),
          fingerprint_(std::move(fingerprint)),
          limits_{.budget = options.budget, .candidates = options.candidate_limit} {}

    Result<TrainPriorOutcome> run();

   private:
    /// [candidates, searches], one row per entry of `parameters`.
    Result<std::vector<double>> scores(const std::vector<PriorParameters>& parameters,
                                       const std::vector<TrainingSearch>& searches);
    Result<bool> train(std::vector<float>& centre);  ///< false: stopped
    Result<void> compare(const std::vector<float>& centre);
    void resume(std::vector<float>& centre, std::vector<float>& optimizer_state);
    Result<void> save(const evolve::Evolution& evolution) const;

    const Device& device_;
    Dispatcher& dispatcher_;
    std::vector<DeviceGroup> groups_;
    ParameterTable table_;
    const TrainPriorOptions& options_;
    std::string fingerprint_;
    SearchLimits limits_;
    std::uint32_t generation_ = 0;
    TrainPriorOutcome outcome_;
};

Result<std::vector<double>> Training::scores(const std::vector<PriorParameters>& parameters,
                                             const std::vector<TrainingSearch>& searches) {
    const std::size_t count = parameters.size() * searches.size();
    std::vector<double> all(count);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::optional<Error> error;
    const auto work = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            Result<double> one =
                search_score(groups_, searches[i % searches.size()], parameters[i / searches.size()], limits_);
            if (one) {
                all[i] = *one;
                continue;
            }
            const std::lock_guard lock(mutex);
            if (!error) error = one.error();
            next = count;
        }
    };
    const std::size_t available = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < (options_.threads == 0 ? available : options_.threads); ++t) others.emplace_back(work);
    work();
    others.clear();  // joins
    if (error) return *error;
    outcome_.replays += count;
    return all;
}

/// Its place may hold a checkpoint, of whatever training; nothing else is written over.
Result<void> check_prior_checkpoint(const std::filesystem::path& path) {
    std::error_code ignored;
    if (path.empty() || !std::filesystem::exists(path, ignored)) return {};
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestCheckpoint));
    if (bytes.empty() || bytes.front() == std::byte{'{'}) return {};
    return bad_input(
        "'{}', where this training keeps its checkpoint, is another file, and is left as it "
        "is. Rename it, or write the prior elsewhere.",
        shown(path));
}

/// A checkpoint of another training is none, and neither is a damaged one: the training begins anew.
void Training::resume(std::vector<float>& centre, std::vector<float>& optimizer_state) {
    const Result<std::vector<std::byte>> bytes = read_file(options_.checkpoint, kLargestCheckpoint);
    if (options_.checkpoint.empty() || !bytes) return;
    std::string text(bytes->size(), '\0');
    std::ranges::transform(*bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    const Json json = parse_json(text, "the checkpoint").value_or(nullptr);
    const auto values = [&](const char* name) {
        std::vector<float> floats;
        if (!json.contains(name) || !json[name].is_array()) return floats;
        for (const Json& value : json[name]) {
            if (value.is_number() && std::isfinite(value.get<float>())) floats.push_back(value.get<float>());
        }
        return floats;
    };
    const bool ours = seal_of(text) == Seal::Fits && json.is_object() &&
                      json.value("yolk_prior_checkpoint", Json()) == Json(kCheckpointVersion) &&
                      json.value("fingerprint", Json()) == Json(fingerprint_) && json.contains("generation") &&
                      json["generation"].is_number_unsigned() && values("parameters").size() == centre.size();
    if (!ours) {
        log_warning(
            fmt::format("'{}' belongs to another training or is damaged; this training starts from the beginning.",
                        shown(options_.checkpoint)));
        return;
    }
    centre = values("parameters");
    optimizer_state = values("optimizer_state");
    generation_ = std::min(json["generation"].get<std::uint32_t>(), options_.generations);
    outcome_.resumed_at = generation_;
}

Result<void> Training::save(const evolve::Evolution& evolution) const {
    if (options_.checkpoint.empty()) return {};
    Json json{{std::string(kSealKey), std::string(kNoSeal)},
              {"yolk_prior_checkpoint", kCheckpointVersion},
              {"fingerprint", fingerprint_},
              {"generation", evolution.generations()},
              {"parameters", evolution.parameters()},
              {"optimizer_state", evolution.optimizer_state()}};
    std::string text = to_line(json);
    seal(text);
    return write_file_atomically(options_.checkpoint, text);
}

Result<bool> Training::train(std::vector<float>& centre) {
    evolve::EvolutionOptions options{.population = options_.population,
                                     .sigma = options_.sigma,
                                     .learning_rate = options_.learning_rate,
                                     .seed = options_.seed};
    YOLK_TRY(const DeviceFindings findings, probe(device_));
    if (!findings.inexact_reason.empty()) options.determinism = Determinism::Fast;
    std::vector<float> optimizer_state;
    resume(centre, optimizer_state);
    evolve::Schedule schedule(options, generation_);
    YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> evaluator,
             evolve::host_scores_evaluator(device_, options.population));
    const std::span<float> returns = evaluator->returns();
    evolve::EvolutionParts parts{.parameters = table_,
                                 .initial = centre,
                                 .evaluator = std::move(evaluator),
                                 .optimizer_state = std::move(optimizer_state),
                                 .generation = generation_};
    YOLK_TRY(evolve::Evolution evolution, evolve::Evolution::create(device_, dispatcher_, std::move(parts), options));
    while (generation_ < options_.generations) {
        centre.assign(evolution.parameters().begin(), evolution.parameters().end());
        std::vector<PriorParameters> members;
        for (std::int32_t m = -1; m < static_cast<std::int32_t>(options.population); ++m)
            members.push_back(decoded(groups_, table_, member_values(table_, centre, schedule.noise_time(), m)));
        // All members search with the same random numbers on the same configurations; others in each generation.
        const std::vector<TrainingSearch> searches =
            training_searches(groups_, false, 1, options_.seed * 1'000'003 + std::uint64_t{generation_} * 65'537);
        YOLK_TRY(const std::vector<double> all, scores(members, searches));
        std::vector<double> means(members.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            means[i / searches.size()] += all[i] / static_cast<double>(searches.size());
        std::ranges::transform(std::span(means).subspan(1), returns.begin(),
                               [](double mean) { return static_cast<float>(mean); });
        YOLK_TRY_VOID(evolution.step());
        schedule.advance();
        ++generation_;
        YOLK_TRY_VOID(save(evolution));
        const TrainPriorProgress progress{
            .generation = generation_,
            .generations = options_.generations,
            .centre = means.front(),
            .mean = std::accumulate(means.begin() + 1, means.end(), 0.0) / static_cast<double>(options.population),
            .best = *std::max_element(means.begin() + 1, means.end())};
        if (options_.progress && !options_.progress(progress)) return false;
    }
    centre.assign(evolution.parameters().begin(), evolution.parameters().end());
    return true;
}

/// The same searches from either; the trained parameters are taken where they are better beyond the noise.
Result<void> Training::compare(const std::vector<float>& centre) {
    bool any_held_out = false;
    for (const DeviceGroup& group : groups_) any_held_out = any_held_out || group.devices.size() > group.learned;
    const std::vector<TrainingSearch> searches =
        training_searches(groups_, any_held_out, options_.final_repeats, options_.seed ^ kComparisonSeed);
    const std::vector<float> zeros(centre.size(), 0.0F);
    YOLK_TRY(const std::vector<double> all,
             scores({decoded(groups_, table_, zeros), decoded(groups_, table_, centre)}, searches));
    const auto n = static_cast<double>(searches.size());
    double squares = 0.0;
    for (std::size_t i = 0; i < searches.size(); ++i) {
        outcome_.untrained_score += all[i] / n;
        outcome_.trained_score += all[searches.size() + i] / n;
    }
    const double gain = outcome_.trained_score - outcome_.untrained_score;
    for (std::size_t i = 0; i < searches.size(); ++i)
        squares += std::pow(all[searches.size() + i] - all[i] - gain, 2.0);
    outcome_.standard_error = n > 1.0 ? std::sqrt(squares / (n - 1.0) / n) : 0.0;
    outcome_.compared = searches.size();
    outcome_.trained = gain > 0.0 && gain > kSignificant * outcome_.standard_error;
    return {};
}

Result<TrainPriorOutcome> Training::run() {
    std::vector<float> centre(table_.element_count(), 0.0F);
    WriterLock lock;  // two trainings with one checkpoint would go on from each other's
    if (!options_.checkpoint.empty()) {
        YOLK_TRY(lock, WriterLock::acquire_for_file(options_.checkpoint));
    }
    if (options_.generations > 0) {
        YOLK_TRY(const bool finished, train(centre));
        if (!finished) {
            outcome_.interrupted = true;
            return std::move(outcome_);
        }
        YOLK_TRY_VOID(compare(centre));
    }
    if (!outcome_.trained) std::ranges::fill(centre, 0.0F);
    const PriorParameters parameters = decoded(groups_, table_, centre);
    outcome_.file.settings = parameters.settings;
    outcome_.file.spaces = space_priors(groups_, parameters);
    outcome_.file.training = {{"seed", options_.seed},
                              {"generations", options_.generations},
                              {"population", options_.population},
                              {"budget", options_.budget},
                              {"trained", outcome_.trained},
                              {"untrained_score", outcome_.untrained_score},
                              {"trained_score", outcome_.trained_score},
                              {"standard_error", outcome_.standard_error},
                              {"compared", outcome_.compared}};
    std::error_code ignored;
    if (!options_.checkpoint.empty()) std::filesystem::remove(options_.checkpoint, ignored);
    return std::move(outcome_);
}

/// What a checkpoint must agree with; more generations may be asked for later.
std::string fingerprint_of(std::span<const DeviceGroup> groups, const TrainPriorOptions& options) {
    Hasher hasher;
    const std::string text = fmt::format("{} {} {} {} {} {}", options.seed, options.population, options.sigma,
                                         options.learning_rate, options.budget, options.candidate_limit);
    hasher.add_values(std::span<const char>(text));
    for (const DeviceGroup& group : groups)
        hasher.add_values(std::span<const double>(group.costs.data(), static_cast<std::size_t>(group.costs.size())));
    return hasher.hex();
}

}  // namespace

Result<TrainPriorOutcome> train_prior(const Device& device, Dispatcher& dispatcher,
                                      std::span<const RecordedSurface> recordings,
                                      std::span<const RecordedSurface> held_out, const TrainPriorOptions& options) {
    if (recordings.empty()) return bad_input("A prior is trained on recordings; none was given.");
    if (options.budget == 0) return bad_input("The budget of a replay is 0; at least 1 measurement is needed.");
    YOLK_TRY_VOID(check_prior_checkpoint(options.checkpoint));
    YOLK_TRY(std::vector<DeviceGroup> groups, device_groups(recordings, held_out));
    YOLK_TRY(ParameterTable table, prior_parameters(groups));
    std::string fingerprint = fingerprint_of(groups, options);
    return Training(device, dispatcher, std::move(groups), std::move(table), options, std::move(fingerprint)).run();
}

}  // namespace yolk::autotune
