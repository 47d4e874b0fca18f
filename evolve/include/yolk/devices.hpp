// SPDX-License-Identifier: Apache-2.0
// Where something runs, as one value: a device, several, an engine's own, those of one rank among others, or none.
#pragma once

#include <memory>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/result.hpp"

namespace yolk {
class Context;  // yolk/context.hpp
}

namespace yolk::evolve {

/// Cheap to copy. Copies share what they are made of, so that whoever runs on a copy keeps the devices open.
/// Threading: every member from any thread; what is run on it has its own rules.
class Devices {
   public:
    /// The device that Context::create() chooses, with the tuning table, opened when it is first needed.
    Devices();
    // NOLINTBEGIN(google-explicit-constructor): each of them is where something runs
    /// `Context::create({.tuning = false})` is how tuning is turned off.
    Devices(const Context& context);
    /// Several devices, of any vendors: members are dealt out to all of them, with the results of one. What is made by
    /// one alone is made by the first that is in use.
    Devices(DevicePool pool);
    /// Devices that are open, one or several. Where members are dealt out they are a pool with the default options,
    /// made when it is first needed; training makes one of its own, with its settings.
    Devices(std::vector<Device> devices);
    Devices(const Device& device);
    /// An engine's own device. Borrowed: it must outlive all that runs on it.
    Devices(Dispatcher& dispatcher);
    // NOLINTEND(google-explicit-constructor)
    /// The host alone.
    [[nodiscard]] static Devices none();

    /// The same devices as those of one rank. All ranks make the same calls with the same settings, each on devices of
    /// its own, and get the results of one. Borrowed: the exchange must outlive all that runs on it.
    [[nodiscard]] Devices with(Exchange& exchange) const;

    /// Of the one device, or of the pool's first that is in use. Errors: Context::create's, DevicePool::create's, no
    /// device of the pool left, none().
    [[nodiscard]] Result<Dispatcher*> dispatcher() const;
    /// Those in use (of open ones, all); empty for none(). Errors: Context::create's.
    [[nodiscard]] Result<std::vector<Device>> handles() const;
    [[nodiscard]] bool is_none() const noexcept;
    /// nullptr: one device or none, or the pool could not be made, and dispatcher() says why.
    [[nodiscard]] DevicePool* pool() const;
    [[nodiscard]] Exchange* exchange() const noexcept { return exchange_; }  ///< nullptr: one rank
    [[nodiscard]] bool has_other_ranks() const noexcept { return exchange_ != nullptr && exchange_->ranks() > 1; }

   private:
    struct State;
    [[nodiscard]] Result<Context> context() const;
    std::shared_ptr<State> state_;
    Exchange* exchange_ = nullptr;
};

}  // namespace yolk::evolve
