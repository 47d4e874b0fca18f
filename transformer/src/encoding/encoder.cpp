// SPDX-License-Identifier: Apache-2.0
#include "yolk/encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "adapter_file.hpp"
#include "encoder_config.hpp"
#include "encoder_graph.hpp"
#include "encoder_weights.hpp"
#include "word_piece.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/stop.hpp"

namespace yolk::transformer {
namespace {

/// Lengths are rounded up to it, so that few texts need equations of their own.
constexpr std::uint32_t kLengthStep = 16;
constexpr std::uint32_t kMostBatch = 1024;
/// Rows that a table has and the tokenizer does not fill: some models pad it to a multiple of up to so many.
constexpr std::uint32_t kMostUnused = 127;

using Ids = std::vector<std::uint32_t>;

Result<void> check_vocabulary(const std::filesystem::path& folder, const EncoderConfig& config,
                              const WordPiece& tokenizer) {
    if (tokenizer.size() <= config.vocabulary && config.vocabulary - tokenizer.size() <= kMostUnused) return {};
    return bad_input("'{}' has {} words, but 'vocab_size' in config.json is {}: it is the tokenizer of another model.",
                     shown(folder / "tokenizer.json"), tokenizer.size(), config.vocabulary);
}

}  // namespace

struct Encoder::Impl {
    /// Texts of one padded length, with the plans for them.
    struct Batch {
        std::uint32_t length = 0;
        std::vector<hyper::TracedExample> texts{};
        std::optional<hyper::PopulationEvaluator> evaluator{};
    };

    EncoderConfig config;
    std::vector<std::string> left_out;
    WordPiece tokenizer;
    EncoderGraph graph;
    evolve::Devices devices;
    EncoderOptions options;
    hyper::ParameterSet parameters{};
    hyper::SearchSpace space{};
    std::vector<std::string> groups{};
    std::unique_ptr<Batch> batch{};  ///< the last one: each has a copy of the weights on the device

    Result<void> take_parameters();
    Result<hyper::System> system_of(hyper::System::Function function) const;
    Result<void> prepare(std::uint32_t length, std::span<const Ids* const> texts);
    /// Embeddings of texts that fit `length`.
    Result<std::vector<float>> evaluate(std::uint32_t length, std::span<const Ids* const> texts);
};

Result<void> Encoder::Impl::take_parameters() {
    for (const hyper::AnyHyperfunction& function : graph.functions()) {
        YOLK_TRY_VOID(parameters.add(function.parts().spec, function.parts().values));
        groups.push_back(function.name());
    }
    YOLK_TRY(space, hyper::search_space(parameters));
    return {};
}

Result<void> Encoder::Impl::prepare(std::uint32_t length, std::span<const Ids* const> texts) {
    const bool is_kept = batch != nullptr && batch->length == length && batch->texts.size() == texts.size();
    if (!is_kept) {
        batch = std::make_unique<Batch>(Batch{.length = length});
        YOLK_TRY(hyper::TracedExample traced, trace_encoder(graph, length));
        batch->texts.assign(texts.size(), std::move(traced));
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
        YOLK_TRY_VOID(hyper::population::refresh(batch->texts[i], encoder_inputs(*texts[i], length), groups));
    }
    if (is_kept) return batch->evaluator->set_examples(batch->texts);
    YOLK_TRY(Dispatcher* const dispatcher, devices.dispatcher());
    YOLK_TRY(batch->evaluator,
             hyper::PopulationEvaluator::create(
                 {.devices = *dispatcher}, batch->texts, parameters,
                 {.examples_change = true, .determinism = options.determinism, .plain_outputs = true}));
    return {};
}

Result<std::vector<float>> Encoder::Impl::evaluate(std::uint32_t length, std::span<const Ids* const> texts) {
    const auto work = [&]() -> Result<hyper::PopulationOutputs> {
        YOLK_TRY_VOID(prepare(length, texts));
        return batch->evaluator->evaluate({.table = space.table, .mean = space.mean, .first_member = -1, .members = 1});
    };
    Result<hyper::PopulationOutputs> outputs = work();
    if (!outputs) batch.reset();  // of a device that is lost nothing can be used again
    if (!outputs) return std::move(outputs).error();
    if (outputs->plain.empty()) return failed_work("The encoder did not run on the device.");
    return std::move(outputs->plain.elements);
}

Encoder::Encoder(Owned<Impl> impl) : impl_(std::move(impl)) {}

Result<Encoder> Encoder::open(const std::filesystem::path& folder, const evolve::Devices& devices,
                              const EncoderOptions& options) {
    if (options.batch < 1 || options.batch > kMostBatch)
        return bad_input("The batch has {} texts; it must have 1 to 1,024.", options.batch);
    if (!std::filesystem::is_directory(folder))
        return bad_input("'{}' is no folder; give one with config.json, model.safetensors and tokenizer.json.",
                         shown(folder));
    YOLK_TRY(const EncoderConfig config, read_encoder_config(folder));
    YOLK_TRY(WordPiece tokenizer, WordPiece::read(folder / "tokenizer.json"));
    YOLK_TRY_VOID(check_vocabulary(folder, config, tokenizer));
    if (tokenizer.around() >= config.most_tokens)
        return bad_input("'{}' puts {} tokens around a text of at most {}.", shown(folder / "tokenizer.json"),
                         tokenizer.around(), config.most_tokens);
    YOLK_TRY(EncoderWeights weights, read_encoder_weights(folder, config));
    if (!options.adapter.empty()) YOLK_TRY_VOID(add_adapter(options.adapter, weights));
    Owned<Impl> impl = std::make_unique<Impl>(Impl{.config = config,
                                                   .left_out = std::move(weights.left_out),
                                                   .tokenizer = std::move(tokenizer),
                                                   .graph = EncoderGraph(config, weights),
                                                   .devices = devices,
                                                   .options = options});
    YOLK_TRY_VOID(impl->take_parameters());
    return Encoder(std::move(impl));
}

const EncoderConfig& Encoder::config() const noexcept { return impl_->config; }
std::span<const std::string> Encoder::left_out() const noexcept { return impl_->left_out; }

Result<std::vector<std::uint32_t>> Encoder::tokens(std::string_view text, std::uint32_t most) const {
    if (most != 0 && most <= impl_->tokenizer.around())
        return bad_input("A text is to have at most {} tokens; the model puts {} around it.", most,
                         impl_->tokenizer.around());
    most = most == 0 ? impl_->config.most_tokens : std::min(most, impl_->config.most_tokens);
    YOLK_TRY(Ids ids, impl_->tokenizer.ids(text, most));
    if (ids.empty()) ids.push_back(0);  // of a tokenizer that puts nothing around the empty text
    return ids;
}

Result<std::vector<float>> Encoder::embed(std::span<const std::string> texts) {
    std::vector<Ids> ids;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        Result<Ids> found = tokens(texts[i]);
        if (!found) return std::move(found).error().while_doing(fmt::format("reading text {}", i));
        ids.push_back(*std::move(found));
    }
    std::vector<std::size_t> order(texts.size());  // long ones first: little padding, and few batches to prepare
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return ids[i].size(); });
    const std::size_t width = impl_->config.width;
    std::vector<float> embeddings(texts.size() * width);
    for (std::size_t first = 0; first < order.size(); first += impl_->options.batch) {
        if (stop_requested()) return cancelled("The texts were not all embedded: an end was asked for.");
        const std::size_t count = std::min<std::size_t>(impl_->options.batch, order.size() - first);
        std::vector<const Ids*> some;
        for (std::size_t i = 0; i < count; ++i) some.push_back(&ids[order[first + i]]);
        const auto longest = static_cast<std::uint32_t>(some.front()->size());
        const auto length =
            std::min(static_cast<std::uint32_t>(round_up(longest, kLengthStep)), impl_->config.positions);
        YOLK_TRY(const std::vector<float> found, impl_->evaluate(length, some));
        for (std::size_t i = 0; i < count; ++i)
            std::copy_n(found.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                        embeddings.begin() + static_cast<std::ptrdiff_t>(order[first + i] * width));
    }
    return embeddings;
}

Result<hyper::System> Encoder::Impl::system_of(hyper::System::Function function) const {
    hyper::System made("encoder", std::move(function));
    for (const hyper::AnyHyperfunction& each : graph.functions()) YOLK_TRY_VOID(made.add(each));
    made.use(devices);
    return made;
}

Result<hyper::System> Encoder::system() const {
    return impl_->system_of([graph = impl_->graph](const hyper::Inputs& in) { return graph(in[kIds], in[kSeen]); });
}

Result<hyper::System> Encoder::system(std::span<const std::string> names) const {
    if (names.empty()) return bad_input("The encoder's system was given no name of a text; give it at least one.");
    return impl_->system_of(
        [graph = impl_->graph, all = std::vector<std::string>(names.begin(), names.end())](const hyper::Inputs& in) {
            std::vector<hyper::Traced> vectors;
            for (const std::string& name : all)
                vectors.push_back(graph(in[input_of(name, kIds)], in[input_of(name, kSeen)]));
            return hyper::concat(vectors, 0);
        });
}

Result<hyper::Example> Encoder::example(std::string_view text, std::uint32_t length) const {
    YOLK_TRY(const Ids ids, tokens(text));
    const auto own = static_cast<std::uint32_t>(ids.size());
    if (length == 0) length = own;
    if (length < own || length > impl_->config.positions)
        return bad_input("A text of {} tokens is to have a length of {}; it must be from {} to {}.", own, length, own,
                         impl_->config.positions);
    return hyper::Example{.inputs = encoder_inputs(ids, length), .expected = {}};
}

}  // namespace yolk::transformer
