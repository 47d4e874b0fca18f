// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "equations.hpp"
#include "layer_networks.hpp"
#include "lowering_rules.hpp"
#include "requirement.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk::hyper::population {
namespace {

/// Of a chunk that the device chooses.
constexpr std::uint32_t kMostOfAChunk = 65536;

/// Intermediate values of such a chunk. On lavapipe 22.3.6, two cores, 8-16-16-4 over 8 examples has 219,000
/// candidates/s in chunks of 128, 410,000 of 1,024, 457,000 of 4,096, which fit into 8 MiB. 32-64-64-8 over 64 examples
/// has 17,200 in chunks of 128, 15,900 of 1,024 and 14,900 of 4,096; of it 8 MiB hold 241 to 256. On an H200 4,096
/// candidates of that network take 700 us in the two chunks that 128 MiB make and 621 in the one of 512 MiB or more;
/// 1,024 of the transformer 2,746 and 2,515.
constexpr std::uint64_t suiting_bytes(DeviceKind kind) {
    constexpr std::uint64_t kMebibyte = 1U << 20U;
    return kind == DeviceKind::Cpu ? 8 * kMebibyte : 512 * kMebibyte;
}

/// The earliest phase of each equation that varies: even ones are the device's, odd ones the host's. Equations of one
/// phase of the device may depend on each other, those of one phase of the host do not.
std::vector<std::uint32_t> levels_of(const Graph& graph, const PlacedGraph& placed) {
    std::vector<std::uint32_t> levels(graph.equations.size(), 0);
    std::vector<std::int64_t> made(graph.variables.size(), -1);  // level of the equation that makes it
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        const Placement placement = placed.equations[i].placement;
        if (placement == Placement::Data) continue;
        const bool device = placement == Placement::Device;
        std::int64_t level = device ? 0 : 1;
        for (const Atom& atom : graph.equations[i].operands) {
            const auto* id = std::get_if<VariableId>(&atom);
            if (id == nullptr || made[id->value] < 0) continue;
            const std::int64_t before = made[id->value];
            const bool before_device = before % 2 == 0;
            std::int64_t earliest = before;
            if (device != before_device) earliest = before + 1;
            if (!device && !before_device) earliest = before + 2;
            level = std::max(level, earliest);
        }
        levels[i] = static_cast<std::uint32_t>(level);
        for (const VariableId id : graph.equations[i].results) made[id.value] = level;
    }
    return levels;
}

std::vector<bool> read_on_host(const Graph& graph, const PlacedGraph& placed) {
    std::vector<bool> needed(graph.variables.size(), false);
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        if (placed.equations[i].placement != Placement::Host) continue;
        for (const Atom& atom : graph.equations[i].operands) {
            if (const auto* id = std::get_if<VariableId>(&atom)) needed[id->value] = true;
        }
    }
    return needed;
}

}  // namespace

Program::Program(Dispatcher* dispatcher, std::span<const ExampleGroup> groups, std::vector<Source> sources,
                 const Options& options)
    : dispatcher_(dispatcher), groups_(groups), sources_(std::move(sources)), options_(options) {}

bool Program::hands_out_one(const Graph& graph) const { return options_.keep_outputs || has_one_output(graph); }

bool Program::is_handed_out(const Graph& graph, VariableId variable) const {
    if (hands_out_one(graph)) return graph.outputs.front() == Atom(variable);
    return std::ranges::find(graph.outputs, Atom(variable)) != graph.outputs.end();
}

Result<std::unique_ptr<Program>> Program::create(Dispatcher* dispatcher, std::span<const ExampleGroup> groups,
                                                 std::vector<Source> sources, const Options& options) {
    std::unique_ptr<Program> program(new Program(dispatcher, groups, std::move(sources), options));
    for (const ExampleGroup& group : groups) {
        program->placed_.push_back(place_group(group, program->sources_));
        program->read_on_host_.push_back(read_on_host(group.graph(), program->placed_.back()));
    }
    program->find_phases();
    program->find_skips();
    YOLK_TRY_VOID(program->check_dispatcher());
    program->find_required();
    program->lay_out_mean();
    program->find_elements(program->options_.joined_kernels);
    program->find_products();
    YOLK_TRY_VOID(program->choose_chunk());
    return program;
}

void Program::find_phases() {
    std::vector<std::vector<EquationRef>> by_level;
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        const Graph& graph = groups_[g].graph();
        const std::vector<std::uint32_t> levels = levels_of(graph, placed_[g]);
        for (std::size_t i = 0; i < levels.size(); ++i) {
            if (placed_[g].equations[i].placement == Placement::Data) continue;
            if (by_level.size() <= levels[i]) by_level.resize(levels[i] + 1);
            by_level[levels[i]].push_back({g, i});
        }
    }
    std::size_t device_phases = 0;
    for (std::size_t level = 0; level < by_level.size(); ++level) {
        if (by_level[level].empty()) continue;
        const bool device = level % 2 == 0;
        phases_.push_back(
            {.device = device, .equations = std::move(by_level[level]), .device_index = device ? device_phases++ : 0});
    }
}

void Program::lay_out_mean() {
    for (const Source& source : sources_) {
        mean_offsets_.push_back(mean_bytes_);
        if (source.in_mean()) mean_bytes_ += round_up(std::uint64_t{4} * source.count, kViewAlignment);
    }
}

Layout Program::emit(std::uint32_t members, ChunkPlan* plan) {
    const std::vector<std::int32_t> next = next_states();
    Emitter emitter({.groups = groups_,
                     .placed = placed_,
                     .products = products_,
                     .sources = sources_,
                     .mean_offsets = mean_offsets_,
                     .next_states = next,
                     .members = members,
                     .antithetic = options_.antithetic,
                     .determinism = options_.determinism},
                    constants_);
    for (const Phase& phase : phases_) {
        if (!phase.device) continue;
        emitter.begin_phase();
        emit_equations(emitter, phase);
        emit_downloads(emitter, phase);
        if (makes_means()) emit_means(emitter);
        emitter.end_phase();
    }
    if (options_.keep_outputs) keep_outputs(emitter, plan);
    return emitter.finish();
}

void Program::emit_equations(Emitter& emitter, const Phase& phase) {
    std::vector<const PhaseSkip*> open;
    const auto close = [&] {
        emitter.end_skip(open.back()->skip.results);
        open.pop_back();
    };
    std::size_t next = 0;
    for (const auto& [group, index] : phase.equations) {
        while (!open.empty() && (open.back()->group != group || open.back()->skip.end <= index)) close();
        const Equation& equation = groups_[group].graph().equations[index];
        emitter.begin_group(group);
        for (; next < phase.skips.size() && phase.skips[next].group == group && phase.skips[next].skip.first <= index;
             ++next) {
            open.push_back(&phase.skips[next]);
            emitter.begin_skip(next, open.back()->asked ? &open.back()->skip.goes_on : nullptr);
        }
        const Fused& fused = fused_[group][index];
        if (is_requirement(equation) || fused.is_absorbed || products_[group].is_idle[index]) continue;
        if (const std::int32_t joined = elements_[group].of[index]; joined >= 0) {
            const EquationGroup& together = elements_[group].groups[static_cast<std::size_t>(joined)];
            if (together.equations.back() == index) emit_group(emitter, placed_examples(group), together);
            continue;
        }
        const std::vector<Operand> operands =
            operands_of(groups_[group].graph(), placed_[group], index, uniform_in(groups_[group]));
        if (!fused.network.empty())
            emit_network(emitter, placed_examples(group), index, fused);
        else if (fused.result)
            emit_layer(emitter, equation, operands, fused);
        else
            rule_of(equation.operation)->emit(emitter, equation, operands);
    }
    while (!open.empty()) close();
}

void Program::emit_downloads(Emitter& emitter, const Phase& phase) {
    for (const auto& [group, index] : phase.equations) {
        const Graph& graph = groups_[group].graph();
        emitter.begin_group(group);
        if (is_requirement(graph.equations[index])) continue;
        for (const VariableId id : graph.equations[index].results) {
            const bool read = read_on_host_[group][id.value];
            if (read || (is_handed_out(graph, id) && !makes_means()))
                emitter.download(id, !read && hands_out_one(graph));
            if (const std::int64_t bound = read ? 0 : bound_of(group, id); bound > 0) emitter.judge(id, bound, index);
        }
    }
}

void Program::emit_means(Emitter& emitter) const {
    std::vector<VariableId> outputs;
    for (const ExampleGroup& group : groups_) outputs.push_back(std::get<VariableId>(group.graph().outputs.front()));
    emitter.mean_outputs(outputs);
}

bool Program::fits(const Layout& layout, std::uint64_t bytes) const {
    if (dispatcher_ == nullptr) return true;
    const DeviceLimits& limits = dispatcher_->device().info().limits;
    return layout.arena_bytes <= bytes && layout.arena_bytes <= limits.max_memory_allocation_size &&
           layout.largest_bytes <= limits.max_storage_buffer_range;
}

/// At least 1.
std::uint32_t Program::most_that_fit(std::uint32_t most, std::uint64_t bytes) {
    if (fits(emit(most), bytes)) return most;
    std::uint32_t good = 1;
    std::uint32_t bad = most;
    while (bad - good > 1) {
        const std::uint32_t middle = good + (bad - good) / 2;
        (fits(emit(middle), bytes) ? good : bad) = middle;
    }
    return good;
}

Result<void> Program::choose_chunk() {
    const bool is_free = options_.members_per_chunk == 0;
    const std::uint32_t most = is_free ? kMostOfAChunk : options_.members_per_chunk;
    const std::uint64_t suiting =
        dispatcher_ != nullptr ? suiting_bytes(dispatcher_->device().info().kind) : options_.budget_bytes;
    options_.members_per_chunk =
        most_that_fit(most, is_free ? std::min(suiting, options_.budget_bytes) : options_.budget_bytes);
    if (options_.members_per_chunk > 1) return align_chunk();
    const Layout least = emit(1);
    if (!fits(least, options_.budget_bytes)) {
        return Error{ErrorKind::OutOfMemory,
                     fmt::format("One candidate over all examples needs {} bytes of device memory, {} of them in one "
                                 "piece; {} bytes may be used (memory_budget_bytes, or a quarter of the heap). Raise "
                                 "the budget, or evaluate fewer examples at once.",
                                 least.arena_bytes, least.largest_bytes, options_.budget_bytes)};
    }
    return align_chunk();
}

Result<void> Program::create_shared_buffers() {
    const Device& device = dispatcher_->device();
    if (!constants_.words.empty() && constants_buffer_.size_bytes() == 0) {
        YOLK_TRY(constants_buffer_,
                 device.create_buffer({.size_bytes = std::uint64_t{4} * constants_.words.size(), .label = "examples"}));
        YOLK_TRY_VOID(dispatcher_->upload(constants_buffer_, std::as_bytes(std::span(constants_.words))));
    }
    if (mean_bytes_ > 0 && mean_buffer_.size_bytes() == 0) {
        YOLK_TRY(mean_buffer_, device.create_buffer({.size_bytes = mean_bytes_, .label = "mean"}));
        YOLK_TRY(
            mean_staging_,
            device.create_buffer({.size_bytes = mean_bytes_, .domain = MemoryDomain::Upload, .label = "mean staging"}));
    }
    return {};
}

BufferView Program::view_of(const ChunkPlan& plan, const BufferRef& ref) const {
    switch (ref.home) {
        case BufferRef::Home::Arena: return {plan.arena, plan.layout.buffers[ref.index].offset, ref.bytes};
        case BufferRef::Home::Constants: return {constants_buffer_, ref.offset, ref.bytes};
        case BufferRef::Home::Mean: return {mean_buffer_, ref.offset, ref.bytes};
        case BufferRef::Home::State: return plan.states[ref.index];
        case BufferRef::Home::None: break;
    }
    return {};
}

Result<void> Program::bind(ChunkPlan& plan) {
    const Device& device = dispatcher_->device();
    for (DevicePhase& phase : plan.layout.phases) {
        std::vector<BufferView> read;
        std::vector<BufferView> written;
        for (Step& step : phase.steps) {
            std::vector<BufferView> views;
            for (const BufferRef& ref : step.views) views.push_back(view_of(plan, ref));
            const BufferView scratch = view_of(plan, step.scratch);
            YOLK_TRY(step.record, step.bind(device, views, scratch));
            const auto hits = [](const std::vector<BufferView>& some, const BufferView& view) {
                return std::ranges::any_of(some, [&](const BufferView& v) { return overlap(v, view); });
            };
            std::vector<BufferView> writes(views.begin() + static_cast<std::ptrdiff_t>(step.read), views.end());
            if (!scratch.empty()) writes.push_back(scratch);
            views.resize(step.read);
            step.barrier =
                std::ranges::any_of(views, [&](const BufferView& v) { return hits(written, v); }) ||
                std::ranges::any_of(writes, [&](const BufferView& v) { return hits(written, v) || hits(read, v); });
            if (step.barrier) {
                read.clear();
                written.clear();
            }
            read.insert(read.end(), views.begin(), views.end());
            written.insert(written.end(), writes.begin(), writes.end());
        }
    }
    return {};
}

Result<ChunkPlan*> Program::chunk_plan(std::uint32_t members, std::vector<BufferView> states) {
    const auto found = std::ranges::find(plans_, members, &ChunkPlan::members);
    if (found != plans_.end()) {
        std::rotate(found, found + 1, plans_.end());
        YOLK_TRY_VOID(bind_states(*plans_.back(), std::move(states)));
        return plans_.back().get();
    }
    auto plan = std::make_unique<ChunkPlan>();
    plan->members = members;
    plan->states = std::move(states);
    plan->layout = emit(members, plan.get());
    if (!plan->states.empty()) YOLK_TRY_VOID(check_states(*plan));
    if (plans_.empty()) YOLK_TRY_VOID(try_elements(*plan));
    YOLK_TRY_VOID(create_buffers(*plan));
    if (plans_.size() == options_.kept_plans) plans_.erase(plans_.begin());
    plans_.push_back(std::move(plan));
    return plans_.back().get();
}

Result<void> Program::create_buffers(ChunkPlan& plan) {
    if (dispatcher_ == nullptr) return {};
    YOLK_TRY_VOID(create_shared_buffers());
    const Device& device = dispatcher_->device();
    const auto make = [&](Buffer& buffer, std::uint64_t bytes, MemoryDomain domain, const char* label) -> Result<void> {
        if (bytes == 0) return {};
        YOLK_TRY(buffer, device.create_buffer({.size_bytes = bytes, .domain = domain, .label = label}));
        return {};
    };
    YOLK_TRY_VOID(make(plan.arena, plan.layout.arena_bytes, MemoryDomain::Device, "population"));
    for (ChunkPlan::Slot& slot : plan.slots) {
        YOLK_TRY_VOID(make(slot.staging, plan.layout.staging_bytes, MemoryDomain::Upload, "population staging"));
        YOLK_TRY_VOID(make(slot.readback, plan.layout.readback_bytes, MemoryDomain::Readback, "population readback"));
        YOLK_TRY(slot.recorder, Recorder::create(device, {.label = "population"}));
        if (!is_device_only()) break;  // the host's part of a chunk waits for the device's: no turns
    }
    return bind(plan);
}

Result<void> Program::take_examples() {
    YOLK_TRY_VOID(constants_.refill());
    if (constants_buffer_.size_bytes() == 0) constants_.refilled.clear();  // create_shared_buffers() will upload all
    if (constants_.refilled.empty()) return {};
    if (examples_staging_.size_bytes() == 0) {
        YOLK_TRY(examples_staging_, dispatcher_->device().create_buffer({.size_bytes = constants_buffer_.size_bytes(),
                                                                         .domain = MemoryDomain::Upload,
                                                                         .label = "examples staging"}));
    }
    // Every run waits for its submissions, so that none reads the staging now.
    const auto words = std::as_bytes(std::span(constants_.words));
    for (const BufferRef& piece : constants_.refilled)
        std::memcpy(examples_staging_.mapped().data() + piece.offset, words.data() + piece.offset, piece.bytes);
    examples_dirty_ = true;
    return examples_staging_.flush();
}

Result<void> Program::stage_mean(std::span<const float> mean) {
    if (mean_bytes_ == 0 || dispatcher_ == nullptr) return {};
    YOLK_TRY_VOID(create_shared_buffers());
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        if (!sources_[s].in_mean()) continue;
        const auto values = std::as_bytes(mean.subspan(sources_[s].offset, sources_[s].count));
        std::memcpy(mean_staging_.mapped().data() + mean_offsets_[s], values.data(), values.size());
    }
    mean_dirty_ = true;
    device_mean_ = {};
    return mean_staging_.flush();
}

Result<void> Program::take_mean(const BufferView& mean) {
    if (mean_bytes_ == 0) return {};
    YOLK_TRY_VOID(create_shared_buffers());
    mean_dirty_ = true;
    device_mean_ = mean;
    return {};
}

}  // namespace yolk::hyper::population
