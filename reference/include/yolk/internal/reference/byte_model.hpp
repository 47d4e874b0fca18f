// SPDX-License-Identifier: Apache-2.0
// The byte model on the host, one byte after the other: of a member, or the unperturbed one
// (docs/kernels/byte_model.md). The kernel's twin is made of it, and so is the sampling of text.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/byte_model.hpp"

namespace yolk::reference {

class ByteModel {
   public:
    /// `parameters`: integers from -127 to 127, in the order of byte_model_parameters().
    ByteModel(const ByteModelDesc& desc, std::span<const float> parameters);

    /// Becomes this member, with a state of zeros; -1: the unperturbed model.
    void become(std::int32_t member, const NoiseContext& when);
    /// Goes on by one byte. A 0 begins a document: the state is zeros before it.
    void read(std::uint8_t byte);
    /// Of the byte that follows, in sixteenths of a bit.
    [[nodiscard]] std::array<std::int8_t, 256> logits() const;

   private:
    struct Factors {  ///< of one parameter: A and B, or in `a` the values of a perturbed vector
        std::vector<std::int8_t> a, b;
    };
    void multiply(std::uint32_t parameter, std::span<const std::int8_t> x, std::span<std::int8_t> out) const;
    void normalize(std::uint32_t parameter, std::span<const std::int8_t> x, std::span<std::int8_t> out) const;
    void layer(std::uint32_t first, std::span<std::int8_t> state);
    void draw(std::uint32_t parameter, const NoiseContext& when, std::uint32_t pair);
    [[nodiscard]] int low_rank(std::uint32_t parameter, std::uint32_t row, std::span<const int> sums) const;

    ByteModelDesc desc_;
    std::vector<ParameterDesc> parameters_;
    std::vector<std::vector<std::int8_t>> weights_;
    std::vector<Factors> factors_;
    std::vector<std::int8_t> state_, x_;
    int side_ = 0;  ///< 0: the unperturbed model
    std::uint32_t shift_ = 0;
};

/// Sum of the log-likelihoods of `target` in sixteenths of a bit.
[[nodiscard]] int byte_log_likelihood(const std::array<std::int8_t, 256>& logits, std::uint8_t target);

}  // namespace yolk::reference
