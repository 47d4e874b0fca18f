// SPDX-License-Identifier: Apache-2.0
// A key that is not to be seen. Formatting one prints "[key]"; only `reveal` gives the text, and only the header of a
// request asks for it.
#pragma once

#include <fmt/core.h>

#include <iosfwd>
#include <string>
#include <string_view>

namespace yolk::chat {

/// Wiped when it is destroyed. Not copied, so that one place holds it.
class Secret {
   public:
    /// Shorter keys are taken for placeholders ("none", "test"): looking for them in texts would find words.
    static constexpr std::size_t kLeastSearched = 12;

    Secret() = default;
    explicit Secret(std::string_view text);
    ~Secret();
    Secret(Secret&& other) noexcept;
    Secret& operator=(Secret&& other) noexcept;
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::string_view reveal() const noexcept;
    /// Whether a text contains the key; never for keys below kLeastSearched.
    [[nodiscard]] bool is_in(std::string_view text) const noexcept;
    /// The text with "[key]" wherever the key stood, at any length of the key; for what goes into messages.
    [[nodiscard]] std::string removed_from(std::string_view text) const;

   private:
    void wipe() noexcept;
    // Not a std::string: moving a short one leaves a copy behind.
    char* bytes_ = nullptr;
    std::size_t size_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Secret& secret);

}  // namespace yolk::chat

template <>
struct fmt::formatter<yolk::chat::Secret> {
    constexpr auto parse(format_parse_context& context) { return context.begin(); }
    template <class Context>
    auto format(const yolk::chat::Secret& /*secret*/, Context& context) const {
        return fmt::format_to(context.out(), "[key]");
    }
};
