// SPDX-License-Identifier: Apache-2.0
#include "tuning_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "encoder_graph.hpp"
#include "low_rank.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/core/shuffle.hpp"

namespace yolk::transformer {
namespace {

const std::array<std::string, 2> kTexts{"query", "document"};
constexpr std::uint32_t kTextLengthStep = 16;  // so that pairs of other files meet the same kernels
/// Of the order in which queries are dealt out. Searches draw by parameter 0.
constexpr std::uint32_t kQuerySplit = 1;

bool is_searched(const std::string& group) {
    return group.ends_with("attention.self.query.weight") || group.ends_with("attention.self.value.weight");
}

std::string named(const FinetuneOptions& options) {
    return options.pairs.empty() ? "The pairs" : fmt::format("'{}'", shown(options.pairs));
}

Result<std::shared_ptr<const NumberedPairs>> take_pairs(const FinetuneOptions& options) {
    std::vector<RelevantPair> read = options.given;
    if (!options.pairs.empty()) {
        YOLK_TRY(read, read_pairs(options.pairs));
    }
    YOLK_TRY(NumberedPairs numbered, number_pairs(read));
    if (numbered.queries.size() < 2 || numbered.documents.size() < 2) {
        return bad_input(
            "{} have {} quer{} and {} document{}; at least 2 of each are needed, so that a document can be the wrong "
            "one.",
            named(options), numbered.queries.size(), numbered.queries.size() == 1 ? "y" : "ies",
            numbered.documents.size(), numbered.documents.size() == 1 ? "" : "s");
    }
    return std::make_shared<const NumberedPairs>(std::move(numbered));
}

enum class Part { Training, HeldOut, Test };

/// The part of each query.
Result<std::vector<Part>> deal_queries(std::uint32_t queries, const FinetuneOptions& options) {
    const auto share = [&](double of) { return static_cast<std::uint32_t>(std::floor(of * queries + 0.5)); };
    const std::uint32_t test = share(options.test), held_out = share(options.held_out + options.test) - test;
    const std::uint32_t training = queries - test - held_out;
    const bool is_small = training < 2 || (options.test > 0.0 && test < 2) || (options.held_out > 0.0 && held_out < 2);
    if (is_small) {
        return bad_input(
            "Of {} queries {} are to be trained on, {} held out and {} in the test; each part needs at least 2. Give "
            "more pairs, or other shares; 0 leaves a part out.",
            queries, training, held_out, test);
    }
    const std::vector<std::uint32_t> order =
        shuffled({.seed = options.evolution.seed, .parameter = kQuerySplit, .domain = Domain::Data}, queries);
    std::vector<Part> parts(queries, Part::Training);
    for (std::uint32_t i = 0; i < test + held_out; ++i) parts[order[i]] = i < test ? Part::Test : Part::HeldOut;
    return parts;
}

Result<std::uint32_t> length_of(const Encoder& encoder, std::span<const std::string> texts, std::uint32_t most) {
    std::size_t longest = 1;
    for (const std::string& text : texts) {
        YOLK_TRY(const auto ids, encoder.tokens(text, most));
        longest = std::max(longest, ids.size());
    }
    const auto rounded = static_cast<std::uint32_t>(round_up(longest, kTextLengthStep));
    return std::min({rounded, std::max(most, static_cast<std::uint32_t>(longest)), encoder.config().positions});
}

Result<void> take_parts(const FinetuneOptions& options, TuningTask& task) {
    const NumberedPairs& all = *task.pairs;
    YOLK_TRY(const std::vector<Part> parts, deal_queries(static_cast<std::uint32_t>(all.queries.size()), options));
    std::array<bool, 3> is_relevant{};
    for (const NumberedPairs::Pair& pair : all.pairs) {
        YOLK_TRY(hyper::Example example,
                 example_of(task.encoder, all.queries[pair.query], all.documents[pair.document], task.lengths));
        const auto grade = static_cast<float>(all.grades.at({pair.query, pair.document}));
        // Exact: there are fewer than 2^24 texts.
        example.expected =
            hyper::Tensor::vector({static_cast<float>(pair.query), static_cast<float>(pair.document), grade});
        const Part part = parts[pair.query];
        is_relevant[static_cast<std::size_t>(part)] |= grade > 0.0F;
        (part == Part::Training  ? task.training
         : part == Part::HeldOut ? task.held_out
                                 : task.test)
            .push_back(std::move(example));
    }
    const bool lacks_one =
        !is_relevant[0] || (!task.held_out.empty() && !is_relevant[1]) || (!task.test.empty() && !is_relevant[2]);
    if (!lacks_one) return {};
    return bad_input("{}: a part of the queries has no relevant document; each needs a pair with a grade above 0.",
                     named(options));
}

}  // namespace

Result<hyper::System> retrieval_system(const Encoder& encoder, std::span<const std::string> freeze) {
    YOLK_TRY(hyper::System system, encoder.system(kTexts));
    std::vector<std::string> groups;
    for (const hyper::ParameterGroup& group : system.parameters().groups()) groups.push_back(group.spec.name);
    for (const std::string& group : groups) YOLK_TRY_VOID(system.parameters().set_optimized(group, is_searched(group)));
    for (const std::string& group : freeze) YOLK_TRY_VOID(system.parameters().set_optimized(group, false));
    system.leave_values_out(true);
    return system;
}

Result<hyper::Example> example_of(const Encoder& encoder, const std::string& query, const std::string& document,
                                  const TextLengths& lengths) {
    hyper::Example example;
    for (const auto& [name, text, length] :
         {std::tuple(kTexts[0], &query, lengths.query), std::tuple(kTexts[1], &document, lengths.document)}) {
        YOLK_TRY(const std::vector<std::uint32_t> ids, encoder.tokens(*text, length));
        for (auto& [input, value] : encoder_inputs(ids, length))
            example.inputs.emplace(input_of(name, input.c_str()), std::move(value));
    }
    return example;
}

Result<TuningTask> prepare_tuning(const std::filesystem::path& model, const evolve::Devices& devices,
                                  const FinetuneOptions& options) {
    YOLK_TRY_VOID(validate(options));
    YOLK_TRY(std::shared_ptr<const NumberedPairs> pairs, take_pairs(options));
    YOLK_TRY(Encoder encoder, Encoder::open(model, devices, {.determinism = options.evolution.determinism}));
    if (options.adapter_rank > encoder.config().width) {
        return bad_input("The adapter's rank is {}, and the matrices of '{}' are {} x {}; it must be from 1 to {}.",
                         options.adapter_rank, shown(model), encoder.config().width, encoder.config().width,
                         encoder.config().width);
    }
    TuningTask task{.encoder = std::move(encoder), .pairs = std::move(pairs)};
    YOLK_TRY(task.lengths.query, length_of(task.encoder, task.pairs->queries, options.query_tokens));
    YOLK_TRY(task.lengths.document, length_of(task.encoder, task.pairs->documents, options.document_tokens));
    YOLK_TRY_VOID(take_parts(options, task));
    if (options.batch > task.training.size()) {
        return bad_input("A generation is to have {} pairs, and {} are trained on; give at most as many, or 0 for all.",
                         options.batch, task.training.size());
    }
    return task;
}

hyper::Metric retrieval_metric(std::shared_ptr<const NumberedPairs> pairs) {
    const auto score = [pairs = std::move(pairs)](std::span<const hyper::Value> predictions,
                                                  std::span<const hyper::Value> expected) -> Result<double> {
        std::vector<NumberedPairs::Pair> of;
        std::vector<std::span<const float>> vectors;
        for (std::size_t i = 0; i < predictions.size(); ++i) {
            const std::span<const float> numbers = expected[i].tensor()->values();
            of.push_back({static_cast<std::uint32_t>(numbers[0]), static_cast<std::uint32_t>(numbers[1])});
            vectors.push_back(predictions[i].tensor()->values());
        }
        YOLK_TRY(const std::optional<double> found, ndcg_of(*pairs, of, vectors));
        return found.value_or(0.0);  // a batch without a relevant document prefers nobody
    };
    return {score, "NDCG@10"};
}

Matrices searched_matrices(const hyper::ParameterSet& set) {
    Matrices matrices;
    for (const hyper::ParameterGroup& group : set.groups()) {
        if (group.spec.optimize) matrices.emplace(group.spec.name, group.values);
    }
    return matrices;
}
Result<Matrices> searched_matrices(const hyper::ParameterSet& set, std::span<const float> coordinates) {
    hyper::ParameterSet at = set;
    YOLK_TRY_VOID(hyper::apply_coordinates(at, coordinates));
    return searched_matrices(at);
}

double update_norm(const Matrices& before, const Matrices& after) {
    double change = 0.0, all = 0.0;
    for (const auto& [name, tensor] : before) {
        const std::span<const float> was = tensor.values(), is = after.at(name).values();
        for (std::size_t i = 0; i < was.size(); ++i) {
            const double moved = double{is[i]} - double{was[i]};
            change += moved * moved;
            all += double{was[i]} * double{was[i]};
        }
    }
    return all > 0.0 ? std::sqrt(change / all) : 0.0;
}

Result<TunedAdapter> adapter_of(const Matrices& before, const Matrices& after, std::uint32_t rank) {
    TunedAdapter made;
    double left_out = 0.0, all = 0.0;
    for (const auto& [name, tensor] : before) {
        const std::span<const float> was = tensor.values(), is = after.at(name).values();
        std::vector<double> change(was.size());
        for (std::size_t i = 0; i < was.size(); ++i) {
            change[i] = double{is[i]} - double{was[i]};
            all += change[i] * change[i];
        }
        const std::uint64_t out = tensor.shape()[0], in = tensor.shape()[1];
        if (rank < 1 || rank > std::min(out, in))
            return bad_input("The adapter's rank is {}; of the matrix '{}' [{}, {}] it must be from 1 to {}.", rank,
                             name, out, in, std::min(out, in));
        LowRank low = low_rank_of(change, out, in, rank);
        left_out += low.left_out;
        made.adapter.emplace(name, std::move(low.factors));
    }
    made.residual = all > 0.0 ? std::sqrt(left_out / all) : 0.0;
    return made;
}

}  // namespace yolk::transformer
