// SPDX-License-Identifier: Apache-2.0
#include "host_players.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "host_player.hpp"

namespace yolk::train {
namespace {

class HostPlayersMembers final : public evolve::MemberEvaluator {
   public:
    HostPlayersMembers(std::unique_ptr<HostPlayers> players, std::uint32_t episodes, std::uint32_t most_members,
                       std::uint32_t first_episode)
        : players_(std::move(players)),
          episodes_(episodes),
          most_members_(most_members),
          first_episode_(first_episode) {}

    [[nodiscard]] std::uint32_t episodes() const noexcept override { return episodes_; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return most_members_; }
    [[nodiscard]] Result<void> begin(std::span<const float> parameters, const NoiseContext& when) override {
        when_ = when;
        return players_->set_parameters(parameters);
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const evolve::MemberRange& members, std::span<float> returns) override;

   private:
    std::unique_ptr<HostPlayers> players_;
    NoiseContext when_{};
    std::uint32_t episodes_, most_members_, first_episode_;
};

Result<std::uint64_t> HostPlayersMembers::evaluate(const evolve::MemberRange& members, std::span<float> returns) {
    std::vector<HostBatch> batches;
    for (std::uint32_t episode = 0; episode < episodes_; ++episode) {
        const std::uint32_t seed = host_episode_seed(when_.seed, when_.generation, first_episode_ + episode);
        for (std::uint32_t done = 0; done < members.count; done += players_->lanes()) {
            const std::uint32_t count = std::min(players_->lanes(), members.count - done);
            batches.push_back({.first_member = members.first + done,
                               .seeds = std::vector<std::uint32_t>(count, seed),
                               .returns = &returns[std::size_t{episode} * members.count + done]});
        }
    }
    return players_->play(when_, batches);
}

bool are_alike(const HostEnvironmentInfo& one, const HostEnvironmentInfo& other) {
    return one.name == other.name && one.lanes == other.lanes && one.observation_count == other.observation_count &&
           one.actions == other.actions && one.max_steps == other.max_steps && one.solved_return == other.solved_return;
}

}  // namespace

Result<EnvironmentInfo> common_info(const HostEnvironments& environments) {
    for (const auto& environment : environments) {
        if (!environment) return bad_input("An environment on the host is an empty pointer.");
        YOLK_TRY_VOID(check_host_environment(environment->info()));
        if (are_alike(environment->info(), environments.front()->info())) continue;
        return bad_input(
            "The environments on the host differ: '{}' with {} lanes ({}) and '{}' with {} lanes ({}). All must be "
            "copies of one.",
            environments.front()->info().name, environments.front()->info().lanes,
            host_source(environments.front()->info()), environment->info().name, environment->info().lanes,
            host_source(environment->info()));
    }
    const HostEnvironmentInfo& info = environments.front()->info();
    return EnvironmentInfo{.name = info.name,
                           .observation_count = info.observation_count,
                           .action_count = info.actions.outputs(),
                           .max_steps = info.max_steps,
                           .solved_return = info.solved_return,
                           .best_return = std::numeric_limits<float>::infinity()};
}

Result<HostTask> host_task(const PolicyNetwork& network, const ParameterTable& parameters,
                           const EnvironmentInfo& environment, std::uint32_t max_steps) {
    HostTask task{.policies = {.widths = network.widths},
                  .parameters = parameters,
                  .max_steps = max_steps == 0 ? environment.max_steps : max_steps};
    if (task.max_steps == 0) {
        return bad_input(
            "The environment '{}' has no limit of steps, and an episode may never end. Give one (max_steps).",
            environment.name);
    }
    return task;
}

HostPlayers::HostPlayers(Dispatcher& dispatcher, Buffer parameters)
    : dispatcher_(&dispatcher), parameters_(std::move(parameters)) {}
HostPlayers::~HostPlayers() = default;

Result<std::unique_ptr<HostPlayers>> HostPlayers::create(const Device& device, Dispatcher& dispatcher,
                                                         HostEnvironments environments, const HostTask& task) {
    YOLK_TRY(Buffer parameters, device.create_buffer({.size_bytes = task.parameters.size_bytes(),
                                                      .label = "parameters of policies on the host"}));
    std::unique_ptr<HostPlayers> made(new HostPlayers(dispatcher, std::move(parameters)));
    for (std::shared_ptr<HostEnvironment>& environment : environments) {
        YOLK_TRY(auto player, HostPlayer::create(device, dispatcher, made->parameters_, std::move(environment), task));
        made->players_.push_back(std::move(player));
    }
    if (made->players_.empty()) return bad_input("There is no environment on the host for '{}'.", device.info().name);
    return made;
}

std::uint32_t HostPlayers::lanes() const noexcept { return players_.front()->lanes(); }

Result<void> HostPlayers::set_parameters(std::span<const float> parameters) {
    return dispatcher_->upload(parameters_, std::as_bytes(parameters));
}

Result<std::uint64_t> HostPlayers::play(const NoiseContext& when, std::span<const HostBatch> batches) {
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint64_t> evaluations{0};
    std::mutex guard;
    std::optional<Error> first;
    const auto take = [&](HostPlayer& player) {
        for (std::size_t i = next++; i < batches.size(); i = next++) {
            const Result<std::uint64_t> played = player.play(when, batches[i]);
            if (played) {
                evaluations += *played;
                continue;
            }
            next = batches.size();  // nobody begins another one
            const std::scoped_lock lock(guard);
            if (!first) first = played.error();
        }
    };
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < std::min(players_.size(), batches.size()); ++i)
            others.emplace_back([&take, &player = *players_[i]] { take(player); });
        take(*players_.front());
    }
    if (first) return *std::move(first);
    return evaluations.load();
}

Result<void> HostPlayers::play_mean(NoiseContext when, std::uint32_t first, std::span<float> returns) {
    when.sigma = 0.0F;
    std::vector<HostBatch> batches;
    for (std::uint32_t done = 0; done < returns.size(); done += lanes()) {
        const auto count = std::min<std::size_t>(lanes(), returns.size() - done);
        HostBatch& batch = batches.emplace_back();
        batch.returns = &returns[done];
        for (std::uint32_t i = 0; i < count; ++i)
            batch.seeds.push_back(host_episode_seed(when.seed, when.generation, first + done + i));
    }
    YOLK_TRY_VOID(play(when, batches));
    return {};
}

std::unique_ptr<evolve::MemberEvaluator> host_players_members(std::unique_ptr<HostPlayers> players,
                                                              std::uint32_t episodes, std::uint32_t most_members,
                                                              std::uint32_t first_episode) {
    return std::make_unique<HostPlayersMembers>(std::move(players), episodes, most_members, first_episode);
}

}  // namespace yolk::train
