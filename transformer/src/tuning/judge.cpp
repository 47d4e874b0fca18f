// SPDX-License-Identifier: Apache-2.0
#include "judge.hpp"

#include <algorithm>
#include <array>

namespace yolk::transformer {
namespace {

/// Everyday sentences, so that a drift is there without a file. Their number is even: two make an example.
constexpr std::array<const char*, 24> kUnrelatedTexts{"The train to the coast leaves at half past seven.",
                                                      "She planted tomatoes behind the old shed.",
                                                      "Bread needs flour, water, salt and patience.",
                                                      "The referee ended the match after heavy rain.",
                                                      "Our neighbour plays the cello every evening.",
                                                      "A thin layer of ice covered the lake.",
                                                      "The museum is closed on Mondays.",
                                                      "He forgot his umbrella on the bus again.",
                                                      "Whales sleep with half of their brain awake.",
                                                      "The recipe calls for two eggs and a lemon.",
                                                      "Children painted the fence in bright colours.",
                                                      "The court postponed its decision until spring.",
                                                      "A doctor advised him to walk more.",
                                                      "The bakery on the corner sells out by noon.",
                                                      "Snow fell on the mountains last night.",
                                                      "They repaired the roof before winter came.",
                                                      "The violinist broke a string during the concert.",
                                                      "Rents in the city have risen again.",
                                                      "A fox crossed the road in front of us.",
                                                      "The novel tells the story of two sisters.",
                                                      "Farmers hope for a dry September.",
                                                      "The ferry was late because of the fog.",
                                                      "He learned to swim at the age of sixty.",
                                                      "The old clock in the hall stopped at midnight."};

/// The mean over all texts of 1 minus the cosine of the vector that it had and has.
Result<double> mean_distance(std::span<const hyper::Value> predictions, std::span<const hyper::Value> expected) {
    double sum = 0.0;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        const std::span<const float> is = predictions[i].tensor()->values(), was = expected[i].tensor()->values();
        const std::size_t width = was.size() / 2;
        sum += 2.0 - cosine(is.first(width), was.first(width)) - cosine(is.last(width), was.last(width));
    }
    return std::max(0.0, sum / static_cast<double>(2 * predictions.size()));  // roundings may go below
}

std::vector<std::string> unrelated_texts(const FinetuneOptions& options) {
    std::vector<std::string> texts = options.unrelated;
    if (texts.empty()) texts.assign(kUnrelatedTexts.begin(), kUnrelatedTexts.end());
    if (texts.size() % 2 != 0) texts.push_back(texts.front());
    return texts;
}

}  // namespace

Result<Judge> Judge::create(const TuningTask& task, const FinetuneOptions& options, const evolve::Devices& devices) {
    YOLK_TRY(hyper::System system, retrieval_system(task.encoder, options.evolution.freeze));
    system.use(devices);
    Judge made(task, std::move(system));
    made.population_.determinism = options.evolution.determinism;
    made.before_ = searched_matrices(made.system_.parameters());
    const std::vector<std::string> texts = unrelated_texts(options);
    for (std::size_t i = 0; i < texts.size(); i += 2) {
        auto example = example_of(task.encoder, texts[i], texts[i + 1], task.lengths);
        if (!example) return std::move(example).error().while_doing("reading the unrelated texts");
        made.unrelated_.push_back(*std::move(example));
    }
    const hyper::Candidate as_it_is{.values = {made.before_.begin(), made.before_.end()}};
    const hyper::Metric none([](std::span<const hyper::Value>, std::span<const hyper::Value>) { return 0.0; });
    YOLK_TRY(const hyper::PopulationEvaluation found,
             made.system_.evaluate_population(std::span(&as_it_is, 1), made.unrelated_, none, made.population_));
    if (found.errors[0]) return *found.errors[0];
    for (std::size_t i = 0; i < made.unrelated_.size(); ++i) made.unrelated_[i].expected = found.outputs.values[i];
    return made;
}

Result<std::vector<double>> Judge::rewards(std::span<const Matrices> points, std::span<const hyper::Example> examples,
                                           const hyper::Metric& metric) {
    std::vector<hyper::Candidate> candidates;
    for (const Matrices& point : points) candidates.push_back({.values = {point.begin(), point.end()}});
    YOLK_TRY(hyper::PopulationEvaluation found, system_.evaluate_population(candidates, examples, metric, population_));
    for (const std::optional<Error>& error : found.errors) {
        if (error) return *error;
    }
    return std::move(found.rewards);
}

Result<std::vector<FinetuneFigures>> Judge::look(std::span<const Matrices> points) {
    static const hyper::Metric kDrift(mean_distance, "drift");
    YOLK_TRY(const std::vector<double> drifts, rewards(points, unrelated_, kDrift));
    std::vector<FinetuneFigures> figures;
    for (std::size_t i = 0; i < points.size(); ++i)
        figures.push_back({.test = {}, .update_norm = update_norm(before_, points[i]), .drift = drifts[i]});
    return figures;
}

Result<std::vector<FinetuneFigures>> Judge::judge(std::span<const Matrices> points) {
    YOLK_TRY(std::vector<FinetuneFigures> figures, look(points));
    if (task_->test.empty()) return figures;
    YOLK_TRY(const std::vector<double> found, rewards(points, task_->test, retrieval_metric(task_->pairs)));
    for (std::size_t i = 0; i < points.size(); ++i) figures[i].test = found[i];
    return figures;
}

}  // namespace yolk::transformer
