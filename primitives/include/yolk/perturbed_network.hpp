// SPDX-License-Identifier: Apache-2.0
// perturbed_network: a small network of one to four perturbed layers for every member of a population, each y =
// activation(x W^T + side * (sigma/sqrt(r)) (x B) A^T + bias'), in one kernel: what lies between layers is never stored
// (docs/kernels/perturbed_network.md). Exact: class P, the bits of perturbed_linear, perturbed_vector and elementwise.
// Fast: class T.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/internal/primitives/activation.hpp"
#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::abi::perturbed_network {
struct Params;
}

namespace yolk {

inline constexpr std::uint32_t kMostNetworkLayers = 4;
inline constexpr std::uint32_t kMostNetworkWidth = 64;
/// Limits of all layers together: drivers compile each product and each element of noise by itself.
inline constexpr std::uint32_t kMostNetworkProducts = 512;
inline constexpr std::uint32_t kMostNetworkNoise = 256;

/// Tuning parameters; exact, any legal configuration gives the same bits.
struct PerturbedNetworkConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t rows_per_invocation = 1;  ///< of a member, for which noise is drawn once
    std::uint32_t both_sides = 0;           ///< 1: likewise for both sides of a pair
};

struct PerturbedNetworkViews {
    std::span<const BufferView> weights;  ///< of each layer fp32 [out, in], read as a uniform buffer
    std::span<const BufferView> biases;   ///< of each layer that has one fp32 [out], likewise
    BufferView input;                     ///< fp32 [rows, in] or [members, rows, in]
    BufferView output;                    ///< out, fp32 [members, rows, out]
};

struct PerturbedNetworkDesc {
    using Config = PerturbedNetworkConfig;
    using Views = PerturbedNetworkViews;
    using Params = abi::perturbed_network::Params;
    /// Members first_member ... first_member + members - 1; member -1 is the mean.
    using Call = void(const NoiseContext& when, OrDefault<std::int32_t> first_member);

    std::uint32_t members = 0;  ///< 0 is legal
    std::uint32_t rows = 0;     ///< of x, per member
    /// Inputs, and the outputs of each layer; 2 to 5 numbers from 1 to kMostNetworkWidth.
    std::vector<std::uint32_t> widths{1, 1};
    std::array<Activation, kMostNetworkLayers> activations{};  ///< by layer
    std::uint32_t biases = 0;                                  ///< bit l: layer l has a bias
    std::uint32_t rank = 1;                                    ///< 1 ... 32, of all layers
    /// By layer: whose noise streams perturb its weights (domains A and B) and its bias (domain Vector).
    std::array<ParameterId, kMostNetworkLayers> weights{ParameterId{0}, ParameterId{2}, ParameterId{4}, ParameterId{6}};
    std::array<ParameterId, kMostNetworkLayers> bias_vectors{ParameterId{1}, ParameterId{3}, ParameterId{5},
                                                             ParameterId{7}};
    bool shared_input = false;  ///< x is [rows, ...] for all members, else [members, rows, ...]
    bool antithetic = true;     ///< both sides of a pair share noise; false: every member has its own, pair = member
    Determinism determinism = Determinism::Exact;
    std::optional<PerturbedNetworkConfig> config{};  ///< unset: the device's table, else the heuristic

    [[nodiscard]] std::size_t layers() const noexcept { return widths.size() - 1; }
    [[nodiscard]] bool has_bias(std::size_t layer) const noexcept { return (biases >> layer & 1U) != 0; }
};

/// Multiply-adds of a row; noise elements of a member.
[[nodiscard]] std::uint64_t network_products(const PerturbedNetworkDesc& desc) noexcept;
[[nodiscard]] std::uint64_t network_noise(const PerturbedNetworkDesc& desc) noexcept;
/// Whether one kernel takes the network. Errors (BadInput): another number of widths than 2 to 5, a width outside 1 ...
/// kMostNetworkWidth, more products or noise than above, a bias of a layer that is not there, a parameter outside its
/// range.
[[nodiscard]] Result<void> check_perturbed_network(const PerturbedNetworkDesc& desc);

template <>
const Operation<PerturbedNetworkDesc>& operation_of<PerturbedNetworkDesc>();
using PerturbedNetworkPlan = Plan<PerturbedNetworkDesc>;
using BoundPerturbedNetwork = Bound<PerturbedNetworkDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: check_perturbed_network's.
inline constexpr Planner<PerturbedNetworkDesc> plan_perturbed_network;

}  // namespace yolk
