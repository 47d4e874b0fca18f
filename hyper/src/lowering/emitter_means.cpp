// SPDX-License-Identifier: Apache-2.0
// Means over examples by kernels, where outputs are rewards.
#include <algorithm>
#include <map>
#include <utility>

#include "emitter.hpp"
#include "yolk/concat.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/reduce.hpp"

namespace yolk::hyper::population {

void Emitter::mean_outputs(std::span<const VariableId> outputs) {
    ConcatDesc side_by_side{.members = members()};
    std::vector<BufferRef> parts;
    std::map<std::uint32_t, std::uint32_t> columns;  // by example
    std::uint32_t width = 0;
    for (std::uint32_t g = 0; g < outputs.size(); ++g) {
        begin_group(g);
        const bool per_example = traits(outputs[g]).per_example;
        parts.push_back(buffers_of_[g][outputs[g].value]);
        side_by_side.parts.push_back({.extent = examples(per_example)});
        for (std::uint32_t e = 0; e < group().count(); ++e) columns[group().indices[e]] = width + (per_example ? e : 0);
        width += examples(per_example);
    }
    BufferRef rewards = parts.front();
    if (parts.size() > 1) {
        rewards = temporary(kElementBytes * members() * width);
        step(std::move(parts), {rewards}, 0, bind_operation(side_by_side, [](std::span<const BufferView> views) {
                 return ConcatViews{.whole = views.back(), .parts = views.first(views.size() - 1)};
             }));
    }
    const auto count = static_cast<std::uint32_t>(columns.size());
    if (width != count || std::ranges::any_of(columns, [](const auto& one) { return one.first != one.second; })) {
        const BufferRef order = store("columns of examples", [columns](std::vector<std::uint32_t>& words) {
            for (const auto& [example, column] : columns) words.push_back(column);
        });
        const BufferRef table = std::exchange(rewards, temporary(kElementBytes * members() * count));
        step({table, order}, {rewards, temporary(kElementBytes)}, 0,
             bind_gather(
                 {.members = members(), .table_rows = width, .columns = 1, .id_count = count, .shared_ids = true}));
    }
    layout_.means = temporary(kElementBytes * members());
    const ReduceDesc mean{.operation = ReduceOperation::Mean, .outer = members(), .columns = count};
    step({rewards}, {layout_.means}, 0, bind_operation(mean, [](std::span<const BufferView> views) {
             return ReduceViews{.in = views[0], .out = views[1]};
         }));
    touch(layout_.means);
    layout_.means_readback = layout_.readback_bytes;
    layout_.readback_bytes += round_up(layout_.means.bytes, kViewAlignment);
}

}  // namespace yolk::hyper::population
