// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/member_policies.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "yolk/elementwise.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"

namespace yolk::evolve {
namespace {

/// A layer: what it reads and makes, and the bound work. Buffers of fp32.
struct Layer {
    Buffer weights;                      // the run's, at an offset that can be bound
    Buffer bias;                         // likewise
    Buffer member_bias;                  // [members, out]
    Buffer result;                       // [members, out]
    BufferView from_weights, from_bias;  // the run's own
    std::optional<BoundPerturbedVector> perturb;
    std::optional<BoundPerturbedLinear> multiply;
    std::optional<BoundElementwise> add, activate;
    bool frozen = false;  // of the matrix
};

struct LayerPlans {
    PerturbedLinearPlan multiply;
    PerturbedVectorPlan perturb;
    ElementwisePlan add, activate;
};

std::span<float> floats_of(const Buffer& buffer) noexcept {
    const std::span<std::byte> bytes = buffer.mapped();
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

Result<void> check_table(const ParameterTable& table, const MemberPoliciesDesc& desc) {
    const std::span<const ParameterDesc> all = table.parameters();
    if (desc.widths.size() < 2 || desc.members == 0)
        return bad_input("A batch of policies needs at least two widths and one member; there are {} and {}.",
                         desc.widths.size(), desc.members);
    bool fits = all.size() == 2 * (desc.widths.size() - 1);
    for (std::size_t layer = 0; fits && layer + 1 < desc.widths.size(); ++layer) {
        const ParameterDesc& weight = all[2 * layer];
        const ParameterDesc& bias = all[2 * layer + 1];
        fits = weight.rows == desc.widths[layer + 1] && weight.columns == desc.widths[layer] && bias.columns == 1 &&
               bias.rows == weight.rows && weight.perturbation != Perturbation::Vector &&
               bias.perturbation != Perturbation::LowRank;
    }
    if (!fits)
        return bad_input("The parameters are not a matrix and a bias for each layer of the policies' {} widths.",
                         desc.widths.size());
    return {};
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
    Buffer given_, input_, found_, scratch_;
    std::vector<Layer> layers_;
    bool begun_ = false;
    std::optional<Submission> running_;
    bool ready_ = false;
};

Result<LayerPlans> plan_layer(const Device& device, const ParameterTable& table, const MemberPoliciesDesc& desc,
                              std::uint32_t layer) {
    const ParameterId weight{2 * layer}, bias{2 * layer + 1};
    const std::uint32_t in = desc.widths[layer], out = desc.widths[layer + 1];
    const auto each = [&](ElementwiseOperation operation) {
        return plan_elementwise(
            device, ElementwiseDesc{.operation = operation, .members = desc.members, .rows = 1, .columns = out});
    };
    YOLK_TRY(PerturbedLinearPlan multiply,
             plan_perturbed_linear(device, {.members = desc.members,
                                            .rows = 1,
                                            .in = in,
                                            .out = out,
                                            .rank = rank_of(table.parameters()[weight.value], desc.rank),
                                            .parameter = weight,
                                            .antithetic = desc.antithetic,
                                            .determinism = desc.determinism}));
    YOLK_TRY(
        PerturbedVectorPlan perturb,
        plan_perturbed_vector(device, {.members = desc.members,
                                       .element_count = out,
                                       .parameter = bias,
                                       .frozen = table.parameters()[bias.value].perturbation == Perturbation::Frozen,
                                       .antithetic = desc.antithetic}));
    YOLK_TRY(ElementwisePlan add, each(ElementwiseOperation::Add));
    YOLK_TRY(ElementwisePlan activate, each(ElementwiseOperation::Tanh));
    return LayerPlans{std::move(multiply), std::move(perturb), std::move(add), std::move(activate)};
}

Result<void> Policies::make(const Device& device, const ParameterTable& table, const BufferView& parameters,
                            const MemberPoliciesDesc& desc) {
    const auto floats = [&](std::uint64_t count, MemoryDomain domain, const char* label) {
        return device.create_buffer({.size_bytes = 4 * count, .domain = domain, .label = label});
    };
    const std::uint64_t members = desc.members;
    YOLK_TRY(given_, floats(members * desc.widths.front(), MemoryDomain::Upload, "observations of the host"));
    YOLK_TRY(input_, floats(members * desc.widths.front(), MemoryDomain::Device, "observations"));
    YOLK_TRY(found_, floats(members * desc.widths.back(), MemoryDomain::Readback, "outputs of the policies"));
    std::vector<LayerPlans> plans;
    std::uint64_t scratch_bytes = 4;
    for (std::uint32_t layer = 0; layer + 1 < desc.widths.size(); ++layer) {
        YOLK_TRY(LayerPlans made, plan_layer(device, table, desc, layer));
        scratch_bytes = std::max(scratch_bytes, made.multiply.scratch().size_bytes);
        plans.push_back(std::move(made));
    }
    YOLK_TRY(scratch_, device.create_buffer({.size_bytes = scratch_bytes, .label = "scratch of the policies"}));
    layers_.resize(plans.size());
    for (std::uint32_t i = 0; i < layers_.size(); ++i) {
        Layer& layer = layers_[i];
        const std::uint64_t in = desc.widths[i], out = desc.widths[i + 1];
        YOLK_TRY(layer.weights, floats(out * in, MemoryDomain::Device, "weights of the policies"));
        YOLK_TRY(layer.bias, floats(out, MemoryDomain::Device, "bias of the policies"));
        YOLK_TRY(layer.member_bias, floats(members * out, MemoryDomain::Device, "biases of the members"));
        YOLK_TRY(layer.result, floats(members * out, MemoryDomain::Device, "a layer of the policies"));
        layer.from_weights = parameters.part(std::uint64_t{4} * table.offset(ParameterId{2 * i}), 4 * out * in);
        layer.from_bias = parameters.part(std::uint64_t{4} * table.offset(ParameterId{2 * i + 1}), 4 * out);
        layer.frozen = table.parameters()[2 * i].perturbation == Perturbation::Frozen;
        const BufferView x = i == 0 ? BufferView(input_) : BufferView(layers_[i - 1].result);
        YOLK_TRY(layer.perturb, plans[i].perturb.bind({.vector = layer.bias, .output = layer.member_bias}));
        YOLK_TRY(layer.multiply,
                 plans[i].multiply.bind({.weights = layer.weights, .input = x, .output = layer.result}, scratch_));
        YOLK_TRY(layer.add,
                 plans[i].add.bind({.first = layer.result, .second = layer.member_bias, .out = layer.result}));
        if (i + 1 == layers_.size()) break;  // the outputs are linear
        YOLK_TRY(layer.activate, plans[i].activate.bind({.first = layer.result, .out = layer.result}));
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
    for (const Layer& layer : layers_) {
        setup_.copy(layer.from_weights, layer.weights);
        setup_.copy(layer.from_bias, layer.bias);
    }
    setup_.barrier(Barrier::TransferToCompute);
    for (const Layer& layer : layers_) layer.perturb->record(setup_, when, first);
    setup_.barrier(Barrier::ComputeToCompute);
    YOLK_TRY_VOID(dispatcher_.run(setup_));
    pass_.begin();
    pass_.copy(given_, input_);
    pass_.barrier(Barrier::TransferToCompute);
    for (const Layer& layer : layers_) {
        NoiseContext own = when;
        if (layer.frozen) own.sigma = 0.0F;
        layer.multiply->record(pass_, own, first);
        pass_.barrier(Barrier::ComputeToCompute);
        layer.add->record(pass_);
        pass_.barrier(Barrier::ComputeToCompute);
        if (!layer.activate) continue;
        layer.activate->record(pass_);
        pass_.barrier(Barrier::ComputeToCompute);
    }
    pass_.barrier(Barrier::ComputeToTransfer);
    pass_.copy(layers_.back().result, found_);
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
