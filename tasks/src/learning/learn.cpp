// SPDX-License-Identifier: Apache-2.0
#include "yolk/learn.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>

#include "layers.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/internal/train/run_folder.hpp"
#include "yolk/log.hpp"

namespace yolk::tasks {
namespace {

constexpr std::array<std::string_view, 4> kActivations{"relu", "tanh", "gelu", "silu"};
/// Rows that are held out are one example, whose inputs and layers each need one binding.
constexpr std::size_t kHeldOutBytes = std::size_t{64} << 20U;
constexpr std::uint32_t kWidestLayer = 8192;

/// What is learned and what is judged, as the search takes it.
struct LearnTask {
    DataSet data{};
    Labelled labelled{};
    Parts parts{};
    std::optional<DataSet> test{};  ///< a set of its own
    Model model{};                  ///< without parameters
    std::vector<hyper::Example> training{}, held_out{};
};

/// Rows of a set, as one with labels.
DataSet rows_of(const DataSet& data, const std::vector<std::uint32_t>& rows) {
    DataSet some{
        .name = data.name, .shape = data.shape, .columns = data.columns, .inputs = {}, .labels = {}, .lines = {}};
    const std::size_t width = data.width();
    for (const std::uint32_t row : rows) {
        const auto first = data.inputs.begin() + static_cast<std::ptrdiff_t>(row * width);
        some.inputs.insert(some.inputs.end(), first, first + static_cast<std::ptrdiff_t>(width));
        some.labels.push_back(data.labels[row]);
        if (row < data.lines.size()) some.lines.push_back(data.lines[row]);
    }
    return some;
}

/// What a row of each class counts in the loss: 1 on average over the training rows.
std::vector<float> class_weights(const LearnTask& task, bool balance) {
    const std::size_t classes = task.labelled.classes.size();
    std::vector<float> weights(classes, 1.0F);
    if (!balance) return weights;
    std::vector<std::size_t> rows(classes, 0);
    for (const std::uint32_t row : task.parts.training) ++rows[task.labelled.ids[row]];
    for (std::size_t i = 0; i < classes; ++i) {
        weights[i] = static_cast<float>(static_cast<double>(task.parts.training.size()) /
                                        static_cast<double>(classes * std::max<std::size_t>(1, rows[i])));
    }
    return weights;
}

/// Zeros but for the weight of the row's class.
std::vector<float> targets_of(const LearnTask& task, const std::vector<std::uint32_t>& rows,
                              const std::vector<float>& weights) {
    std::vector<float> targets(rows.size() * weights.size(), 0.0F);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint32_t id = task.labelled.ids[rows[i]];
        targets[i * weights.size() + id] = weights[id];
    }
    return targets;
}

/// Each row is an example; those that share a vector are views of it.
Result<void> make_training(LearnTask& task, const std::vector<float>& weights) {
    const std::vector<std::uint32_t>& rows = task.parts.training;
    YOLK_TRY(const std::vector<hyper::Tensor> inputs,
             hyper::Tensor::slices({task.data.width()}, standardized(task.data, rows, task.model.standardization)));
    YOLK_TRY(const std::vector<hyper::Tensor> targets,
             hyper::Tensor::slices({weights.size()}, targets_of(task, rows, weights)));
    for (std::size_t i = 0; i < rows.size(); ++i)
        task.training.push_back({.inputs = {{"x", inputs[i]}}, .expected = targets[i]});
    return {};
}

/// One example of as many rows as the smallest binding takes, evenly spread.
Result<void> make_held_out(LearnTask& task, const std::vector<float>& weights) {
    if (task.parts.held_out.empty()) return {};
    const std::vector<std::uint32_t> widths = widths_of(task.model);
    const std::size_t most =
        std::max<std::size_t>(1, kHeldOutBytes / (sizeof(float) * *std::ranges::max_element(widths)));
    std::vector<std::uint32_t> rows = task.parts.held_out;
    if (rows.size() > most) {
        for (std::size_t i = 0; i < most; ++i) rows[i] = task.parts.held_out[i * rows.size() / most];
        rows.resize(most);
    }
    YOLK_TRY(hyper::Tensor inputs, hyper::Tensor::create({rows.size(), task.data.width()},
                                                         standardized(task.data, rows, task.model.standardization)));
    YOLK_TRY(hyper::Tensor targets,
             hyper::Tensor::create({rows.size(), weights.size()}, targets_of(task, rows, weights)));
    task.held_out.push_back({.inputs = {{"x", std::move(inputs)}}, .expected = std::move(targets)});
    return {};
}

/// Of one row [classes] or of several [rows, classes]: the mean of the weighted log-probabilities.
hyper::Metric weighted_log_probability() {
    return hyper::traced_metric("weighted log probability",
                                [](const hyper::Traced& logits, const hyper::Traced& targets) {
                                    const hyper::Traced of_rows = sum(log_softmax(logits) * targets);
                                    return logits.shape().rank() == 2 ? mean(of_rows) : of_rows;
                                });
}

Result<LearnTask> prepare_learning(const LearnOptions& options) {
    YOLK_TRY_VOID(validate(options));
    LearnTask task;
    if (options.given) {
        task.data = *options.given;
    } else {
        YOLK_TRY(task.data, read_data(options.source, options.data));
    }
    YOLK_TRY(task.labelled, number_labels(task.data));
    if (!options.test_source.empty()) {
        YOLK_TRY(task.test, read_data(options.test_source, options.data));
    } else if (!options.given) {
        YOLK_TRY(task.test, read_test_set(options.source));
    }
    YOLK_TRY(task.parts,
             split(task.labelled, options.held_out, task.test ? 0.0 : options.test, options.evolution.seed));
    task.model = {.data = task.data.name,
                  .shape = task.data.shape,
                  .columns = task.data.columns,
                  .classes = task.labelled.classes,
                  .network = options.network,
                  .seed = options.evolution.seed};
    if (options.standardize) {
        task.model.standardization = standardization_of(task.data, task.parts.training);
    } else {
        task.model.standardization = {.mean = std::vector<float>(task.data.width(), 0.0F),
                                      .scale = std::vector<float>(task.data.width(), 1.0F)};
    }
    if (task.test) YOLK_TRY_VOID(ids_of_labels(*task.test, task.labelled.classes));
    const std::vector<float> weights = class_weights(task, options.balance);
    YOLK_TRY_VOID(make_training(task, weights));
    YOLK_TRY_VOID(make_held_out(task, weights));
    return task;
}

hyper::OptimizeOptions search_options(const LearnOptions& options, const LearnTask& task) {
    const auto rows = static_cast<std::uint32_t>(task.training.size());
    return {.evolution = options.evolution,
            .generations = options.generations,
            .examples_per_generation = options.batch >= rows ? 0U : options.batch,
            .gradient = options.gradient,
            .held_out = task.held_out,
            .held_out_every = options.held_out_every,
            .checkpoint_every = options.checkpoint_every,
            .resume = options.resume};
}

/// Of rank 0; the others write nothing.
struct LearnFiles {
    std::optional<train::RunFolder> folder{};
    std::filesystem::path previous{};
};

Result<LearnFiles> take_files(const LearnOptions& options, bool is_first_rank) {
    LearnFiles files;
    if (options.out.empty() || !is_first_rank) return files;
    YOLK_TRY(files.folder, train::RunFolder::take(options.out));
    if (!options.resume) {
        YOLK_TRY(files.previous, files.folder->set_aside());
        if (!files.previous.empty()) {
            log_info(
                fmt::format("The run that was in '{}' is now in '{}': resume it there, or remove it where it is "
                            "not needed.",
                            shown(options.out), shown(files.previous)));
        }
    }
    if (!options.configuration.empty())
        YOLK_TRY_VOID(write_file_atomically(files.folder->configuration(), options.configuration));
    return files;
}

/// An error of one rank is every rank's.
template <class T>
Result<T> agreed(const evolve::Devices& devices, Result<T> mine) {
    if (!devices.has_other_ranks()) return mine;
    YOLK_TRY_VOID(evolve::agree(*devices.exchange(), mine ? Result<void>() : Result<void>(mine.error())));
    return mine;
}

Result<Judgement> judgement_of(const LearnTask& task, const Model& model) {
    Judgement judged;
    if (!task.parts.held_out.empty()) {
        YOLK_TRY(judged.held_out, score(model, rows_of(task.data, task.parts.held_out)));
    }
    if (task.test) {
        YOLK_TRY(judged.test, score(model, *task.test));
    } else if (!task.parts.test.empty()) {
        YOLK_TRY(judged.test, score(model, rows_of(task.data, task.parts.test)));
    }
    return judged;
}

}  // namespace

std::string_view to_string(Activation activation) noexcept {
    return kActivations[static_cast<std::size_t>(activation)];
}

Result<Activation> parse_activation(std::string_view word) {
    const auto found = std::ranges::find(kActivations, word);
    if (found != kActivations.end()) return static_cast<Activation>(found - kActivations.begin());
    return bad_input("there is no activation '{}'; {} are known.", shown(word), fmt::join(kActivations, ", "));
}

evolve::SystemEvolutionOptions learning_defaults() {
    evolve::SystemEvolutionOptions options;
    options.population = 256;
    options.learning_rate = 0.02F;
    options.learning_rate_decay = 0.995F;
    options.optimizer = OptimizerRule::Adam;
    return options;
}

Result<void> validate(const LearnOptions& options) {
    for (const std::uint32_t width : options.network.hidden) {
        if (width < 1 || width > kWidestLayer)
            return bad_input("A hidden layer has a width of {}; it must be from 1 to {}.", width, kWidestLayer);
    }
    if (options.network.hidden.size() > 16)
        return bad_input("The network has {} hidden layers; at most 16 are allowed.", options.network.hidden.size());
    if (options.generations == 0) return bad_input("The number of generations is 0; at least 1 is needed.");
    if (options.resume && options.out.empty())
        return bad_input("The run is to resume, but has no output folder; name the one that it was in.");
    if (options.resume && options.gradient && options.gradient->kfac)
        return bad_input("A run by K-FAC keeps no checkpoint, so that none can be resumed.");
    return evolve::validate(options.evolution);
}

Result<LearnOutcome> learn(const evolve::Devices& devices, const LearnOptions& options,
                           const OnLearned& on_generation) {
    const bool is_first_rank = !devices.has_other_ranks() || devices.exchange()->rank() == 0;
    YOLK_TRY(const LearnTask task, agreed(devices, prepare_learning(options)));
    YOLK_TRY(LearnFiles files, agreed(devices, take_files(options, is_first_rank)));
    LearnOutcome outcome{.model = task.model, .training_rows = task.training.size(), .previous = files.previous};
    hyper::OptimizeOptions search = search_options(options, task);
    if (!options.out.empty()) {  // all ranks have the same settings; rank 0 writes
        search.checkpoint = options.out / "checkpoint.yolk";
        if (options.log && !options.gradient) search.run_log = options.out / "log.yolk";
        if (files.folder) search.log = files.folder->metrics();
    }
    search.on_generation = on_generation;
    YOLK_TRY(hyper::System system, system_of(task.model));
    system.use(devices);
    const auto begin = std::chrono::steady_clock::now();
    YOLK_TRY(outcome.search, system.optimize(task.training, weighted_log_probability(), search));
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    YOLK_TRY_VOID(take_parameters(system, outcome.model));
    outcome.model.generations = outcome.search.generations;
    if (files.folder) {
        outcome.file = files.folder->model();
        YOLK_TRY_VOID(save_model(outcome.file, outcome.model));
    }
    if (is_first_rank) {
        YOLK_TRY(outcome.judged, judgement_of(task, outcome.model));
    }
    return outcome;
}

Result<Judgement> judge(const Model& model, const LearnOptions& options) {
    YOLK_TRY(const LearnTask task, prepare_learning(options));
    return judgement_of(task, model);
}

Result<ReplayedModel> replay_learning(const evolve::Devices& devices, const LearnOptions& options,
                                      const std::filesystem::path& log, std::optional<std::uint32_t> generation) {
    YOLK_TRY(const LearnTask task, prepare_learning(options));
    YOLK_TRY(hyper::System system, system_of(task.model));
    system.use(devices);
    ReplayedModel replayed{.model = task.model};
    YOLK_TRY(replayed.replay, hyper::replay(system, std::span(task.training).first(1), log, generation));
    YOLK_TRY_VOID(take_parameters(system, replayed.model));
    replayed.model.generations = replayed.replay.generation;
    return replayed;
}

}  // namespace yolk::tasks
