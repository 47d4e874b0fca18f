// SPDX-License-Identifier: Apache-2.0
// An objective that goes on from a checkpoint, and keeps one.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cmath>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "objective.hpp"
#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/evolve/settings.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper {
namespace {

constexpr std::size_t kMaxSearchFileBytes = std::size_t{4} << 30U;
constexpr std::string_view kMatrixRanks = "ranks of the matrices' noise";

/// Before matrices had ranks of their own, they all had the largest, and checkpoints did not say so.
void add_matrix_ranks(evolve::NamedValues& settings, const ParameterTable& table, std::uint32_t rank) {
    if (std::ranges::find(settings, kMatrixRanks, &std::pair<std::string, std::string>::first) != settings.end())
        return;
    for (const ParameterDesc& parameter : table.parameters()) rank = std::max(rank, parameter.rank);
    settings.emplace_back(kMatrixRanks, fmt::format("{}", rank));
}

/// Of the texts, which a search leaves as they are; empty where there is none.
std::string hash_of_texts(const ParameterSet& set) {
    Hasher hasher;
    bool has_any = false;
    for (const ParameterGroup& group : set.groups()) {
        if (!group.spec.is_text) continue;
        has_any = true;
        for (const std::string* text : {&group.spec.name, &group.text})
            hasher.add(std::as_bytes(std::span(text->c_str(), text->size() + 1)));  // ends of texts count
    }
    return has_any ? hasher.hex() : std::string();
}

}  // namespace

Result<evolve::NamedValues> SystemObjective::settings(const Search& search) const {
    YOLK_TRY(const std::string start, evolve::state_hash(space_.mean, {}, 0));
    evolve::NamedValues values{{"system", system_->name()},
                               {"hash of the parameters", start},
                               {"hash of the examples", examples_hash_},
                               {"metric", metric_->name},
                               {"search", search.name()},
                               {"samples per example", fmt::format("{}", options_.samples_per_example)},
                               {"examples per step", fmt::format("{}", options_.examples_per_generation)}};
    for (const auto& setting : evolve::settings_of(options_.evolution)) values.push_back(setting);
    if (std::string texts = hash_of_texts(set_); !texts.empty())
        values.emplace_back("hash of the texts", std::move(texts));
    values.emplace_back(kMatrixRanks, evolve::matrix_ranks(space_.table, options_.evolution.rank));
    if (options_.gradient) {
        const GradientOptions& g = *options_.gradient;
        values.emplace_back(
            "gradient",
            fmt::format("{}, rate {} times {} per step after {}, decays {} and {}, epsilon {}", to_string(g.rule),
                        g.learning_rate, g.learning_rate_decay, g.warm_up, g.beta1, g.beta2, g.epsilon));
        values.emplace_back("groups of the gradient", fmt::format("{}", fmt::join(g.groups, ", ")));
    }
    return values;
}

Result<std::optional<SearchCheckpoint>> SystemObjective::read_checkpoint() const {
    using Read = Result<std::optional<SearchCheckpoint>>;
    std::error_code code;
    if (!std::filesystem::exists(options_.checkpoint, code)) {
        log_info(fmt::format("There is no '{}' to go on from; the search begins anew.", shown(options_.checkpoint)));
        return Read(std::nullopt);
    }
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(options_.checkpoint, kMaxSearchFileBytes));
    const std::string what = fmt::format("'{}'", shown(options_.checkpoint));
    YOLK_TRY(SearchCheckpoint checkpoint, decode_checkpoint(bytes, what));
    add_matrix_ranks(checkpoint.settings, space_.table, options_.evolution.rank);
    for (const auto& [name, value] : checkpoint.settings) {
        const auto here = std::ranges::find(settings_, name, &std::pair<std::string, std::string>::first);
        const std::string now = here == settings_.end() ? "-" : here->second;
        if (now == value) continue;
        return bad_input(
            "{} is of a search whose {} is {}; now it is {}. Give what it was, or search anew without --resume.", what,
            name, value, now);
    }
    const std::size_t elements = space_.table.element_count();
    const auto fits = [&](const std::vector<float>& values) { return values.size() == elements; };
    if (!fits(checkpoint.mean.parameters) || (checkpoint.best && !fits(*checkpoint.best)) ||
        checkpoint.mean.optimizer.size() % elements != 0) {
        return bad_input("{} has {} coordinates; the system has {}.", what, checkpoint.mean.parameters.size(),
                         elements);
    }
    return Read(std::move(checkpoint));
}

Result<void> SystemObjective::go_on(const std::optional<SearchCheckpoint>& from) {
    if (!from) return {};
    first_ = from->mean;
    best_ = from->best;
    outcome_.best_reward = from->best_reward;
    outcome_.start_reward = from->start_reward;
    outcome_.held_out_start = from->held_out_start;
    outcome_.generations = outcome_.resumed_from = from->mean.generation;
    outcome_.failed_candidates = from->failed_candidates;
    const std::uint64_t numbers = outcome_.cost.numbers;
    outcome_.cost = from->cost;
    outcome_.cost.numbers = numbers;
    // The held-out examples may be others now.
    if (draws()) {
        YOLK_TRY(best_held_out_, held_out_reward(best_ ? *best_ : space_.mean));
        if (best_held_out_ && !std::isfinite(*best_held_out_)) best_held_out_.reset();
    }
    return {};
}

/// Before work would be lost.
Result<void> SystemObjective::check_place() const {
    if (options_.checkpoint.empty() || !is_first_rank()) return {};
    const std::filesystem::path folder = options_.checkpoint.parent_path();
    std::error_code code;
    if (!folder.empty() && !std::filesystem::is_directory(folder, code))
        return file_error("write", options_.checkpoint, ENOENT);
    return check_regular_file(options_.checkpoint);
}

Result<void> SystemObjective::begin(const Search& search) {
    if (options_.checkpoint.empty() && options_.run_log.empty() && !system_->devices().has_other_ranks()) return {};
    YOLK_TRY(settings_, settings(search));
    YOLK_TRY_VOID(compare_ranks());
    YOLK_TRY_VOID(check_place());
    if (!options_.resume) return {};
    YOLK_TRY(const std::optional<SearchCheckpoint> from, shared_checkpoint());
    return go_on(from);
}

evolve::EvolutionState SystemObjective::first_state() const {
    return first_ ? *first_ : evolve::EvolutionState{.parameters = space_.mean};
}

bool SystemObjective::checkpoint_due(std::uint32_t generations) const {
    // After the last generation what it made has yet to compete.
    return !options_.checkpoint.empty() && options_.checkpoint_every != 0 &&
           generations % options_.checkpoint_every == 0 && generations < options_.generations;
}

Result<void> SystemObjective::save_checkpoint(const evolve::EvolutionState& state) {
    if (options_.checkpoint.empty() || !is_first_rank()) return {};
    if (run_log_) YOLK_TRY_VOID(run_log_->sync());
    YOLK_TRY_VOID(fetch_best());
    YOLK_TRY(const std::vector<std::byte> bytes, encode_checkpoint({.settings = settings_,
                                                                    .mean = state,
                                                                    .start_reward = outcome_.start_reward,
                                                                    .held_out_start = outcome_.held_out_start,
                                                                    .best_reward = outcome_.best_reward,
                                                                    .best = best_,
                                                                    .cost = outcome_.cost,
                                                                    .failed_candidates = outcome_.failed_candidates}));
    return write_file_atomically(options_.checkpoint, bytes);
}

std::uint64_t SystemObjective::kept_log_bytes() const {
    if (outcome_.resumed_from == 0 || options_.log.empty()) return options_.kept_log_bytes;
    const auto bytes = read_file(options_.log, kMaxSearchFileBytes);
    if (!bytes) return 0;  // it begins anew
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    std::size_t kept = std::min<std::size_t>(options_.kept_log_bytes, text.size());
    for (std::size_t begin = kept, end = 0; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
        const Json line = parse_json(text.substr(begin, end - begin), "a line").value_or(nullptr);
        if (line.is_object() && line.value("generation", line.value("step", Json())) == Json(outcome_.resumed_from - 1))
            kept = end + 1;
    }
    return kept;
}

}  // namespace yolk::hyper
