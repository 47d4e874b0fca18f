// SPDX-License-Identifier: Apache-2.0
// The device and the pool of a system: made when they are needed.
#include "system_impl.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/device_selection.hpp"
#include "yolk/runtime/instance.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::hyper {
namespace {

/// Destroyed in the reverse order: the dispatcher first.
struct OwnDevice {
    Instance instance;
    Device device;
    Dispatcher dispatcher;
};

Result<std::shared_ptr<OwnDevice>> open_device() {
    YOLK_TRY(Instance instance, Instance::create());
    YOLK_TRY(const DeviceChoice choice, choose_device(instance.devices(), ""));
    YOLK_TRY(Device device, Device::create(instance, choice.index));
    YOLK_TRY_VOID(probe(device));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    return std::make_shared<OwnDevice>(OwnDevice{std::move(instance), std::move(device), std::move(dispatcher)});
}

}  // namespace

Result<Dispatcher*> System::dispatcher() {
    if (impl_->dispatcher == nullptr) {
        auto own = open_device();
        if (!own) return std::move(own).error().while_doing("opening a device for system '" + impl_->name + "'");
        impl_->dispatcher = &(*own)->dispatcher;
        impl_->own_device = *std::move(own);
    }
    return impl_->dispatcher;
}

HostPool& System::pool() {
    if (impl_->pool == nullptr)
        impl_->pool = std::make_shared<HostPool>(HostPool::create({.seed = impl_->seed}).value());
    return *impl_->pool;
}

}  // namespace yolk::hyper
