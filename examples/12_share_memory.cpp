// SPDX-License-Identifier: Apache-2.0
// One buffer, used by two VkDevices and, where there is an NVIDIA GPU, by CUDA: no copy in between.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "yolk/context.hpp"
#include "yolk/cuda.hpp"
#include "yolk/noise.hpp"

namespace {

using yolk::Result;

const std::vector<std::int32_t> kExpected{-8, 13, 2, -6, 13, -15, -9, 6};

/// The eight numbers by a kernel. The recording ends with the buffer handed over.
Result<void> write(const yolk::Context& context, const yolk::Buffer& buffer) {
    YOLK_TRY(const auto plan, yolk::plan_noise(context.device(), {.element_count = 8, .pair_count = 1}));
    YOLK_TRY(const auto bound, plan.bind({.out = buffer}, {}));
    YOLK_TRY(auto recorder, yolk::Recorder::create(context.device()));
    bound.record(recorder, {.seed = 42, .parameter = 5, .domain = yolk::Domain::A, .pair = 3, .time = 7});
    yolk::release_shared(recorder, buffer);
    return context.dispatcher().run(recorder);
}

/// What another VkDevice, which could be another process', finds in the memory.
Result<std::vector<std::int32_t>> read_elsewhere(const yolk::MemoryHandle& handle) {
    YOLK_TRY(const auto elsewhere, yolk::Context::create({.tuning = false, .pipeline_cache = false}));
    YOLK_TRY(const auto buffer, yolk::import_memory(elsewhere.device(), handle));
    YOLK_TRY(auto recorder, yolk::Recorder::create(elsewhere.device()));
    yolk::acquire_shared(recorder, buffer);
    YOLK_TRY_VOID(elsewhere.dispatcher().run(recorder));
    return elsewhere.download<std::int32_t>(buffer);
}

/// What CUDA finds there. Work on both sides is ordered by a timeline: here CUDA waits for 1, which a submission
/// signals.
Result<std::vector<std::int32_t>> read_by_cuda(const yolk::Context& context, const yolk::CudaDevice& cuda,
                                               const yolk::MemoryHandle& handle) {
    YOLK_TRY(const auto shared, yolk::CudaBuffer::import(cuda, handle));
    YOLK_TRY(const auto steps, yolk::SharedTimeline::create(context.device(), {.exportable = true, .label = "steps"}));
    YOLK_TRY(const auto exported, steps.export_handle());
    YOLK_TRY(const auto there, yolk::CudaTimeline::import(cuda, exported));
    YOLK_TRY(auto recorder, yolk::Recorder::create(context.device()));
    const yolk::TimelinePoint one{&steps, 1};
    YOLK_TRY(const auto submitted, yolk::submit(context.dispatcher(), recorder, {.signal_after = {&one, 1}}));
    YOLK_TRY_VOID(there.wait(1));
    std::vector<std::int32_t> values(8);
    YOLK_TRY_VOID(shared.download(0, std::as_writable_bytes(std::span(values))));
    // For PyTorch: a PyCapsule named "dltensor" around this pointer, which torch.from_dlpack takes.
    YOLK_TRY(DLManagedTensor* const tensor, shared.dlpack({.dtype = yolk::DType::I32, .shape = {8}}));
    yolk::delete_dlpack(tensor);
    YOLK_TRY_VOID(context.dispatcher().wait(submitted));
    return values;
}

Result<bool> run() {
    YOLK_TRY(const auto context, yolk::Context::create());
    YOLK_TRY(const auto buffer,
             yolk::create_exportable_buffer(context.device(), {.size_bytes = 32, .label = "shared"}));
    YOLK_TRY_VOID(write(context, buffer));
    YOLK_TRY(const auto handle, yolk::export_memory(buffer));
    YOLK_TRY(const auto elsewhere, read_elsewhere(handle));
    std::printf("another VkDevice reads %s\n", elsewhere == kExpected ? "the same numbers" : "other numbers");

    const auto cuda = yolk::CudaDevice::open(context.device());
    if (!cuda) {
        std::printf("CUDA does not: %s\n", cuda.error().message.c_str());
        return elsewhere == kExpected && cuda.error().kind == yolk::ErrorKind::Unsupported;
    }
    YOLK_TRY(const auto by_cuda, read_by_cuda(context, *cuda, handle));
    std::printf("CUDA reads %s\n", by_cuda == kExpected ? "the same numbers" : "other numbers");
    return elsewhere == kExpected && by_cuda == kExpected;
}

}  // namespace

int main() {
    const auto good = run();
    if (!good) return std::fprintf(stderr, "%s\n", good.error().message.c_str()), 1;
    return *good ? 0 : 1;
}
