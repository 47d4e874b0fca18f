// SPDX-License-Identifier: Apache-2.0
// One update, made by several devices of any vendors at the same time
// (docs/adr/0022-shares-of-an-update-are-exact.md). With int8 weights its gradient has the same bits as one device's,
// whatever the shares.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/es_update.hpp"
#include "yolk/internal/core/owned.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/shaped_generation.hpp"
#include "yolk/internal/evolve/update_shares.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// Both must outlive what is made for them; several may be of one physical device.
struct UpdateDevice {
    const Device* device = nullptr;
    Dispatcher* dispatcher = nullptr;
    std::optional<EsUpdateConfig> config{};  ///< unset: what the device's plans take
};

/// A device that could not do its part.
struct FailedShare {
    std::size_t device = 0;  ///< its position
    Error error;
};

/// Calls what it is given once with each number below the count of devices, at the same time, and returns when all
/// calls have: a pool's own threads, say.
using OnEachDevice = std::function<void(const std::function<void(std::size_t)>& make_share)>;

struct SharedUpdateEngine;

/// Owns each device's buffers and plans. Memory besides scratch: on each device 8 bytes for each parameter element,
/// half of them the host's, or 16 where pairs are shared, with another 8 on the host in all. One thread at a time.
/// Movable.
class SharedUpdate {
   public:
    /// `parameters`: as trained_parameters() gives them. `sharing`, unset: as choose_sharing() says. Errors: options
    /// outside their limits, no devices or a null one, pairs to be shared with a rule that ends in floats, a device
    /// that fails the arithmetic probe in exact mode (Unsupported), those of es_update's plans; an error of a device
    /// says which. `failed`, where it is given, then has all devices that failed.
    [[nodiscard]] static Result<SharedUpdate> create(std::vector<UpdateDevice> devices,
                                                     const ParameterTable& parameters, const EvolutionOptions& options,
                                                     std::optional<UpdateSharing> sharing = {},
                                                     std::vector<FailedShare>* failed = nullptr);

    /// The gradient of a scored generation, [element_count], for Evolution::apply. `rates`: of each device, in any
    /// unit; shares are in proportion, and a device of rate 0 gets none. `on_each`, empty: a thread for each share.
    /// Errors: weights, rates or a length that do not fit this update; what went wrong on a device, by its position.
    /// `out` is then as it was, nothing runs any more, and the call may be repeated without the devices of failed().
    [[nodiscard]] Result<void> gradient(const ShapedGeneration& shaped, const NoiseContext& when,
                                        std::span<const double> rates, std::span<float> out,
                                        const OnEachDevice& on_each = {});

    [[nodiscard]] UpdateSharing sharing() const noexcept;
    [[nodiscard]] const std::string& reason() const noexcept;  ///< of the sharing, for logs
    [[nodiscard]] std::size_t device_count() const noexcept;
    /// The devices whose shares the last call did not get, each with its error.
    [[nodiscard]] std::span<const FailedShare> failed() const noexcept;
    /// What each device's share of the last call took on the host's clock, transfers included; 0 without a share.
    [[nodiscard]] std::span<const double> seconds() const noexcept;
    /// Rates for the next call, by what the shares of the calls so far took; the largest is 1. A device that gets no
    /// share gets one again from time to time, at a cost of at most a hundredth of the time. Empty before the first.
    [[nodiscard]] std::span<const double> next_rates() const noexcept;

   private:
    explicit SharedUpdate(Owned<SharedUpdateEngine> engine) noexcept : engine_(std::move(engine)) {}
    Owned<SharedUpdateEngine> engine_;
};

}  // namespace yolk::evolve
