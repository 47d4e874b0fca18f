// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "yolk/internal/primitives/float_format.hpp"
#include "yolk/internal/reference/convert.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// The numbers of a view as fp32: where they lie, or widened.
class FormatFloats {
   public:
    FormatFloats(const HostView& view, FloatFormat format) : values_(view.in<float>()) {
        if (format == FloatFormat::F32) return;
        widened_ = widen_twin(format, view.in<std::uint32_t>(), view.size_bytes() / 2);
        values_ = widened_;
    }
    FormatFloats(const FormatFloats&) = delete;
    FormatFloats& operator=(const FormatFloats&) = delete;
    [[nodiscard]] std::span<const float> values() const noexcept { return values_; }

   private:
    std::vector<float> widened_;
    std::span<const float> values_;
};

}  // namespace yolk::reference
