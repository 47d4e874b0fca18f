// SPDX-License-Identifier: Apache-2.0
// K-FAC (Martens and Grosse 2015, "Optimizing neural networks with Kronecker-factored approximate curvature") for the
// layers of a network whose gradients the caller has: running averages of the covariances of what goes into each layer
// and of the derivatives that come back to it, the preconditioned step, and the weights moved by it (docs/kfac.md). It
// differentiates nothing. Class P: the same bits on every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// A linear layer s = W a + b. Biases are either the last column of W, where the caller's inputs end in a coordinate
/// that is 1, or given apart.
struct KfacLayer {
    std::string label{};              ///< in messages; empty: its number
    std::uint32_t n_out = 0;          ///< rows of W, 1 to 1,024
    std::uint32_t n_in = 0;           ///< columns of W, 1 to 1,024; 1,023 with `bias`
    std::uint32_t samples = 0;        ///< rows of the inputs and of the derivatives, at least 1
    bool bias = false;                ///< given apart: it is preconditioned with W, as the column of an input that is 1
    std::uint32_t inputs_offset = 0;  ///< of the first element in the view; this and strides count elements
    std::uint32_t inputs_stride = 0;  ///< from row to row; 0: n_in
    std::uint32_t derivatives_offset = 0;
    std::uint32_t derivatives_stride = 0;  ///< 0: n_out
};

struct KfacDesc {
    std::vector<KfacLayer> layers{};  ///< of any sizes; none is legal
    float decay = 0.95F;              ///< of the covariances' averages: at least 0, below 1
};

/// Of one layer; all fp32.
struct KfacLayerViews {
    BufferView inputs;           ///< [samples, n_in]
    BufferView derivatives;      ///< [samples, n_out]: of each sample's loss by s, for the Fisher matrix
    BufferView gradient;         ///< [n_out, n_in]: dW, of the caller's scale
    BufferView weights{};        ///< in and out, [n_out, n_in]; empty: they stay as they are, `step` is the result
    BufferView step{};           ///< out, [n_out, n_in]: the preconditioned gradient; empty: kept in scratch
    BufferView bias_gradient{};  ///< [n_out]; with `bias`, as the next two
    BufferView bias{};           ///< in and out, [n_out]; empty where `weights` is
    BufferView bias_step{};      ///< out, [n_out]; empty where `step` is
};

struct KfacViews {
    std::vector<KfacLayerViews> layers{};  ///< in the order of the description
    BufferView state{};     ///< in and out, KfacPlan::state(): the covariances; undefined before the first step
    BufferView statuses{};  ///< out, KfacPlan::statuses_bytes(); read by kfac_status and kfac_skipped
};

/// What changes from one recording to the next.
struct KfacStep {
    float learning_rate = 0.0F;  ///< W <- W + learning_rate * step: negative where the gradient is a loss's
    /// lambda: pi sqrt(lambda) is added to the diagonal of the inputs' covariance and sqrt(lambda) / pi to the other
    /// one's (section 6.3). 0 is legal; one that is negative or not finite fails every layer.
    float damping = 0.0F;
    bool first = false;  ///< this step's covariances are taken for the averages; the state is not read
};

/// How a layer came out, from the statuses on the host: 0, or kKroneckerInFailed and kKroneckerOutFailed with the
/// BlockStatus of the two inverses (yolk/kronecker_precondition.hpp). A layer that failed has a step of
/// zeros, and its weights stay as they are.
[[nodiscard]] std::uint32_t kfac_status(std::span<const std::byte> statuses, std::size_t layer);

/// What a step left out because it was not finite, so that later steps do not suffer from it.
struct KfacSkipped {
    /// This step's samples, whose sum of squares is not finite: the covariance stays what it was. In a first step it is
    /// zero, and the next step is better a first one again.
    bool inputs = false, derivatives = false;
    std::uint32_t elements = 0;  ///< of weights and bias, which stay as they are
};
[[nodiscard]] KfacSkipped kfac_skipped(std::span<const std::byte> statuses, std::size_t layer);

class BoundKfac;

/// Immutable: threads may share it. The device must outlive it.
class KfacPlan {
   public:
    /// Errors, each with the layer's label: sizes outside their ranges, strides below the columns, a decay outside its
    /// range, sizes that overflow or pass the device's binding limit.
    [[nodiscard]] static Result<KfacPlan> make(const Device& device, const KfacDesc& desc);

    /// Shared by the layers, which take their turns.
    [[nodiscard]] MemoryNeeds scratch() const noexcept;
    /// The covariances: of each layer [n, n] of its inputs (n_in, one more with `bias`) and [n_out, n_out], each at a
    /// multiple of kViewAlignment.
    [[nodiscard]] MemoryNeeds state() const noexcept;
    [[nodiscard]] std::uint64_t statuses_bytes() const noexcept;

    /// Errors, each with the layer's label: another number of layers, views that are too short, misaligned, outside of
    /// their buffers or overlapping, views of a bias that the layer lacks, or a missing view of one that it has.
    [[nodiscard]] Result<BoundKfac> bind(const KfacViews& views, const BufferView& scratch) const;

   private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundKfac {
   public:
    /// Barriers between its own dispatches inside; the caller puts one before and after.
    void record(Recorder& recorder, const KfacStep& step) const noexcept;

    struct Impl;

   private:
    friend class KfacPlan;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace yolk::evolve
