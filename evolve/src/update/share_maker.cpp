// SPDX-License-Identifier: Apache-2.0
#include "share_maker.hpp"

#include <cstring>

#include "generation_scratch.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk::evolve {

Result<std::unique_ptr<ShareMaker>> ShareMaker::create(const UpdateDevice& on, EsUpdateDesc desc) {
    auto maker = std::make_unique<ShareMaker>();
    maker->on = on;
    desc.config = on.config;
    YOLK_TRY(maker->plan, plan_es_update(*on.device, desc));
    YOLK_TRY_VOID(maker->create_buffers());
    const BufferView scratch = maker->scratch.size_bytes() == 0 ? BufferView{} : BufferView{maker->scratch};
    EsUpdateViews views{.weights = maker->weights};
    (maker->makes_sums() ? views.sums : views.gradient) = maker->made;
    if (!maker->makes_sums()) views.summary = maker->summary;
    YOLK_TRY(maker->bound, maker->plan.bind(views, scratch));
    YOLK_TRY(maker->recorder, Recorder::create(*on.device, {.label = "shared update"}));
    return maker;
}

Result<void> ShareMaker::create_buffers() {
    const EsUpdateDesc& desc = plan.desc();
    const std::uint64_t count = desc.antithetic ? desc.population / 2 : desc.population;
    const std::uint64_t weights_bytes = desc.weights == FitnessWeights::I8 ? round_up(count, 4) : 4 * count;
    const std::uint64_t made_bytes = element_bytes() * desc.parameters.element_count();
    const std::uint64_t summary_bytes = round_up(sizeof(abi::fitness::Summary), kViewAlignment);
    const auto make = [this](std::uint64_t size_bytes, MemoryDomain domain, const char* label) {
        return on.device->create_buffer({.size_bytes = size_bytes, .domain = domain, .label = label});
    };
    YOLK_TRY(weights, make(weights_bytes, MemoryDomain::Device, "weights of a share"));
    if (!makes_sums()) {
        YOLK_TRY(summary, make(sizeof(abi::fitness::Summary), MemoryDomain::Device, "summary of a share"));
    }
    YOLK_TRY(made, make(made_bytes, MemoryDomain::Device, "share of an update"));
    YOLK_TRY(host, make(summary_bytes + weights_bytes, MemoryDomain::Upload, "scored generation"));
    YOLK_TRY(readback, make(made_bytes, MemoryDomain::Readback, "share on the host"));
    YOLK_TRY(scratch, create_scratch(*on.device, plan.scratch().size_bytes, plan.scratch().least()));
    host_summary = {host, 0, sizeof(abi::fitness::Summary)};
    host_weights = {host, summary_bytes, weights_bytes};
    std::memset(host.mapped().data(), 0, host.mapped().size());  // padding of the weights
    return {};
}

void ShareMaker::record(const NoiseContext& when, const EsUpdateShare& share, const ElementSpan& elements) noexcept {
    recorder->begin();
    const ScopedLabel label(*recorder, "shared update");
    if (!makes_sums()) recorder->copy(host_summary, summary);
    recorder->copy(host_weights, weights);
    recorder->barrier(Barrier::TransferToCompute);
    bound.record(*recorder, when, share);
    recorder->barrier(Barrier::ComputeToTransfer);
    const std::uint64_t begin = element_bytes() * elements.first;
    const std::uint64_t bytes = element_bytes() * elements.count;
    recorder->copy(BufferView{made}.part(begin, bytes), BufferView{readback}.part(begin, bytes));
    recorder->barrier(Barrier::ToHost);
}

Result<void> ShareMaker::make(const ShapedGeneration& shaped, const NoiseContext& when, const EsUpdateShare& share,
                              const ElementSpan& elements) {
    const auto put = [](const BufferView& to, std::span<const std::byte> bytes) {
        std::memcpy(to.mapped().data(), bytes.data(), bytes.size());
    };
    put(host_summary, std::as_bytes(std::span(&shaped.summary, 1)));
    put(host_weights, plan.desc().weights == FitnessWeights::I8 ? std::as_bytes(std::span(shaped.integer_weights))
                                                                : std::as_bytes(std::span(shaped.float_weights)));
    YOLK_TRY_VOID(host.flush());
    record(when, share, elements);
    YOLK_TRY_VOID(on.dispatcher->run(*recorder));
    return readback.invalidate();
}

}  // namespace yolk::evolve
