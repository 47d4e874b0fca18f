// SPDX-License-Identifier: Apache-2.0
// matmul: out[z] = epilogue(op(a[z]) op(b[z])) for the matrices z of a batch (docs/kernels/matmul.md). Exact: class P,
// one ascending chain over k per output. Fast: class T.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "yolk/primitives/activation.hpp"
#include "yolk/primitives/determinism.hpp"
#include "yolk/primitives/float_format.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters. workgroup_size = (block_m / tile_m) * (block_n / tile_n).
struct MatmulConfig {
    std::uint32_t workgroup_size = 8;
    std::uint32_t block_m = 8;       ///< rows of a workgroup
    std::uint32_t block_n = 64;      ///< columns of a workgroup
    std::uint32_t block_k = 4;       ///< k that are loaded (or staged) at once
    std::uint32_t tile_m = 8;        ///< rows of an invocation
    std::uint32_t tile_n = 8;        ///< columns of an invocation, in groups of four neighbours
    std::uint32_t vector_width = 4;  ///< 4: operands are read four elements at a time where their layout allows
    std::uint32_t staged = 0;        ///< 1: operands pass through shared memory, with barriers
    std::uint32_t uniform = 0;       ///< 1: a is read as a uniform buffer, in windows of 64 KiB
    std::uint32_t texel = 0;         ///< 1: a and b are read as texel buffers
    std::uint32_t storage16 = 0;     ///< 1: 16-bit operands are read one by one (path storage16), not by the word
    std::uint32_t cooperative = 0;   ///< 1: matrix units multiply (path cooperative-matrix); fp16 operands, `Fast` only
    std::uint32_t split_k = 1;       ///< pieces of k that are summed apart and added in order; above 1 `Fast` only
    friend bool operator==(const MatmulConfig&, const MatmulConfig&) = default;
};

/// Stands for the stride that rows, or matrices, have when they lie one behind the other.
inline constexpr std::uint32_t kDense = std::numeric_limits<std::uint32_t>::max();

/// Where the elements of a matrix lie in its view. All in elements.
struct MatrixLayout {
    bool transposed = false;              ///< stored as its transpose
    std::uint32_t offset = 0;             ///< of the first element
    std::uint32_t stride = kDense;        ///< from row to row as stored; at least a row's length
    std::uint32_t batch_stride = kDense;  ///< from matrix to matrix; 0: all of the batch read the same one
    /// Of a, b and out. Sums are fp32 whatever it is; an out of 16 bits is dense, begins the view, and is rounded from
    /// them (yolk/primitives/convert.hpp). 16-bit views take whole words of four bytes.
    FloatFormat format = FloatFormat::F32;
};

struct MatmulDesc {
    std::uint32_t m = 0;  ///< rows of op(a) and out; 0 is legal, for n and batch, too
    std::uint32_t n = 0;  ///< columns of op(b) and out
    std::uint32_t k = 0;  ///< columns of op(a), rows of op(b); 0 gives the epilogue of zeros
    std::uint32_t batch = 1;
    MatrixLayout a{};         ///< op(a) is [m, k]
    MatrixLayout b{};         ///< op(b) is [k, n]
    MatrixLayout out{};       ///< [m, n]; never transposed, and its rows and matrices do not overlap
    MatrixLayout residual{};  ///< [m, n]; never transposed
    std::uint32_t bias_offset = 0;
    bool bias_per_matrix = false;                  ///< bias is [batch, n], else [n]
    bool has_bias = false;                         ///< added to each sum ...
    Activation activation = Activation::Identity;  ///< ... then this ...
    bool has_residual = false;                     ///< ... then the residual is added
    Determinism determinism = Determinism::Fast;
    std::optional<MatmulConfig> config{};  ///< default_matmul_config where unset
};

struct MatmulViews {
    BufferView a;
    BufferView b;
    BufferView out;
    BufferView bias{};      ///< where has_bias
    BufferView residual{};  ///< where has_residual
};

/// The space for a shape on a device; `desc.config` is ignored.
[[nodiscard]] ConfigSpace<MatmulConfig> matmul_space(const DeviceInfo& info, const MatmulDesc& desc);
/// What an untuned device takes: barrier-free register tiles on CPU drivers, staged ones elsewhere.
[[nodiscard]] MatmulConfig default_matmul_config(const DeviceInfo& info, const MatmulDesc& desc);

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundMatmul {
   public:
    /// Barriers between its own dispatches inside; the caller puts one before and after.
    void record(Recorder& recorder) const noexcept;
    BoundMatmul() noexcept;
    ~BoundMatmul();
    BoundMatmul(BoundMatmul&&) noexcept;
    BoundMatmul& operator=(BoundMatmul&&) noexcept;

   private:
    friend class MatmulPlan;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Immutable: threads may share it. The device must outlive it.
class MatmulPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch()
        const noexcept;  ///< split_k above 1: fp32 [split_k, batch, m, n]; out of 16 bits: fp32 [batch, m, n]
    [[nodiscard]] const MatmulConfig& config() const noexcept;
    [[nodiscard]] Result<BoundMatmul> bind(const MatmulViews& views, const BufferView& scratch = {}) const;
    MatmulPlan() noexcept;
    ~MatmulPlan();
    MatmulPlan(MatmulPlan&&) noexcept;
    MatmulPlan& operator=(MatmulPlan&&) noexcept;

   private:
    friend Result<MatmulPlan> plan_matmul(const Device&, const MatmulDesc&);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Errors: a stride below a row's length, rows or matrices of out that overlap, sizes that overflow or pass the
/// device's binding limit, a configuration outside the space, chains longer than the device's loops allow.
[[nodiscard]] Result<MatmulPlan> plan_matmul(const Device& device, const MatmulDesc& desc);

}  // namespace yolk
