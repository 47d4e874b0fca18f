// SPDX-License-Identifier: Apache-2.0
// One kernel, from a plan to its result: plan, ask for the scratch it needs, bind, record, submit. Every buffer is the
// caller's; the context opens the device, and moves data there and back. The kernel is perturbed_linear: a layer of a
// whole population at once, whose two members of a pair see the same noise with opposite signs, so that the mean of the
// two is the unperturbed layer.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "yolk/context.hpp"
#include "yolk/perturbed_linear.hpp"

namespace {

constexpr std::uint32_t kMembers = 64, kRows = 3, kIn = 20, kOut = 7;

std::vector<float> waves(std::size_t count, float step) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(step * static_cast<float>(i));
    return values;
}

/// How far the mean of any pair is from the layer without noise, at most.
float worst_difference(const std::vector<float>& outputs, const std::vector<float>& weights,
                       const std::vector<float>& input) {
    const auto at = [&](std::size_t member, std::size_t row, std::size_t o) {
        return outputs[(member * kRows + row) * kOut + o];
    };
    float worst = 0.0F;
    for (std::size_t row = 0; row < kRows; ++row) {
        for (std::size_t o = 0; o < kOut; ++o) {
            float expected = 0.0F;
            for (std::size_t i = 0; i < kIn; ++i) expected += input[row * kIn + i] * weights[o * kIn + i];
            for (std::size_t pair = 0; pair < kMembers / 2; ++pair) {
                const float mean = (at(2 * pair, row, o) + at(2 * pair + 1, row, o)) / 2.0F;
                worst = std::max(worst, std::abs(mean - expected));
            }
        }
    }
    return worst;
}

yolk::Result<float> run() {
    YOLK_TRY(const auto context, yolk::Context::create());
    const yolk::Device& device = context.device();

    const std::vector<float> weight_values = waves(kOut * kIn, 0.7F);
    const std::vector<float> input_values = waves(kRows * kIn, 0.3F);
    YOLK_TRY(const auto weights, context.upload(weight_values, "weights"));
    YOLK_TRY(const auto input, context.upload(input_values, "input"));
    YOLK_TRY(const auto output, context.allocate<float>(kMembers * kRows * kOut, "output"));

    YOLK_TRY(const auto plan,
             yolk::plan_perturbed_linear(
                 device, {.members = kMembers,
                          .rows = kRows,
                          .in = kIn,
                          .out = kOut,
                          .rank = 2,
                          .shared_input = true,
                          .config = yolk::PerturbedLinearConfig{}}));  // in two passes; a fused one needs no scratch
    std::printf("the kernel needs %llu bytes of scratch\n", static_cast<unsigned long long>(plan.scratch().size_bytes));
    YOLK_TRY(const auto scratch, context.scratch(plan.scratch()));
    YOLK_TRY(const auto bound, plan.bind({.weights = weights, .input = input, .output = output}, scratch));

    YOLK_TRY(auto recorder, yolk::Recorder::create(device));
    bound.record(recorder, {.seed = 42, .sigma = 0.5F});  // cannot fail: what went wrong would come out of submit
    YOLK_TRY(const yolk::Submission submission, context.dispatcher().submit(recorder));
    YOLK_TRY_VOID(context.dispatcher().wait(submission));
    YOLK_TRY(const std::vector<float> outputs, context.download<float>(output));
    return worst_difference(outputs, weight_values, input_values);
}

}  // namespace

int main() {
    const auto difference = run();
    if (!difference) return std::fprintf(stderr, "%s\n", difference.error().message.c_str()), 1;
    std::printf("the mean of a pair differs from the unperturbed layer by at most %.1e\n", double{*difference});
    return *difference < 1e-4F ? 0 : 1;
}
