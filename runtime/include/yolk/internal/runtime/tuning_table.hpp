// SPDX-License-Identifier: Apache-2.0
// What is known about good configurations on one device: entries of a family, a shape and the values of its knobs.
// Plans look up what their descriptions leave unset; who fills the table is not runtime's to know.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/runtime/tuning_space.hpp"

namespace yolk {

/// A shape's bucket: its variant, and for each extent the half octave that it lies in and the largest power of two, up
/// to 64, that divides it, since vector loads and whole tiles depend on both. Extents up to 8 stand for themselves.
/// "exact f32 f32^T f32 [512/64, 724/4, 7]": from 512, a multiple of 64; from 724, a multiple of 4 and of no more; 7.
[[nodiscard]] std::string tuning_bucket(const TuningShape& shape);

/// How far two shapes are from each other: the sum over the extents of the ratio in octaves, and a quarter for each
/// power of two, up to 64, that divides only one of a pair. Nothing where they cannot be compared: another variant,
/// another number of extents, or an extent that is zero on one side only.
[[nodiscard]] std::optional<double> tuning_distance(const TuningShape& a, const TuningShape& b);
/// A shape farther than this answers nothing.
inline constexpr double kFarthestShape = 4.0;

/// Values by the names of knobs, so that an entry outlives a change of their order.
using NamedConfiguration = std::vector<std::pair<std::string, std::uint32_t>>;

struct TuningEntry {
    std::string family;
    TuningShape shape;
    NamedConfiguration configuration;
    bool pinned = false;        ///< set by a person: the same as measured ones for plans, but no tuning replaces it
    bool other_device = false;  ///< measured on another device of the same architecture, under the same driver
};

/// Which source answered. A description's own configuration stands above, a primitive's heuristic below.
enum class TuningSource {
    Exact,             ///< an entry of the same bucket
    NearestShape,      ///< the nearest shape of the same variant, within kFarthestShape
    SameArchitecture,  ///< the same bucket or the nearest shape, of another device
};

struct TuningAnswer {
    Configuration configuration;  ///< legal in the space that was asked about
    TuningSource source = TuningSource::Exact;
    const TuningEntry* entry = nullptr;  ///< the table's; valid as long as the table
};

/// Immutable: threads may share it.
class TuningTable {
   public:
    TuningTable() = default;
    explicit TuningTable(std::vector<TuningEntry> entries);

    [[nodiscard]] std::span<const TuningEntry> entries() const noexcept { return entries_; }

    /// The answer for the family and shape of `space`: entries of the bucket, nearest first, then those of the nearest
    /// shapes; other devices' likewise after all of this one. An entry that the space does not allow (a knob missing or
    /// unknown, a value outside, an illegal combination) is passed over. Nothing: the heuristic's turn.
    [[nodiscard]] std::optional<TuningAnswer> find(const TuningSpace& space) const;

   private:
    std::vector<TuningEntry> entries_;  ///< by family
};

/// In the order of the space's knobs. Nothing where a name is missing, unknown or given twice.
[[nodiscard]] std::optional<Configuration> ordered_configuration(const TuningSpace& space,
                                                                 const NamedConfiguration& configuration);
[[nodiscard]] NamedConfiguration named_configuration(const TuningSpace& space, const Configuration& configuration);

}  // namespace yolk
