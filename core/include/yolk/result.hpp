// SPDX-License-Identifier: Apache-2.0
// Errors as values. `Result<T>` has the interface of std::expected (absent from gcc 12 in C++20) so that it can become
// an alias of it one day. Creating, planning, binding, submitting and waiting return one; recording never does.
#pragma once

#include <fmt/core.h>

#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace yolk {

/// What went wrong, so that a caller can decide what to do without reading the message.
enum class ErrorKind {
    BadInput,     ///< the caller gave something that is not allowed; the message says what is
    Unsupported,  ///< legal, but this device, driver or build cannot do it
    OutOfMemory,  ///< host or device memory; the message names the request
    DeviceLost,   ///< the device is gone; every handle made from it must be abandoned
    Driver,       ///< a driver call failed or timed out; `native` holds the VkResult
    Io,           ///< a file could not be read or written; `native` holds errno
    Failed,       ///< everything that was given is legal, and the work came to nothing: training diverged
    Cancelled,    ///< the caller asked for an end before there was a result
};

/// The kind as one lower-case word, for messages and JSON ("bad input", "out of memory", ...).
[[nodiscard]] std::string_view to_string(ErrorKind kind) noexcept;

/// A message is a sentence that states what was given, what was allowed, the object's label, and what to do.
struct Error {
    ErrorKind kind = ErrorKind::BadInput;
    std::string message;
    int native = 0;
    std::source_location where = std::source_location::current();

    /// Puts "While <what>: " in front of the message; used on the way up to say which work failed.
    [[nodiscard]] Error while_doing(std::string_view what) &&;
};

[[nodiscard]] inline Error bad_input(std::string message,
                                     std::source_location where = std::source_location::current()) {
    return {ErrorKind::BadInput, std::move(message), 0, where};
}
[[nodiscard]] inline Error unsupported(std::string message,
                                       std::source_location where = std::source_location::current()) {
    return {ErrorKind::Unsupported, std::move(message), 0, where};
}
[[nodiscard]] inline Error failed_work(std::string message,
                                       std::source_location where = std::source_location::current()) {
    return {ErrorKind::Failed, std::move(message), 0, where};
}
[[nodiscard]] inline Error cancelled(std::string message,
                                     std::source_location where = std::source_location::current()) {
    return {ErrorKind::Cancelled, std::move(message), 0, where};
}
[[nodiscard]] inline Error io_error(std::string message, int error_number,
                                    std::source_location where = std::source_location::current()) {
    return {ErrorKind::Io, std::move(message), error_number, where};
}

namespace detail {
/// A format string of fmt, checked when it is compiled, and where it was written.
template <class... Values>
struct Format {
    template <class Text>
    // NOLINTNEXTLINE(google-explicit-constructor): a literal becomes one
    consteval Format(const Text& literal, std::source_location at = std::source_location::current())
        : text(literal), where(at) {}
    [[nodiscard]] Error error(ErrorKind kind, fmt::format_args values) const {
        return {kind, fmt::vformat(text, values), 0, where};
    }
    fmt::format_string<Values...> text;
    std::source_location where;
};
template <class... Values>
using FormatFor = Format<std::type_identity_t<Values>...>;
}  // namespace detail

// The same with values: bad_input("The rank is {}; it must be from 1 to {}.", rank, kMaxRank).
template <class First, class... Rest>
[[nodiscard]] Error bad_input(detail::FormatFor<First, Rest...> format, First&& first, Rest&&... rest) {
    return format.error(ErrorKind::BadInput, fmt::make_format_args(first, rest...));
}
template <class First, class... Rest>
[[nodiscard]] Error unsupported(detail::FormatFor<First, Rest...> format, First&& first, Rest&&... rest) {
    return format.error(ErrorKind::Unsupported, fmt::make_format_args(first, rest...));
}
template <class First, class... Rest>
[[nodiscard]] Error failed_work(detail::FormatFor<First, Rest...> format, First&& first, Rest&&... rest) {
    return format.error(ErrorKind::Failed, fmt::make_format_args(first, rest...));
}
template <class First, class... Rest>
[[nodiscard]] Error cancelled(detail::FormatFor<First, Rest...> format, First&& first, Rest&&... rest) {
    return format.error(ErrorKind::Cancelled, fmt::make_format_args(first, rest...));
}

namespace detail {
/// Reading the value of a failed Result (or the error of a good one) is a bug in the caller: say so and abort.
[[noreturn]] void bad_result_access(const Error* error) noexcept;
}  // namespace detail

template <class T>
class [[nodiscard]] Result {
   public:
    using value_type = T;
    using error_type = Error;

    // Implicit on purpose, as in std::expected: `return value;` and `return bad_input(...);` both read well.
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    [[nodiscard]] T& value() & { return checked(); }
    [[nodiscard]] const T& value() const& { return const_cast<Result*>(this)->checked(); }
    [[nodiscard]] T&& value() && { return std::move(checked()); }
    T& operator*() & { return checked(); }
    const T& operator*() const& { return const_cast<Result*>(this)->checked(); }
    T&& operator*() && { return std::move(checked()); }
    T* operator->() { return &checked(); }
    const T* operator->() const { return &const_cast<Result*>(this)->checked(); }

    [[nodiscard]] Error& error() & { return checked_error(); }
    [[nodiscard]] const Error& error() const& { return const_cast<Result*>(this)->checked_error(); }
    [[nodiscard]] Error&& error() && { return std::move(checked_error()); }

    template <class U>
    [[nodiscard]] T value_or(U&& fallback) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
    }

   private:
    T& checked() {
        if (!has_value()) detail::bad_result_access(&std::get<1>(state_));
        return std::get<0>(state_);
    }
    Error& checked_error() {
        if (has_value()) detail::bad_result_access(nullptr);
        return std::get<1>(state_);
    }
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
   public:
    using value_type = void;
    using error_type = Error;

    Result() = default;
    Result(Error error) : error_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool has_value() const noexcept { return error_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (!has_value()) detail::bad_result_access(&std::get<1>(error_));
    }
    [[nodiscard]] const Error& error() const& { return const_cast<Result*>(this)->checked_error(); }
    [[nodiscard]] Error&& error() && { return std::move(checked_error()); }

   private:
    Error& checked_error() {
        if (has_value()) detail::bad_result_access(nullptr);
        return std::get<1>(error_);
    }
    std::variant<std::monostate, Error> error_;
};

}  // namespace yolk

#define YOLK_CONCAT_INNER(a, b) a##b
#define YOLK_CONCAT(a, b) YOLK_CONCAT_INNER(a, b)
#define YOLK_TRY_IMPL(holder, declaration, ...)    \
    auto holder = (__VA_ARGS__);                   \
    if (!holder) return std::move(holder).error(); \
    declaration = *std::move(holder)

/// `YOLK_TRY(auto plan, plan_noise(device, desc));` binds the value or returns the error from the enclosing function.
#define YOLK_TRY(declaration, ...) YOLK_TRY_IMPL(YOLK_CONCAT(yolk_try_, __LINE__), declaration, __VA_ARGS__)

/// The same for Result<void>, or where the value is not wanted.
#define YOLK_TRY_VOID(...)                                                                      \
    do {                                                                                        \
        if (auto yolk_tried = (__VA_ARGS__); !yolk_tried) return std::move(yolk_tried).error(); \
    } while (false)
