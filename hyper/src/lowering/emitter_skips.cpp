// SPDX-License-Identifier: Apache-2.0
// Steps of loops that may be left out: what the device is asked for them, and what is copied in their place.
#include <algorithm>

#include "emitter.hpp"
#include "yolk/reduce.hpp"

namespace yolk::hyper::population {

void Emitter::begin_skip(std::size_t index, const VariableId* goes_on) {
    StepSkip skip{.index = index};
    if (goes_on != nullptr) {
        DevicePhase& phase = layout_.phases.back();
        const bool is_first = std::ranges::all_of(
            phase.skips, [](const StepSkip& other) { return other.goes_on.home == BufferRef::Home::None; });
        if (is_first) {
            phase.answer = layout_.readback_bytes;
            layout_.readback_bytes += round_up(kElementBytes * members(), kViewAlignment);
        }
        skip.goes_on = buffers_of_[group_][goes_on->value];
        if (const std::uint32_t count = examples(traits(*goes_on).per_example); count > 1) {
            const BufferRef any = temporary(kElementBytes * members());
            const ReduceDesc desc{.operation = ReduceOperation::Max, .outer = members(), .columns = count};
            step({skip.goes_on}, {any}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return ReduceViews{.in = views[0], .out = views[1]};
                 }));
            skip.goes_on = any;
        }
        touch(skip.goes_on);
    }
    DevicePhase& phase = layout_.phases.back();
    skip.first = phase.steps.size();
    open_skips_.push_back({.place = phase.skips.size(), .event = event_, .made = made_in_skips_.size()});
    phase.skips.push_back(std::move(skip));
}

void Emitter::end_skip(std::span<const std::pair<VariableId, VariableId>> results) {
    DevicePhase& phase = layout_.phases.back();
    const OpenSkip open = open_skips_.back();
    open_skips_.pop_back();
    for (std::size_t i = open.made; i < made_in_skips_.size(); ++i) *made_in_skips_[i] = {};
    made_in_skips_.resize(open.made);
    StepSkip& skip = phase.skips[open.place];
    skip.end = phase.steps.size();
    if (skip.first == skip.end) {  // and there is none within it
        phase.skips.pop_back();
        return;
    }
    for (const auto& [before, behind] : results) {
        const BufferRef from = buffers_of_[group_][before.value], to = buffers_of_[group_][behind.value];
        ArenaBuffer &source = layout_.buffers[from.index], &target = layout_.buffers[to.index];
        // From the question on both hold their places: one result's copy must not hit another's source.
        source.last = std::max(source.last, open.event);
        target.first = std::min(target.first, open.event);
        skip.copies.emplace_back(from, to);
    }
}

}  // namespace yolk::hyper::population
