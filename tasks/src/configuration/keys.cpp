// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <limits>
#include <type_traits>

#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::tasks {
namespace {

std::string quoted(const std::string& text) { return Json(text).dump(); }  // TOML's basic strings are JSON's

std::string written(bool value) { return value ? "true" : "false"; }
std::string written(const std::string& value) { return quoted(value); }
std::string written(const std::filesystem::path& value) { return quoted(value.string()); }
std::string written(std::unsigned_integral auto value) { return fmt::format("{}", value); }
std::string written(std::floating_point auto value) {
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}
std::string written(const std::vector<std::string>& values) {
    std::vector<std::string> all;
    for (const std::string& value : values) all.push_back(quoted(value));
    return fmt::format("[{}]", fmt::join(all, ", "));
}
std::string written(const std::vector<std::uint32_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

Error wants(std::string_view what, const TomlValue& value) {
    constexpr std::string_view kNames[] = {"a boolean", "an integer", "a number", "a text", "a list"};
    return bad_input("{} is needed, not {}.", what, kNames[value.index()]);
}

Result<void> take(const TomlValue& value, bool& to) {
    if (const bool* const given = std::get_if<bool>(&value)) return to = *given, Result<void>();
    return wants("true or false", value);
}
template <std::unsigned_integral T>
requires(!std::same_as<T, bool>) Result<void> take(const TomlValue& value, T& to) {
    const std::int64_t* const given = std::get_if<std::int64_t>(&value);
    if (given == nullptr) return wants("a whole number", value);
    if (*given < 0 || static_cast<std::uint64_t>(*given) > std::numeric_limits<T>::max())
        return bad_input("{} is outside the range from 0 to {}.", *given, std::numeric_limits<T>::max());
    to = static_cast<T>(*given);
    return {};
}
template <std::floating_point T>
Result<void> take(const TomlValue& value, T& to) {
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return to = static_cast<T>(*whole), Result<void>();
    if (const auto* const given = std::get_if<double>(&value)) return to = static_cast<T>(*given), Result<void>();
    return wants("a number", value);
}
Result<void> take(const TomlValue& value, std::string& to) {
    if (const auto* const given = std::get_if<std::string>(&value)) return to = *given, Result<void>();
    return wants("a text", value);
}
Result<void> take(const TomlValue& value, std::filesystem::path& to) {
    std::string text;
    YOLK_TRY_VOID(take(value, text));
    to = text;
    return {};
}
Result<void> take(const TomlValue& value, std::vector<std::string>& to) {
    if (const auto* const given = std::get_if<std::vector<std::string>>(&value)) return to = *given, Result<void>();
    std::string one;
    if (!take(value, one)) return wants("a list of texts", value);
    to = {one};
    return {};
}
Result<void> take(const TomlValue& value, std::vector<std::uint32_t>& to) {
    std::vector<std::string> texts;
    if (const auto* const one = std::get_if<std::int64_t>(&value)) {
        texts.push_back(fmt::format("{}", *one));
    } else if (const auto* const list = std::get_if<std::vector<std::string>>(&value)) {
        texts = *list;
    } else {
        return wants("a list of whole numbers", value);
    }
    std::vector<std::uint32_t> numbers;
    for (const std::string& text : texts) {
        std::uint32_t number = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (code != std::errc() || end != text.data() + text.size())
            return bad_input("'{}' is no whole number from 0 to {}.", shown(text), UINT32_MAX);
        numbers.push_back(number);
    }
    to = std::move(numbers);
    return {};
}

/// A key whose value `of(configuration)` is.
template <class Of>
SettingKey key(std::string_view table, std::string_view name, std::optional<RunKind> kind, std::string_view comment,
               Of of) {
    return {.table = table,
            .name = name,
            .kind = kind,
            .comment = comment,
            .read = [of](Configuration& c, const TomlValue& value) { return take(value, of(c)); },
            .write = [of](const Configuration& c) { return written(of(const_cast<Configuration&>(c))); }};
}
/// A word of a few.
template <class Of, class Parse>
SettingKey word(std::string_view name, std::optional<RunKind> kind, std::string_view comment, Of of, Parse parse,
                std::string_view table = "search") {
    return {.table = table,
            .name = name,
            .kind = kind,
            .comment = comment,
            .read = [of, parse](Configuration& c, const TomlValue& value) -> Result<void> {
                std::string text;
                YOLK_TRY_VOID(take(value, text));
                return of(c, [&](auto& to) -> Result<void> {
                    YOLK_TRY(to, parse(text));
                    return {};
                });
            },
            .write =
                [of](const Configuration& c) {
                    std::string text;
                    static_cast<void>(of(const_cast<Configuration&>(c), [&](auto& value) -> Result<void> {
                        text = quoted(std::string(to_string(value)));
                        return {};
                    }));
                    return text;
                }};
}

constexpr auto kData = std::optional(RunKind::Data);
constexpr auto kEnvironment = std::optional(RunKind::Environment);
constexpr std::optional<RunKind> kBoth{};

void add_data_keys(std::vector<SettingKey>& keys) {
    keys.push_back(key(
        "data", "source", kData,
        "digits, fashion-mnist, a .csv, .npy, .npz or IDX file (or .gz), or a folder of images",
        [](Configuration & c) -> auto& { return c.learn.source; }));
    keys.push_back(key(
        "data", "label", kData, "column or array of the labels; \"\": the last column",
        [](Configuration & c) -> auto& { return c.learn.data.label; }));
    keys.push_back(key(
        "data", "labels", kData, "a file of labels, beside a .npy or an IDX file",
        [](Configuration & c) -> auto& { return c.learn.data.labels; }));
    keys.push_back(
        {.table = "data",
         .name = "header",
         .kind = kData,
         .comment = "whether a CSV file begins with names; left out: if its first line has no number",
         .read = [](Configuration& c, const TomlValue& value) { return take(value, c.learn.data.header.emplace()); },
         .write =
             [](const Configuration& c) {
                 return c.learn.data.header ? written(*c.learn.data.header) : std::string();
             }});
    keys.push_back({.table = "data",
                    .name = "test",
                    .kind = kData,
                    .comment = "what the result is judged by: a share of the rows, or a file",
                    .read = [](Configuration& c, const TomlValue& value) -> Result<void> {
                        if (take(value, c.learn.test_source)) return {};
                        c.learn.test_source.clear();
                        if (take(value, c.learn.test)) return {};
                        return wants("a share, or a file", value);
                    },
                    .write =
                        [](const Configuration& c) {
                            return c.learn.test_source.empty() ? written(c.learn.test) : written(c.learn.test_source);
                        }});
    keys.push_back(key(
        "data", "held_out", kData, "share of the rows that chooses the best generation; 0: keep the last one",
        [](Configuration & c) -> auto& { return c.learn.held_out; }));
    keys.push_back(key(
        "data", "standardize", kData, "inputs get mean 0 and variance 1, by the training rows",
        [](Configuration & c) -> auto& { return c.learn.standardize; }));
    keys.push_back(key(
        "data", "balance", kData, "each class counts the same in the loss, however many rows it has",
        [](Configuration & c) -> auto& { return c.learn.balance; }));
}

void add_environment_keys(std::vector<SettingKey>& keys) {
    keys.push_back(key(
        "environment", "name", kEnvironment, "a built-in environment, or a GLSL file",
        [](Configuration & c) -> auto& { return c.environment; }));
    keys.push_back(key(
        "environment", "episodes", kEnvironment, "per member and generation",
        [](Configuration & c) -> auto& { return c.train.evolution.episodes; }));
    keys.push_back(key(
        "environment", "max_steps", kEnvironment, "of an episode; 0: the environment's own",
        [](Configuration & c) -> auto& { return c.train.max_steps; }));
    keys.push_back(key(
        "environment", "stop_when_solved", kEnvironment, "end when the environment is solved",
        [](Configuration & c) -> auto& { return c.train.stop_when_solved; }));
}

void add_network_keys(std::vector<SettingKey>& keys) {
    keys.push_back(key(
        "network", "hidden", kBoth, "widths of the layers between inputs and outputs",
        [](Configuration & c) -> auto& { return c.kind == RunKind::Data ? c.learn.network.hidden : c.hidden; }));
    keys.push_back(word(
        "activation", kData, "relu, tanh, gelu or silu",
        [](Configuration& c, auto use) { return use(c.learn.network.activation); },
        [](const std::string& text) { return parse_activation(text); }, "network"));
}

/// A setting of both kinds of runs: MEMBER of their EvolutionOptions.
#define YOLK_EVOLUTION_KEY(NAME, MEMBER, COMMENT)                                                 \
    keys.push_back(key(                                                                           \
        "search", NAME, kBoth, COMMENT, [](Configuration & c) -> auto& {                          \
            return c.kind == RunKind::Data ? c.learn.evolution.MEMBER : c.train.evolution.MEMBER; \
        }))
#define YOLK_EVOLUTION_WORD(NAME, MEMBER, PARSE, COMMENT)                                                   \
    keys.push_back(word(                                                                                    \
        NAME, kBoth, COMMENT,                                                                               \
        [](Configuration& c, auto use) {                                                                    \
            return c.kind == RunKind::Data ? use(c.learn.evolution.MEMBER) : use(c.train.evolution.MEMBER); \
        },                                                                                                  \
        [](const std::string& text) { return PARSE(text); }))

void add_method_keys(std::vector<SettingKey>& keys) {
    keys.push_back({.table = "search",
                    .name = "gradient",
                    .kind = kData,
                    .comment = "\"\": EGGROLL; adam, momentum or sgd: by derivatives, to compare",
                    .read = [](Configuration& c, const TomlValue& value) -> Result<void> {
                        std::string text;
                        YOLK_TRY_VOID(take(value, text));
                        if (text.empty()) return c.learn.gradient.reset(), Result<void>();
                        YOLK_TRY(const OptimizerRule rule, parse_optimizer_rule(text));
                        if (!c.learn.gradient) c.learn.gradient.emplace();
                        c.learn.gradient->rule = rule;
                        return {};
                    },
                    .write =
                        [](const Configuration& c) {
                            return c.learn.gradient ? quoted(std::string(to_string(c.learn.gradient->rule))) : "\"\"";
                        }});
    keys.push_back({.table = "search",
                    .name = "gradient_lr",
                    .kind = kData,
                    .comment = "learning rate of the derivatives; goes with gradient",
                    .read = [](Configuration& c, const TomlValue& value) -> Result<void> {
                        if (!c.learn.gradient) return bad_input("it goes with search.gradient, which is not set.");
                        return take(value, c.learn.gradient->learning_rate);
                    },
                    .write =
                        [](const Configuration& c) {
                            return c.learn.gradient ? written(c.learn.gradient->learning_rate) : std::string();
                        }});
    keys.push_back(key(
        "search", "batch", kData, "rows that a generation is evaluated on, drawn by the seed; 0: all",
        [](Configuration & c) -> auto& { return c.learn.batch; }));
}

void add_search_keys(std::vector<SettingKey>& keys) {
    add_method_keys(keys);
    keys.push_back(key(
        "search", "generations", kBoth, "at most", [](Configuration & c) -> auto& {
            return c.kind == RunKind::Data ? c.learn.generations : c.train.generations;
        }));
    YOLK_EVOLUTION_KEY("population", population, "members per generation, even unless antithetic is off");
    YOLK_EVOLUTION_KEY("sigma", sigma, "size of the perturbations");
    YOLK_EVOLUTION_KEY("sigma_decay", sigma_decay, "its factor per generation, above 0, at most 1");
    YOLK_EVOLUTION_KEY("lr", learning_rate, "learning rate");
    YOLK_EVOLUTION_KEY("lr_decay", learning_rate_decay, "its factor per generation, above 0, at most 1");
    YOLK_EVOLUTION_KEY("rank", rank, "of the perturbations of a matrix, 1 to 32");
    YOLK_EVOLUTION_WORD("optimizer", optimizer, parse_optimizer_rule,
                        "sgd, momentum or adam: what the update goes through");
    YOLK_EVOLUTION_WORD("fitness", fitness, parse_fitness_rule,
                        "pair-difference, pair-sign, centred-rank, z-score or group-z-score");
    YOLK_EVOLUTION_KEY("robust", robust, "pair-difference: scale by the smaller of the maximum and six medians");
    YOLK_EVOLUTION_KEY("group_size", group_size, "members per group of group-z-score");
    YOLK_EVOLUTION_KEY("noise_reuse", noise_reuse, "generations that share their noise");
    YOLK_EVOLUTION_KEY("antithetic", antithetic, "members in pairs of opposite noise");
    YOLK_EVOLUTION_KEY("freeze", freeze, "parameters to leave as they begin, such as \"layer0.weight\"");
    YOLK_EVOLUTION_KEY("freeze_vectors", freeze_vectors, "change matrices only, no biases");
    YOLK_EVOLUTION_WORD("determinism", determinism, parse_determinism,
                        "exact: the same bits on every device; fast: within a tolerance");
    YOLK_EVOLUTION_KEY("seed", seed, "of everything random");
}
#undef YOLK_EVOLUTION_KEY
#undef YOLK_EVOLUTION_WORD

void add_run_keys(std::vector<SettingKey>& keys) {
    keys.push_back(key(
        "run", "out", kBoth, "folder for the result, metrics, checkpoint, log and this file; \"\": none",
        [](Configuration & c) -> auto& { return c.kind == RunKind::Data ? c.learn.out : c.train.out; }));
    keys.push_back(key(
        "run", "log", kBoth, "log.yolk, from which `yolk replay` rebuilds any generation",
        [](Configuration & c) -> auto& { return c.kind == RunKind::Data ? c.learn.log : c.train.log; }));
    keys.push_back(key(
        "run", "checkpoint_every", kBoth, "generations between two checkpoints; 0: one at the end",
        [](Configuration & c) -> auto& {
            return c.kind == RunKind::Data ? c.learn.checkpoint_every : c.train.checkpoint_every;
        }));
    keys.push_back(key(
        "run", "held_out_every", kData, "generations between two looks at the rows held out",
        [](Configuration & c) -> auto& { return c.learn.held_out_every; }));
    keys.push_back(key(
        "run", "hash_every", kEnvironment, "generations between two state hashes",
        [](Configuration & c) -> auto& { return c.train.hash_every; }));
}

}  // namespace

std::span<const SettingKey> setting_keys() {
    static const std::vector<SettingKey> all = [] {
        std::vector<SettingKey> keys;
        add_data_keys(keys);
        add_environment_keys(keys);
        add_network_keys(keys);
        add_search_keys(keys);
        add_run_keys(keys);
        return keys;
    }();
    return all;
}

const SettingKey* find_key(std::string_view name) {
    const std::size_t dot = name.find('.');
    const std::string_view table = dot == std::string_view::npos ? "" : name.substr(0, dot);
    const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
    const auto found = std::ranges::find_if(setting_keys(), [&](const SettingKey& key) {
        return key.name == last && (table.empty() || key.table == table);
    });
    return found == setting_keys().end() ? nullptr : &*found;
}

bool is_key(std::string_view key) { return find_key(key) != nullptr; }

}  // namespace yolk::tasks
