// SPDX-License-Identifier: Apache-2.0
#include "yolk/devices.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "yolk/context.hpp"
#include "yolk/internal/evolve/default_context.hpp"

namespace yolk::evolve {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the process
std::atomic<Result<Context> (*)()> open_default{nullptr};

}  // namespace

void open_default_context_by(Result<Context> (*open)()) noexcept { open_default = open; }

struct Devices::State {
    enum class Kind { Chosen, Opened, Pool, Handles, Engine, None };
    Kind kind = Kind::Chosen;
    std::vector<Device> handles{};
    Dispatcher* engine = nullptr;
    std::mutex mutex{};  // of what is made when it is needed
    std::optional<Context> context{};
    std::optional<Result<DevicePool>> pool{};
};

Devices::Devices() : state_(std::make_shared<State>()) {}
Devices::Devices(const Context& context) : Devices() {
    state_->kind = State::Kind::Opened;
    state_->context = context;
}
Devices::Devices(DevicePool pool) : Devices() {
    state_->kind = State::Kind::Pool;
    state_->pool = std::move(pool);
}
Devices::Devices(std::vector<Device> devices) : Devices() {
    state_->kind = State::Kind::Handles;
    state_->handles = std::move(devices);
}
Devices::Devices(const Device& device) : Devices(std::vector<Device>{device}) {}
Devices::Devices(Dispatcher& dispatcher) : Devices() {
    state_->kind = State::Kind::Engine;
    state_->engine = &dispatcher;
}
Devices Devices::none() {
    Devices none;
    none.state_->kind = State::Kind::None;
    return none;
}

Devices Devices::with(Exchange& exchange) const {
    Devices ranked = *this;
    ranked.exchange_ = &exchange;
    return ranked;
}

Result<Context> Devices::context() const {
    const std::lock_guard lock(state_->mutex);
    if (!state_->context) {
        const auto open = open_default.load();
        YOLK_TRY(state_->context, open != nullptr ? open() : Context::create());
    }
    return *state_->context;
}

Result<Dispatcher*> Devices::dispatcher() const {
    switch (state_->kind) {
        case State::Kind::None:
            return bad_input("This needs a device, and it was given none. Give it one, or several.");
        case State::Kind::Engine: return state_->engine;
        case State::Kind::Chosen:
        case State::Kind::Opened: {
            YOLK_TRY(const Context opened, context());
            return &opened.dispatcher();
        }
        case State::Kind::Pool:
        case State::Kind::Handles: break;
    }
    const DevicePool* const several = pool();
    if (several == nullptr) return state_->pool->error();
    YOLK_TRY(const std::size_t lead, several->lead());
    return &several->dispatcher(lead);
}

Result<std::vector<Device>> Devices::handles() const {
    if (state_->kind == State::Kind::None || state_->kind == State::Kind::Handles) return state_->handles;
    if (const DevicePool* const several = pool()) {
        std::vector<Device> used;
        for (std::size_t i = 0; i < several->device_count(); ++i) {
            if (several->is_used(i)) used.push_back(several->device(i));
        }
        return used;
    }
    YOLK_TRY(const Dispatcher* const only, dispatcher());
    return std::vector<Device>{only->device()};
}

bool Devices::is_none() const noexcept { return state_->kind == State::Kind::None; }

DevicePool* Devices::pool() const {
    if (state_->kind != State::Kind::Pool && state_->kind != State::Kind::Handles) return nullptr;
    const std::lock_guard lock(state_->mutex);
    if (!state_->pool) state_->pool = DevicePool::create(state_->handles);
    return *state_->pool ? &**state_->pool : nullptr;
}

}  // namespace yolk::evolve
