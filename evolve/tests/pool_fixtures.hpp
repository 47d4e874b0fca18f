// SPDX-License-Identifier: Apache-2.0
// Runs over pools whose members are scored by functions on the host, so that a test says which worker is wrong and
// when.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fixtures.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/member_evaluator.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {

/// Members' scores are a function of the parameters and their number, so that a wrong update or share shows.
inline Result<std::uint64_t> score_on_host(const HostQuestion& question, std::span<float> returns) {
    for (std::uint32_t i = 0; i < question.members.count; ++i) {
        const std::uint32_t member = question.members.first + i;
        const float parameter = question.parameters[member % question.parameters.size()];
        returns[i] =
            parameter + static_cast<float>(philox4x32({member, question.when.generation, 0, 0}, {3, 4})[0] >> 8U);
    }
    return question.members.count;
}

/// What a worker adds to its right scores.
using Spoiling = std::function<float(const HostQuestion& question)>;

/// Scores members two by two, so that a generation has many chunks; the more there are, the more an audit draws.
class HostPairs final : public MemberEvaluator {
   public:
    explicit HostPairs(HostMembers score) : members_(host_members(std::move(score))) {}
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return 2; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        return members_->begin(parameters, when);
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> returns) override {
        return members_->evaluate(members, returns);
    }

   private:
    std::unique_ptr<MemberEvaluator> members_;
};

inline std::unique_ptr<MemberEvaluator> host_pairs(HostMembers score = &score_on_host) {
    return std::make_unique<HostPairs>(std::move(score));
}
inline std::unique_ptr<MemberEvaluator> spoilt_pairs(Spoiling spoil) {
    return host_pairs(
        [spoil = std::move(spoil)](const HostQuestion& question, std::span<float> returns) -> Result<std::uint64_t> {
            YOLK_TRY(const std::uint64_t count, score_on_host(question, returns));
            returns.front() += spoil(question);
            return count;
        });
}

/// `members` makes the evaluator of each worker, by its number.
inline PoolParts host_scored_parts(const EvolutionOptions& options,
                                   std::function<std::unique_ptr<MemberEvaluator>(std::size_t worker)> members) {
    PoolParts parts;
    parts.parameters = *trained_parameters(layered_table(2), options);
    parts.initial.assign(parts.parameters.element_count(), 0.25F);
    parts.members = [members = std::move(members), worker = std::size_t{0}](
                        const Device*, Dispatcher*) mutable -> Result<std::unique_ptr<MemberEvaluator>> {
        return members(worker++);
    };
    parts.judge = host_pairs();
    return parts;
}

/// State hashes of such a run on the host, by generations done, the first values' among them.
inline Result<std::vector<std::string>> hashes_of_twin(const EvolutionOptions& options, std::uint32_t generations) {
    PoolParts parts = host_scored_parts(options, [](std::size_t) { return host_members(&score_on_host); });
    YOLK_TRY(Evolution twin, Evolution::create(Devices::none(), std::move(parts), options));
    std::vector<std::string> hashes;
    while (true) {
        YOLK_TRY(hashes.emplace_back(), twin.state_hash());
        if (twin.generations() == generations) return hashes;
        YOLK_TRY_VOID(twin.step());
    }
}

/// Not shared with other tests, and probed, so that faults that begin afterwards are not noticed at its creation.
inline Result<Device> probed_device(const std::string& name) {
    YOLK_TRY(Device device, Device::create(testing::instance(), testing::device_index(name)));
    YOLK_TRY_VOID(probe(device));
    return device;
}

}  // namespace yolk::evolve
