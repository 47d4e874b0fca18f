// SPDX-License-Identifier: Apache-2.0
#include "byte_members.hpp"

#include <cstring>
#include <utility>

#include "yolk/es_update.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/twin.hpp"

namespace yolk::train {
namespace {

std::vector<std::uint8_t> whole_words(const std::vector<std::uint8_t>& bytes) {
    std::vector<std::uint8_t> padded = bytes;
    padded.resize(round_up(bytes.size(), 4));
    return padded;
}

Result<Buffer> byte_buffer(const Device& device, std::uint64_t size_bytes, const char* label) {
    return device.create_buffer({.size_bytes = size_bytes, .label = label});
}

class DeviceByteMembers final : public evolve::MemberEvaluator {
   public:
    DeviceByteMembers(Dispatcher& dispatcher, ByteModelPlan plan, Recorder recorder)
        : dispatcher_(&dispatcher), plan_(std::move(plan)), recorder_(std::move(recorder)) {}

    [[nodiscard]] Result<void> make_buffers(const Device& device, const std::vector<std::uint8_t>& text) {
        const std::vector<std::uint8_t> padded = whole_words(text);
        const ByteModelDesc& desc = plan_.desc();
        YOLK_TRY(const ParameterTable table, ParameterTable::create(byte_model_parameters(desc.width, desc.layers)));
        YOLK_TRY(parameters_, byte_buffer(device, table.size_bytes(), "byte model's parameters"));
        YOLK_TRY(text_, byte_buffer(device, padded.size(), "byte model's text"));
        YOLK_TRY(returns_, byte_buffer(device, std::uint64_t{4} * desc.members, "byte model's returns"));
        YOLK_TRY(scratch_, byte_buffer(device, plan_.scratch().size_bytes, "byte model's scratch"));
        YOLK_TRY_VOID(dispatcher_->upload(text_, std::as_bytes(std::span(padded))));
        YOLK_TRY(bound_, plan_.bind({.parameters = parameters_, .text = text_, .returns = returns_}, scratch_));
        return {};
    }
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return plan_.desc().members; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        when_ = when;
        return dispatcher_->upload(parameters_, std::as_bytes(parameters));
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const evolve::MemberRange& members,
                                                 std::span<float> returns) override {
        recorder_.begin();
        recorder_.barrier(Barrier::TransferToCompute);
        recorder_.barrier(Barrier::ComputeToCompute);
        bound_.record(recorder_, when_, {.first_member = members.first, .members = members.count});
        recorder_.barrier(Barrier::ComputeToTransfer);
        YOLK_TRY_VOID(dispatcher_->run(recorder_));
        YOLK_TRY_VOID(
            dispatcher_->download(BufferView{returns_, 0, returns.size_bytes()}, std::as_writable_bytes(returns)));
        return std::uint64_t{members.count} * (plan_.desc().steps + plan_.desc().context);
    }

   private:
    Dispatcher* dispatcher_;
    Buffer parameters_, text_, returns_, scratch_;
    ByteModelPlan plan_;
    BoundByteModel bound_;
    Recorder recorder_;
    NoiseContext when_{};
};

class DeviceByteSums final : public ByteSums {
   public:
    DeviceByteSums(Dispatcher& dispatcher, EsUpdatePlan plan, Recorder recorder)
        : dispatcher_(&dispatcher), plan_(std::move(plan)), recorder_(std::move(recorder)) {}

    [[nodiscard]] Result<void> make_buffers(const Device& device) {
        const EsUpdateDesc& desc = plan_.desc();
        YOLK_TRY(weights_, byte_buffer(device, round_up(desc.population / 2, 4), "byte model's weights of pairs"));
        YOLK_TRY(sums_, byte_buffer(device, 2 * desc.parameters.size_bytes(), "byte model's sums"));
        YOLK_TRY(scratch_, byte_buffer(device, std::max<std::uint64_t>(plan_.scratch().size_bytes, 4),
                                       "byte model's partial sums"));
        YOLK_TRY(bound_, plan_.bind({.weights = weights_, .sums = sums_}, scratch_));
        return {};
    }
    [[nodiscard]] Result<std::vector<float>> of(std::span<const std::int8_t> weights,
                                                const NoiseContext& when) override {
        std::vector<std::int8_t> padded(weights.begin(), weights.end());
        padded.resize(round_up(padded.size(), 4));
        YOLK_TRY_VOID(dispatcher_->upload(weights_, std::as_bytes(std::span(padded))));
        recorder_.begin();
        recorder_.barrier(Barrier::TransferToCompute);
        recorder_.barrier(Barrier::ComputeToCompute);
        bound_.record(recorder_, when);
        recorder_.barrier(Barrier::ComputeToTransfer);
        YOLK_TRY_VOID(dispatcher_->run(recorder_));
        std::vector<std::int64_t> sums(plan_.desc().parameters.element_count());
        YOLK_TRY_VOID(dispatcher_->download(sums_, std::as_writable_bytes(std::span(sums))));
        return std::vector<float>(sums.begin(), sums.end());
    }

   private:
    Dispatcher* dispatcher_;
    Buffer weights_, sums_, scratch_;
    EsUpdatePlan plan_;
    BoundEsUpdate bound_;
    Recorder recorder_;
};

EsUpdateDesc byte_update_desc(const ByteSetup& setup) {
    return {.parameters = setup.table,
            .population = setup.settings.population,
            .rank = setup.settings.rank,
            .output = EsUpdateOutput::Sums};
}

class TwinByteSums final : public ByteSums {
   public:
    explicit TwinByteSums(const ByteSetup& setup) : desc_(byte_update_desc(setup)) {}
    [[nodiscard]] Result<std::vector<float>> of(std::span<const std::int8_t> weights,
                                                const NoiseContext& when) override {
        std::vector<std::int8_t> padded(weights.begin(), weights.end());
        padded.resize(round_up(padded.size(), 4));
        std::vector<std::int64_t> sums(desc_.parameters.element_count());
        reference::twin_of(desc_, {padded, reference::HostView(), reference::HostView(), sums}, when);
        return std::vector<float>(sums.begin(), sums.end());
    }

   private:
    EsUpdateDesc desc_;
};

}  // namespace

Result<std::unique_ptr<evolve::MemberEvaluator>> byte_members(const Device& device, Dispatcher& dispatcher,
                                                              const ByteModelDesc& desc, SharedBytes text) {
    YOLK_TRY(ByteModelPlan plan, plan_byte_model(device, desc));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "byte model"}));
    auto made = std::make_unique<DeviceByteMembers>(dispatcher, std::move(plan), std::move(recorder));
    YOLK_TRY_VOID(made->make_buffers(device, *text));
    return std::unique_ptr<evolve::MemberEvaluator>(std::move(made));
}

std::unique_ptr<evolve::MemberEvaluator> byte_twin_members(const ByteModelDesc& desc, SharedBytes text) {
    return evolve::host_members([desc, text = whole_words(*text)](const evolve::HostQuestion& question,
                                                                  std::span<float> returns) -> Result<std::uint64_t> {
        reference::twin_of(desc, {question.parameters, text, returns}, question.when,
                           ByteModelPart{.first_member = question.members.first, .members = question.members.count});
        return std::uint64_t{question.members.count} * (desc.steps + desc.context);
    });
}

Result<double> bits_per_byte(evolve::MemberEvaluator& mean, const ByteModelDesc& desc,
                             std::span<const float> parameters) {
    std::vector<float> returns(desc.members);
    YOLK_TRY_VOID(mean.begin(parameters, {}));
    YOLK_TRY_VOID(mean.evaluate({.first = 0, .count = desc.members}, returns));
    double sum = 0.0;
    for (const float each : returns) sum -= each;
    return sum / (static_cast<double>(desc.members) * desc.steps);
}

Result<std::unique_ptr<ByteSums>> byte_sums(const Device& device, Dispatcher& dispatcher, const ByteSetup& setup) {
    YOLK_TRY(EsUpdatePlan plan, plan_es_update(device, byte_update_desc(setup)));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "byte model's update"}));
    auto made = std::make_unique<DeviceByteSums>(dispatcher, std::move(plan), std::move(recorder));
    YOLK_TRY_VOID(made->make_buffers(device));
    return std::unique_ptr<ByteSums>(std::move(made));
}

std::unique_ptr<ByteSums> byte_twin_sums(const ByteSetup& setup) { return std::make_unique<TwinByteSums>(setup); }

}  // namespace yolk::train
