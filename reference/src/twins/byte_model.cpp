// SPDX-License-Identifier: Apache-2.0
#include "yolk/byte_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "twin_source.hpp"
#include "yolk/exact/exact_bytes.h"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/reference/byte_model.hpp"

namespace yolk::reference {

namespace {

// Places of a layer's parameters behind its first one.
enum LayerPart : std::uint32_t {
    kNorm1,
    kGateInput,
    kGateState,
    kGateBias,
    kNewInput,
    kNewState,
    kNewBias,
    kNorm2,
    kUp,
    kDown,
    kLayerParts
};

std::uint32_t root_of(std::uint32_t n) {
    std::uint32_t root = 1;
    while ((root + 1) * (root + 1) <= n) ++root;
    return root;
}

int byte_dot(std::span<const std::int8_t> a, std::span<const std::int8_t> b) {
    int sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += int{a[i]} * int{b[i]};
    return sum;
}

std::int8_t clipped(int x) { return static_cast<std::int8_t>(exact::byte_clip(x)); }

}  // namespace

ByteModel::ByteModel(const ByteModelDesc& desc, std::span<const float> parameters)
    : desc_(desc), parameters_(byte_model_parameters(desc.width, desc.layers)) {
    std::size_t first = 0;
    for (const ParameterDesc& each : parameters_) {
        const std::size_t count = std::size_t{each.rows} * each.columns;
        std::vector<std::int8_t>& bytes = weights_.emplace_back();
        for (const float value : parameters.subspan(first, count)) bytes.push_back(static_cast<std::int8_t>(value));
        first += count;
    }
    factors_.resize(parameters_.size());
    shift_ = 4 + desc.sigma_shift + (desc.rank == 16 ? 2 : desc.rank == 4 ? 1 : 0);
    become(-1, {});
}

void ByteModel::draw(std::uint32_t parameter, const NoiseContext& when, std::uint32_t pair) {
    const ParameterDesc& each = parameters_[parameter];
    Factors& factors = factors_[parameter];
    const auto fill = [&](Domain domain, std::uint32_t count, std::vector<std::int8_t>& out) {
        const NoiseStream stream{when.seed, parameter, domain, pair, when.time};
        out.resize(std::size_t{ceil_div(count, kNoiseElementsPerBlock)} * kNoiseElementsPerBlock);
        for (std::uint32_t block = 0; block * kNoiseElementsPerBlock < count; ++block)
            std::ranges::copy(noise_block(stream, block), out.begin() + block * kNoiseElementsPerBlock);
        out.resize(count);
    };
    if (each.perturbation == Perturbation::Vector) {
        fill(Domain::Vector, each.rows, factors.a);
        for (std::uint32_t i = 0; i < each.rows; ++i) {
            const int moved = exact::byte_shift(side_ * exact::kByteVectorUnit * factors.a[i], 4 + desc_.sigma_shift,
                                                desc_.symmetric ? 1U : 0U);
            factors.a[i] = clipped(weights_[parameter][i] + moved);
        }
        return;
    }
    fill(Domain::A, each.rows * desc_.rank, factors.a);
    fill(Domain::B, each.columns * desc_.rank, factors.b);
}

void ByteModel::become(std::int32_t member, const NoiseContext& when) {
    side_ = member < 0 ? 0 : member % 2 == 0 ? 1 : -1;
    for (std::uint32_t p = 0; p < parameters_.size(); ++p) {
        if (side_ != 0) {
            draw(p, when, static_cast<std::uint32_t>(member) / 2);
        } else {
            factors_[p].a =
                parameters_[p].perturbation == Perturbation::Vector ? weights_[p] : std::vector<std::int8_t>();
        }
    }
    state_.assign(std::size_t{desc_.layers} * desc_.width, 0);
    x_.assign(desc_.width, 0);
}

/// The perturbation's part of a row of a product, from x B.
int ByteModel::low_rank(std::uint32_t parameter, std::uint32_t row, std::span<const int> sums) const {
    int sum = 0;
    for (std::uint32_t column = 0; column < desc_.rank; ++column)
        sum += sums[column] * factors_[parameter].a[row * desc_.rank + column];
    return exact::byte_shift(side_ * exact::kByteMatrixUnit * sum, shift_, desc_.symmetric ? 1U : 0U);
}

void ByteModel::multiply(std::uint32_t parameter, std::span<const std::int8_t> x, std::span<std::int8_t> out) const {
    const std::size_t n = x.size();
    std::array<int, 16> sums{};
    if (side_ != 0) {
        const std::vector<std::int8_t>& b = factors_[parameter].b;
        for (std::size_t j = 0; j < n * desc_.rank; ++j) sums[j % desc_.rank] += int{x[j / desc_.rank]} * int{b[j]};
    }
    const std::uint32_t root = root_of(static_cast<std::uint32_t>(n));
    const std::uint32_t magic = exact::byte_scale_magic(root);
    for (std::uint32_t row = 0; row < out.size(); ++row) {
        int sum = byte_dot(x, std::span(weights_[parameter]).subspan(row * n, n));
        if (side_ != 0) sum += low_rank(parameter, row, sums);
        out[row] = static_cast<std::int8_t>(exact::byte_scale(sum, root, magic, desc_.symmetric ? 1U : 0U));
    }
}

void ByteModel::normalize(std::uint32_t parameter, std::span<const std::int8_t> x, std::span<std::int8_t> out) const {
    std::uint32_t magnitudes = 0;
    for (const std::int8_t value : x) magnitudes += static_cast<std::uint32_t>(std::abs(value));
    const std::uint32_t mean = exact::byte_mean(magnitudes, desc_.width);
    const std::uint32_t magic = exact::byte_mean_magic(mean);
    for (std::size_t i = 0; i < x.size(); ++i)
        out[i] = static_cast<std::int8_t>(
            exact::byte_normalize(x[i], factors_[parameter].a[i], mean, magic, desc_.symmetric ? 1U : 0U));
}

void ByteModel::layer(std::uint32_t first, std::span<std::int8_t> state) {
    const std::size_t width = desc_.width;
    const std::uint32_t symmetric = desc_.symmetric ? 1 : 0;
    std::vector<std::int8_t> input(width), left(width), right(width), gate(width), gated(width), wide(4 * width);
    normalize(first + kNorm1, x_, input);
    multiply(first + kGateInput, input, left);
    multiply(first + kGateState, state, right);
    for (std::size_t i = 0; i < width; ++i) {
        gate[i] = clipped(left[i] + right[i] + factors_[first + kGateBias].a[i]);
        gated[i] = clipped(exact::byte_gated(gate[i], state[i], symmetric));
    }
    multiply(first + kNewInput, input, left);
    multiply(first + kNewState, gated, right);
    for (std::size_t i = 0; i < width; ++i) {
        const int candidate = clipped(left[i] + right[i] + factors_[first + kNewBias].a[i]);
        state[i] = static_cast<std::int8_t>(exact::byte_next_state(gate[i], state[i], candidate, symmetric));
        x_[i] = clipped(x_[i] + state[i]);
    }
    normalize(first + kNorm2, x_, input);
    multiply(first + kUp, input, wide);
    multiply(first + kDown, wide, left);
    for (std::size_t i = 0; i < width; ++i) x_[i] = clipped(x_[i] + left[i]);
}

void ByteModel::read(std::uint8_t byte) {
    if (byte == 0) std::ranges::fill(state_, std::int8_t{0});
    for (std::uint32_t i = 0; i < desc_.width; ++i) {
        int value = weights_[0][std::size_t{byte} * desc_.width + i];
        if (side_ != 0) {
            std::array<int, 16> sums{};
            for (std::uint32_t column = 0; column < desc_.rank; ++column)
                sums[column] = factors_[0].b[i * desc_.rank + column];
            value += low_rank(0, byte, sums);
        }
        x_[i] = clipped(value);
    }
    for (std::uint32_t l = 0; l < desc_.layers; ++l)
        layer(1 + l * kLayerParts, std::span(state_).subspan(std::size_t{l} * desc_.width, desc_.width));
}

std::array<std::int8_t, 256> ByteModel::logits() const {
    std::array<std::int8_t, 256> out{};
    std::vector<std::int8_t> input(desc_.width);
    const std::uint32_t norm = 1 + desc_.layers * kLayerParts;
    normalize(norm, x_, input);
    multiply(norm + 1, input, out);
    return out;
}

int byte_log_likelihood(const std::array<std::int8_t, 256>& logits, std::uint8_t target) {
    std::uint32_t sum = 0;
    for (const std::int8_t logit : logits) sum += exact::byte_power(logit);
    return exact::byte_likelihood(logits[target], sum);
}

void run_twin(const ByteModelDesc& desc, const HostViews& views, const NoiseContext& when,
              OrDefault<ByteModelPart> part) {
    const auto text = views.in<std::uint8_t>(1);
    const auto returns = views.out<float>(2);
    const std::uint32_t members = part.value.members == 0 ? desc.members : part.value.members;
    const ByteStretches stretches = byte_stretches(desc, when.generation);
    ByteModel model(desc, views.in<float>(0));
    for (std::uint32_t i = 0; i < members; ++i) {
        const std::uint32_t member = part.value.first_member + i;
        model.become(desc.mean_only ? -1 : static_cast<std::int32_t>(member), when);
        const std::uint32_t begin = stretches.begin_of(member / desc.group);
        int score = 0;
        for (std::uint32_t t = 0; t < desc.context + desc.steps; ++t) {
            model.read(text[begin + t]);
            if (t >= desc.context) score += byte_log_likelihood(model.logits(), text[begin + t + 1]);
        }
        returns[i] = static_cast<float>(score) * 0.0625F;
    }
}
template struct Twin<ByteModelDesc>;

}  // namespace yolk::reference
