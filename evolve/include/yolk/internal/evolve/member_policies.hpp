// SPDX-License-Identifier: Apache-2.0
// The policies of a run's members as one batch on the device, for environments on the host: observations of all members
// go in, and their networks' outputs come out, with one submission. No member's matrix is ever formed. The returns that
// come of it are told through a HostScoresEvaluator.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::evolve {

struct MemberPoliciesDesc {
    PolicyNetwork network{.widths = {}};  ///< its widths may be any from 1, and as many
    std::uint32_t members = 0;            ///< of one batch, from 1
    std::uint32_t rank = 1;               ///< of the run; a matrix that says a rank has its own
    bool antithetic = true;               ///< the run's
    Determinism determinism = Determinism::Exact;
};

/// One thread at a time; different objects on the same device and dispatcher may be used by different threads, and
/// their work overlaps: while one computes, the host may step the environments of another. Not movable. After an error
/// of a device it is over.
class MemberPolicies {
   public:
    /// `table` is the one that the run trains, of network.parameters(), `parameters` its values on the device
    /// (Evolution::device_parameters), which must stay. Errors: a table that is not that of the network, those of plans
    /// and buffers. `device` and `dispatcher` must outlive it.
    [[nodiscard]] static Result<std::unique_ptr<MemberPolicies>> create(const Device& device, Dispatcher& dispatcher,
                                                                        const ParameterTable& table,
                                                                        const BufferView& parameters,
                                                                        MemberPoliciesDesc desc);
    virtual ~MemberPolicies();
    MemberPolicies(const MemberPolicies&) = delete;
    MemberPolicies& operator=(const MemberPolicies&) = delete;

    /// From now on the batch is members first_member, first_member + 1, ... under the noise of `when`, of the
    /// parameters as they are now; blocks. Once before the first submit(), and after each step of the run. Members
    /// beyond the population are legal, and mean nothing. Episodes begin: the memories of a recurrent layer are zero.
    [[nodiscard]] virtual Result<void> begin(const NoiseContext& when, std::uint32_t first_member) = 0;
    /// [members, network.widths.front()], mapped. Not to be written between submit() and outputs().
    [[nodiscard]] virtual std::span<float> observations() noexcept = 0;
    /// Starts the forward pass of all members for what observations() has, a step of their memories. Errors: before
    /// begin(), a second time without outputs() between, the device's.
    [[nodiscard]] virtual Result<void> submit() = 0;
    /// Waits for it: [members, network.widths.back()], mapped, until the next submit(). Errors: before submit(), the
    /// device's.
    [[nodiscard]] virtual Result<std::span<const float>> outputs() = 0;

   protected:
    MemberPolicies() = default;
};

}  // namespace yolk::evolve
