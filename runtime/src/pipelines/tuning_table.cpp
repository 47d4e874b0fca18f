// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/tuning_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace yolk {
namespace {

constexpr std::uint64_t kLargestExact = 8;
constexpr int kMostAlignment = 6;  // 64
constexpr double kOctavesPerAlignment = 0.25;

int alignment_of(std::uint64_t extent) noexcept { return std::min(std::countr_zero(extent), kMostAlignment); }

/// The lower end, rounded down, of the half octave that `extent`, above 0, lies in.
std::uint64_t half_octave(std::uint64_t extent) noexcept {
    const auto octave = static_cast<int>(std::bit_width(extent)) - 1;
    const double middle = std::exp2(octave) * std::numbers::sqrt2;
    return static_cast<double>(extent) >= middle ? static_cast<std::uint64_t>(middle)
                                                 : std::uint64_t{1} << static_cast<unsigned>(octave);
}

std::string bucket_of(std::uint64_t extent) {
    if (extent <= kLargestExact) return fmt::format("{}", extent);
    return fmt::format("{}/{}", half_octave(extent), 1U << static_cast<unsigned>(alignment_of(extent)));
}

}  // namespace

std::string tuning_bucket(const TuningShape& shape) {
    std::string text = shape.variant + " [";
    for (std::size_t i = 0; i < shape.extents.size(); ++i) text += (i == 0 ? "" : ", ") + bucket_of(shape.extents[i]);
    return text + "]";
}

std::optional<double> tuning_distance(const TuningShape& a, const TuningShape& b) {
    if (a.variant != b.variant || a.extents.size() != b.extents.size()) return std::nullopt;
    double distance = 0.0;
    for (std::size_t i = 0; i < a.extents.size(); ++i) {
        if (a.extents[i] == b.extents[i]) continue;
        if (a.extents[i] == 0 || b.extents[i] == 0) return std::nullopt;
        distance += std::abs(std::log2(static_cast<double>(a.extents[i]) / static_cast<double>(b.extents[i])));
        distance += kOctavesPerAlignment * std::abs(alignment_of(a.extents[i]) - alignment_of(b.extents[i]));
    }
    return distance;
}

std::optional<Configuration> ordered_configuration(const TuningSpace& space, const NamedConfiguration& configuration) {
    if (configuration.size() != space.knobs().size()) return std::nullopt;
    Configuration values;
    for (const TuningKnob& knob : space.knobs()) {
        const auto named = std::ranges::find(configuration, knob.name, &NamedConfiguration::value_type::first);
        if (named == configuration.end()) return std::nullopt;
        values.push_back(named->second);
    }
    return values;
}

NamedConfiguration named_configuration(const TuningSpace& space, const Configuration& configuration) {
    NamedConfiguration named;
    for (std::size_t i = 0; i < configuration.size(); ++i) named.emplace_back(space.knobs()[i].name, configuration[i]);
    return named;
}

TuningTable::TuningTable(std::vector<TuningEntry> entries) : entries_(std::move(entries)) {
    std::ranges::stable_sort(entries_, {}, &TuningEntry::family);
}

std::optional<TuningAnswer> TuningTable::find(const TuningSpace& space) const {
    struct Near {
        bool exact;
        double distance;
        const TuningEntry* entry;
    };
    const auto begin = std::ranges::lower_bound(entries_, space.family(), {}, &TuningEntry::family);
    const auto end = std::ranges::upper_bound(entries_, space.family(), {}, &TuningEntry::family);
    if (begin == end) return std::nullopt;
    const std::string bucket = tuning_bucket(space.shape());
    std::vector<Near> near;
    for (auto entry = begin; entry != end; ++entry) {
        const std::optional<double> distance = tuning_distance(space.shape(), entry->shape);
        if (!distance) continue;
        const bool exact = tuning_bucket(entry->shape) == bucket;
        if (exact || *distance <= kFarthestShape) near.push_back({exact, *distance, &*entry});
    }
    std::ranges::stable_sort(near, [](const Near& a, const Near& b) {
        if (a.entry->other_device != b.entry->other_device) return b.entry->other_device;
        return a.exact != b.exact ? a.exact : a.distance < b.distance;
    });
    for (const Near& candidate : near) {
        std::optional<Configuration> values = ordered_configuration(space, candidate.entry->configuration);
        if (!values || !space.check(*values)) continue;
        const TuningSource here = candidate.exact ? TuningSource::Exact : TuningSource::NearestShape;
        return TuningAnswer{std::move(*values), candidate.entry->other_device ? TuningSource::SameArchitecture : here,
                            candidate.entry};
    }
    return std::nullopt;
}

}  // namespace yolk
