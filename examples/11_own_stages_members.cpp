// SPDX-License-Identifier: Apache-2.0
#include "11_own_stages_members.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "yolk/perturbed_linear.hpp"

using namespace yolk;

namespace {

constexpr std::uint32_t kRows = 48;
static_assert(kIn == kClasses);

/// Points x [kRows, kIn]; the class of a point is its largest coordinate.
std::vector<float> points() {
    std::vector<float> x(kRows * kIn);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i));
    return x;
}

/// How far the right class is ahead of the others in outputs [kRows, kClasses], at most 1 each, on average.
float score(std::span<const float> outputs, std::span<const float> x) {
    float sum = 0.0F;
    for (std::size_t first = 0; first < outputs.size(); first += kClasses) {
        const std::span<const float> point = x.subspan(first, kIn);
        const auto right = static_cast<std::size_t>(std::ranges::max_element(point) - point.begin());
        const float other = std::max(outputs[first + (right + 1) % kClasses], outputs[first + (right + 2) % kClasses]);
        sum += std::min(1.0F, outputs[first + right] - other);
    }
    return sum / kRows;
}

class LayerMembers final : public evolve::MemberEvaluator {
   public:
    [[nodiscard]] Result<void> make(const Device& device, Dispatcher& dispatcher);
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return kMembers; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        when_ = when;
        return dispatcher_->upload(weights_, std::as_bytes(parameters));
    }
    /// Of a smaller chunk the plan makes more outputs than are looked at.
    [[nodiscard]] Result<std::uint64_t> evaluate(const evolve::MemberRange& of, std::span<float> returns) override {
        recorder_->begin();
        bound_.record(*recorder_, when_, static_cast<std::int32_t>(of.first));
        YOLK_TRY_VOID(dispatcher_->run(*recorder_));
        YOLK_TRY_VOID(dispatcher_->download(output_, std::as_writable_bytes(std::span(outputs_))));
        for (std::size_t i = 0; i < of.count; ++i)
            returns[i] = score(std::span(outputs_).subspan(i * kRows * kClasses, kRows * kClasses), x_);
        return std::uint64_t{of.count} * kRows;
    }

   private:
    std::vector<float> x_ = points(), outputs_ = std::vector<float>(std::size_t{kMembers} * kRows * kClasses);
    Dispatcher* dispatcher_ = nullptr;
    Buffer weights_, input_, output_;
    BoundPerturbedLinear bound_;
    std::optional<Recorder> recorder_;
    NoiseContext when_;
};

Result<void> LayerMembers::make(const Device& device, Dispatcher& dispatcher) {
    dispatcher_ = &dispatcher;
    YOLK_TRY(const auto plan,
             plan_perturbed_linear(device, {.members = kMembers,
                                            .rows = kRows,
                                            .in = kIn,
                                            .out = kClasses,
                                            .shared_input = true,
                                            .config = PerturbedLinearConfig{.fused = 1}}));  // which needs no scratch
    YOLK_TRY(weights_, device.create_buffer({.size_bytes = 4 * kClasses * kIn, .label = "weights"}));
    YOLK_TRY(input_, device.create_buffer({.size_bytes = 4 * kRows * kIn, .label = "points"}));
    YOLK_TRY(output_, device.create_buffer({.size_bytes = 4 * outputs_.size(), .label = "outputs"}));
    YOLK_TRY_VOID(dispatcher.upload(input_, std::as_bytes(std::span(x_))));
    YOLK_TRY(bound_, plan.bind({.weights = weights_, .input = input_, .output = output_}));
    YOLK_TRY(recorder_, Recorder::create(device));
    return {};
}

}  // namespace

Result<std::unique_ptr<evolve::MemberEvaluator>> layer_members(const Device& device, Dispatcher& dispatcher) {
    auto made = std::make_unique<LayerMembers>();
    YOLK_TRY_VOID(made->make(device, dispatcher));
    return std::unique_ptr<evolve::MemberEvaluator>(std::move(made));
}
