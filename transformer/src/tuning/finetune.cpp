// SPDX-License-Identifier: Apache-2.0
#include "yolk/finetune.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "judge.hpp"
#include "tuned_files.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/json.hpp"

namespace yolk::transformer {
namespace {

/// An error of one rank is every rank's.
template <class T>
Result<T> shared_by_ranks(const evolve::Devices& devices, Result<T> mine) {
    if (!devices.has_other_ranks()) return mine;
    YOLK_TRY_VOID(evolve::agree(*devices.exchange(), mine ? Result<void>() : Result<void>(mine.error())));
    return mine;
}

hyper::OptimizeOptions search_options(const FinetuneOptions& options, const TuningTask& task) {
    const bool is_all = options.batch == 0 || options.batch == task.training.size();
    hyper::OptimizeOptions search{.evolution = options.evolution,
                                  .generations = options.generations,
                                  .examples_per_generation = is_all ? 0U : options.batch,
                                  .held_out = task.held_out,
                                  .held_out_every = options.held_out_every,
                                  .checkpoint_every = options.checkpoint_every,
                                  .resume = options.resume};
    if (options.out.empty()) return search;
    search.checkpoint = options.out / "checkpoint.yolk";
    if (options.log) search.run_log = options.out / "log.yolk";
    search.log = options.out / "metrics.jsonl";
    return search;
}

/// What the search kept, saved and judged.
Result<void> take_result(const FinetuneOptions& options, const std::filesystem::path& model,
                         const hyper::System& system, Judge& judge, FinetuneOutcome& outcome) {
    const Matrices after = searched_matrices(system.parameters());
    YOLK_TRY(const TunedAdapter tuned, adapter_of(judge.before(), after, options.adapter_rank));
    outcome.residual = tuned.residual;
    if (!options.out.empty()) {
        YOLK_TRY_VOID(write_adapter(options.out, tuned.adapter, hash_of_adapted(judge.before(), tuned.adapter)));
        outcome.adapter = options.out;
    }
    if (!options.merged.empty()) YOLK_TRY_VOID(write_merged(model, options.merged, system.parameters()));
    Matrices adapted;
    for (const auto& [name, factors] : tuned.adapter) {
        const hyper::Tensor& before = judge.before().at(name);
        YOLK_TRY(hyper::Tensor sum, hyper::Tensor::create(before.shape(), factors.added_to(before.values())));
        adapted.emplace(name, std::move(sum));
    }
    const std::array<Matrices, 3> points{judge.before(), after, std::move(adapted)};
    YOLK_TRY(const std::vector<FinetuneFigures> figures, judge.judge(points));
    outcome.before = figures[0];
    outcome.after = figures[1];
    outcome.adapted = figures[2];
    return {};
}

}  // namespace

evolve::SystemEvolutionOptions finetune_defaults() {
    evolve::SystemEvolutionOptions options;
    options.sigma = 0.01F;
    options.learning_rate = 0.001F;
    options.optimizer = OptimizerRule::Adam;
    options.determinism = Determinism::Fast;
    return options;
}

Json to_json(const FinetuneFigures& figures) {
    Json json{{"update_norm", figures.update_norm}, {"drift", figures.drift}};
    if (figures.test) json["test"] = *figures.test;
    return json;
}

Result<void> validate(const FinetuneOptions& options) {
    if (options.pairs.empty() == options.given.empty())
        return bad_input("Queries and documents come from a file or from a list; give one of the two.");
    if (!(options.held_out >= 0.0) || !(options.test >= 0.0) || !(options.held_out + options.test < 1.0)) {
        return bad_input(
            "The share that is held out is {} and that of the test {}; both must be from 0, and together below 1.",
            options.held_out, options.test);
    }
    if (options.batch == 1) return bad_input("The batch is 1 pair; it needs at least 2, or 0 for all.");
    if (options.adapter_rank == 0) return bad_input("The adapter's rank is 0; it must be at least 1.");
    if (options.generations == 0) return bad_input("The number of generations is 0; at least 1 is needed.");
    if (options.resume && options.out.empty())
        return bad_input("The run is to resume, but has no output folder; name the one that it was in.");
    return evolve::validate(options.evolution);
}

Result<FinetuneOutcome> finetune(const std::filesystem::path& model, const evolve::Devices& devices,
                                 const FinetuneOptions& options, const OnTuned& on_generation) {
    const bool is_first_rank = !devices.has_other_ranks() || devices.exchange()->rank() == 0;
    YOLK_TRY(const TuningTask task, shared_by_ranks(devices, prepare_tuning(model, devices, options)));
    const auto files = [&] { return is_first_rank ? take_tuning_files(model, options) : Result(TuningFiles()); };
    YOLK_TRY(const TuningFiles taken, shared_by_ranks(devices, files()));
    FinetuneOutcome outcome{.training_pairs = static_cast<std::uint32_t>(task.training.size()),
                            .held_out_pairs = static_cast<std::uint32_t>(task.held_out.size()),
                            .test_pairs = static_cast<std::uint32_t>(task.test.size()),
                            .previous = taken.previous};
    std::optional<Judge> judge;
    const auto make_judge = [&]() -> Result<void> {
        if (!is_first_rank) return {};
        YOLK_TRY(judge, Judge::create(task, options, devices));
        return {};
    };
    YOLK_TRY_VOID(shared_by_ranks(devices, make_judge()));
    hyper::OptimizeOptions search = search_options(options, task);
    search.on_generation = on_generation;
    search.look = [&](std::span<const float> mean) -> Result<std::map<std::string, double>> {
        YOLK_TRY(const Matrices now, searched_matrices(judge->parameters(), mean));
        YOLK_TRY(const std::vector<FinetuneFigures> figures, judge->look(std::span(&now, 1)));
        return std::map<std::string, double>{{"update_norm", figures[0].update_norm}, {"drift", figures[0].drift}};
    };
    YOLK_TRY(hyper::System system, retrieval_system(task.encoder, options.evolution.freeze));
    const auto begin = std::chrono::steady_clock::now();
    YOLK_TRY(outcome.search, system.optimize(task.training, retrieval_metric(task.pairs), search));
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (is_first_rank) YOLK_TRY_VOID(take_result(options, model, system, *judge, outcome));
    return outcome;
}

Result<ReplayedAdapter> replay_finetuning(const evolve::Devices& devices, const std::filesystem::path& log,
                                          std::optional<std::uint32_t> generation, const std::filesystem::path& out) {
    auto info = read_adapter_config(log.parent_path());
    if (!info) return std::move(info).error().while_doing("looking up which model the run was over");
    YOLK_TRY(const Encoder encoder, Encoder::open(info->model, devices));
    YOLK_TRY(hyper::System system, retrieval_system(encoder));
    const Matrices before = searched_matrices(system.parameters());
    // Any texts will do: they say which matrices there are.
    YOLK_TRY(const hyper::Example example, example_of(encoder, "", "", {.query = 4, .document = 4}));
    ReplayedAdapter replayed;
    YOLK_TRY(replayed.replay, hyper::replay(system, std::span(&example, 1), log, generation));
    const Matrices after = searched_matrices(system.parameters());
    YOLK_TRY(const TunedAdapter tuned, adapter_of(before, after, info->rank));
    replayed.update_norm = update_norm(before, after);
    replayed.residual = tuned.residual;
    if (out.empty()) return replayed;
    YOLK_TRY_VOID(create_folders(out));
    info->modules = {"query", "value"};
    YOLK_TRY_VOID(write_adapter_config(out, *info));
    YOLK_TRY_VOID(write_adapter(out, tuned.adapter, hash_of_adapted(before, tuned.adapter)));
    return replayed;
}

}  // namespace yolk::transformer
