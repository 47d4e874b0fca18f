// SPDX-License-Identifier: Apache-2.0
#include "layer_members.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include "yolk/perturbed_linear.hpp"
#include "yolk/reduce.hpp"

namespace yolk::bench {
namespace {

class LayerMembers final : public evolve::MemberEvaluator {
   public:
    explicit LayerMembers(Dispatcher& dispatcher, std::uint32_t most) : dispatcher_(&dispatcher), most_(most) {}

    [[nodiscard]] Result<void> make(const Device& device);
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return most_; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        when_ = when;
        return dispatcher_->upload(weights_, std::as_bytes(parameters));
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const evolve::MemberRange& members, std::span<float> returns) override;

   private:
    Dispatcher* dispatcher_;
    std::uint32_t most_;
    Buffer weights_, input_, output_, sums_, returns_, scratch_, readback_;
    BoundPerturbedLinear layer_;
    BoundReduce reduce_;
    std::optional<Recorder> recorder_;
    NoiseContext when_{};
};

Result<void> LayerMembers::make(const Device& device) {
    const std::uint32_t outputs = kLayerRows * kLayerWidth;
    YOLK_TRY(
        const PerturbedLinearPlan layer,
        plan_perturbed_linear(
            device,
            {.members = kLayerBlock, .rows = kLayerRows, .in = kLayerWidth, .out = kLayerWidth, .shared_input = true}));
    YOLK_TRY(const ReducePlan reduce, plan_reduce(device, {.outer = kLayerBlock, .columns = outputs}));
    const auto buffer = [&](Buffer& made, std::uint64_t values, MemoryDomain domain) -> Result<void> {
        YOLK_TRY(made, device.create_buffer({.size_bytes = 4 * values, .domain = domain, .label = "layer"}));
        return {};
    };
    YOLK_TRY_VOID(buffer(weights_, kLayerWidth * kLayerWidth, MemoryDomain::Device));
    YOLK_TRY_VOID(buffer(input_, outputs, MemoryDomain::Device));
    YOLK_TRY_VOID(buffer(output_, std::uint64_t{kLayerBlock} * outputs, MemoryDomain::Device));
    YOLK_TRY_VOID(buffer(sums_, kLayerBlock, MemoryDomain::Device));
    YOLK_TRY_VOID(buffer(readback_, most_, MemoryDomain::Readback));
    const std::uint64_t scratch_bytes = std::max(layer.scratch().size_bytes, reduce.scratch().size_bytes);
    if (scratch_bytes != 0) YOLK_TRY_VOID(buffer(scratch_, scratch_bytes / 4, MemoryDomain::Device));
    const auto scratch = [&](std::uint64_t bytes) {
        return bytes == 0 ? BufferView{} : BufferView{scratch_, 0, bytes};
    };
    YOLK_TRY(layer_, layer.bind({.weights = weights_, .input = input_, .output = output_},
                                scratch(layer.scratch().size_bytes)));
    YOLK_TRY(reduce_, reduce.bind({.in = output_, .out = sums_}, scratch(reduce.scratch().size_bytes)));
    YOLK_TRY(recorder_, Recorder::create(device, {.label = "layer members"}));
    const std::vector<float> x(outputs, 0.125F);
    return dispatcher_->upload(input_, std::as_bytes(std::span(x)));
}

Result<std::uint64_t> LayerMembers::evaluate(const evolve::MemberRange& members, std::span<float> returns) {
    recorder_->begin();
    for (std::uint32_t done = 0; done < members.count; done += kLayerBlock) {
        recorder_->barrier(Barrier::TransferToCompute);
        recorder_->barrier(Barrier::ComputeToCompute);
        layer_.record(*recorder_, when_, static_cast<std::int32_t>(members.first + done));
        recorder_->barrier(Barrier::ComputeToCompute);
        reduce_.record(*recorder_);
        recorder_->barrier(Barrier::ComputeToTransfer);
        recorder_->copy(sums_, BufferView{readback_, std::uint64_t{4} * done, std::uint64_t{4} * kLayerBlock});
    }
    recorder_->barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher_->run(*recorder_));
    YOLK_TRY_VOID(readback_.invalidate());
    std::memcpy(returns.data(), readback_.mapped().data(), returns.size_bytes());
    return members.count;
}

}  // namespace

Result<std::unique_ptr<evolve::MemberEvaluator>> layer_members(const Device& device, Dispatcher& dispatcher,
                                                               std::uint32_t most_members) {
    auto made = std::make_unique<LayerMembers>(dispatcher, most_members);
    YOLK_TRY_VOID(made->make(device));
    return std::unique_ptr<evolve::MemberEvaluator>(std::move(made));
}

}  // namespace yolk::bench
