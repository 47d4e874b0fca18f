// SPDX-License-Identifier: Apache-2.0
// Networks and numbers of benches of systems.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::bench {

/// Normally distributed, nearly, and the same at each call.
[[nodiscard]] inline hyper::Tensor drawn_vector(std::uint32_t count, std::uint32_t stream) {
    std::vector<float> values;
    for (std::uint32_t block = 0; values.size() < count; ++block) {
        const NoiseStream of{.seed = 42, .parameter = stream, .domain = Domain::Data};
        for (const std::int8_t element : noise_block(of, block)) values.push_back(static_cast<float>(element) / 9.2F);
    }
    values.resize(count);
    return hyper::Tensor::vector(std::move(values));
}

[[nodiscard]] inline hyper::Hyperfunction<hyper::MatrixWeight> tanh_layer(const char* name, std::uint32_t out,
                                                                          std::uint32_t in) {
    return hyper::hyperfunction(
        name, hyper::MatrixWeight{.out = out, .in = in},
        [](const hyper::Traced& weight, const hyper::Traced& x) { return hyper::tanh(hyper::linear(weight, x)); },
        {.optimize = true});
}

}  // namespace yolk::bench
