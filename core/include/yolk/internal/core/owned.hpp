// SPDX-License-Identifier: Apache-2.0
// A pointer that owns what only one source knows. A std::unique_ptr must see its type wherever it is destroyed, so that
// each class around one declares and defines five members that say nothing; around this one it declares none.
#pragma once

#include <memory>

namespace yolk {

/// Remembers how to destroy from the place that made the object.
template <class T>
class OwnedDelete {
   public:
    OwnedDelete() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): std::make_unique<T>() becomes an Owned<T>, where T is complete
    OwnedDelete(std::default_delete<T> /*maker*/) noexcept : destroy_([](T* object) noexcept { delete object; }) {}
    void operator()(T* object) const noexcept { destroy_(object); }

   private:
    void (*destroy_)(T*) noexcept = nullptr;
};

template <class T>
using Owned = std::unique_ptr<T, OwnedDelete<T>>;

}  // namespace yolk
