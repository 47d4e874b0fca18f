// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace yolk {

/// A label without a heap allocation; longer ones are cut.
class FixedLabel {
   public:
    FixedLabel() = default;
    explicit FixedLabel(std::string_view text) noexcept {
        text.copy(text_.data(), text_.size() - 1);  // the last byte stays zero
    }
    [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }
    [[nodiscard]] bool empty() const noexcept { return text_[0] == '\0'; }

   private:
    std::array<char, 64> text_{};
};

}  // namespace yolk
