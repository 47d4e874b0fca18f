// SPDX-License-Identifier: Apache-2.0
// The exact twin of any operation, as one call: the bits of its kernels, computed on the host
// (docs/adr/0046-one-call-for-all-twins.md).
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "yolk/internal/primitives/operation.hpp"

namespace yolk::reference {

/// Memory of the host where a kernel has a BufferView; it owns nothing. Empty: a view that the description does not
/// use, or a result that nobody wants. What is const is never written.
class HostView {
   public:
    HostView() = default;
    /// A vector, an array or a span.
    template <std::ranges::contiguous_range Range>
    requires(!std::same_as<std::remove_cvref_t<Range>, HostView>)  // NOLINTNEXTLINE(google-explicit-constructor)
        HostView(Range&& range)
        : HostView(std::span(range)) {}
    /// One number, or one structure of the ABI, such as abi::fitness::Summary.
    template <class T>
    requires((std::is_class_v<T> || std::is_arithmetic_v<T>)&&std::is_trivially_copyable_v<T> &&
             !std::ranges::range<T> && !std::same_as<T, HostView>)  // NOLINTNEXTLINE(google-explicit-constructor)
        HostView(T& structure)
        : HostView(std::span(&structure, 1)) {}

    /// As elements of the type that the declaration says (DType), or as bytes.
    template <class T>
    [[nodiscard]] std::span<const T> in() const noexcept {
        return {reinterpret_cast<const T*>(data_), size_bytes_ / sizeof(T)};
    }
    /// Empty where the memory is const.
    template <class T>
    [[nodiscard]] std::span<T> out() const noexcept {
        return {reinterpret_cast<T*>(writable_), writable_ == nullptr ? 0 : size_bytes_ / sizeof(T)};
    }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

   private:
    template <class T, std::size_t kExtent>
    explicit HostView(std::span<T, kExtent> span) noexcept
        : data_(reinterpret_cast<const std::byte*>(span.data())), size_bytes_(span.size_bytes()) {
        if constexpr (!std::is_const_v<T>) writable_ = reinterpret_cast<std::byte*>(span.data());
    }

    const std::byte* data_ = nullptr;
    std::byte* writable_ = nullptr;
    std::size_t size_bytes_ = 0;
};

/// The views of a description in the order of its declaration (described_views); those at the end that are empty may be
/// left out. It refers to what it is made of.
class HostViews {
   public:
    HostViews(std::initializer_list<HostView> views) noexcept : views_(views.begin(), views.size()) {}
    explicit HostViews(std::span<const HostView> views) noexcept : views_(views) {}
    /// With one more behind the others.
    [[nodiscard]] HostViews with(const HostView& last) const noexcept {
        HostViews more = *this;
        more.last_ = last;
        return more;
    }

    [[nodiscard]] HostView operator[](std::size_t view) const noexcept {
        if (view < views_.size()) return views_[view];
        return view == views_.size() ? last_ : HostView();
    }
    template <class T>
    [[nodiscard]] std::span<const T> in(std::size_t view) const noexcept {
        return (*this)[view].in<T>();
    }
    template <class T>
    [[nodiscard]] std::span<T> out(std::size_t view) const noexcept {
        return (*this)[view].out<T>();
    }
    [[nodiscard]] std::size_t size() const noexcept { return views_.size(); }

   private:
    std::span<const HostView> views_;
    HostView last_;
};

/// Whether a formula takes for numbers what a declaration has as words, for they may be of 16 bits.
template <class Desc>
inline constexpr bool kWordsAreNumbers = false;

/// Instantiated in the source of each twin.
template <class Desc, class Call = typename yolk::detail::CallTypeOf<Desc>::Type>
struct Twin;
template <class Desc, class... Arguments>
struct Twin<Desc, void(Arguments...)> {
    static constexpr std::size_t kArguments = sizeof...(Arguments);
    static void run(const Desc& desc, const HostViews& views, Arguments... arguments);
};

/// Leaves in `views` what the kernels of `desc`, bound to such views and recorded with these arguments (Desc::Call),
/// leave in theirs, bit by bit. The description is one that its plan accepts, and views are as large as it says:
/// neither is checked. `desc.config` is not looked at. Runs on the caller's thread, a roll-out on all processors.
template <class Desc, class... Arguments>
void twin_of(const Desc& desc, const HostViews& views, const Arguments&... arguments) {
    if constexpr (sizeof...(Arguments) == Twin<Desc>::kArguments) {
        Twin<Desc>::run(desc, views, {arguments}...);
    } else {
        Twin<Desc>::run(desc, views, {arguments}..., {});
    }
}

/// The same, where the view behind `inputs` is all that is wanted: as large as the description says, and zero before.
template <class T, class Desc, class... Arguments>
[[nodiscard]] std::vector<T> twin_result(const Desc& desc, const HostViews& inputs, const Arguments&... arguments) {
    const ViewShape shape = operation_of<Desc>().views[inputs.size()].shape(desc);
    std::size_t bytes = size_bytes(shape.dtype);
    for (const NamedExtent& extent : shape.extents) bytes *= extent.value;
    std::vector<T> result(bytes / sizeof(T));
    twin_of(desc, inputs.with(result), arguments...);
    return result;
}

}  // namespace yolk::reference
