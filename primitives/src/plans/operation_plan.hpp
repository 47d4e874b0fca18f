// SPDX-License-Identifier: Apache-2.0
// How a plan of any operation is made and bound. An operation's source includes this and ends in
// `template class yolk::Plan<SoftmaxDesc>;`.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "block_windows.hpp"
#include "plan_checks.hpp"
#include "scratch_pieces.hpp"
#include "tuned_plan.hpp"
#include "yolk/internal/primitives/float_format.hpp"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

/// The bytes of a view's shape, of one that one binding of the device takes; 0 where the view is not used.
[[nodiscard]] Result<std::uint64_t> bytes_of(const Device& device, const ViewShape& shape, const char* what);

/// Floats as they lie in memory: 16-bit ones take whole words.
[[nodiscard]] ViewShape floats_view(FloatFormat format, std::string_view name, std::uint64_t count);

/// Whether the two are the same bytes of one buffer.
[[nodiscard]] bool is_same(const BufferView& a, const BufferView& b) noexcept;

/// "[softmax]".
template <class Desc>
[[nodiscard]] std::string label_of(const Desc& desc) {
    const Operation<Desc>& operation = operation_of<Desc>();
    return fmt::format("[{}]", operation.label == nullptr ? operation.name : operation.label(desc));
}

/// The extents' product in bytes; the largest number where that does not fit, 0 where the view is not used.
[[nodiscard]] std::uint64_t unlimited_bytes_of(const ViewShape& shape);

/// The beginning of a view: a uniform range may be smaller than a buffer that holds more.
[[nodiscard]] BufferView first_bytes(const BufferView& view, std::uint64_t bytes) noexcept;

/// Views as `views` has them, in the order of described_views. Error (BadInput): a list of another length.
template <class Desc>
[[nodiscard]] Result<std::vector<BufferView>> given_views(const Desc& desc, const typename Desc::Views& views) {
    const Operation<Desc>& operation = operation_of<Desc>();
    std::vector<BufferView> given;
    for (const ViewField<Desc>& field : operation.views) {
        if (field.list == nullptr) {
            given.push_back(views.*field.view);
            continue;
        }
        const std::span<const BufferView> list = views.*field.list;
        if (const std::size_t planned = field.list_shapes(desc).size(); list.size() != planned) {
            return bad_input("{} was given {} {}; it was planned for {}.", label_of(desc), list.size(), field.name,
                             planned);
        }
        given.insert(given.end(), list.begin(), list.end());
    }
    return given;
}

/// Whether a window's part of a view is written to scratch and copied: a word per block begins where no view may.
[[nodiscard]] bool is_word_per_block(const DescribedView& view) noexcept;

/// Bytes of a view of one block; of a window the view has that times its blocks.
template <class Desc>
[[nodiscard]] std::vector<DescribedView> views_of_one_block(const Desc& desc) {
    Desc one = desc;
    one.*operation_of<Desc>().blocks.count = 1;
    return described_views(one);
}

template <class Desc>
[[nodiscard]] Result<BlockWindows> windows_of(const Device& device, const Desc& desc) {
    const Operation<Desc>& operation = operation_of<Desc>();
    if (operation.blocks.count == nullptr) return BlockWindows{.blocks = 1, .per_window = 1};
    std::vector<std::uint64_t> aligned;
    std::uint64_t other = operation.blocks.other_bytes == nullptr ? 0 : operation.blocks.other_bytes(desc);
    const std::vector<DescribedView> views = views_of_one_block(desc);
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (operation.views[i].window_begin != nullptr) continue;
        const std::uint64_t bytes = unlimited_bytes_of(views[i].shape);
        if (is_word_per_block(views[i])) {
            other = std::max(other, bytes);
        } else {
            aligned.push_back(bytes);
        }
    }
    return cut_blocks(device, desc.*operation.blocks.count, aligned, other, label_of(desc).c_str());
}

template <class Desc>
Result<Plan<Desc>> Plan<Desc>::make(const Device& device, const Desc& desc) {
    const Operation<Desc>& operation = operation_of<Desc>();
    YOLK_TRY(const DeviceInfo info, probed_info(device));
    YOLK_TRY_VOID(operation.fields.check(desc));
    if (operation.check != nullptr) YOLK_TRY_VOID(operation.check(desc));
    if constexpr (kHasBlocks<Desc>) {
        YOLK_TRY(const BlockWindows windows, windows_of(device, desc));
        if (!windows.is_one()) return make_windows(device, desc, windows);
    }
    const ConfigSpace<typename Desc::Config> space = space_of(info, desc);
    if (!desc.config) return plan_tuned(device, desc, space, operation.heuristic(info, desc), &Plan::make);
    Plan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (operation.completed != nullptr) plan.desc_.config = operation.completed(info, desc);
    YOLK_TRY_VOID(space.check(*plan.desc_.config));
    YOLK_TRY_VOID(plan.build());
    return plan;
}

template <class Desc>
Result<void> Plan<Desc>::build() {
    const Operation<Desc>& operation = operation_of<Desc>();
    bool is_result = true;
    for (const DescribedView& view : described_views(desc_)) {
        const std::string what = fmt::format("the {} view of {}", view.name, label_of(desc_));
        YOLK_TRY(const std::uint64_t size_bytes, bytes_of(*device_, view.shape, what.c_str()));
        if (view.role != ViewRole::Input && std::exchange(is_result, false)) is_empty_ = size_bytes == 0;
    }
    if (operation.is_empty != nullptr) is_empty_ = operation.is_empty(desc_);
    if (is_empty_) return {};
    YOLK_TRY(pipelines_, operation.build(*device_, desc_));
    if (operation.scratch != nullptr) scratch_ = operation.scratch(desc_, pipelines_);
    return {};
}

template <class Desc>
Result<Plan<Desc>> Plan<Desc>::make_windows(const Device& device, const Desc& desc,
                                            const BlockWindows& windows) requires kHasBlocks<Desc> {
    const BlockRule<Desc>& rule = operation_of<Desc>().blocks;
    Plan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    plan.blocks_per_window_ = windows.per_window;
    ScratchPieces pieces;
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        Desc part = desc;
        part.*rule.count = windows.blocks_of(w);
        if (rule.move != nullptr) rule.move(part, windows.first_of(w));
        YOLK_TRY(Plan planned, Plan::make(device, part));
        plan.windows_.push_back(std::move(planned));
    }
    plan.desc_.config = plan.windows_.front().desc_.config;
    (void)pieces.add(plan.window_scratch_bytes());
    for (const DescribedView& view : views_of_one_block(desc)) {
        if (is_word_per_block(view)) (void)pieces.add(unlimited_bytes_of(view.shape) * windows.per_window);
    }
    plan.scratch_ = {.size_bytes = pieces.size_bytes()};
    return plan;
}

/// The windows use the same bytes, one after the other.
template <class Desc>
std::uint64_t Plan<Desc>::window_scratch_bytes() const noexcept {
    std::uint64_t largest = 0;
    for (const Plan& window : windows_) largest = std::max(largest, window.scratch_.size_bytes);
    return largest;
}

/// Sizes, alignment and overlap.
template <class Desc>
Result<void> Plan<Desc>::check(const typename Desc::Views& views, const BufferView& scratch) const {
    const Operation<Desc>& operation = operation_of<Desc>();
    const std::vector<DescribedView> described = described_views(desc_);
    YOLK_TRY(const std::vector<BufferView> given, given_views(desc_, views));
    std::vector<NeededView> inputs;
    std::vector<NeededView> outputs;
    for (std::size_t i = 0; i < described.size(); ++i) {
        const auto& [name, role, shape] = described[i];
        NeededView need{.view = given[i],
                        .name = name.c_str(),
                        .uniform = shape.uniform,
                        .in_pieces = shape.in_pieces || !windows_.empty()};
        if (!is_empty_) need.needed_bytes = needed_bytes(i, shape);
        if (shape.uniform) need.view = first_bytes(need.view, need.needed_bytes);
        (role == ViewRole::Input ? inputs : outputs).push_back(need);
    }
    // In place the input is the output, and checked as that.
    for (const ViewField<Desc>& field : operation.views) {
        if (!field.may_be_input) continue;
        const std::uint64_t bytes = is_empty_ ? 0 : unlimited_bytes_of(field.shape(desc_));
        std::erase_if(inputs, [&](const NeededView& needs) {
            return needs.needed_bytes == bytes && is_same(needs.view, views.*field.view);
        });
    }
    if (scratch_.size_bytes != 0)
        outputs.push_back({.view = scratch,
                           .needed_bytes = scratch_.least(),
                           .name = "scratch",
                           .in_pieces = operation.scratch_in_pieces || !windows_.empty()});
    return check_views(*device_, label_of(desc_).c_str(), inputs, outputs);
}

/// Of a plan cut into windows what they need together; else what the shape says, which has been checked.
template <class Desc>
std::uint64_t Plan<Desc>::needed_bytes(std::size_t view, const ViewShape& shape) const {
    if (windows_.empty()) return unlimited_bytes_of(shape);
    const auto& begin = operation_of<Desc>().views[view].window_begin;
    if (begin == nullptr) return unlimited_bytes_of(shape);
    const auto last = static_cast<std::uint32_t>(windows_.size() - 1);
    const std::uint64_t bytes = unlimited_bytes_of(described_views(windows_.back().desc_)[view].shape);
    return bytes == 0 ? 0 : begin(desc_, last * blocks_per_window_) + bytes;
}

template <class Desc>
Result<void> Plan<Desc>::bind_window(std::uint32_t window, const typename Desc::Views& views, const BufferView& scratch,
                                     Bound<Desc>& bound) const requires kHasBlocks<Desc> {
    const Operation<Desc>& operation = operation_of<Desc>();
    const BlockWindows windows{.blocks = desc_.*operation.blocks.count, .per_window = blocks_per_window_};
    const Plan& plan = windows_[window];
    const std::vector<DescribedView> of_one = views_of_one_block(desc_);
    const std::vector<DescribedView> of_window = described_views(plan.desc_);
    ScratchPieces pieces;
    (void)pieces.add(window_scratch_bytes());
    detail::BoundWindow<Desc> made;
    typename Desc::Views parts{};
    for (std::size_t i = 0; i < of_one.size(); ++i) {
        const ViewField<Desc>& field = operation.views[i];
        const std::uint64_t per_block = unlimited_bytes_of(of_one[i].shape);
        const std::uint64_t size_bytes = unlimited_bytes_of(of_window[i].shape);
        BufferView& part = parts.*field.view;
        if (field.window_begin != nullptr) {
            if (size_bytes != 0)
                part = (views.*field.view).part(field.window_begin(desc_, windows.first_of(window)), size_bytes);
            continue;
        }
        part = windows.of(views.*field.view, window, per_block);
        if (!is_word_per_block(of_one[i])) continue;
        const BufferView words = scratch.part(pieces.add(per_block * windows.per_window), size_bytes);
        made.copies.push_back({.from = words, .to = std::exchange(part, words)});
    }
    const std::uint64_t scratch_bytes = plan.scratch_.size_bytes;
    YOLK_TRY(made.bound, plan.bind(parts, scratch_bytes == 0 ? BufferView{} : scratch.part(0, scratch_bytes)));
    bound.windows_.push_back(std::move(made));
    return {};
}

template <class Desc>
Result<Bound<Desc>> Plan<Desc>::bind(const typename Desc::Views& views, const BufferView& scratch) const {
    const Operation<Desc>& operation = operation_of<Desc>();
    YOLK_TRY_VOID(check(views, scratch));
    Bound<Desc> bound;
    bound.desc_ = desc_;
    if (is_empty_) return bound;
    if constexpr (kHasBlocks<Desc>) {
        for (std::uint32_t window = 0; window < windows_.size(); ++window) {
            YOLK_TRY_VOID(bind_window(window, views, scratch, bound));
        }
        if (!windows_.empty()) return bound;
    }
    YOLK_TRY_VOID(bind_whole(views, scratch, bound));
    bound.operation_ = &operation;
    return bound;
}

template <class Desc>
Result<void> Plan<Desc>::bind_whole(const typename Desc::Views& views, const BufferView& scratch,
                                    Bound<Desc>& bound) const {
    const Operation<Desc>& operation = operation_of<Desc>();
    if (operation.bind != nullptr) {
        YOLK_TRY(bound.bindings_, operation.bind(*device_, desc_, pipelines_, views, scratch));
        return {};
    }
    const std::vector<DescribedView> described = described_views(desc_);
    YOLK_TRY(std::vector<BufferView> bindings, given_views(desc_, views));
    BufferView filler;
    for (std::size_t i = 0; i < bindings.size(); ++i) {
        if (unlimited_bytes_of(described[i].shape) == 0) bindings[i] = BufferView{};
        if (filler.empty()) filler = bindings[i];
    }
    // A view of nothing is not read, but a binding may not be empty.
    std::ranges::replace_if(bindings, &BufferView::empty, filler);
    using Bindable = decltype(bound.bindings_);
    if constexpr (requires { Result<Bindable>(device_->bind(pipelines_, bindings)); }) {
        YOLK_TRY(bound.bindings_, device_->bind(pipelines_, bindings));
    }
    return {};
}

}  // namespace yolk
