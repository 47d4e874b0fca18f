// SPDX-License-Identifier: Apache-2.0
// The Vulkan loader and the physical devices that it offers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct ValidationMessage {
    bool is_error = false;  ///< otherwise a warning
    std::string id;         ///< "VUID-...", or the layer's message name
    std::string text;
};

struct InstanceOptions {
    /// Turns on VK_LAYER_KHRONOS_validation (core and synchronization checks); an error where it is not installed.
    bool validation = false;
    /// Called on any thread for each warning and error of the layers. Without it they go to the log.
    std::function<void(const ValidationMessage&)> on_message;
};

/// Owns the VkInstance; shared by the devices made from it, so it may be destroyed in any order. Thread-safe after
/// creation.
class Instance {
   public:
    /// Errors: no Vulkan loader or no driver (the message says what to install), no validation layer.
    [[nodiscard]] static Result<Instance> create(const InstanceOptions& options = {});

    /// All physical devices, those below the floor too, in the loader's order. May be empty.
    [[nodiscard]] std::span<const DeviceInfo> devices() const noexcept;

    struct Impl;  // runtime/src/facts/instance_impl.hpp
    [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

   private:
    explicit Instance(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<Impl> impl_;
};

}  // namespace yolk
