// SPDX-License-Identifier: Apache-2.0
#include "byte_setup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/exact/exact_bytes.h"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::train {
namespace {

constexpr std::size_t kMostTextBytes = std::size_t{1} << 30U;
/// Sums of 900 a pair and column stay below 2^24, which floats hold: 32,768 / 2 pairs at rank 1.
constexpr std::uint64_t kMostSummedPairs = (1U << 24U) / 900;

template <class Settings, class Visit>
void each_byte_setting(Settings& s, Visit&& visit) {
    visit("width", s.width);
    visit("layers", s.layers);
    visit("population", s.population);
    visit("group", s.group);
    visit("steps", s.steps);
    visit("context", s.context);
    visit("rank", s.rank);
    visit("sigma_shift", s.sigma_shift);
    visit("alpha_rate", s.alpha_rate);
    visit("feedback", s.feedback);
    visit("held_out", s.held_out);
    visit("seed", s.seed);
}

Result<void> check_between(const char* what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value >= least && value <= most) return {};
    return bad_input("The {} of the byte model is {}; it must be from {} to {}.", what, value, least, most);
}

Result<void> check_byte_settings(const ByteSettings& s) {
    YOLK_TRY_VOID(check_between("width", s.width, 8, kMostByteWidth));
    if (s.width % 8 != 0) return bad_input("The width of the byte model is {}; it must be a multiple of 8.", s.width);
    YOLK_TRY_VOID(check_between("number of layers", s.layers, 1, kMostByteLayers));
    YOLK_TRY_VOID(check_between("population", s.population, 2, 2 * kMostSummedPairs));
    YOLK_TRY_VOID(check_between("group", s.group, 2, s.population));
    YOLK_TRY_VOID(check_between("number of steps", s.steps, 1, 1U << 15U));
    YOLK_TRY_VOID(check_between("context", s.context, 0, 1U << 15U));
    YOLK_TRY_VOID(check_between("sigma shift", s.sigma_shift, 0, 12));
    YOLK_TRY_VOID(check_between("alpha rate", s.alpha_rate, 0, 1'000'000));
    YOLK_TRY_VOID(check_between("feedback", s.feedback, 0, 16'384));
    YOLK_TRY_VOID(check_between("held-out share in percent", s.held_out, 1, 50));
    if (s.group % 2 != 0 || s.population % 2 != 0) {
        return bad_input(
            "The population is {} and a group has {} members; members come in pairs, so both must be even.",
            s.population, s.group);
    }
    const std::uint64_t summed = std::uint64_t{s.population} / 2 * s.rank;
    if (summed > kMostSummedPairs) {
        return bad_input("{} pairs of rank {} may sum to more than 2^24; at most {} pairs times rank are allowed.",
                         s.population / 2, s.rank, kMostSummedPairs);
    }
    // The kernel's own limits, for a text that is long enough.
    ByteModelDesc desc = byte_members_desc(s, std::size_t{s.steps} + s.context + 1);
    return operation_of<ByteModelDesc>().check(desc);
}

/// Matrices 16 N(0,1), rounded, by sums of nibbles of deviation 9.22: 111/64 of them. Norms 16, biases 0.
std::vector<float> initial_bytes(const ParameterTable& table, std::uint64_t seed) {
    std::vector<float> values;
    std::uint32_t id = 0;
    for (const ParameterDesc& parameter : table.parameters()) {
        const std::uint32_t count = parameter.rows * parameter.columns;
        const bool is_norm = parameter.name.find("norm") != std::string::npos;
        const NoiseStream stream{
            .seed = seed, .parameter = id++, .domain = Domain::Initialization, .pair = 0, .time = 0};
        for (std::uint32_t i = 0; i < count; ++i) {
            const bool is_vector = parameter.perturbation == Perturbation::Vector;
            const int value = is_vector ? (is_norm ? 16 : 0) : exact::byte_shift(111 * noise_element(stream, i), 6, 1);
            values.push_back(static_cast<float>(value));
        }
    }
    return values;
}

}  // namespace

evolve::NamedValues byte_settings(const ByteSettings& settings, const std::string& text_hash) {
    evolve::NamedValues values{{"task", "bytes"}};
    each_byte_setting(
        settings, [&](const char* name, const auto& value) { values.emplace_back(name, fmt::format("{}", value)); });
    values.emplace_back("symmetric", settings.symmetric ? "true" : "false");
    values.emplace_back("text", text_hash);
    return values;
}

Result<ByteSettings> byte_settings_of(const evolve::SettingReader& reader) {
    ByteSettings settings;
    Result<void> good;
    each_byte_setting(settings, [&](const char* name, auto& value) {
        if (good) good = reader.number(name, value);
    });
    YOLK_TRY_VOID(good);
    YOLK_TRY_VOID(reader.flag("symmetric", settings.symmetric));
    return settings;
}

Result<ByteSetup> set_up_bytes(const ByteSettings& settings) {
    YOLK_TRY_VOID(check_byte_settings(settings));
    ByteSetup setup{.settings = settings};
    YOLK_TRY(setup.table, ParameterTable::create(byte_model_parameters(settings.width, settings.layers)));
    setup.initial = initial_bytes(setup.table, settings.seed);
    setup.evolution.population = settings.population;
    setup.evolution.rank = settings.rank;
    setup.evolution.fitness = FitnessRule::PairSign;
    setup.evolution.seed = settings.seed;
    // An array beside the weights: the residual. The rule itself is step_bytes().
    setup.evolution.optimizer = settings.feedback == 0 ? OptimizerRule::Sgd : OptimizerRule::Momentum;
    return setup;
}

Result<ByteText> read_byte_text(const std::filesystem::path& file, const ByteSettings& settings) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(file, kMostTextBytes));
    if (bytes.empty()) return bad_input("The text '{}' is empty. Give a file with text to learn from.", shown(file));
    ByteText text{.hash = Hasher().add(bytes).hex()};
    const std::size_t held = bytes.size() * settings.held_out / 100;
    const auto part = [&](std::size_t first, std::size_t count) {
        const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data()) + first;
        return std::make_shared<const std::vector<std::uint8_t>>(begin, begin + count);
    };
    text.training = part(0, bytes.size() - held);
    text.held_out = part(bytes.size() - held, held);
    const std::size_t stretch = std::size_t{settings.steps} + settings.context + 1;
    if (text.training->size() <= stretch || held < 8) {
        return bad_input(
            "The text '{}' has {} bytes, {} of them held out. Training needs more than {} bytes, and the held-out part "
            "at least 8. Give a longer text, or fewer steps.",
            shown(file), bytes.size(), held, stretch);
    }
    return text;
}

ByteModelDesc byte_members_desc(const ByteSettings& settings, std::size_t bytes) {
    return {.width = settings.width,
            .layers = settings.layers,
            .population = settings.population,
            .members = settings.population,
            .group = settings.group,
            .steps = settings.steps,
            .context = settings.context,
            .text_bytes = static_cast<std::uint32_t>(bytes),
            .rank = settings.rank,
            .sigma_shift = settings.sigma_shift,
            .symmetric = settings.symmetric};
}

ByteModelDesc byte_mean_desc(const ByteSettings& settings, std::size_t bytes) {
    ByteModelDesc desc = byte_members_desc(settings, bytes);
    desc.mean_only = true;
    desc.group = 1;
    desc.context = static_cast<std::uint32_t>(std::min<std::size_t>(32, bytes / 4));
    desc.steps = static_cast<std::uint32_t>(std::min<std::size_t>(256, bytes - desc.context - 1));
    desc.members = std::max(1U, desc.text_bytes / desc.steps);
    desc.population = desc.members;
    return desc;
}

}  // namespace yolk::train
