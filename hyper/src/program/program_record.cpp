// SPDX-License-Identifier: Apache-2.0
// Recordings of a program's phases, the outputs that stay on the device, and the states that candidates carry there
// from one evaluation to the next: kernels read them where they lie, and a scatter writes into them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "program.hpp"

namespace yolk::hyper::population {
namespace {

bool are_same(const BufferView& a, const BufferView& b) {
    return a.buffer == b.buffer && a.offset_bytes == b.offset_bytes && a.size_bytes == b.size_bytes;
}

}  // namespace

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

void Program::keep_outputs(Emitter& emitter, ChunkPlan* plan) const {
    if (plan != nullptr) plan->kept.resize(groups_.size());
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        emitter.begin_group(g);
        for (const Atom& output : groups_[g].graph().outputs) {
            const auto* id = std::get_if<VariableId>(&output);
            const bool on_device = id != nullptr && placed_[g].variables[id->value].on_device;
            const BufferRef kept = on_device ? emitter.keep(*id) : BufferRef{};
            if (plan != nullptr) plan->kept[g].push_back(kept);
        }
    }
}

Result<std::optional<BufferView>> Program::kept_output(const ChunkPlan& plan, std::uint32_t group,
                                                       std::size_t index) const {
    const BufferRef& kept = plan.kept[group][index];
    if (kept.home != BufferRef::Home::None) return std::optional(view_of(plan, kept));
    const auto* id = std::get_if<VariableId>(&groups_[group].graph().outputs[index]);
    if (id == nullptr || !placed_[group].variables[id->value].varies) return std::optional<BufferView>();
    return failed_work("Output {} of '{}' is made on the host, and was to stay on the device.", index,
                       groups_[group].graph().name);
}

std::vector<std::int32_t> Program::next_states() const {
    std::vector<std::int32_t> found;
    std::size_t output = 0;
    const auto is_only_reader = [&](const Equation& equation, std::size_t source) {
        const Graph& graph = groups_.front().graph();
        return std::ranges::all_of(graph.equations, [&](const Equation& other) {
            return &other == &equation || std::ranges::none_of(other.operands, [&](const Atom& atom) {
                const auto* id = std::get_if<VariableId>(&atom);
                return id != nullptr &&
                       placed_.front().variables[id->value].source == static_cast<std::int32_t>(source);
            });
        });
    };
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (sources_[s].kind != SourceKind::Carried) continue;
        const Graph& graph = groups_.front().graph();
        found.resize(graph.variables.size(), -1);
        const auto* next = std::get_if<VariableId>(&graph.outputs[++output]);
        const auto maker = std::ranges::find_if(graph.equations, [&](const Equation& equation) {
            return next != nullptr && std::ranges::find(equation.results, *next) != equation.results.end();
        });
        if (maker != graph.equations.end() && is_only_reader(*maker, s))
            found[next->value] = static_cast<std::int32_t>(s);
    }
    return found;
}

Result<void> Program::align_chunk() {
    std::uint64_t step = 1;  // powers of two
    for (const Source& source : sources_) {
        if (source.kind != SourceKind::Carried) continue;
        const std::uint64_t bytes = 4 * source.spec.shape.element_count().value_or(0);
        step = std::max(step, kViewAlignment / std::gcd(bytes, kViewAlignment));
    }
    if (options_.members_per_chunk < step)
        return bad_input(
            "Only {} candidates are evaluated at once. The states that they carry must begin at multiples of {} bytes, "
            "which takes at least {}.",
            options_.members_per_chunk, kViewAlignment, step);
    options_.members_per_chunk -= static_cast<std::uint32_t>(options_.members_per_chunk % step);
    return {};
}

Result<void> Program::bind_states(ChunkPlan& plan, std::vector<BufferView> states) {
    if (std::ranges::equal(plan.states, states, &are_same)) return {};
    plan.states = std::move(states);
    return bind(plan);
}

Result<void> Program::check_states(const ChunkPlan& plan) const {
    std::size_t output = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (sources_[s].kind != SourceKind::Carried) continue;
        const BufferRef& next = plan.kept.front()[++output];
        if (next.home == BufferRef::Home::State && next.index != s)
            return bad_input("The next state of '{}' is that of '{}' as it is; only what a kernel makes can be one.",
                             sources_[s].spec.name, sources_[next.index].spec.name);
    }
    return {};
}

void Program::record_states(const ChunkPlan& plan, ChunkPlan::Slot& slot) const {
    std::size_t output = 0;
    for (const BufferView& state : plan.states) {
        if (state.empty()) continue;
        const BufferRef& next = plan.kept.front()[++output];
        if (next.home != BufferRef::Home::State) slot.recorder->copy(view_of(plan, next), state);
    }
}

}  // namespace yolk::hyper::population
