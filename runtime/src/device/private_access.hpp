// SPDX-License-Identifier: Apache-2.0
// The way into the public classes whose constructors are private, for the sources that make them from handles.
#pragma once

#include <memory>
#include <utility>

#include "yolk/dispatcher.hpp"

namespace yolk {

struct Interop {
    static Device device(std::shared_ptr<Device::Impl> impl) { return Device(std::move(impl)); }
    static Buffer buffer(std::unique_ptr<Buffer::Impl> impl) { return Buffer(std::move(impl)); }
    static Recorder recorder(std::unique_ptr<Recorder::Impl> impl) { return Recorder(std::move(impl)); }
    static const Dispatcher::Impl* impl(const Dispatcher& dispatcher) { return dispatcher.impl_.get(); }
};

}  // namespace yolk
