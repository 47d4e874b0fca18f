// SPDX-License-Identifier: Apache-2.0
// What the plans of covariance, inverse_sqrt and kronecker_precondition share: they are made of matmul's plans and
// small kernels of one element per invocation. `plan` is the label in messages ("[covariance]").
#pragma once

#include <cstdint>
#include <vector>

#include "matmul_layout.hpp"
#include "scratch_pieces.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/matmul.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// The largest block: its sums of 1,024 terms are what the tolerances are derived for.
inline constexpr std::uint32_t kMaxBlockSize = 1024;
/// Of the kernels of one element per invocation.
inline constexpr std::uint32_t kElementWorkgroup = 64;

/// The products that a primitive is made of; the second may be the first.
struct ProductPair {
    MatmulDesc first;
    MatmulDesc second;
};

// Of an operation that is made of such products: matmul's knobs, what is legal for both, and matmul's heuristic, but
// for batches of small products: uniform operands take a dispatch per matrix.
[[nodiscard]] std::vector<Knob<MatmulConfig>> product_knobs(const DeviceInfo& info, const ProductPair& products);
[[nodiscard]] Result<void> legal_products(const DeviceInfo& info, const ProductPair& products,
                                          const MatmulConfig& config);
[[nodiscard]] MatmulConfig product_heuristic(const DeviceInfo& info, const ProductPair& products);

/// The operation's three functions of a description, by its products: `Products<Desc, &products_of>::knobs`.
template <class Desc, ProductPair (*kProducts)(const Desc&)>
struct Products {
    static std::vector<Knob<MatmulConfig>> knobs(const DeviceInfo& info, const Desc& desc) {
        return product_knobs(info, kProducts(desc));
    }
    static Result<void> legal(const DeviceInfo& info, const Desc& desc, const MatmulConfig& config) {
        return legal_products(info, kProducts(desc), config);
    }
    static MatmulConfig heuristic(const DeviceInfo& info, const Desc& desc) {
        return product_heuristic(info, kProducts(desc));
    }
};

/// BadInput unless 0 or from 2^-40 to 2^40. `what`: "damping of [covariance]".
[[nodiscard]] Result<void> check_damping(float damping, const char* what);

/// A piece of a scratch view that check_views has accepted; empty for no bytes.
[[nodiscard]] BufferView piece_of(const BufferView& scratch, std::uint64_t offset_bytes, std::uint64_t size_bytes);

}  // namespace yolk
