// SPDX-License-Identifier: Apache-2.0
// An encoder that somebody else trained, made better at retrieval by EGGROLL: the query and value matrices of its
// attention are searched for NDCG@10, which has no gradient. What comes out is a LORA adapter (docs/transformers.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/devices.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/optimize.hpp"
#include "yolk/result.hpp"

namespace yolk::transformer {

/// How relevant a document is to a query.
struct RelevantPair {
    std::string query, document;
    double grade = 1.0;  ///< 0 (not) to 1,000; the gain of NDCG
};
/// A file in UTF-8: JSON lines {"query": ..., "document": ..., "grade": ...} where its name ends in .jsonl, otherwise a
/// line of query, tabulator, document and, where it is not 1, tabulator and grade. Errors, which name file and line: an
/// empty query or document, a line of another form, text that is not UTF-8, a grade out of range, no pair.
[[nodiscard]] Result<std::vector<RelevantPair>> read_pairs(const std::filesystem::path& file);

/// NDCG@10 of vectors [pairs, 2 * width], each a query's and its document's: every query ranks all documents by cosine,
/// and the mean over queries with a relevant document counts. A text that is in several pairs counts once. Gains are
/// grades, discounts 1 / log2(place + 1), and among equal cosines the less relevant document comes first. Errors: no
/// relevant document, vectors that are not finite or do not fill the pairs.
[[nodiscard]] Result<double> ndcg(std::span<const RelevantPair> pairs, std::span<const float> vectors);

/// What finetune() begins with, where other systems have evolve::kSystemDefaults.
[[nodiscard]] evolve::SystemEvolutionOptions finetune_defaults();

struct FinetuneOptions {
    std::filesystem::path pairs{};      ///< read_pairs()'
    std::vector<RelevantPair> given{};  ///< in place of a file
    double held_out = 0.1;  ///< share of the queries by which the best generation is chosen; 0: the last one is kept
    double test = 0.2;      ///< share of the queries that the result is judged by
    std::uint32_t batch =
        32;  ///< pairs of a generation, drawn by the seed; the documents are those of the batch. 0: all
    /// A text is cut off here. All queries are padded to one length, all documents to another.
    std::uint32_t query_tokens = 32, document_tokens = 128;
    std::uint32_t generations = 100;
    evolve::SystemEvolutionOptions evolution = finetune_defaults();
    std::uint32_t held_out_every = 10;  ///< generations between two looks at the queries held out
    std::uint32_t adapter_rank = 8;     ///< of the saved factors; at most the width
    /// Texts that have nothing to do with the pairs: how far their vectors move is the drift. Empty: 24 sentences.
    std::vector<std::string> unrelated{};
    /// Folder: adapter_model.safetensors, adapter_config.json, metrics.jsonl, checkpoint.yolk and log.yolk; made if
    /// missing. A run that is there is set aside first. Empty: nothing is written.
    std::filesystem::path out = "yolk-finetune";
    std::filesystem::path merged{};  ///< folder for a whole model in Hugging Face's layout with all that was learned
    bool log = true;                 ///< log.yolk, from which any generation can be rebuilt
    std::uint32_t checkpoint_every = 10;  ///< generations; 0: at the end alone
    bool resume = false;                  ///< goes on from the checkpoint, with the same settings, model and pairs
};
/// The first setting outside its limits.
[[nodiscard]] Result<void> validate(const FinetuneOptions& options);

/// Of the parameters that were kept, or of what is left of them in the adapter.
struct FinetuneFigures {
    std::optional<double> test{};  ///< NDCG@10 on the test's queries, where there are some
    double update_norm = 0.0;      ///< norm of the change over the norm of the matrices that are searched
    double drift = 0.0;            ///< mean cosine distance between old and new vectors of unrelated texts
};
[[nodiscard]] Json to_json(const FinetuneFigures& figures);

struct FinetuneOutcome {
    std::uint32_t training_pairs = 0, held_out_pairs = 0, test_pairs = 0;
    hyper::OptimizeOutcome search{};  ///< held_out_start and held_out_best are NDCG@10
    FinetuneFigures before{}, after{}, adapted{};
    double residual = 0.0;             ///< of the change, what the adapter's rank leaves out: a share of its norm
    double seconds = 0.0;              ///< of the search
    std::filesystem::path adapter{};   ///< its folder; empty where nothing was written
    std::filesystem::path previous{};  ///< where the run that was in the folder is now; empty: none was
};

/// After each generation; `unperturbed` and `held_out` are NDCG@10, `looked` has "update_norm" and "drift". False ends
/// the search there, and what was learned is kept.
using OnTuned = std::function<bool(const hyper::GenerationReport&)>;

/// Errors: Encoder::open's, read_pairs', validate's, System::optimize's; too few queries for the shares; an adapter
/// rank above the width; a folder that cannot be written, told before the work.
[[nodiscard]] Result<FinetuneOutcome> finetune(const std::filesystem::path& model, const evolve::Devices& devices,
                                               const FinetuneOptions& options, const OnTuned& on_generation = {});

struct ReplayedAdapter {
    hyper::SearchReplay replay{};
    double update_norm = 0.0, residual = 0.0;
};
/// The adapter after any generation of such a run, from its log; nothing is evaluated. The model is the one that
/// adapter_config.json beside the log names, and so is the rank. `out` is the folder for the adapter; empty: none.
[[nodiscard]] Result<ReplayedAdapter> replay_finetuning(const evolve::Devices& devices,
                                                        const std::filesystem::path& log,
                                                        std::optional<std::uint32_t> generation = {},
                                                        const std::filesystem::path& out = {});
/// What a log of such a run calls its system.
inline constexpr std::string_view kTunedEncoder = "encoder";

}  // namespace yolk::transformer
