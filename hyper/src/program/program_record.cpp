// SPDX-License-Identifier: Apache-2.0
// Recordings of a program's phases.
#include <utility>

#include "program.hpp"

namespace yolk::hyper::population {

void Program::record_mean(Recorder& recorder) noexcept {
    if (!std::exchange(mean_dirty_, false)) return;
    if (device_mean_.empty()) return recorder.copy(mean_staging_, mean_buffer_);
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (!sources_[s].in_mean()) continue;
        const std::uint64_t bytes = std::uint64_t{4} * sources_[s].count;
        recorder.copy(device_mean_.part(std::uint64_t{4} * sources_[s].offset, bytes),
                      {mean_buffer_, mean_offsets_[s], bytes});
    }
}

void Program::begin_phase(const ChunkPlan& plan, ChunkPlan::Slot& slot, const DevicePhase& phase) noexcept {
    Recorder& recorder = *slot.recorder;
    record_mean(recorder);
    if (std::exchange(examples_dirty_, false)) {
        for (const BufferRef& piece : std::exchange(constants_.refilled, {})) {
            const auto part = [&](const Buffer& buffer) { return BufferView{buffer, piece.offset, piece.bytes}; };
            recorder.copy(part(examples_staging_), part(constants_buffer_));
        }
    }
    for (const Upload& upload : phase.uploads) {
        recorder.copy(BufferView{slot.staging, upload.staging, upload.to.bytes}, view_of(plan, upload.to));
    }
}

void Program::end_phase(const ChunkPlan& plan, ChunkPlan::Slot& slot, const Phase& phase,
                        const Progress& progress) const {
    Recorder& recorder = *slot.recorder;
    recorder.barrier(Barrier::ComputeToTransfer);
    if (!progress.taken.empty()) recorder.barrier(Barrier::TransferToTransfer);
    for (const Download& download : plan.layout.phases[phase.device_index].downloads) {
        if (is_left_out(plan, phase, progress, download)) continue;
        recorder.copy(view_of(plan, download.from), {slot.readback, download.readback, download.from.bytes});
    }
    record_means(plan, slot);
    record_states(plan, slot);
    recorder.barrier(Barrier::ToHost);
}

void Program::record_means(const ChunkPlan& plan, ChunkPlan::Slot& slot) const {
    if (plan.layout.means.home == BufferRef::Home::None) return;
    const BufferView means = view_of(plan, plan.layout.means);
    const std::uint64_t to_host = means.size_bytes - slot.means_to.size_bytes;
    if (to_host > 0) slot.recorder->copy(means.part(0, to_host), {slot.readback, plan.layout.means_readback, to_host});
    if (!slot.means_to.empty()) slot.recorder->copy(means.part(to_host, slot.means_to.size_bytes), slot.means_to);
}

void Program::leave_out(const ChunkPlan& plan, Recorder& recorder, const DevicePhase& phase, Progress& progress) const {
    const StepSkip& skip = phase.skips[progress.skip];
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::TransferToTransfer);
    for (const auto& [from, to] : skip.copies) recorder.copy(view_of(plan, from), view_of(plan, to));
    recorder.barrier(Barrier::TransferToCompute);
    // Steps behind count on barriers of those that are left out.
    recorder.barrier(Barrier::ComputeToCompute);
    progress.taken.push_back(progress.skip);
    progress.step = skip.end;
}

bool Program::is_recorded(const ChunkPlan::Slot& slot, const Phase& phase, const Moment& moment) const {
    if (!slot.recorded || examples_dirty_) return false;
    const auto& [of, mean, made] = *slot.recorded;
    const bool same_mean = mean.buffer == device_mean_.buffer && mean.offset_bytes == device_mean_.offset_bytes &&
                           mean.size_bytes == device_mean_.size_bytes;
    return of == &phase && same_mean && made == moment;
}

bool Program::record(ChunkPlan& plan, ChunkPlan::Slot& slot, const Phase& phase, const Moment& moment,
                     Progress& progress) {
    const DevicePhase& device = plan.layout.phases[phase.device_index];
    Recorder& recorder = *slot.recorder;
    if (is_recorded(slot, phase, moment)) {
        mean_dirty_ = false;
        return false;
    }
    const bool can_repeat = options_.repeats && !examples_dirty_ && device.skips.empty();
    slot.recorded = {};
    recorder.begin();
    const ScopedLabel label(recorder, "population");
    // The arena was in use by the submission before.
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::TransferToTransfer);
    if (progress.step == 0 && !progress.answer) begin_phase(plan, slot, device);
    recorder.barrier(Barrier::TransferToCompute);
    for (;;) {
        for (; progress.skip < device.skips.size() && device.skips[progress.skip].first <= progress.step;
             ++progress.skip) {
            const StepSkip& skip = device.skips[progress.skip];
            if (skip.first < progress.step) continue;  // left out with one around it
            if (skip.goes_on.home == BufferRef::Home::None) {
                if (!goes_on_by_data(phase.skips[skip.index])) leave_out(plan, recorder, device, progress);
                continue;
            }
            const std::optional<bool> answer = std::exchange(progress.answer, {});
            if (!answer) {
                recorder.barrier(Barrier::ComputeToTransfer);
                recorder.copy(view_of(plan, skip.goes_on), {slot.readback, device.answer, skip.goes_on.bytes});
                recorder.barrier(Barrier::ToHost);
                return true;
            }
            if (!*answer) leave_out(plan, recorder, device, progress);
        }
        if (progress.step == device.steps.size()) break;
        const Step& step = device.steps[progress.step++];
        if (step.barrier) recorder.barrier(Barrier::ComputeToCompute);
        step.record(recorder, moment);
    }
    end_phase(plan, slot, phase, progress);
    // Made in pieces before the device's pace was known, it is made again.
    if (can_repeat && recorder.submission_count() == 1) slot.recorded = {&phase, device_mean_, moment};
    return false;
}

}  // namespace yolk::hyper::population
