// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/member_policies.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy_layer.hpp"
#include "recurrent_policy_layer.hpp"

namespace yolk::evolve {
namespace {

std::span<float> floats_of(const Buffer& buffer) noexcept {
    const std::span<std::byte> bytes = buffer.mapped();
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

/// Shapes alone: a run may have frozen any of them.
Result<void> check_table(const ParameterTable& table, const MemberPoliciesDesc& desc) {
    const std::vector<std::uint32_t>& widths = desc.network.widths;
    if (widths.size() < 2 || desc.members == 0)
        return bad_input("A batch of policies needs at least two widths and one member; there are {} and {}.",
                         widths.size(), desc.members);
    const auto fits = [](const ParameterDesc& given, const ParameterDesc& expected) {
        return given.rows == expected.rows && given.columns == expected.columns &&
               (given.perturbation == expected.perturbation || given.perturbation == Perturbation::Frozen);
    };
    if (std::ranges::equal(table.parameters(), desc.network.parameters(), fits)) return {};
    return bad_input(
        "The parameters are not a matrix and a bias for each layer of the policies' {} widths and {} recurrent units.",
        widths.size(), desc.network.recurrent);
}

class Policies final : public MemberPolicies {
   public:
    Policies(Dispatcher& dispatcher, Recorder setup, Recorder pass)
        : dispatcher_(dispatcher), setup_(std::move(setup)), pass_(std::move(pass)) {}
    // What still runs uses the buffers; an error here is the device's, which the next call on it tells.
    ~Policies() override { static_cast<void>(finish()); }

    Result<void> make(const Device& device, const ParameterTable& table, const BufferView& parameters,
                      const MemberPoliciesDesc& desc);
    Result<void> begin(const NoiseContext& when, std::uint32_t first_member) override;
    std::span<float> observations() noexcept override { return floats_of(given_); }
    Result<void> submit() override;
    Result<std::span<const float>> outputs() override;

   private:
    Result<void> finish();

    Dispatcher& dispatcher_;
    Recorder setup_, pass_;
    Buffer given_, input_, found_;
    std::optional<RecurrentPolicyLayer> recurrent_;
    std::vector<PolicyLayer> layers_;
    bool begun_ = false;
    std::optional<Submission> running_;
    bool ready_ = false;
};

Result<void> Policies::make(const Device& device, const ParameterTable& table, const BufferView& parameters,
                            const MemberPoliciesDesc& desc) {
    const PolicyParts parts{.device = device, .table = table, .parameters = parameters, .desc = desc};
    const std::vector<std::uint32_t>& widths = desc.network.widths;
    YOLK_TRY(given_, parts.buffer(widths.front(), MemoryDomain::Upload, "observations of the host"));
    YOLK_TRY(input_, parts.buffer(widths.front(), MemoryDomain::Device, "observations"));
    YOLK_TRY(found_, parts.buffer(widths.back(), MemoryDomain::Readback, "outputs of the policies"));
    BufferView x = input_;
    std::uint32_t matrix = 0;
    if (desc.network.recurrent != 0) {
        YOLK_TRY_VOID(recurrent_.emplace().make(parts, input_));
        x = recurrent_->memory();
        matrix = 4;
    }
    layers_.resize(widths.size() - 1);
    for (PolicyLayer& layer : layers_) {
        std::optional<ElementwiseOperation> activation;  // the outputs are linear
        if (&layer != &layers_.back()) activation = ElementwiseOperation::Tanh;
        YOLK_TRY_VOID(layer.make(parts, matrix, x, activation));
        x = layer.result();
        matrix += 2;
    }
    return {};
}

Result<void> Policies::finish() {
    if (!running_) return {};
    YOLK_TRY_VOID(dispatcher_.wait(*running_));
    running_.reset();
    return {};
}

Result<void> Policies::begin(const NoiseContext& when, std::uint32_t first_member) {
    YOLK_TRY_VOID(finish());
    begun_ = ready_ = false;
    const auto first = static_cast<std::int32_t>(first_member);
    setup_.begin();
    for (const PolicyLayer& layer : layers_) layer.copy(setup_);
    if (recurrent_) {
        recurrent_->copy(setup_);
        recurrent_->start(setup_);
    }
    setup_.barrier(Barrier::TransferToCompute);
    if (recurrent_) recurrent_->perturb(setup_, when, first);
    for (const PolicyLayer& layer : layers_) layer.perturb(setup_, when, first);
    setup_.barrier(Barrier::ComputeToCompute);
    YOLK_TRY_VOID(dispatcher_.run(setup_));
    pass_.begin();
    pass_.copy(given_, input_);
    pass_.barrier(Barrier::TransferToCompute);
    if (recurrent_) recurrent_->record(pass_, when, first);
    for (const PolicyLayer& layer : layers_) layer.record(pass_, when, first);
    pass_.barrier(Barrier::ComputeToTransfer);
    pass_.copy(layers_.back().result(), found_);
    pass_.barrier(Barrier::ToHost);
    pass_.end();
    begun_ = true;
    return {};
}

Result<void> Policies::submit() {
    if (!begun_) return bad_input("Policies were asked before begin() said which members these are.");
    if (running_) return bad_input("Policies were asked again before their outputs were taken.");
    ready_ = false;
    YOLK_TRY_VOID(given_.flush());
    YOLK_TRY(running_, dispatcher_.submit(pass_));
    return {};
}

Result<std::span<const float>> Policies::outputs() {
    if (!running_ && !ready_) return bad_input("Policies have no outputs before submit().");
    if (running_) {
        YOLK_TRY_VOID(finish());
        YOLK_TRY_VOID(found_.invalidate());
        ready_ = true;
    }
    return std::span<const float>(floats_of(found_));
}

}  // namespace

MemberPolicies::~MemberPolicies() = default;

Result<std::unique_ptr<MemberPolicies>> MemberPolicies::create(const Device& device, Dispatcher& dispatcher,
                                                               const ParameterTable& table,
                                                               const BufferView& parameters, MemberPoliciesDesc desc) {
    YOLK_TRY_VOID(check_table(table, desc));
    if (parameters.size_bytes < table.size_bytes())
        return bad_input("The view of the parameters has {} bytes; the table needs {}.", parameters.size_bytes,
                         table.size_bytes());
    YOLK_TRY(Recorder setup, Recorder::create(device, {.label = "policies of members"}));
    YOLK_TRY(Recorder pass, Recorder::create(device, {.label = "policies of members"}));
    auto made = std::make_unique<Policies>(dispatcher, std::move(setup), std::move(pass));
    YOLK_TRY_VOID(made->make(device, table, parameters, desc));
    return std::unique_ptr<MemberPolicies>(std::move(made));
}

}  // namespace yolk::evolve
