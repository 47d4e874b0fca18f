// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "philox_oracle.hpp"
#include "yolk/byte_model.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

using Values = std::vector<double>;

double clip_byte(double x) { return std::clamp(x, -127.0, 127.0); }

/// The model as its page states it, in double, whose integers are exact; nothing of yolk/exact/, quotients by division,
/// noise drawn element by element.
class ByteModelOracle {
   public:
    ByteModelOracle(const ByteModelDesc& desc, std::span<const float> parameters, const NoiseContext& when)
        : desc_(desc), parameters_(parameters), when_(when) {
        std::size_t first = 0;
        for (const ParameterDesc& p : byte_model_parameters(desc.width, desc.layers)) {
            all_.push_back({p, first});
            first += std::size_t{p.rows} * p.columns;
        }
        for (int j = 0; j <= 256; ++j) thresholds_.push_back(std::ceil(16.0 * std::exp2((j + 128) / 16.0)));
    }

    /// Log-likelihood in bits. `member` counts as unperturbed where the description says so.
    [[nodiscard]] double score(std::uint32_t member, std::span<const std::uint8_t> text) {
        side_ = desc_.mean_only ? 0.0 : member % 2 == 0 ? 1.0 : -1.0;
        pair_ = member / 2;
        const std::uint64_t span = desc_.text_bytes - desc_.steps - desc_.context;
        const std::uint64_t stretches = (desc_.population + desc_.group - 1) / desc_.group;
        const std::uint64_t begin =
            (member / desc_.group * (span / stretches) + std::uint64_t{when_.generation} * desc_.steps) % span;
        std::vector<Values> states(desc_.layers, Values(desc_.width, 0.0));
        double sum = 0.0;
        for (std::uint32_t t = 0; t < desc_.context + desc_.steps; ++t) {
            const std::uint8_t byte = text[begin + t];
            if (byte == 0) states.assign(desc_.layers, Values(desc_.width, 0.0));
            const Values logits = read(byte, states);
            if (t >= desc_.context) sum += likelihood(logits, text[begin + t + 1]);
        }
        return sum / 16.0;
    }

   private:
    struct Parameter {
        ParameterDesc desc;
        std::size_t first = 0;
    };

    [[nodiscard]] double rounded(double x) const {
        return desc_.symmetric ? std::copysign(std::floor(std::abs(x) + 0.5), x) : std::floor(x);
    }
    [[nodiscard]] double noise(std::uint32_t parameter, Domain domain, std::uint32_t index) const {
        return noise_oracle({when_.seed, parameter, domain, pair_, when_.time}, index);
    }
    [[nodiscard]] Values vector(std::uint32_t parameter) const {
        Values values;
        for (std::uint32_t i = 0; i < desc_.width; ++i) {
            const double moved =
                side_ == 0.0
                    ? 0.0
                    : rounded(side_ * 28.0 * noise(parameter, Domain::Vector, i) / std::exp2(4 + desc_.sigma_shift));
            values.push_back(clip_byte(static_cast<double>(parameters_[all_[parameter].first + i]) + moved));
        }
        return values;
    }
    /// What the perturbation adds to a row, for u = x B by columns.
    [[nodiscard]] double perturbation(std::uint32_t parameter, std::uint32_t row, const Values& u) const {
        double sum = 0.0;
        for (std::uint32_t c = 0; c < desc_.rank; ++c) sum += u[c] * noise(parameter, Domain::A, row * desc_.rank + c);
        return rounded(side_ * 3.0 * sum / (std::exp2(4 + desc_.sigma_shift) * std::sqrt(desc_.rank)));
    }
    [[nodiscard]] Values product(std::uint32_t parameter, const Values& x) const {
        const Parameter& p = all_[parameter];
        Values u(desc_.rank, 0.0);
        for (std::uint32_t j = 0; side_ != 0.0 && j < x.size(); ++j)
            for (std::uint32_t c = 0; c < desc_.rank; ++c)
                u[c] += x[j] * noise(parameter, Domain::B, j * desc_.rank + c);
        Values out;
        for (std::uint32_t i = 0; i < p.desc.rows; ++i) {
            double sum = side_ == 0.0 ? 0.0 : perturbation(parameter, i, u);
            for (std::uint32_t j = 0; j < x.size(); ++j)
                sum += x[j] * static_cast<double>(parameters_[p.first + std::size_t{i} * x.size() + j]);
            out.push_back(clip_byte(rounded(sum / (16.0 * std::floor(std::sqrt(static_cast<double>(x.size())))))));
        }
        return out;
    }
    [[nodiscard]] Values normalized(std::uint32_t parameter, const Values& x) const {
        double sum = 0.0;
        for (const double value : x) sum += std::abs(value);
        const double mean = std::max(1.0, std::floor(sum / static_cast<double>(x.size())));
        const Values weights = vector(parameter);
        Values out;
        for (std::size_t i = 0; i < x.size(); ++i) out.push_back(clip_byte(rounded(x[i] * weights[i] / mean)));
        return out;
    }
    /// The clipped sum of two products and a bias.
    [[nodiscard]] Values affine(std::uint32_t first, const Values& input, const Values& state) const {
        Values out = product(first, input);
        const Values other = product(first + 1, state), bias = vector(first + 2);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = clip_byte(out[i] + other[i] + bias[i]);
        return out;
    }
    [[nodiscard]] Values read(std::uint8_t byte, std::vector<Values>& states) const {
        Values x, u(desc_.rank);
        for (std::uint32_t i = 0; i < desc_.width; ++i) {
            for (std::uint32_t c = 0; side_ != 0.0 && c < desc_.rank; ++c)
                u[c] = noise(0, Domain::B, i * desc_.rank + c);
            const double moved = side_ == 0.0 ? 0.0 : perturbation(0, byte, u);
            x.push_back(clip_byte(static_cast<double>(parameters_[std::size_t{byte} * desc_.width + i]) + moved));
        }
        std::uint32_t p = 1;
        for (Values& h : states) {
            const Values input = normalized(p, x), gate = affine(p + 1, input, h);
            Values gated(h.size());
            for (std::size_t i = 0; i < h.size(); ++i) gated[i] = rounded((gate[i] + 127.0) * h[i] / 256.0);
            const Values candidate = affine(p + 4, input, gated);
            for (std::size_t i = 0; i < h.size(); ++i) {
                h[i] = clip_byte(h[i] + rounded((gate[i] + 127.0) * (candidate[i] - h[i]) / 256.0));
                x[i] = clip_byte(x[i] + h[i]);
            }
            const Values down = product(p + 9, product(p + 8, normalized(p + 7, x)));
            for (std::size_t i = 0; i < h.size(); ++i) x[i] = clip_byte(x[i] + down[i]);
            p += 10;
        }
        return product(p + 1, normalized(p, x));
    }
    /// In sixteenths of a bit, by the 257 thresholds.
    [[nodiscard]] double likelihood(const Values& logits, std::uint8_t target) const {
        double sum = 0.0;
        for (const double z : logits) sum += std::floor(16.0 * std::exp2((z + 128.0) / 16.0));
        const auto above = std::ranges::upper_bound(thresholds_, sum);
        return logits[target] + 128.0 - (127.0 + static_cast<double>(above - thresholds_.begin()));
    }

    ByteModelDesc desc_;
    std::span<const float> parameters_;
    NoiseContext when_;
    std::vector<Parameter> all_;
    Values thresholds_;  ///< of sums, ascending: the logarithm is 128 and more
    double side_ = 0.0;
    std::uint32_t pair_ = 0;
};

class ByteModelProblem final : public OperationProblem<ByteModelDesc> {
   public:
    explicit ByteModelProblem(const ByteModelDesc& desc, ByteModelPart part = {}, std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("members from {}", part.first_member),
                           NoiseContext{.seed = seed, .generation = 3, .time = 2, .sigma = 1.0F}, {part}) {}

    [[nodiscard]] Work work() const override {
        const double products = static_cast<double>(desc().width) * (256.0 + 12.0 * desc().width * desc().layers);
        return {.operations = 2.0 * products * desc().members * (desc().steps + desc().context),
                .bytes = 4.0 * static_cast<double>(elements(0)) + desc().text_bytes};
    }

   protected:
    /// Weights as training leaves them, with a few at their limits; every ninth byte of the text begins a document.
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        Draws draws(when().seed, 60);
        std::vector<float> parameters(elements(0));
        for (float& value : parameters) {
            const std::uint32_t word = draws.word();
            value = word % 16 == 0 ? (word & 16U ? 127.0F : -127.0F)
                                   : static_cast<float>(static_cast<int>(word >> 26U) - 32);
        }
        std::vector<std::uint8_t> text(4 * elements(1));
        for (std::uint8_t& byte : text) byte = draws.below(9) == 0 ? 0 : static_cast<std::uint8_t>(draws.word());
        return {bytes_of_values(parameters), bytes_of_values(text)};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        ByteModelOracle model(desc(), given.in<float>(0), when());
        OracleValues values;
        for (std::uint32_t i = 0; i < desc().members; ++i)
            values.push_back({model.score(argument<1>().value.first_member + i, given.in<std::uint8_t>(1)), 0.0});
        return {std::move(values)};
    }

   private:
    [[nodiscard]] const NoiseContext& when() const { return argument<0>(); }
};

// The smallest; widths whose roots are no integers; several layers; ranks; both roundings; members from the middle on,
// groups that a call cuts, one pair more than a workgroup's; the unperturbed model over an odd number of stretches;
// context; a stretch that wraps around the text.
const std::vector<std::pair<ByteModelDesc, ByteModelPart>>& byte_model_table() {
    static const std::vector<std::pair<ByteModelDesc, ByteModelPart>> kTable{
        {{.width = 8, .population = 2, .members = 2, .steps = 3, .text_bytes = 5}, {}},
        {{.width = 16, .population = 6, .members = 6, .group = 4, .steps = 5, .context = 2, .text_bytes = 61}, {}},
        {{.width = 24, .population = 20, .members = 10, .group = 4, .steps = 4, .text_bytes = 97, .symmetric = true},
         {.first_member = 6}},
        {{.width = 40,
          .layers = 2,
          .population = 4,
          .members = 4,
          .steps = 4,
          .context = 3,
          .text_bytes = 50,
          .rank = 4},
         {}},
        {{.width = 8,
          .layers = 3,
          .population = 10,
          .members = 10,
          .steps = 9,
          .text_bytes = 33,
          .rank = 16,
          .sigma_shift = 2,
          .symmetric = true},
         {}},
        {{.width = 32,
          .population = 5,
          .members = 5,
          .group = 1,
          .steps = 6,
          .context = 1,
          .text_bytes = 71,
          .mean_only = true},
         {}},
        {{.width = 64, .population = 4, .members = 4, .group = 2, .steps = 3, .text_bytes = 211, .sigma_shift = 0},
         {}}};
    return kTable;
}

Problems byte_model_cases(std::uint64_t seed) {
    Problems problems;
    for (const auto& [desc, part] : byte_model_table())
        problems.push_back(std::make_unique<ByteModelProblem>(desc, part, seed + problems.size()));
    return problems;
}

std::unique_ptr<Problem> make_byte_model_problem(const ByteModelDesc& desc) {
    return std::make_unique<ByteModelProblem>(desc);
}

/// Shapes worth timing.
Problems byte_model_benchmarks() {
    Problems problems;
    for (const std::uint32_t width : {32U, 64U})
        problems.push_back(make_byte_model_problem(
            {.width = width, .population = 256, .members = 256, .group = 64, .steps = 16, .text_bytes = 1U << 16U}));
    return problems;
}

}  // namespace

const Family& byte_model_family() noexcept {
    static constexpr Family kFamily{.name = "byte_model",
                                    .exactness = "E",
                                    .cases = &byte_model_cases,
                                    .benchmarks = &byte_model_benchmarks,
                                    .configurations_per_case = 3,
                                    .operation = &kOperationText<ByteModelDesc, &make_byte_model_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
