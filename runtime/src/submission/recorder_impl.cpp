// SPDX-License-Identifier: Apache-2.0
// The life of a recorder; what it records is in recorder.cpp.
#include "recorder_impl.hpp"

#include <fmt/format.h>

#include "device_impl.hpp"
#include "label_guard.hpp"
#include "vk_result.hpp"
#include "yolk/log.hpp"

namespace yolk {

const DeviceContext& Recorder::Impl::context() const noexcept { return device->context; }

Result<void> Recorder::Impl::create(const RecorderOptions& options) {
    const DeviceContext& of = context();
    label = options.label;
    if (!of.health.good()) return of.failed(fmt::format("create the recorder [{}]", label));
    YOLK_TRY_VOID(segments.create(of, label));
    written_slots.assign(options.timestamp_count, false);
    if (options.timestamp_count > 0 && of.timestamp_bits > 0) YOLK_TRY_VOID(create_queries(options.timestamp_count));
    begin();
    if (stuck) return *stuck;
    return {};
}

void Recorder::Impl::record_into(VkCommandBuffer callers) noexcept {
    callers_commands = true;
    commands = callers;
    state = State::Recording;
    order_after_earlier_submissions();
}

Result<void> Recorder::Impl::create_queries(std::uint32_t count) {
    const DeviceContext& of = context();
    const VkQueryPoolCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = count};
    const VkResult result = of.vk.vkCreateQueryPool(of.handle, &info, nullptr, &queries);
    if (result != VK_SUCCESS)
        return vk_error(result, fmt::format("create {} timestamps for the recorder [{}]", count, label));
    return {};
}

Recorder::Impl::~Impl() {
    if (!device || callers_commands) return;
    settle();
    const DeviceContext& of = context();
    if (of.abandon(segments.pool_count() + (queries != VK_NULL_HANDLE ? 1U : 0U))) return;
    of.vk.vkDestroyQueryPool(of.handle, queries, nullptr);
    segments.destroy(of);
}

void Recorder::Impl::settle() noexcept {
    if (!submitted_to || submitted_to->settle(submitted_value)) return;
    context().health.mark_hung(describe_work(label, last_label), submitted_to->given_up());
    log_warning(context().failed(fmt::format("wait for the recorder [{}]", label)).message);
}

std::string describe_work(const std::string& recorder, const FixedLabel& last_label) {
    const std::string named = fmt::format("the recorder [{}]", recorder);
    return last_label.empty() ? named : fmt::format("{}, last labelled work [{}]", named, last_label.c_str());
}

void Recorder::Impl::begin() noexcept {
    if (callers_commands) {
        state = State::Ended;
        return stick(bad_input(
            "The recording [{}] goes into a caller's command buffer, so it cannot begin again. Make another recorder.",
            label));
    }
    const DeviceContext& of = context();
    stuck.reset();
    dispatches = 0;
    read_back_bytes = 0;
    state = State::Ended;
    const auto what = [this] { return fmt::format("begin the recording [{}]", label); };
    if (!of.health.good()) return stick(of.failed(what()));
    const VkResult finished = submitted_to ? submitted_to->poll(submitted_value) : VK_SUCCESS;
    if (finished == VK_NOT_READY) {
        return stick(bad_input(
            "The recorder [{}] was begun again while its work is still running. Wait for the work first.", label));
    }
    if (finished != VK_SUCCESS) return stick(of.error(finished, what(), describe_work(label, last_label)));
    label_depth = 0;
    last_label = FixedLabel();
    written_slots.assign(written_slots.size(), false);
    const VkResult result = segments.begin(of);
    if (result != VK_SUCCESS) return stick(of.error(result, what(), describe_work(label, last_label)));
    state = State::Recording;
    commands = segments.current();
    segment_cost = 0;
    if (queries != VK_NULL_HANDLE) {
        of.vk.vkCmdResetQueryPool(commands, queries, 0, static_cast<std::uint32_t>(written_slots.size()));
    }
    order_after_earlier_submissions();
}

void Recorder::Impl::order_after_earlier_submissions() noexcept {
    // A barrier's first scope holds everything earlier in the queue's submission order, other command buffers included.
    // Cheaper than waiting for a semaphore that the same queue signals, and recorders of one device can rely on each
    // other's results without asking.
    constexpr VkPipelineStageFlags kStages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkMemoryBarrier memory{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                 .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                                  VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                                                  VK_ACCESS_TRANSFER_WRITE_BIT};
    context().vk.vkCmdPipelineBarrier(commands, kStages, kStages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void Recorder::Impl::end() noexcept {
    if (state == State::Ended) return;
    while (label_depth > 0) close_label();
    state = State::Ended;
    if (callers_commands) return;
    const VkResult result = segments.close(context(), last_label, segment_cost);
    if (result != VK_SUCCESS) stick(vk_error(result, fmt::format("end the recording [{}]", label)));
}

bool Recorder::Impl::make_room(std::uint64_t cost) noexcept {
    const std::uint64_t most = callers_commands ? UINT64_MAX : context().pace.piece_cost();
    if (segment_cost > 0 && (segment_cost > most || cost > most - segment_cost) && !cut()) return false;
    segment_cost = cost > UINT64_MAX - segment_cost ? UINT64_MAX : segment_cost + cost;
    return true;
}

bool Recorder::Impl::cut() noexcept {
    // A label region may not be open at the end of a command buffer that is submitted alone.
    const std::uint32_t depth = label_depth;
    const FixedLabel last = last_label;
    while (label_depth > 0) close_label();
    VkResult result = segments.close(context(), work_label, segment_cost);
    if (result == VK_SUCCESS) result = segments.open(context());
    if (result != VK_SUCCESS) {
        state = State::Ended;
        stick(vk_error(result, fmt::format("cut the recording [{}] after {} submissions", label, segments.count())));
        return false;
    }
    commands = segments.current();
    segment_cost = 0;
    // No barrier: those of the recording reach over its command buffers, and pieces of one dispatch are independent.
    for (std::uint32_t i = 0; i < depth; ++i) open_label(i < open_labels.size() ? open_labels[i] : last);
    last_label = last;
    return true;
}

void Recorder::Impl::open_label(const FixedLabel& text) noexcept {
    if (label_depth < open_labels.size()) open_labels[label_depth] = text;
    ++label_depth;
    last_label = text;
    if (context().begin_label == nullptr) return;
    const VkDebugUtilsLabelEXT info{.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = text.c_str()};
    const auto guard = guard_labels(context());
    context().begin_label(commands, &info);
}

void Recorder::Impl::close_label() noexcept {
    --label_depth;
    if (context().end_label == nullptr) return;
    const auto guard = guard_labels(context());
    context().end_label(commands);
}

bool Recorder::Impl::recording(const char* what) noexcept {
    if (state != State::Recording) {
        stick(bad_input("Cannot record {}: the recording [{}] has ended. Call begin() to record again.", what, label));
    }
    return state == State::Recording;
}

}  // namespace yolk
