// SPDX-License-Identifier: Apache-2.0
// es_update: the EGGROLL gradient estimate of all parameters, noise regenerated inside (docs/kernels/es_update.md).
// G = (sqrt(N)/N) (sigma/sqrt(r)) sum over pairs w_i A_i B_i^T for matrices, (sqrt(N)/N) sigma sum over pairs w_i V_i
// for vectors, with w_i = coefficient * q_i; without antithetic sampling the sum is over members. Integer weights:
// class E sums, one stated conversion (P). Float weights: class T.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk {

enum class FitnessWeights { I8, F32 };
constexpr auto enum_words(FitnessWeights /*type*/) { return std::to_array<std::string_view>({"i8", "f32"}); }

/// What an update makes: the gradient, or the exact sums that it is rounded from, of pairs that the caller chooses.
enum class EsUpdateOutput { Gradient, Sums };
constexpr auto enum_words(EsUpdateOutput /*type*/) { return std::to_array<std::string_view>({"gradient", "sums"}); }

struct EsUpdateConfig {
    std::uint32_t workgroup_size = 32;
    /// Pairs that one invocation sums; the nearest number is taken that keeps sums exact (16,384 / r), loops within the
    /// device's limit, and slices few enough (4,096).
    std::uint32_t pairs_per_slice = 256;
    /// Columns of a matrix tile in units of 8: with 2 the noise of A is drawn once for twice as many elements.
    std::uint32_t tile_blocks = 1;
    /// 1: a workgroup of 64 takes 8 x 8 tiles of a matrix and draws their noise once, into shared memory; GPUs'
    /// default. tile_blocks must be 1, and with int8 weights a slice has at most 128 / r pairs.
    std::uint32_t staged = 0;
};

struct EsUpdateViews {
    BufferView weights{};   ///< as fitness wrote them
    BufferView summary{};   ///< abi::fitness::Summary; of a gradient only
    BufferView gradient{};  ///< out, fp32 [element_count]; zero for frozen parameters
    /// Out, in place of the gradient: uint32 [element_count, 2], the low word first, of sums in two's complement.
    BufferView sums{};
};

/// The part of an update that one recording makes; by default all of it. What leaves the update is refused, by an error
/// that sticks in the recorder.
struct EsUpdateShare {
    static constexpr std::uint32_t kAllThatFollow = 0xFFFFFFFFU;

    /// Strips (yolk/internal/primitives/es_update_strips.hpp) whose elements are written; those of others are left as
    /// they are. The share that begins at strip 0 zeroes the elements of frozen parameters, unless it has no strips.
    std::uint32_t first_strip = 0;
    std::uint32_t strip_count = kAllThatFollow;
    /// Pairs that are summed (members, where they come without pairs). Of sums only: a gradient is of all.
    std::uint32_t first_pair = 0;
    std::uint32_t pair_count = kAllThatFollow;
};

struct EsUpdatePipelines;
struct EsUpdateBindings;

struct EsUpdateDesc {
    using Config = EsUpdateConfig;
    using Views = EsUpdateViews;
    using Pipelines = std::shared_ptr<const EsUpdatePipelines>;
    using Bindings = std::shared_ptr<const EsUpdateBindings>;
    using Call = void(const NoiseContext& when, OrDefault<EsUpdateShare> share);

    ParameterTable parameters;
    std::uint32_t population = 0;  ///< even where members come in pairs
    std::uint32_t rank = 1;        ///< of matrices that say none (ParameterDesc::rank), 1 ... 32
    FitnessWeights weights = FitnessWeights::I8;
    bool antithetic = true;  ///< weights are one per pair; false: one per member, whose noise is its own
    /// Sums take int8 weights, and are converted by es_update_gradient (yolk/internal/reference/update_gradient.hpp).
    EsUpdateOutput output = EsUpdateOutput::Gradient;
    std::optional<EsUpdateConfig> config{};  ///< unset: the device's table, else the heuristic
};

/// Any configuration gives the same bytes for int8 weights, and so does any way to share an update: the shares of the
/// parameters are the whole's elements, and the sums of shares of the pairs, added, those of all pairs.
template <>
const Operation<EsUpdateDesc>& operation_of<EsUpdateDesc>();
/// A barrier between its own dispatches inside; the caller puts one before and after.
using BoundEsUpdate = Bound<EsUpdateDesc>;
/// Owns a small device buffer with the parameter table, once for each rank (made with the plan, uploaded once).
/// Parameters of one rank are summed together, rank by rank. Scratch: partial sums, 4 bytes per slice and element that
/// is not frozen, up to whole tiles, of the rank that needs most; 128 MiB at most. With less, down to all slices of one
/// tile, the gradient is made in more windows, with the same bits. Errors: population odd or zero, rank out of
/// range, a configuration outside the space, an empty table, sums of float weights, a gradient (or its sums) above the
/// device's binding limit, more slices than a loop of the device may take (above 2^25 members), driver errors.
using EsUpdatePlan = Plan<EsUpdateDesc>;
inline constexpr Planner<EsUpdateDesc> plan_es_update;
/// Dispatches that one record() of the whole makes with so much scratch: 2 per window (1 where all is frozen), one
/// window at least for each rank that the table has, whatever the number of parameters.
[[nodiscard]] std::uint64_t es_update_dispatches(const EsUpdatePlan& plan, std::uint64_t scratch_bytes);

}  // namespace yolk
