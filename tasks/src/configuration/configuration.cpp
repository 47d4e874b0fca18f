// SPDX-License-Identifier: Apache-2.0
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
// toml++ 3.3 asserts that a key begins in "[:]" and gives an error after that. Without its assertions, which NDEBUG
// would turn into assumptions, it is that error.
#define TOML_ASSERT(condition) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <sstream>

#include "keys.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"

namespace yolk::tasks {
namespace {

constexpr std::size_t kMostConfigurationBytes = std::size_t{1} << 20U;
constexpr std::array<std::string_view, 5> kTables{"data", "environment", "network", "search", "run"};

/// Levenshtein's.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
        }
    }
    return row.back();
}

/// " Did you mean 'sigma'? All: ...", or without the question where none is near.
std::string nearest(std::string_view given, const std::vector<std::string_view>& known) {
    const auto best = std::ranges::min_element(
        known, {}, [&](std::string_view each) { return edit_distance(given.substr(0, 64), each); });
    const bool is_near =
        best != known.end() && edit_distance(given.substr(0, 64), *best) <= std::max<std::size_t>(2, given.size() / 3);
    return fmt::format("{}There are {}.", is_near ? fmt::format("Did you mean '{}'? ", *best) : "",
                       fmt::join(known, ", "));
}

std::vector<std::string_view> names_of_keys(std::string_view table, RunKind kind) {
    std::vector<std::string_view> names;
    for (const SettingKey& key : setting_keys()) {
        if ((table.empty() || key.table == table) && (!key.kind || *key.kind == kind)) names.push_back(key.name);
    }
    return names;
}

std::string_view name_of(RunKind kind) { return kind == RunKind::Data ? "a data set" : "an environment"; }

/// Where something stands: "'yolk.toml', line 7", or the flag.
std::string place_of(const std::string& name, const toml::source_region& source) {
    return source.begin.line == 0 ? name : fmt::format("{}, line {}", name, source.begin.line);
}

Result<TomlValue> value_of(const toml::node& node) {
    if (const auto* const value = node.as_boolean()) return TomlValue(value->get());
    if (const auto* const value = node.as_integer()) return TomlValue(value->get());
    if (const auto* const value = node.as_floating_point()) return TomlValue(value->get());
    if (const auto* const value = node.as_string()) return TomlValue(value->get());
    const toml::array* const array = node.as_array();
    if (array == nullptr) return bad_input("a table or a date is no value of a setting.");
    std::vector<std::string> items;
    for (const toml::node& item : *array) {
        if (const auto* const text = item.as_string()) {
            items.push_back(text->get());
        } else if (const auto* const number = item.as_integer()) {
            items.push_back(fmt::format("{}", number->get()));
        } else {
            return bad_input("a list is of texts or of whole numbers.");
        }
    }
    return TomlValue(std::move(items));
}

Result<void> set_key(Configuration& to, const SettingKey& key, const toml::node& node, const std::string& place) {
    if (key.kind && *key.kind != to.kind) {
        return bad_input("{}: '{}.{}' is of runs over {}, and this one is over {}. Remove it.", place, key.table,
                         key.name, name_of(*key.kind), name_of(to.kind));
    }
    const Result<TomlValue> value = value_of(node);
    const Result<void> set = value ? key.read(to, *value) : Result<void>(value.error());
    if (set) return {};
    return bad_input("{}: '{}.{}': {}", place, key.table, key.name, set.error().message);
}

Result<void> read_table(Configuration& to, std::string_view table, const toml::table& entries,
                        const std::string& name) {
    for (const auto& [key, node] : entries) {
        const SettingKey* const found = find_key(fmt::format("{}.{}", table, key.str()));
        if (found == nullptr) {
            return bad_input("{}: '{}' is no key of [{}]. {}", place_of(name, key.source()), shown(key.str()), table,
                             nearest(key.str(), names_of_keys(table, to.kind)));
        }
    }
    // In the schema's order, as one may depend on another.
    for (const SettingKey& key : setting_keys()) {
        const toml::node* const node = key.table == table ? entries.get(key.name) : nullptr;
        if (node != nullptr) YOLK_TRY_VOID(set_key(to, key, *node, place_of(name, node->source())));
    }
    return {};
}

Result<void> check_version(const toml::table& root, const std::string& name) {
    const toml::node* const version = root.get("version");
    if (version == nullptr) {
        return bad_input("{}: the line `version = {}` is missing; it says of which form the file is.", name,
                         kConfigurationVersion);
    }
    if (version->value<std::int64_t>() == kConfigurationVersion && version->is_integer()) return {};
    std::ostringstream text;
    version->visit([&](const auto& node) { text << node; });
    return bad_input("{}: the file is of version {}; this Yolk reads version {}.", place_of(name, version->source()),
                     shown(text.str()), kConfigurationVersion);
}

/// Elsewhere than in strings of one line and comments toml++ 3.3 runs into undefined behaviour at such a character.
Result<void> check_characters(std::string_view text, const std::string& name) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    constexpr char kAscii = 0x7F;
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    std::size_t line = 1, line_begin = 0;
    char within = 0;  // of the string that is open its quote, or the comment's '#'
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n') {
            ++line;
            line_begin = i + 1;
            within = 0;
        } else if (within == 0 && (c == '"' || c == '\'' || c == '#')) {
            within = c;
        } else if (within == '"' && c == '\\' && i + 1 < text.size() && text[i + 1] != '\n') {
            ++i;
        } else if (within == c && c != '#') {
            within = 0;
        } else if (within == 0 && static_cast<unsigned char>(c) > kAscii) {
            return bad_input(
                "{}, line {}, column {}: this is no TOML: a character beyond ASCII stands in no comment and in no "
                "string of one line; put what it belongs to in quotes.",
                name, line, i - line_begin + 1);
        }
    }
    return {};
}

Result<toml::table> parse_toml(std::string_view text, const std::string& name) {
    YOLK_TRY_VOID(check_characters(text, name));
    toml::parse_result parsed = toml::parse(text);
    if (parsed) return std::move(parsed).table();
    return bad_input("{}, line {}, column {}: this is no TOML: {}.", name, parsed.error().source().begin.line,
                     parsed.error().source().begin.column, shown(parsed.error().description()));
}

Result<void> check_tables(const toml::table& root, const std::string& name) {
    for (const auto& [key, node] : root) {
        if (key.str() == "version") continue;
        const bool is_known = std::ranges::find(kTables, key.str()) != kTables.end();
        if (is_known && node.is_table()) continue;
        const std::string place = place_of(name, key.source());
        if (is_known) return bad_input("{}: '{}' must be a table, [{}].", place, key.str(), key.str());
        return bad_input("{}: there is no table or key '{}'. {}", place, shown(key.str()),
                         nearest(key.str(), {kTables.begin(), kTables.end()}));
    }
    if (root.contains("data") == root.contains("environment")) {
        return bad_input(
            "{}: {}; a run is over one of the two.", name,
            root.contains("data") ? "there are [data] and [environment]" : "there is neither [data] nor [environment]");
    }
    return {};
}

/// The text as TOML has it, or else as a text; a list of a flag has commas.
toml::table parse_override(const std::string& value) {
    const bool is_list = value.find(',') != std::string::npos && !value.starts_with('[');
    for (const std::string& text : {is_list ? fmt::format("v = [{}]", value) : fmt::format("v = {}", value)}) {
        if (!check_characters(text, {})) continue;
        toml::parse_result parsed = toml::parse(text);
        if (parsed && parsed.table().size() == 1) return std::move(parsed).table();
    }
    return toml::table{{"v", value}};
}

/// The settings' limits, whatever they were given by.
Result<void> check_limits(const Configuration& configuration, const std::string& name) {
    const Result<void> good = configuration.kind == RunKind::Data ? validate(configuration.learn)
                                                                  : evolve::validate(configuration.train.evolution);
    return good ? Result<void>() : Result<void>(bad_input("{}: {}", name, good.error().message));
}

}  // namespace

Result<void> apply(Configuration& configuration, std::span<const Override> overrides) {
    // In the schema's order, as one may depend on another.
    for (const Override& each : overrides) {
        if (is_key(each.key)) continue;
        return bad_input("{}: there is no setting '{}'. {}", shown(each.from), shown(each.key),
                         nearest(each.key.substr(each.key.find('.') + 1), names_of_keys("", configuration.kind)));
    }
    for (const SettingKey& key : setting_keys()) {
        for (const Override& each : overrides) {
            if (find_key(each.key) != &key) continue;
            const toml::table value = parse_override(each.value);
            YOLK_TRY_VOID(set_key(configuration, key, *value.get("v"), shown(each.from)));
        }
    }
    return {};
}

Result<Configuration> parse_configuration(std::string_view text, const std::string& name,
                                          std::span<const Override> overrides) {
    YOLK_TRY(const toml::table root, parse_toml(text, name));
    YOLK_TRY_VOID(check_version(root, name));
    YOLK_TRY_VOID(check_tables(root, name));
    Configuration configuration;
    configuration.kind = root.contains("data") ? RunKind::Data : RunKind::Environment;
    for (const std::string_view table : kTables) {
        if (const toml::table* const entries = root[table].as_table())
            YOLK_TRY_VOID(read_table(configuration, table, *entries, name));
    }
    YOLK_TRY_VOID(apply(configuration, overrides));
    YOLK_TRY_VOID(check_limits(configuration, name));
    return configuration;
}

Result<Configuration> read_configuration(const std::filesystem::path& path, std::span<const Override> overrides) {
    YOLK_TRY(const std::string text, read_text(path, kMostConfigurationBytes));
    return parse_configuration(text, fmt::format("'{}'", shown(path)), overrides);
}

std::string to_toml(const Configuration& configuration) {
    std::string text = fmt::format(
        "# A run of Yolk over {}: `yolk train yolk.toml`. `--set search.lr=0.1` sets one value for one run.\nversion = "
        "{}\n",
        name_of(configuration.kind), kConfigurationVersion);
    for (const std::string_view table : kTables) {
        std::string lines;
        for (const SettingKey& key : setting_keys()) {
            if (key.table != table || (key.kind && *key.kind != configuration.kind)) continue;
            const std::string value = key.write(configuration);
            const std::string line =
                value.empty() ? fmt::format("# {} =", key.name) : fmt::format("{} = {}", key.name, value);
            lines += fmt::format("{:<32} # {}\n", line, key.comment);
        }
        if (!lines.empty()) text += fmt::format("\n[{}]\n{}", table, lines);
    }
    return text;
}

}  // namespace yolk::tasks
