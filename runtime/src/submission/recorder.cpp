// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/runtime/dispatch_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "binding_impl.hpp"
#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "recorder_impl.hpp"
#include "vk_result.hpp"

namespace yolk {
namespace {

struct BarrierMasks {
    VkPipelineStageFlags from_stage, to_stage;
    VkAccessFlags from_access, to_access;
};

BarrierMasks masks_of(Barrier barrier) noexcept {
    constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    constexpr VkPipelineStageFlags kTransfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
    constexpr VkAccessFlags kKernel =
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_UNIFORM_READ_BIT;
    constexpr VkAccessFlags kCopy = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    constexpr VkAccessFlags kKernelWrite = VK_ACCESS_SHADER_WRITE_BIT;
    constexpr VkAccessFlags kCopyWrite = VK_ACCESS_TRANSFER_WRITE_BIT;
    switch (barrier) {
        case Barrier::ComputeToCompute: return {kCompute, kCompute, kKernelWrite, kKernel};
        case Barrier::ComputeToTransfer: return {kCompute, kTransfer, kKernelWrite, kCopy};
        case Barrier::TransferToCompute: return {kTransfer, kCompute, kCopyWrite, kKernel};
        case Barrier::TransferToTransfer: return {kTransfer, kTransfer, kCopyWrite, kCopy};
        case Barrier::ToHost: break;
    }
    return {kCompute | kTransfer, VK_PIPELINE_STAGE_HOST_BIT, kKernelWrite | kCopyWrite, VK_ACCESS_HOST_READ_BIT};
}

/// Why a view cannot be the source or target of a copy; copies need no alignment, so check_view is too strict for them.
Result<void> check_range(const DeviceContext& context, const BufferView& view, VkBufferUsageFlags usage,
                         const char* what) {
    if (view.buffer == nullptr) return bad_input("{} has no buffer.", what);
    const std::uint64_t whole = view.buffer->size_bytes;
    if (view.offset_bytes > whole || view.size_bytes > whole - view.offset_bytes) {
        return bad_input("{}, {} bytes at offset {}, reaches past the end of the buffer [{}] of {} bytes.", what,
                         view.size_bytes, view.offset_bytes, view.buffer->label, whole);
    }
    const Buffer::Impl& buffer = *view.buffer;
    if (&buffer.device->context != &context)
        return bad_input("{}: the buffer [{}] was made by another device.", what, buffer.label);
    return buffer.check_usage(usage, what);
}

/// The binding's pipeline, or null where the dispatch cannot be; why has then stuck.
const Pipeline* checked_pipeline(Recorder::Impl& into, const Binding& binding, std::span<const std::byte> params) {
    const Binding::Impl* bound = binding.impl();
    if (bound == nullptr) {
        into.stick(bad_input("Cannot dispatch into [{}]: the binding is empty.", into.label));
        return nullptr;
    }
    const Pipeline& pipeline = *bound->pipeline;
    if (pipeline.context != &into.context()) {
        into.stick(bad_input("Cannot dispatch the kernel [{}] into [{}]: they are of different devices.", pipeline.name,
                             into.label));
        return nullptr;
    }
    if (params.size() != pipeline.signature.params_bytes) {
        into.stick(bad_input("The kernel [{}] takes {} bytes of parameters, {} were given.", pipeline.name,
                             pipeline.signature.params_bytes, params.size()));
        return nullptr;
    }
    return &pipeline;
}

bool exceeds_device(Recorder::Impl& into, const Pipeline& pipeline, GroupCount groups) {
    const DeviceInfo& device = into.context().info;
    const auto& most = device.limits.max_workgroup_count;
    if (groups.x <= most[0] && groups.y <= most[1] && groups.z <= most[2]) return false;
    into.stick(bad_input(
        "The kernel [{}] was dispatched with {} x {} x {} workgroups; device '{}' takes {} x {} x {}. Fold the grid "
        "(LinearGrid, fold_groups) or split it.",
        pipeline.name, groups.x, groups.y, groups.z, device.name, most[0], most[1], most[2]));
    return true;
}

void bind_all(Recorder::Impl& into, const Binding& binding, std::span<const std::byte> params) noexcept {
    into.work_label = into.last_label;
    const VolkDeviceTable& vk = into.context().vk;
    const Pipeline& pipeline = *binding.impl()->pipeline;
    vk.vkCmdBindPipeline(into.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    vk.vkCmdBindDescriptorSets(into.commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                               &binding.impl()->set.handle, 0, nullptr);
    if (params.empty()) return;
    vk.vkCmdPushConstants(into.commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          pipeline.signature.params_bytes, params.data());
}

}  // namespace

Result<Recorder> Recorder::create(const Device& device, const RecorderOptions& options) {
    auto impl = std::make_unique<Impl>();
    impl->device = device.impl();
    YOLK_TRY_VOID(impl->create(options));
    return Recorder(std::move(impl));
}

void Recorder::begin() noexcept { impl_->begin(); }
void Recorder::end() noexcept { impl_->end(); }
Result<void> Recorder::finish() noexcept {
    impl_->end();
    if (impl_->stuck) return *impl_->stuck;
    return {};
}
std::uint64_t Recorder::dispatch_count() const noexcept { return impl_->dispatches; }
std::size_t Recorder::submission_count() const noexcept { return impl_->segments.count(); }

void Recorder::dispatch(const Binding& binding, std::span<const std::byte> params, GroupCount groups) noexcept {
    if (!impl_->recording("a dispatch")) return;
    const Pipeline* pipeline = checked_pipeline(*impl_, binding, params);
    if (pipeline == nullptr) return;
    if (exceeds_device(*impl_, *pipeline, groups)) return;
    if (groups.x == 0 || groups.y == 0 || groups.z == 0) return;
    bind_all(*impl_, binding, params);
    impl_->context().vk.vkCmdDispatch(impl_->commands, groups.x, groups.y, groups.z);
    ++impl_->dispatches;
}

void Recorder::dispatch(const Binding& binding, std::span<const std::byte> params, const LinearGrid& grid) noexcept {
    if (!impl_->recording("a dispatch")) return;
    const Pipeline* pipeline = checked_pipeline(*impl_, binding, params);
    if (pipeline == nullptr || grid.groups == 0) return;
    const GridPieces pieces = cut_grid(grid, impl_->context().pace.piece_cost());
    if (exceeds_device(*impl_, *pipeline, {pieces.x, pieces.y, 1})) return;
    bool whole = true;
    for (std::uint32_t row = 0; row < pieces.y; row += pieces.rows_per_piece) {
        const std::uint32_t rows = std::min(pieces.rows_per_piece, pieces.y - row);
        const std::size_t segments = impl_->segments.count();
        if (!impl_->make_room(pieces.cost_of(rows))) return;
        // What is bound does not outlast a command buffer.
        if (std::exchange(whole, false) || impl_->segments.count() != segments) bind_all(*impl_, binding, params);
        impl_->context().vk.vkCmdDispatchBase(impl_->commands, 0, row, 0, pieces.x, rows, 1);
        ++impl_->dispatches;
    }
}

void dispatch_part(Recorder& recorder, const Binding& binding, std::span<const std::byte> params, GroupCount first,
                   GroupCount groups) noexcept {
    Recorder::Impl& into = *recorder.impl();
    if (!into.recording("a dispatch")) return;
    const Pipeline* pipeline = checked_pipeline(into, binding, params);
    if (pipeline == nullptr) return;
    if (exceeds_device(into, *pipeline, {first.x + groups.x, first.y + groups.y, first.z + groups.z})) return;
    if (groups.x == 0 || groups.y == 0 || groups.z == 0) return;
    bind_all(into, binding, params);
    into.context().vk.vkCmdDispatchBase(into.commands, first.x, first.y, first.z, groups.x, groups.y, groups.z);
    ++into.dispatches;
}

void dispatch_no_workgroup(Recorder& recorder, const Binding& binding, std::span<const std::byte> params) noexcept {
    Recorder::Impl& into = *recorder.impl();
    if (!into.recording("a dispatch") || checked_pipeline(into, binding, params) == nullptr) return;
    bind_all(into, binding, params);
    into.context().vk.vkCmdDispatch(into.commands, 0, 0, 0);
    ++into.dispatches;
}

void Recorder::barrier(Barrier barrier) noexcept {
    if (!impl_->recording("a barrier")) return;
    const BarrierMasks masks = masks_of(barrier);
    const VkMemoryBarrier memory{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = masks.from_access,
                                 .dstAccessMask = masks.to_access};
    impl_->context().vk.vkCmdPipelineBarrier(impl_->commands, masks.from_stage, masks.to_stage, 0, 1, &memory, 0,
                                             nullptr, 0, nullptr);
}

void Recorder::copy(const BufferView& from, const BufferView& to) noexcept {
    if (!impl_->recording("a copy")) return;
    if (from.size_bytes != to.size_bytes) {
        return impl_->stick(bad_input("A copy in [{}] is from {} bytes to {}; the sizes must be equal.", impl_->label,
                                      from.size_bytes, to.size_bytes));
    }
    if (from.empty()) return;
    const DeviceContext& context = impl_->context();
    if (auto ok = check_range(context, from, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, "The source of a copy"); !ok)
        return impl_->stick(std::move(ok).error());
    if (auto ok = check_range(context, to, VK_BUFFER_USAGE_TRANSFER_DST_BIT, "The target of a copy"); !ok)
        return impl_->stick(std::move(ok).error());
    if (overlap(from, to)) {
        return impl_->stick(bad_input("Source and target of a copy in [{}] share bytes of the buffer [{}].",
                                      impl_->label, from.buffer->label));
    }
    const VkBufferCopy region{.srcOffset = from.offset_bytes, .dstOffset = to.offset_bytes, .size = from.size_bytes};
    context.vk.vkCmdCopyBuffer(impl_->commands, from.buffer->handle, to.buffer->handle, 1, &region);
    if (to.buffer->read_back) impl_->read_back_bytes += to.size_bytes;
}

void Recorder::fill(const BufferView& view, std::uint32_t word) noexcept {
    if (!impl_->recording("a fill") || view.empty()) return;
    const DeviceContext& context = impl_->context();
    if (auto ok = check_range(context, view, VK_BUFFER_USAGE_TRANSFER_DST_BIT, "The target of a fill"); !ok)
        return impl_->stick(std::move(ok).error());
    if (view.offset_bytes % 4 != 0 || view.size_bytes % 4 != 0) {
        return impl_->stick(
            bad_input("A fill of the buffer [{}] has offset {} and size {}; both must be multiples of 4.",
                      view.buffer->label, view.offset_bytes, view.size_bytes));
    }
    context.vk.vkCmdFillBuffer(impl_->commands, view.buffer->handle, view.offset_bytes, view.size_bytes, word);
}

void Recorder::timestamp(std::uint32_t slot) noexcept {
    if (!impl_->recording("a timestamp")) return;
    if (slot >= impl_->written_slots.size()) {
        return impl_->stick(bad_input("Timestamp slot {} was asked for; the recorder [{}] was made with {}.", slot,
                                      impl_->label, impl_->written_slots.size()));
    }
    if (impl_->written_slots[slot]) {
        return impl_->stick(bad_input("Timestamp slot {} of the recorder [{}] was written twice.", slot, impl_->label));
    }
    impl_->written_slots[slot] = true;
    if (impl_->queries == VK_NULL_HANDLE) return;  // the device has no timestamps: read_timestamps says so
    impl_->context().vk.vkCmdWriteTimestamp(impl_->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, impl_->queries,
                                            slot);
}

void Recorder::refuse(Error error) noexcept {
    if (impl_->recording("what is refused")) impl_->stick(std::move(error));
}

void Recorder::begin_label(std::string_view label) noexcept {
    if (!impl_->recording("a label")) return;
    impl_->open_label(FixedLabel(label));
}

void Recorder::end_label() noexcept {
    if (!impl_->recording("the end of a label")) return;
    if (impl_->label_depth == 0) {
        return impl_->stick(bad_input("A label of the recorder [{}] was ended that was not begun.", impl_->label));
    }
    impl_->close_label();
}

Result<void> Recorder::read_timestamps(std::span<double> nanoseconds) const {
    const DeviceContext& context = impl_->context();
    if (context.timestamp_bits == 0) return unsupported("Device '{}' has no timestamps.", context.info.name);
    if (nanoseconds.size() > impl_->written_slots.size()) {
        return bad_input("{} timestamps were asked for; the recorder [{}] was made with {}.", nanoseconds.size(),
                         impl_->label, impl_->written_slots.size());
    }
    // Asked here and not of the query pool: lavapipe waits for the whole device to idle before it answers.
    if (!impl_->submitted_to) return bad_input("The recorder [{}] has timestamps once it was submitted.", impl_->label);
    const std::string what = fmt::format("read the timestamps of the recorder [{}]", impl_->label);
    if (!context.health.good()) return context.failed(what);
    const VkResult finished = impl_->submitted_to->poll(impl_->submitted_value);
    if (finished == VK_NOT_READY) {
        return bad_input("The recorder [{}] still runs; wait for its submission to read timestamps.", impl_->label);
    }
    if (finished != VK_SUCCESS) return context.error(finished, what, describe_work(impl_->label, impl_->last_label));
    for (std::uint32_t slot = 0; slot < nanoseconds.size(); ++slot) {
        if (!impl_->written_slots[slot]) {
            return bad_input("Timestamp slot {} of the recorder [{}] was not recorded.", slot, impl_->label);
        }
        std::uint64_t ticks = 0;
        const VkResult result = context.vk.vkGetQueryPoolResults(context.handle, impl_->queries, slot, 1, sizeof(ticks),
                                                                 &ticks, sizeof(ticks), VK_QUERY_RESULT_64_BIT);
        if (result != VK_SUCCESS)
            return context.error(result, fmt::format("read timestamp {} of the recorder [{}]", slot, impl_->label),
                                 describe_work(impl_->label, impl_->last_label));
        nanoseconds[slot] = impl_->device->nanoseconds(ticks);
    }
    return {};
}

}  // namespace yolk
