// SPDX-License-Identifier: Apache-2.0
#include "yolk/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "byte_pair.hpp"
#include "decoder_config.hpp"
#include "decoder_graph.hpp"
#include "decoder_weights.hpp"
#include "sampling.hpp"
#include "session.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/stop.hpp"

namespace yolk::transformer {
namespace {

/// Places that are remembered: a power of two from here on, so that few lengths need plans of their own.
constexpr std::uint32_t kLeastPlaces = 64;
/// Rows that the table of tokens has and the tokenizer does not fill: some models pad it.
constexpr std::uint32_t kMostPadding = 1023;

using Tokens = std::vector<std::uint32_t>;

Result<void> check_tokenizer(const std::filesystem::path& folder, const DecoderConfig& config,
                             const BytePair& tokenizer) {
    if (tokenizer.size() <= config.vocabulary && config.vocabulary - tokenizer.size() <= kMostPadding) return {};
    return bad_input("'{}' has {} tokens, but 'vocab_size' in config.json is {}: it is the tokenizer of another model.",
                     shown(folder / "tokenizer.json"), tokenizer.size(), config.vocabulary);
}

std::vector<std::string> parts_of_list(const std::string& list) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        parts.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/// A text in the making.
struct Continuation {
    Tokens prompt{};
    Generated made{};
    bool is_done = false;
    /// What the next token is chosen by.
    std::vector<float> logits{};
};

}  // namespace

struct Decoder::Impl {
    /// Plans for one kind of candidates and one number of places.
    struct Kept {
        std::string key;
        hyper::SearchSpace space;
        std::unique_ptr<DecoderSession> session;
    };

    std::vector<std::string> left_out;
    BytePair tokenizer;
    DecoderGraph graph;
    evolve::Devices devices;
    DecoderOptions options;
    std::optional<Kept> kept{};  ///< the last one: each has copies of the weights on the device

    Result<hyper::ParameterSet> parameters_with(const std::vector<std::string>& perturbed) const;
    /// `perturbed`: nullptr for the model alone.
    Result<Kept*> session_for(std::uint64_t places, const std::string* perturbed);
    Result<Continuation> line_of(std::string_view prompt, const GenerateOptions& generate) const;
    /// Reads the lines' prompts into their logits.
    Result<void> read_prompts(DecoderSession& session, std::vector<Continuation>& lines) const;
    Result<void> read_next(DecoderSession& session, std::vector<Continuation>& lines) const;
    Result<bool> choose(std::vector<Continuation>& lines, const GenerateOptions& generate) const;
    Result<std::vector<Generated>> run(std::vector<Continuation> lines, const GenerateOptions& generate,
                                       const DecoderPopulation* population);
};

Result<hyper::ParameterSet> Decoder::Impl::parameters_with(const std::vector<std::string>& perturbed) const {
    hyper::ParameterSet made;
    std::vector<bool> used(perturbed.size(), false);
    for (const hyper::AnyHyperfunction& function : graph.functions()) {
        hyper::ParameterSpec spec = function.parts().spec;
        spec.optimize = false;
        for (std::size_t i = 0; i < perturbed.size(); ++i) {
            if (perturbed[i].empty() || !spec.name.ends_with(perturbed[i])) continue;
            spec.optimize = used[i] = true;
        }
        YOLK_TRY_VOID(made.add(std::move(spec), function.parts().values));
    }
    for (std::size_t i = 0; i < perturbed.size(); ++i) {
        if (!used[i])
            return bad_input("No tensor's name ends with '{}'; the last is '{}'.", shown(perturbed[i]),
                             graph.functions().back().name());
    }
    return made;
}

Result<Decoder::Impl::Kept*> Decoder::Impl::session_for(std::uint64_t places, const std::string* perturbed) {
    std::uint64_t rounded = kLeastPlaces;
    while (rounded < places) rounded *= 2;
    const std::uint64_t used = std::min<std::uint64_t>(rounded, graph.config().most_tokens);
    // Prompts are padded, and read kReadTogether tokens at a time.
    const auto most = static_cast<std::uint32_t>(round_up(used, kReadTogether));
    std::string key = fmt::format("{} {}", most, perturbed == nullptr ? "" : "of " + *perturbed);
    if (kept && kept->key == key) return &*kept;
    kept.reset();
    YOLK_TRY(hyper::ParameterSet parameters,
             parameters_with(perturbed == nullptr ? std::vector<std::string>() : parts_of_list(*perturbed)));
    YOLK_TRY(hyper::SearchSpace space, hyper::search_space(parameters));
    auto session = std::make_unique<DecoderSession>(graph, std::move(parameters), devices, options.determinism, most);
    kept = Kept{.key = std::move(key), .space = std::move(space), .session = std::move(session)};
    return &*kept;
}

Result<Continuation> Decoder::Impl::line_of(std::string_view prompt, const GenerateOptions& generate) const {
    YOLK_TRY(Tokens ids, tokenizer.ids(prompt));
    const std::uint32_t most = graph.config().most_tokens;
    if (ids.empty()) return bad_input("The prompt has no tokens; give at least one.");
    if (ids.size() + std::uint64_t{generate.tokens} > most)
        return bad_input("The prompt has {} tokens, and {} are to follow; the model takes {} in all.", ids.size(),
                         generate.tokens, most);
    return Continuation{.prompt = std::move(ids)};
}

Result<void> Decoder::Impl::read_prompts(DecoderSession& session, std::vector<Continuation>& lines) const {
    std::size_t longest = 0;
    for (const Continuation& line : lines) longest = std::max(longest, line.prompt.size());
    const std::size_t vocabulary = graph.config().vocabulary;
    for (std::uint32_t start = 0; start < longest; start += kReadTogether) {
        if (stop_requested()) return cancelled("The prompts were not all read: an end was asked for.");
        Tokens ids;
        for (const Continuation& line : lines) {
            for (std::uint32_t i = start; i < start + kReadTogether; ++i)
                ids.push_back(i < line.prompt.size() ? line.prompt[i] : 0);
        }
        YOLK_TRY(const std::vector<float> logits, session.read(ids, kReadTogether, Tokens(lines.size(), start)));
        for (std::size_t l = 0; l < lines.size(); ++l) {
            const std::size_t last = lines[l].prompt.size() - 1;
            if (last < start || last >= start + kReadTogether) continue;
            const auto from =
                logits.begin() + static_cast<std::ptrdiff_t>((l * kReadTogether + last - start) * vocabulary);
            lines[l].logits.assign(from, from + static_cast<std::ptrdiff_t>(vocabulary));
        }
    }
    return {};
}

Result<void> Decoder::Impl::read_next(DecoderSession& session, std::vector<Continuation>& lines) const {
    if (stop_requested()) return cancelled("The texts were not all generated: an end was asked for.");
    Tokens ids, starts;  // of those that are done the last one again, in the same place
    for (const Continuation& line : lines) {
        ids.push_back(line.made.tokens.empty() ? line.prompt.back() : line.made.tokens.back());
        starts.push_back(static_cast<std::uint32_t>(line.prompt.size() + line.made.tokens.size() - 1));
    }
    YOLK_TRY(const std::vector<float> logits, session.read(ids, 1, starts));
    const std::size_t vocabulary = graph.config().vocabulary;
    for (std::size_t l = 0; l < lines.size(); ++l) {
        const auto from = logits.begin() + static_cast<std::ptrdiff_t>(l * vocabulary);
        lines[l].logits.assign(from, from + static_cast<std::ptrdiff_t>(vocabulary));
    }
    return {};
}

/// Whether any line goes on.
Result<bool> Decoder::Impl::choose(std::vector<Continuation>& lines, const GenerateOptions& generate) const {
    const Tokens& ends = graph.config().ends;
    bool goes_on = false;
    for (std::uint32_t l = 0; l < lines.size(); ++l) {
        Continuation& line = lines[l];
        if (line.is_done) continue;
        const auto place = static_cast<std::uint32_t>(line.made.tokens.size());
        Result<std::uint32_t> token = next_token(line.logits, generate, l, place);
        if (!token) return std::move(token).error().while_doing(fmt::format("continuing text {}", l));
        line.made.ended = std::ranges::find(ends, *token) != ends.end();
        if (!line.made.ended) line.made.tokens.push_back(*token);
        line.is_done = line.made.ended || line.made.tokens.size() == generate.tokens;
        goes_on = goes_on || !line.is_done;
    }
    return goes_on;
}

Result<std::vector<Generated>> Decoder::Impl::run(std::vector<Continuation> lines, const GenerateOptions& generate,
                                                  const DecoderPopulation* population) {
    if (lines.empty()) return std::vector<Generated>();
    std::size_t longest = 0;
    for (const Continuation& line : lines) longest = std::max(longest, line.prompt.size());
    const auto work = [&]() -> Result<void> {
        YOLK_TRY(Kept* const found,
                 session_for(longest + generate.tokens, population == nullptr ? nullptr : &population->perturbed));
        hyper::Perturbations around{.table = found->space.table,
                                    .mean = found->space.mean,
                                    .members = static_cast<std::uint32_t>(lines.size())};
        if (population != nullptr) {
            around.rank = population->rank;
            around.when = {.seed = population->seed,
                           .generation = population->generation,
                           .time = population->generation,
                           .sigma = population->sigma};
        }
        YOLK_TRY_VOID(found->session->begin(around));
        YOLK_TRY_VOID(read_prompts(*found->session, lines));
        for (;;) {
            YOLK_TRY(const bool goes_on, choose(lines, generate));
            if (!goes_on) return {};
            YOLK_TRY_VOID(read_next(*found->session, lines));
        }
    };
    Result<void> done = work();
    if (!done) kept.reset();  // of a device that is lost nothing can be used again
    if (!done) return std::move(done).error();
    std::vector<Generated> all;
    for (Continuation& line : lines) {
        line.made.text = tokenizer.text(line.made.tokens);
        all.push_back(std::move(line.made));
    }
    return all;
}

Decoder::Decoder(Owned<Impl> impl) : impl_(std::move(impl)) {}

Result<Decoder> Decoder::open(const std::filesystem::path& folder, const evolve::Devices& devices,
                              const DecoderOptions& options) {
    if (!std::filesystem::is_directory(folder))
        return bad_input("'{}' is no folder; give one with config.json, model.safetensors and tokenizer.json.",
                         shown(folder));
    YOLK_TRY(const DecoderConfig config, read_decoder_config(folder));
    YOLK_TRY(BytePair tokenizer, BytePair::read(folder / "tokenizer.json"));
    YOLK_TRY_VOID(check_tokenizer(folder, config, tokenizer));
    YOLK_TRY(ModelWeights weights, read_decoder_weights(folder, config));
    return Decoder(std::make_unique<Impl>(Impl{.left_out = std::move(weights.left_out),
                                               .tokenizer = std::move(tokenizer),
                                               .graph = DecoderGraph(config, weights),
                                               .devices = devices,
                                               .options = options}));
}

const DecoderConfig& Decoder::config() const noexcept { return impl_->graph.config(); }
std::span<const std::string> Decoder::left_out() const noexcept { return impl_->left_out; }
Result<std::vector<std::uint32_t>> Decoder::tokens(std::string_view text) const { return impl_->tokenizer.ids(text); }
std::string Decoder::text(std::span<const std::uint32_t> tokens) const { return impl_->tokenizer.text(tokens); }

Result<std::vector<float>> Decoder::logits(std::span<const std::uint32_t> tokens) {
    YOLK_TRY([[maybe_unused]] const hyper::Example checked, example(tokens));
    const auto work = [&]() -> Result<std::vector<float>> {
        YOLK_TRY(Impl::Kept* const found, impl_->session_for(tokens.size(), nullptr));
        const hyper::Perturbations around{.table = found->space.table, .mean = found->space.mean, .members = 1};
        YOLK_TRY_VOID(found->session->begin(around));
        std::vector<float> all;
        for (std::uint32_t start = 0; start < tokens.size(); start += kReadTogether) {
            const auto some = tokens.subspan(start, std::min<std::size_t>(kReadTogether, tokens.size() - start));
            Tokens ids(some.begin(), some.end());
            ids.resize(kReadTogether, 0);
            YOLK_TRY(const std::vector<float> logits, found->session->read(ids, kReadTogether, Tokens{start}));
            const auto rows = static_cast<std::ptrdiff_t>(some.size() * config().vocabulary);
            all.insert(all.end(), logits.begin(), logits.begin() + rows);
        }
        return all;
    };
    Result<std::vector<float>> found = work();
    if (!found) impl_->kept.reset();  // of a device that is lost nothing can be used again
    return found;
}

Result<std::vector<Generated>> Decoder::generate(std::span<const std::string> prompts, const GenerateOptions& options) {
    YOLK_TRY_VOID(check_sampling(options));
    std::vector<Continuation> lines;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        Result<Continuation> line = impl_->line_of(prompts[i], options);
        if (!line) return std::move(line).error().while_doing(fmt::format("reading prompt {}", i));
        lines.push_back(*std::move(line));
    }
    return impl_->run(std::move(lines), options, nullptr);
}

Result<std::vector<Generated>> Decoder::generate(std::string_view prompt, const DecoderPopulation& population,
                                                 const GenerateOptions& options) {
    YOLK_TRY_VOID(check_sampling(options));
    if (population.members < 2 || population.members % 2 != 0)
        return bad_input("The population has {} members; they are pairs, so that it must be even and at least 2.",
                         population.members);
    if (!(population.sigma >= 0.0F && population.sigma <= 1e6F))
        return bad_input("Sigma is {}; it must be from 0 to 1e6.", population.sigma);
    YOLK_TRY(const Continuation line, impl_->line_of(prompt, options));
    return impl_->run(std::vector<Continuation>(population.members, line), options, &population);
}

Result<hyper::System> Decoder::system() const {
    hyper::System made("decoder", [graph = impl_->graph](const hyper::Inputs& in) { return graph(in[kDecoderIds]); });
    for (const hyper::AnyHyperfunction& function : impl_->graph.functions()) YOLK_TRY_VOID(made.add(function));
    made.use(impl_->devices);
    return made;
}

Result<hyper::Example> Decoder::example(std::span<const std::uint32_t> tokens, std::uint32_t length) const {
    const auto own = static_cast<std::uint32_t>(tokens.size());
    if (tokens.empty()) return bad_input("No tokens were given; a text has at least one.");
    if (length == 0) length = own;
    if (length < own || length > config().most_tokens)
        return bad_input("A text of {} tokens is to have a length of {}; it must be from {} to {}.", own, length, own,
                         config().most_tokens);
    const auto unknown = std::ranges::find_if(tokens, [&](std::uint32_t id) { return id >= config().vocabulary; });
    if (unknown != tokens.end())
        return bad_input("Token {} is {}; the vocabulary has the tokens 0 to {}.", unknown - tokens.begin(), *unknown,
                         config().vocabulary - 1);
    std::vector<float> padded(length, 0.0F);
    std::ranges::copy(tokens, padded.begin());  // exact: a table has fewer rows than 2^24
    hyper::Example made;
    made.inputs.emplace(kDecoderIds, hyper::Tensor::vector(std::move(padded)));
    return made;
}

}  // namespace yolk::transformer
