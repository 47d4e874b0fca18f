// SPDX-License-Identifier: Apache-2.0
#include "emitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "yolk/exact/exact_math.h"
#include "yolk/gather.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"

namespace yolk::hyper::population {
namespace {

/// The value repeated to fill `shape`.
void append_floats(const Value& value, const Shape& shape, std::vector<std::uint32_t>& words) {
    if (const Tensor* tensor = value.tensor()) {
        for (const float x : repeated_to(tensor->values(), tensor->shape(), shape))
            words.push_back(std::bit_cast<std::uint32_t>(x));
        return;
    }
    const float number = as_fp32(value);
    words.insert(words.end(), shape.element_count().value_or(0), std::bit_cast<std::uint32_t>(number));
}

/// Whole numbers in range, behind `first`: others were refused, by the trace or with the new examples. A plan may be
/// made before a value is there that candidates will have for themselves (refresh()); it does not run.
void append_ids(const Value& value, std::uint64_t count, std::uint32_t first, std::vector<std::uint32_t>& words) {
    if (value.tensor() == nullptr) return words.resize(words.size() + count, first);
    for (const float id : value.tensor()->values()) words.push_back(first + static_cast<std::uint32_t>(id));
}

}  // namespace

std::uint64_t perturbed_linear_scratch(const PerturbedLinearDesc& desc) {
    const std::uint64_t base =
        desc.shared_input ? kElementBytes * desc.rows * (desc.transposed ? desc.in : desc.out) : 0;
    return round_up(kElementBytes * desc.members * desc.rows * desc.rank, kViewAlignment) + base;
}

Bind bind_gather(const GatherDesc& desc) {
    return bind_operation(desc, [](std::span<const BufferView> views) {
        return GatherViews{.table = views[0], .ids = views[1], .out = views[2], .status = views[3]};
    });
}

Emitter::Emitter(const Inputs& inputs, Constants& constants)
    : inputs_(inputs),
      constants_(constants),
      source_buffers_(inputs.sources.size()),
      table_buffers_(inputs.sources.size()) {
    for (const ExampleGroup& group : inputs.groups) buffers_of_.emplace_back(group.graph().variables.size());
    numbers_of_ = buffers_of_;
}

void Emitter::begin_phase() {
    layout_.phases.emplace_back();
    phase_begin_ = event_++;
}

void Emitter::end_phase() { ++event_; }

void Emitter::touch(const BufferRef& buffer) {
    layout_.largest_bytes = std::max(layout_.largest_bytes, buffer.bytes);
    if (buffer.home == BufferRef::Home::Arena)
        layout_.buffers[buffer.index].last = std::max(layout_.buffers[buffer.index].last, event_);
}

BufferRef Emitter::temporary(std::uint64_t bytes) {
    const auto index = static_cast<std::uint32_t>(layout_.buffers.size());
    layout_.buffers.push_back({.bytes = bytes, .first = event_, .last = event_});
    return {.home = BufferRef::Home::Arena, .index = index, .bytes = bytes};
}

BufferRef Emitter::result(VariableId variable) {
    const std::uint64_t elements = element_count(type(variable)) * examples(traits(variable).per_example) * members();
    const BufferRef buffer = temporary(kElementBytes * elements);
    buffers_of_[group_][variable.value] = buffer;
    return buffer;
}

BufferRef Emitter::next_state(VariableId variable) {
    return buffers_of_[group_][variable.value] = source_values(inputs_.next_states[variable.value]);
}

void Emitter::step(std::vector<BufferRef> reads, std::vector<BufferRef> writes, std::uint64_t scratch_bytes,
                   Bind bind) {
    Step step{.views = std::move(reads), .bind = std::move(bind)};
    step.read = step.views.size();
    step.views.insert(step.views.end(), writes.begin(), writes.end());
    if (scratch_bytes > 0) step.scratch = temporary(scratch_bytes);
    for (const BufferRef& view : step.views) touch(view);
    layout_.phases.back().steps.push_back(std::move(step));
    ++event_;
}

BufferRef Emitter::mean(const Operand& operand) const {
    const auto index = static_cast<std::size_t>(operand.traits.source);
    return {.home = BufferRef::Home::Mean,
            .offset = inputs_.mean_offsets[index],
            .bytes = kElementBytes * inputs_.sources[index].count};
}

BufferRef Emitter::source_values(std::int32_t index) {
    BufferRef& known = source_buffers_[static_cast<std::size_t>(index)];
    if (known.home != BufferRef::Home::None) return known;
    const Source& source = inputs_.sources[static_cast<std::size_t>(index)];
    const std::uint64_t elements = source.spec.shape.element_count().value_or(0);
    if (source.kind == SourceKind::Mean) {
        return known = {.home = BufferRef::Home::Mean,
                        .offset = inputs_.mean_offsets[static_cast<std::size_t>(index)],
                        .bytes = kElementBytes * elements};
    }
    if (source.kind == SourceKind::Carried) {
        known = {.home = BufferRef::Home::State,
                 .index = static_cast<std::uint32_t>(index),
                 .bytes = kElementBytes * elements * members()};
        return known;
    }
    if (!source.drawn_on_device()) {
        known = temporary(kElementBytes * elements * members());
        return upload({.to = known, .source = index});
    }
    const BufferRef vector{.home = BufferRef::Home::Mean,
                           .offset = inputs_.mean_offsets[static_cast<std::size_t>(index)],
                           .bytes = kElementBytes * elements};
    remember(known);
    if (source.spec.is_matrix()) return known = formed_matrix(source, vector);
    known = temporary(vector.bytes * members());
    const PerturbedVectorDesc desc{.members = members(),
                                   .element_count = static_cast<std::uint32_t>(elements),
                                   .parameter = source.id,
                                   .antithetic = inputs_.antithetic};
    step({vector}, {known}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
             return PerturbedVectorViews{.vector = views[0], .output = views[1]};
         }));
    return known;
}

BufferRef Emitter::formed_matrix(const Source& source, const BufferRef& mean) {
    const auto out = static_cast<std::uint32_t>(source.spec.shape[0]);
    const BufferRef identity = store(fmt::format("identity {}", out), [out](std::vector<std::uint32_t>& words) {
        const std::size_t begin = words.size();
        words.resize(begin + std::size_t{out} * out, 0);
        for (std::size_t i = 0; i < out; ++i) words[begin + i * (out + 1)] = std::bit_cast<std::uint32_t>(1.0F);
    });
    const PerturbedLinearDesc desc{.members = members(),
                                   .rows = out,
                                   .in = static_cast<std::uint32_t>(source.spec.shape[1]),
                                   .out = out,
                                   .rank = source.rank,
                                   .parameter = source.id,
                                   .shared_input = true,
                                   .transposed = true,
                                   .antithetic = antithetic()};
    const BufferRef formed = temporary(mean.bytes * members());
    step({mean, identity}, {formed}, perturbed_linear_scratch(desc),
         bind_operation(desc, [](std::span<const BufferView> views) {
             return PerturbedLinearViews{.weights = views[0], .input = views[1], .output = views[2]};
         }));
    return formed;
}

BufferRef Emitter::varying(const Operand& operand) {
    const BufferRef words = raw(operand);
    if (!operand.traits.words) return words;
    BufferRef& known = numbers_of_[group_][operand.variable->value];
    if (known.home != BufferRef::Home::None) return known;
    const std::uint32_t count = operand.traits.below;
    const BufferRef numbers = store(fmt::format("numbers {}", count), [count](std::vector<std::uint32_t>& table) {
        for (std::uint32_t i = 0; i < count; ++i) table.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(i)));
    });
    remember(known);
    known = temporary(words.bytes);
    const BufferRef status = temporary(kElementBytes);
    step({numbers, words}, {known, status}, 0,
         bind_gather(
             {.table_rows = count, .columns = 1, .id_count = static_cast<std::uint32_t>(words.bytes / kElementBytes)}));
    return known;
}

BufferRef Emitter::raw(const Operand& operand) {
    if (operand.traits.source >= 0) return source_values(operand.traits.source);
    BufferRef& known = buffers_of_[group_][operand.variable->value];
    if (known.home != BufferRef::Home::None) return known;
    known = result(*operand.variable);
    return upload({.to = known, .group = group_, .variable = *operand.variable});
}

BufferRef Emitter::table(const Operand& operand) {
    if (operand.traits.source < 0) {
        return store(key_of(operand) + " as table",
                     [&of = group(), place = operand.place](auto& words) {
                         for (const float x : traced_value(of.examples.front(), place).tensor()->values())
                             words.push_back(std::bit_cast<std::uint32_t>(exact::exact_flush_operand(x)));
                     },
                     {&group(), operand.place, 1});
    }
    // Small elements of the mean itself are as the optimizer left them.
    if (source(operand).kind == SourceKind::Mean) return source_values(operand.traits.source);
    BufferRef& known = table_buffers_[static_cast<std::size_t>(operand.traits.source)];
    if (known.home != BufferRef::Home::None) return known;
    known = temporary(kElementBytes * element_count(operand.type) * members());
    return upload({.to = known, .source = operand.traits.source, .flush = true});
}

BufferRef Emitter::upload(Upload upload) {
    layout_.buffers[upload.to.index].first = phase_begin_;
    upload.staging = layout_.staging_bytes;
    layout_.staging_bytes += round_up(upload.to.bytes, kViewAlignment);
    layout_.phases.back().uploads.push_back(upload);
    return upload.to;
}

void Emitter::rearrange(const BufferRef& from, bool own_examples, const Rearrangement& to, bool per_example,
                        const BufferRef& out) {
    Rearrangement whole = to;
    if (!own_examples && per_example)  // one for all examples
        whole.dimensions.insert(whole.dimensions.begin(), Rearranged{.extent = examples(true), .step = 0});
    const std::uint32_t sources = members() * examples(own_examples);
    const auto elements = static_cast<std::uint32_t>(from.bytes / kElementBytes / sources);
    step({from}, {out}, 0, bind_rearrange(sources, elements, joined(whole)));
}

BufferRef Emitter::rearranged_copy(const BufferRef& from, bool own_examples, const Rearrangement& to,
                                   bool per_example) {
    const std::uint64_t elements = shape_of(to).element_count().value_or(0);
    const BufferRef out = temporary(kElementBytes * members() * examples(per_example) * elements);
    rearrange(from, own_examples, to, per_example, out);
    return out;
}

BufferRef Emitter::full(const Operand& operand, bool per_example, const Shape& shape) {
    const bool own_examples = operand.traits.per_example;
    if (operand.traits.varies && !is_repeated_whole(operand.type.shape, shape))
        return rearranged_copy(varying(operand), own_examples, broadcasting(operand.type.shape, shape), per_example);
    const std::uint64_t wanted = shape.element_count().value_or(0);
    const std::uint64_t given = operand.traits.varies ? element_count(operand.type) : wanted;
    const BufferRef table = operand.traits.varies ? varying(operand) : constant(operand, own_examples, shape);
    const bool is_of_each_member = operand.traits.varies || members() == 1;
    if (is_of_each_member && given == wanted && own_examples == per_example) return table;
    const std::uint32_t table_rows = examples(own_examples);
    const auto ids_count = static_cast<std::uint32_t>(examples(per_example) * (wanted / given));
    const BufferRef ids = repeated(table_rows, ids_count / table_rows);
    const BufferRef out = temporary(kElementBytes * members() * ids_count * given);
    const BufferRef status = temporary(kElementBytes);
    step({table, ids}, {out, status}, 0,
         bind_gather({.members = members(),
                      .table_rows = table_rows,
                      .columns = static_cast<std::uint32_t>(given),
                      .id_count = ids_count,
                      .shared_table = !operand.traits.varies,
                      .shared_ids = true}));
    return out;
}

std::string Emitter::key_of(const Operand& operand) const {
    if (operand.variable != nullptr) return fmt::format("{} variable {}", group_, operand.variable->value);
    return fmt::format("{} literal {} {}", group_, operand.place.equation, operand.place.operand);
}

BufferRef Emitter::store(const std::string& key, Constants::Fill fill, Constants::Origin origin) {
    return constants_.add(key, std::move(fill), origin);
}

BufferRef Emitter::constant(const Operand& operand, bool per_example, const Shape& shape) {
    return store(fmt::format("{} to {} {}", key_of(operand), shape.to_string(), per_example),
                 [&of = group(), count = examples(per_example), place = operand.place, shape](auto& words) {
                     for (std::uint32_t e = 0; e < count; ++e)
                         append_floats(traced_value(of.examples[e], place), shape, words);
                 },
                 {&group(), operand.place, examples(per_example)});
}

BufferRef Emitter::constant_words(const Operand& operand, bool per_example) {
    return store(fmt::format("{} as words {}", key_of(operand), per_example),
                 [&of = group(), count = examples(per_example), place = operand.place,
                  elements = element_count(operand.type)](auto& words) {
                     for (std::uint32_t e = 0; e < count; ++e)
                         append_ids(traced_value(of.examples[e], place), elements, 0, words);
                 },
                 {&group(), operand.place, examples(per_example)});
}

BufferRef Emitter::constant_ids(const Operand& ids, const IdTables& tables) {
    const std::string key =
        fmt::format("{} as ids of {} {} {}", key_of(ids), tables.count, tables.extent, tables.per_example);
    return store(key,
                 [&of = group(), place = ids.place, tables, elements = element_count(ids.type)](auto& words) {
                     for (std::uint32_t e = 0; e < of.count(); ++e) {
                         const Value& value = traced_value(of.examples[e], place);
                         const std::uint32_t first = tables.per_example ? e * tables.count : 0;
                         for (std::uint32_t t = first; t < first + tables.count; ++t)
                             append_ids(value, elements, t * tables.extent, words);
                     }
                 },
                 {&group(), ids.place, group().count()});
}

BufferRef Emitter::repeated(std::uint32_t count, std::uint32_t each) {
    return store(fmt::format("repeat {} {}", count, each), [count, each](std::vector<std::uint32_t>& words) {
        for (std::uint32_t i = 0; i < count; ++i) words.insert(words.end(), each, i);
    });
}

void Emitter::download(VariableId variable, bool output_only) {
    const BufferRef from = buffers_of_[group_][variable.value];
    touch(from);
    layout_.phases.back().downloads.push_back({.from = from,
                                               .readback = layout_.readback_bytes,
                                               .group = group_,
                                               .variable = variable,
                                               .output_only = output_only});
    layout_.readback_bytes += round_up(from.bytes, kViewAlignment);
}

void Emitter::judge(VariableId variable, std::int64_t bound, std::size_t equation) {
    download(variable, /*output_only=*/false);
    Download& judged = layout_.phases.back().downloads.back();
    judged.bound = bound;
    judged.equation = equation;
}

BufferRef Emitter::keep(VariableId variable) {
    const BufferRef kept = buffers_of_[group_][variable.value];
    touch(kept);
    return kept;
}

Layout Emitter::finish() {
    place_in_arena(layout_);
    return std::move(layout_);
}

void place_in_arena(Layout& layout) {
    std::vector<std::size_t> order(layout.buffers.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    // Large ones first leave smaller gaps.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return layout.buffers[a].bytes > layout.buffers[b].bytes; });
    std::vector<std::size_t> placed;  // by offset
    for (const std::size_t i : order) {
        ArenaBuffer& buffer = layout.buffers[i];
        std::uint64_t offset = 0;
        for (const std::size_t other : placed) {
            const ArenaBuffer& there = layout.buffers[other];
            if (there.last < buffer.first || buffer.last < there.first) continue;
            if (offset + buffer.bytes <= there.offset) break;
            offset = std::max(offset, round_up(there.offset + there.bytes, kViewAlignment));
        }
        buffer.offset = offset;
        layout.arena_bytes = std::max(layout.arena_bytes, offset + buffer.bytes);
        placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                       [&](std::uint64_t at, std::size_t p) { return at < layout.buffers[p].offset; }),
                      i);
    }
}

}  // namespace yolk::hyper::population
