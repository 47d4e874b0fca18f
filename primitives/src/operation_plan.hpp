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

#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/primitives/float_format.hpp"
#include "yolk/primitives/operation.hpp"

namespace yolk {

/// The bytes of a view's shape, of one that one binding of the device takes; 0 where the view is not used.
[[nodiscard]] Result<std::uint64_t> bytes_of(const Device& device, const ViewShape& shape, const char* what);

/// Floats as they lie in memory: 16-bit ones take whole words.
[[nodiscard]] ViewShape floats_view(FloatFormat format, std::string_view name, std::uint64_t count);

/// Whether the two are the same bytes of one buffer.
[[nodiscard]] bool is_same(const BufferView& a, const BufferView& b) noexcept;

/// "[softmax]".
template <class Desc>
[[nodiscard]] std::string label_of(const Operation<Desc>& operation) {
    return fmt::format("[{}]", operation.name);
}

/// "the in view of [softmax]".
template <class Desc>
[[nodiscard]] std::string label_of(const Operation<Desc>& operation, const ViewField<Desc>& view) {
    return fmt::format("the {} view of [{}]", view.name, operation.name);
}

template <class Desc>
Result<Plan<Desc>> Plan<Desc>::make(const Device& device, const Desc& desc) {
    const Operation<Desc>& operation = operation_of<Desc>();
    YOLK_TRY(const DeviceInfo info, probed_info(device));
    YOLK_TRY_VOID(operation.fields.check(desc));
    if (operation.check != nullptr) YOLK_TRY_VOID(operation.check(desc));
    const ConfigSpace<typename Desc::Config> space = space_of(info, desc);
    if (!desc.config) return plan_tuned(device, desc, space, operation.heuristic(info, desc), &Plan::make);
    YOLK_TRY_VOID(space.check(*desc.config));
    Plan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    bool is_result = true;
    for (const ViewField<Desc>& view : operation.views) {
        YOLK_TRY(const std::uint64_t size_bytes, bytes_of(device, view.shape(desc), label_of(operation, view).c_str()));
        if (view.role != ViewRole::Input && std::exchange(is_result, false)) plan.is_empty_ = size_bytes == 0;
    }
    if (operation.is_empty != nullptr) plan.is_empty_ = operation.is_empty(desc);
    if (plan.is_empty_) return plan;
    YOLK_TRY(plan.pipelines_, operation.build(device, desc));
    if (operation.scratch != nullptr) plan.scratch_ = operation.scratch(desc, plan.pipelines_);
    return plan;
}

template <class Desc>
Result<Bound<Desc>> Plan<Desc>::bind(const typename Desc::Views& views, const BufferView& scratch) const {
    const Operation<Desc>& operation = operation_of<Desc>();
    std::vector<NeededView> inputs;
    std::vector<NeededView> outputs;
    std::vector<BufferView> bindings;
    BufferView filler;
    for (const ViewField<Desc>& field : operation.views) {
        std::uint64_t needed = 0;
        if (!is_empty_) {
            YOLK_TRY(needed, bytes_of(*device_, field.shape(desc_), label_of(operation, field).c_str()));
        }
        const BufferView& view = views.*field.view;
        // In place the input is the output, and checked as that.
        if (field.may_be != nullptr && is_same(view, views.*field.may_be)) {
            const auto input = std::ranges::find(operation.views, field.may_be, &ViewField<Desc>::view);
            std::erase_if(inputs, [&](const NeededView& needs) { return needs.name == input->name; });
        }
        (field.role == ViewRole::Input ? inputs : outputs)
            .push_back({.view = view, .needed_bytes = needed, .name = field.name.data()});
        if (needed != 0 && filler.empty()) filler = view;
        bindings.push_back(needed == 0 ? BufferView{} : view);
    }
    // A view of nothing is not read, but a binding may not be empty.
    std::ranges::replace_if(bindings, &BufferView::empty, filler);
    if (scratch_.size_bytes != 0)
        outputs.push_back({.view = scratch, .needed_bytes = scratch_.least(), .name = "scratch"});
    YOLK_TRY_VOID(check_views(*device_, label_of(operation).c_str(), inputs, outputs));
    Bound<Desc> bound;
    bound.desc_ = desc_;
    if (is_empty_) return bound;
    if (operation.bind != nullptr) {
        YOLK_TRY(bound.bindings_, operation.bind(*device_, desc_, pipelines_, views, scratch));
    } else if constexpr (requires { device_->bind(pipelines_, bindings); }) {
        YOLK_TRY(bound.bindings_, device_->bind(pipelines_, bindings));
    }
    bound.operation_ = &operation;
    return bound;
}

}  // namespace yolk
