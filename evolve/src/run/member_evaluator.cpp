// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/member_evaluator.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "yolk/rollout.hpp"
#include "yolk/twin.hpp"

namespace yolk::evolve {
namespace {

/// The number of evaluations in a roll-out's evaluation words; what members counted goes to `counts`.
std::uint64_t taken_evaluations(std::span<const std::uint32_t> words, std::vector<std::uint32_t>& counts) {
    const auto counted = words.subspan(kEvaluationCounters);
    counts.assign(counted.begin(), counted.end());
    return std::accumulate(words.begin(), words.begin() + kEvaluationCounters, std::uint64_t{0});
}

/// Each call is one submission: the parameters where they are new, the members, and their returns to the host.
class RolloutMembers final : public MemberEvaluator {
   public:
    RolloutMembers(Dispatcher& dispatcher, RolloutPlan plan, Recorder recorder, std::uint32_t first_episode)
        : dispatcher_(&dispatcher),
          plan_(std::move(plan)),
          recorder_(std::move(recorder)),
          first_episode_(first_episode) {}

    [[nodiscard]] Result<void> make_buffers(const Device& device);
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return plan_.desc().episodes; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return plan_.desc().members; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override;
    [[nodiscard]] Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> returns) override;
    [[nodiscard]] std::span<const std::uint32_t> counts() const noexcept override { return counts_; }

   private:
    Dispatcher* dispatcher_;
    Buffer given_, parameters_, returns_, evaluations_, scratch_, readback_;
    RolloutPlan plan_;
    BoundRollout bound_;
    Recorder recorder_;
    NoiseContext when_{};
    std::uint32_t first_episode_ = 0;
    bool is_new_ = false;  // what was given is not on the device yet
    std::vector<std::uint32_t> counts_;
};

Result<void> RolloutMembers::make_buffers(const Device& device) {
    const RolloutDesc& desc = plan_.desc();
    const std::uint64_t returns_bytes = std::uint64_t{4} * desc.members * desc.episodes;
    const auto make = [&](Buffer& buffer, std::uint64_t size_bytes, MemoryDomain domain,
                          const char* label) -> Result<void> {
        YOLK_TRY(buffer, device.create_buffer({.size_bytes = size_bytes, .domain = domain, .label = label}));
        return {};
    };
    const std::uint64_t parameter_bytes = desc.parameters.size_bytes();
    const std::uint64_t evaluation_bytes = std::uint64_t{4} * evaluation_words(desc);
    YOLK_TRY_VOID(make(given_, parameter_bytes, MemoryDomain::Upload, "members' given parameters"));
    YOLK_TRY_VOID(make(parameters_, parameter_bytes, MemoryDomain::Device, "members' parameters"));
    YOLK_TRY_VOID(make(returns_, returns_bytes, MemoryDomain::Device, "members' returns"));
    YOLK_TRY_VOID(make(evaluations_, evaluation_bytes, MemoryDomain::Device, "members' evaluation counters"));
    YOLK_TRY_VOID(make(readback_, evaluation_bytes + returns_bytes, MemoryDomain::Readback, "members' readback"));
    const MemoryNeeds needs = plan_.scratch();
    if (needs.size_bytes != 0) {
        Result<void> made = make(scratch_, needs.size_bytes, MemoryDomain::Device, "members' scratch");
        if (!made && made.error().kind == ErrorKind::OutOfMemory)
            made = make(scratch_, needs.least(), MemoryDomain::Device, "members' scratch");
        YOLK_TRY_VOID(std::move(made));
    }
    YOLK_TRY(bound_, plan_.bind({.parameters = parameters_, .returns = returns_, .evaluations = evaluations_},
                                scratch_.size_bytes() == 0 ? BufferView{} : BufferView{scratch_}));
    return {};
}

Result<void> RolloutMembers::begin(std::span<const float> parameters, const NoiseContext& when) {
    if (parameters.size_bytes() != given_.size_bytes()) {
        return bad_input("There are {} parameter elements; the network of the roll-out has {}.", parameters.size(),
                         plan_.desc().parameters.element_count());
    }
    std::memcpy(given_.mapped().data(), parameters.data(), parameters.size_bytes());
    when_ = when;
    is_new_ = true;
    return given_.flush();
}

Result<std::uint64_t> RolloutMembers::evaluate(const MemberRange& members, std::span<float> returns) {
    if (members.count == 0 || members.count > most_members() ||
        returns.size() != std::size_t{members.count} * episodes()) {
        return bad_input(
            "{} members with {} returns were asked for; 1 to {} members with {} returns each are possible.",
            members.count, returns.size(), most_members(), episodes());
    }
    recorder_.begin();
    if (is_new_) {
        recorder_.barrier(Barrier::ComputeToTransfer);
        recorder_.copy(given_, parameters_);
    }
    recorder_.barrier(Barrier::TransferToCompute);
    bound_.record(recorder_, when_,
                  {.first_episode = first_episode_, .first_member = members.first, .members = members.count});
    recorder_.barrier(Barrier::ComputeToTransfer);
    const std::uint64_t evaluation_bytes = std::uint64_t{4} * evaluation_words(plan_.desc(), members.count);
    recorder_.copy(BufferView{evaluations_, 0, evaluation_bytes}, BufferView{readback_, 0, evaluation_bytes});
    recorder_.copy(BufferView{returns_, 0, returns.size_bytes()},
                   BufferView{readback_, evaluation_bytes, returns.size_bytes()});
    recorder_.barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher_->run(recorder_));
    YOLK_TRY_VOID(readback_.invalidate());
    is_new_ = false;
    const std::byte* const bytes = readback_.mapped().data();
    std::memcpy(returns.data(), bytes + evaluation_bytes, returns.size_bytes());
    const std::span words(reinterpret_cast<const std::uint32_t*>(bytes), evaluation_bytes / sizeof(std::uint32_t));
    return taken_evaluations(words, counts_);
}

Result<void> check_returns(const MemberRange& members, std::uint32_t episodes, std::span<const float> returns) {
    if (returns.size() == std::size_t{members.count} * episodes) return {};
    return bad_input("{} returns were asked for; {} members with {} episodes have {}.", returns.size(), members.count,
                     episodes, std::size_t{members.count} * episodes);
}

class HostFunctionMembers final : public MemberEvaluator {
   public:
    HostFunctionMembers(HostMembers function, std::uint32_t episodes)
        : function_(std::move(function)), episodes_(episodes) {}
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return episodes_; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override {
        return std::numeric_limits<std::uint32_t>::max();
    }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        parameters_.assign(parameters.begin(), parameters.end());
        when_ = when;
        return {};
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> returns) override {
        if (!function_) return bad_input("There is no function to score members; give one to host_members.");
        YOLK_TRY_VOID(check_returns(members, episodes_, returns));
        // What the function leaves out is then not a score.
        std::ranges::fill(returns, std::numeric_limits<float>::quiet_NaN());
        return function_({.parameters = parameters_, .when = when_, .members = members}, returns);
    }

   private:
    HostMembers function_;
    std::uint32_t episodes_;
    std::vector<float> parameters_;
    NoiseContext when_{};
};

class TwinMembers final : public MemberEvaluator {
   public:
    TwinMembers(const RolloutDesc& desc, std::uint32_t first_episode) : desc_(desc), first_episode_(first_episode) {}
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return desc_.episodes; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override {
        return std::numeric_limits<std::uint32_t>::max();
    }
    [[nodiscard]] std::span<const std::uint32_t> counts() const noexcept override { return counts_; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        parameters_.assign(parameters.begin(), parameters.end());
        when_ = when;
        return {};
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> returns) override {
        YOLK_TRY_VOID(check_returns(members, desc_.episodes, returns));
        if (parameters_.size() != desc_.parameters.element_count()) {
            return bad_input("There are {} parameter elements; the network of the roll-out has {}.", parameters_.size(),
                             desc_.parameters.element_count());
        }
        desc_.members = members.count;
        std::vector<std::uint32_t> words(evaluation_words(desc_));
        reference::twin_of(
            desc_, {parameters_, returns, words}, when_,
            RolloutPart{.first_episode = first_episode_, .first_member = members.first, .members = members.count});
        return taken_evaluations(words, counts_);
    }

   private:
    RolloutDesc desc_;
    std::uint32_t first_episode_;
    std::vector<float> parameters_;
    NoiseContext when_{};
    std::vector<std::uint32_t> counts_;
};

}  // namespace

MemberEvaluator::~MemberEvaluator() = default;

Result<std::uint64_t> MemberEvaluator::evaluate_with_mean(const MemberRange& /*members*/, std::span<float> /*returns*/,
                                                          std::span<double> mean) {
    return failed_work("{} scores of the unperturbed parameters were asked for, and this evaluator makes none.",
                       mean.size());
}

Result<std::unique_ptr<MemberEvaluator>> rollout_members(const Device& device, Dispatcher& dispatcher,
                                                         const RolloutDesc& desc, std::uint32_t most_members,
                                                         std::uint32_t first_episode) {
    RolloutDesc chunk = desc;
    chunk.members = most_members;
    YOLK_TRY(RolloutPlan plan, plan_rollout(device, chunk));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "members"}));
    auto made = std::make_unique<RolloutMembers>(dispatcher, std::move(plan), std::move(recorder), first_episode);
    YOLK_TRY_VOID(made->make_buffers(device));
    return std::unique_ptr<MemberEvaluator>(std::move(made));
}

std::unique_ptr<MemberEvaluator> host_members(HostMembers evaluate, std::uint32_t episodes) {
    return std::make_unique<HostFunctionMembers>(std::move(evaluate), episodes);
}

std::unique_ptr<MemberEvaluator> rollout_twin_members(const RolloutDesc& desc, std::uint32_t first_episode) {
    return std::make_unique<TwinMembers>(desc, first_episode);
}

}  // namespace yolk::evolve
