// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/prior_file.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "device_rows.hpp"
#include "yolk/core/file.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"
#include "yolk/core/printable.hpp"
#include "yolk/core/seal.hpp"

namespace yolk::autotune {
namespace {

constexpr int kPriorVersion = 2;
/// Its files have no checksum: what older versions wrote, and people write.
constexpr int kUnsealedPriorVersion = 1;
constexpr std::size_t kLargestPriorFile = std::size_t{1} << 29U;
constexpr std::size_t kMostConfigurations = 2'000'000;
constexpr std::size_t kMostFactors = 16;

/// Five digits are enough for log costs, and keep the file small.
double rounded(double value) { return std::round(value * 1e5) * 1e-5; }

Json numbers_json(const std::vector<double>& values) {
    Json json = Json::array();
    for (const double value : values) json.push_back(rounded(value));
    return json;
}

Json space_json(const SpacePrior& space) {
    Json json{{"kernel", space.kernel}, {"devices", space.devices}, {"parameters", Json::array()}};
    for (const Parameter& parameter : space.candidates.space().parameters()) {
        Json values = Json::array();
        for (const Value& value : parameter.values) {
            values.push_back(std::holds_alternative<double>(value) ? Json(std::get<double>(value))
                                                                   : Json(std::get<std::string>(value)));
        }
        json["parameters"].push_back({{"name", parameter.name}, {"values", std::move(values)}});
    }
    json["residual_deviation"] = space.prior.residual_deviation;
    json["portfolio"] = space.prior.portfolio;
    if (!space.prior.mean.empty()) {
        json["mean"] = numbers_json(space.prior.mean);
        json["factors"] = Json::array();
        for (const auto& factor : space.prior.factors) json["factors"].push_back(numbers_json(factor));
    }
    json["configurations"] = Json::array();
    for (std::size_t c = 0; c < space.candidates.size(); ++c) {
        const ChoiceView choice = space.candidates[c];
        json["configurations"].push_back(std::vector<std::uint16_t>(choice.begin(), choice.end()));
    }
    return json;
}

/// Nothing where it is no array of `size` finite numbers.
std::optional<std::vector<double>> numbers_of(const Json& json, std::size_t size) {
    if (!json.is_array() || json.size() != size) return std::nullopt;
    std::vector<double> values;
    values.reserve(size);
    for (const Json& value : json) {
        if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
        values.push_back(value.get<double>());
    }
    return values;
}

std::optional<std::vector<std::size_t>> indices_of(const Json& json, std::size_t below) {
    if (!json.is_array()) return std::nullopt;
    std::vector<std::size_t> values;
    for (const Json& value : json) {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= below) return std::nullopt;
        values.push_back(value.get<std::size_t>());
    }
    return values;
}

std::optional<Parameter> parameter_of(const Json& json) {
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
    if (!json.contains("values") || !json["values"].is_array() || json["values"].empty()) return std::nullopt;
    std::vector<Value> values;
    for (const Json& value : json["values"]) {
        if (value.is_string()) {
            values.emplace_back(value.get<std::string>());
        } else if (value.is_number() && std::isfinite(value.get<double>())) {
            values.emplace_back(value.get<double>());
        } else {
            return std::nullopt;
        }
    }
    const std::size_t count = values.size();
    Parameter parameter = Parameter::of(json["name"], values);
    // Indices count in the order that is written, which must be the parameter's own.
    if (parameter.values.size() != count || parameter.values != values) return std::nullopt;
    return parameter;
}

std::optional<CandidateSet> candidates_of(const Json& json) {
    if (!json.contains("parameters") || !json["parameters"].is_array()) return std::nullopt;
    if (!json.contains("configurations") || !json["configurations"].is_array()) return std::nullopt;
    if (json["configurations"].size() > kMostConfigurations) return std::nullopt;
    std::vector<Parameter> parameters;
    for (const Json& entry : json["parameters"]) {
        std::optional<Parameter> parameter = parameter_of(entry);
        if (!parameter) return std::nullopt;
        parameters.push_back(std::move(*parameter));
    }
    std::vector<std::uint16_t> choices;
    for (const Json& entry : json["configurations"]) {
        if (!entry.is_array() || entry.size() != parameters.size()) return std::nullopt;
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            if (!entry[p].is_number_unsigned() || entry[p].get<std::uint64_t>() >= parameters[p].values.size())
                return std::nullopt;
            choices.push_back(entry[p].get<std::uint16_t>());
        }
    }
    Result<Space> space = Space::create(std::move(parameters));
    if (!space) return std::nullopt;
    Result<CandidateSet> set = CandidateSet::of(*std::move(space), std::move(choices));
    if (!set) return std::nullopt;
    return *std::move(set);
}

std::optional<SpacePrior> space_of_json(const Json& json) {
    if (!json.is_object()) return std::nullopt;
    std::optional<CandidateSet> candidates = candidates_of(json);
    if (!candidates) return std::nullopt;
    SpacePrior space{.candidates = std::move(*candidates), .prior = {}};
    if (json.contains("kernel") && json["kernel"].is_string()) space.kernel = json["kernel"];
    if (json.contains("devices") && json["devices"].is_array()) {
        for (const Json& device : json["devices"]) space.devices.push_back(device.is_string() ? device : Json(""));
    }
    std::optional<std::vector<std::size_t>> portfolio =
        json.contains("portfolio") ? indices_of(json["portfolio"], space.candidates.size()) : std::nullopt;
    if (!portfolio) return std::nullopt;
    space.prior.portfolio = std::move(*portfolio);
    if (!json.contains("mean")) return space;
    std::optional<std::vector<double>> mean = numbers_of(json["mean"], space.candidates.size());
    const double residual = json.contains("residual_deviation") && json["residual_deviation"].is_number()
                                ? json["residual_deviation"].get<double>()
                                : 0.0;
    if (!mean || !json.contains("factors") || !json["factors"].is_array() || json["factors"].size() > kMostFactors ||
        !(residual > 0.0) || !std::isfinite(residual))
        return std::nullopt;
    space.prior.mean = std::move(*mean);
    space.prior.residual_deviation = residual;
    for (const Json& entry : json["factors"]) {
        std::optional<std::vector<double>> factor = numbers_of(entry, space.candidates.size());
        if (!factor) return std::nullopt;
        space.prior.factors.push_back(std::move(*factor));
    }
    return space;
}

/// Unknown names are a newer Yolk's and left out.
std::optional<NaturalSettings> settings_of(const Json& json) {
    if (!json.is_object()) return std::nullopt;
    NaturalSettings settings;
    for (const NaturalField& field : natural_fields()) {
        const std::string name(field.name);
        if (!json.contains(name)) continue;
        if (!json[name].is_number()) return std::nullopt;
        settings.*field.member = json[name].get<double>();
    }
    return legal(settings);
}

/// Whether the parameters that vary are the same ones by name.
bool same_parameters(const Space& a, const Space& b) {
    const auto covered = [](const Space& these, const Space& those) {
        return std::ranges::all_of(these.parameters(), [&](const Parameter& parameter) {
            return parameter.values.size() < 2 ||
                   std::ranges::find(those.parameters(), parameter.name, &Parameter::name) != those.parameters().end();
        });
    };
    return covered(a, b) && covered(b, a);
}

}  // namespace

std::string prior_text(const PriorFile& file) {
    Json settings = Json::object();
    for (const NaturalField& field : natural_fields()) settings[std::string(field.name)] = file.settings.*field.member;
    std::string text =
        fmt::format("{{\"yolk_prior\": {},\n\"{}\":\"{}\",\n\"settings\": {},\n\"training\": {},\n\"spaces\": [",
                    kPriorVersion, kSealKey, kNoSeal, to_line(settings), to_line(file.training));
    for (std::size_t s = 0; s < file.spaces.size(); ++s) {
        text += s == 0 ? "\n" : ",\n";
        text += to_line(space_json(file.spaces[s]));
    }
    text += "\n]}\n";
    seal(text);
    return text;
}

Result<PriorFile> parse_prior(std::string_view text, std::string_view name) {
    const Result<Json> parsed = parse_json(text, name);
    if (!parsed) {
        return bad_input(
            "{} So it is not a prior over devices, or is cut off; yolk tune prior train FILES... --out FILE writes "
            "one.",
            parsed.error().message);
    }
    const Json& json = *parsed;
    if (!json.is_object() || !json.contains("yolk_prior") || !json["yolk_prior"].is_number_integer()) {
        return bad_input(
            "{} is not a prior over devices, or is cut off; yolk tune prior train FILES... --out FILE writes one.",
            name);
    }
    if (json["yolk_prior"].get<std::int64_t>() > kPriorVersion) {
        return bad_input("{} was written by a newer Yolk; this one reads priors of version {}. Train it again.", name,
                         kPriorVersion);
    }
    const auto version = json["yolk_prior"].get<std::int64_t>();
    const Seal seal = seal_of(text);
    if (seal == Seal::Broken || (version != kUnsealedPriorVersion && seal == Seal::Missing))
        return bad_input("{} is damaged: {}. Train it again.", name,
                         seal == Seal::Broken ? kBrokenSeal : "it has no checksum");
    PriorFile file;
    const std::optional<NaturalSettings> settings =
        json.contains("settings") ? settings_of(json["settings"]) : std::nullopt;
    if (!settings || !json.contains("spaces") || !json["spaces"].is_array())
        return bad_input("{} is damaged: its settings or spaces are missing. Train it again.", name);
    file.settings = *settings;
    if (json.contains("training") && json["training"].is_object()) file.training = json["training"];
    for (std::size_t s = 0; s < json["spaces"].size(); ++s) {
        std::optional<SpacePrior> space = space_of_json(json["spaces"][s]);
        if (!space) {
            return bad_input(
                "{} is damaged: its space {} does not hold together (one finite number per configuration, "
                "indices within the parameters' values). Train it again.",
                name, s);
        }
        file.spaces.push_back(std::move(*space));
    }
    return file;
}

Result<PriorFile> read_prior(const std::filesystem::path& path) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kLargestPriorFile));
    std::string text(bytes.size(), '\0');
    std::ranges::transform(bytes, text.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    return parse_prior(text, fmt::format("'{}'", shown(path)));
}

Result<std::optional<PriorFile>> find_prior(const std::filesystem::path& named, const std::filesystem::path& table) {
    using Found = std::optional<PriorFile>;
    if (!named.empty()) {
        YOLK_TRY(PriorFile file, read_prior(named));
        return Found(std::move(file));
    }
    if (table.empty()) return Found();
    const std::filesystem::path path = std::filesystem::path(table).replace_filename("prior.json");
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return Found();
    Result<PriorFile> file = read_prior(path);
    if (file) return Found(*std::move(file));
    log_warning(fmt::format("{} Tuning continues without a prior.", file.error().message));  // nobody asked for it
    return Found();
}

Result<void> write_prior(const std::filesystem::path& path, const PriorFile& file) {
    return write_file_atomically(path, prior_text(file));
}

namespace {

using Places = std::vector<std::optional<std::size_t>>;  ///< of the target's candidates among the prior's

/// A prior of other candidates of the same knobs, for these: known ones are taken, the others regressed on their knobs.
DevicePrior prior_at(const CandidateSet& target, const DevicePrior& from, const Places& places) {
    const auto taken = [&](const std::vector<double>& known) {
        std::vector<double> values;
        values.reserve(places.size());
        for (const auto& place : places) values.push_back(place ? known[*place] : std::nan(""));
        fill_by_regression(target, values);
        for (double& value : values) value = std::isnan(value) ? 0.0 : value;
        return values;
    };
    DevicePrior prior;
    prior.mean = taken(from.mean);
    for (const auto& factor : from.factors) prior.factors.push_back(taken(factor));
    prior.residual_deviation = from.residual_deviation;
    for (const std::size_t wanted : from.portfolio) {
        const auto place = std::ranges::find(places, std::optional<std::size_t>(wanted));
        if (place != places.end()) prior.portfolio.push_back(static_cast<std::size_t>(place - places.begin()));
    }
    return prior;
}

}  // namespace

std::optional<DevicePrior> prior_for(const PriorFile& file, const CandidateSet& target, std::string_view kernel) {
    for (const SpacePrior& space : file.spaces) {
        if (space.prior.mean.empty() || !same_parameters(space.candidates.space(), target.space())) continue;
        if (!space.kernel.empty() && !kernel.empty() && space.kernel != kernel) continue;
        const Result<Places> places = matched_candidates(target, space.candidates, "The prior");
        if (!places || std::ranges::none_of(*places, [](const auto& place) { return place.has_value(); })) continue;
        return prior_at(target, space.prior, *places);
    }
    return std::nullopt;
}

std::size_t predicted_best(const DevicePrior& prior, const std::vector<std::pair<std::size_t, double>>& known) {
    const auto rank = static_cast<Eigen::Index>(prior.factors.size());
    // The device's level and its place along the factors: ridge regression with u ~ N(0, 1), the level free.
    Eigen::MatrixXd normal = Eigen::MatrixXd::Identity(rank + 1, rank + 1);
    normal(rank, rank) = 1e-6;
    Eigen::VectorXd right = Eigen::VectorXd::Zero(rank + 1);
    const double precision = 1.0 / (prior.residual_deviation * prior.residual_deviation);
    for (const auto& [candidate, log_cost] : known) {
        Eigen::VectorXd features(rank + 1);
        for (Eigen::Index k = 0; k < rank; ++k) features(k) = prior.factors[static_cast<std::size_t>(k)][candidate];
        features(rank) = 1.0;
        normal += precision * features * features.transpose();
        right += precision * (log_cost - prior.mean[candidate]) * features;
    }
    const Eigen::VectorXd place = normal.ldlt().solve(right);
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < prior.mean.size(); ++c) {
        double value = prior.mean[c];
        for (Eigen::Index k = 0; k < rank; ++k) value += place(k) * prior.factors[static_cast<std::size_t>(k)][c];
        if (value >= least) continue;
        least = value;
        best = c;
    }
    return best;
}

}  // namespace yolk::autotune
