// SPDX-License-Identifier: Apache-2.0
// Who scores the members of a run of the byte model and sums up its update: a device, or the exact twins.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "byte_setup.hpp"
#include "yolk/byte_model.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/evolution.hpp"

namespace yolk::train {

/// Borrows both. Errors: the plan's, no memory.
[[nodiscard]] Result<std::unique_ptr<evolve::MemberEvaluator>> byte_members(const Device& device,
                                                                            Dispatcher& dispatcher,
                                                                            const ByteModelDesc& desc,
                                                                            SharedBytes text);
[[nodiscard]] std::unique_ptr<evolve::MemberEvaluator> byte_twin_members(const ByteModelDesc& desc, SharedBytes text);

/// Bits per byte of the unperturbed model, by what was made for byte_mean_desc().
[[nodiscard]] Result<double> bits_per_byte(evolve::MemberEvaluator& mean, const ByteModelDesc& desc,
                                           std::span<const float> parameters);

/// sum q A B^T over the pairs, as whole numbers.
class ByteSums {
   public:
    virtual ~ByteSums() = default;
    ByteSums(const ByteSums&) = delete;
    ByteSums& operator=(const ByteSums&) = delete;
    [[nodiscard]] virtual Result<std::vector<float>> of(std::span<const std::int8_t> weights,
                                                        const NoiseContext& when) = 0;

   protected:
    ByteSums() = default;
};
/// Borrows both.
[[nodiscard]] Result<std::unique_ptr<ByteSums>> byte_sums(const Device& device, Dispatcher& dispatcher,
                                                          const ByteSetup& setup);
[[nodiscard]] std::unique_ptr<ByteSums> byte_twin_sums(const ByteSetup& setup);

}  // namespace yolk::train
