// SPDX-License-Identifier: Apache-2.0
// The device and the pool of a system: made when they are needed.
#include "system_impl.hpp"
#include "yolk/autotune/context.hpp"

namespace yolk::hyper {

void System::use(Dispatcher& dispatcher) noexcept {
    impl_->context.reset();
    impl_->dispatcher = &dispatcher;
}

void System::use(const Context& context) noexcept {
    impl_->context = context;
    impl_->dispatcher = &context.dispatcher();
}

Result<Dispatcher*> System::dispatcher() {
    if (impl_->dispatcher == nullptr) {
        auto own = Context::create();
        if (!own) return std::move(own).error().while_doing("opening a device for system '" + impl_->name + "'");
        use(*own);
    }
    return impl_->dispatcher;
}

HostPool& System::pool() {
    if (impl_->pool == nullptr)
        impl_->pool = std::make_shared<HostPool>(HostPool::create({.seed = impl_->seed}).value());
    return *impl_->pool;
}

}  // namespace yolk::hyper
