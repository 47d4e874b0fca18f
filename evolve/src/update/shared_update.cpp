// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/shared_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "evolution_checks.hpp"
#include "share_maker.hpp"
#include "share_rates.hpp"
#include "yolk/internal/reference/update_gradient.hpp"

namespace yolk::evolve {

struct SharedUpdateEngine {
    EsUpdateDesc desc;
    SharingChoice choice;
    UpdateStrips strips;
    std::vector<std::unique_ptr<ShareMaker>> makers;
    std::vector<Result<void>> outcomes;
    std::vector<double> seconds;
    std::vector<FailedShare> failed;
    ShareRates followed;
    std::vector<std::int64_t> sums;  ///< of all shares of the pairs

    [[nodiscard]] bool by_pairs() const noexcept { return choice.sharing == UpdateSharing::Pairs; }
    [[nodiscard]] std::uint32_t pairs() const noexcept {
        return desc.antithetic ? desc.population / 2 : desc.population;
    }
    [[nodiscard]] std::vector<std::uint32_t> bounds(std::span<const double> rates) const {
        return by_pairs() ? deal(pairs(), rates) : deal(strips, rates);
    }
    [[nodiscard]] ElementSpan elements_of(std::span<const std::uint32_t> bounds, std::size_t device) const {
        if (by_pairs()) return {.first = 0, .count = desc.parameters.element_count()};
        return strips.elements(bounds[device], bounds[device + 1] - bounds[device]);
    }
    /// Fills outcomes and seconds.
    void run_shares(const ShapedGeneration& shaped, const NoiseContext& when, std::span<const std::uint32_t> bounds,
                    const OnEachDevice& on_each);
    [[nodiscard]] Result<void> first_failure();
    void join_parameters(std::span<const std::uint32_t> bounds, std::span<float> out) const;
    void join_pairs(const ShapedGeneration& shaped, const NoiseContext& when, std::span<const std::uint32_t> bounds,
                    std::span<float> out);
};

namespace {

std::string share_of(std::size_t device, const UpdateDevice& on) {
    return fmt::format("making the share of device {} ({}) of an update", device, on.device->info().name);
}

/// The first share is this thread's.
void on_threads(std::span<const std::size_t> devices, const std::function<void(std::size_t)>& make_share) {
    std::vector<std::jthread> threads;
    for (const std::size_t device : devices.subspan(1)) threads.emplace_back([&, device] { make_share(device); });
    make_share(devices[0]);
}

}  // namespace

void SharedUpdateEngine::run_shares(const ShapedGeneration& shaped, const NoiseContext& when,
                                    std::span<const std::uint32_t> bounds, const OnEachDevice& on_each) {
    using Clock = std::chrono::steady_clock;
    std::vector<std::size_t> busy;
    for (std::size_t d = 0; d < makers.size(); ++d) {
        seconds[d] = 0.0;
        outcomes[d] = Result<void>();
        if (bounds[d] == bounds[d + 1]) continue;
        busy.push_back(d);
        outcomes[d] = bad_input("The function that runs the shares did not call what it was given.");
    }
    const auto make_share = [&](std::size_t d) {
        if (d >= makers.size() || bounds[d] == bounds[d + 1]) return;
        const std::uint32_t count = bounds[d + 1] - bounds[d];
        EsUpdateShare share;
        if (by_pairs())
            share.first_pair = bounds[d], share.pair_count = count;
        else
            share.first_strip = bounds[d], share.strip_count = count;
        const Clock::time_point start = Clock::now();
        outcomes[d] = makers[d]->make(shaped, when, share, elements_of(bounds, d));
        seconds[d] = std::chrono::duration<double>(Clock::now() - start).count();
    };
    if (on_each)
        on_each(make_share);
    else if (!busy.empty())
        on_threads(busy, make_share);
}

Result<void> SharedUpdateEngine::first_failure() {
    failed.clear();
    for (std::size_t d = 0; d < outcomes.size(); ++d) {
        if (outcomes[d]) continue;
        failed.push_back({d, std::move(outcomes[d]).error().while_doing(share_of(d, makers[d]->on))});
    }
    return failed.empty() ? Result<void>() : failed.front().error;
}

void SharedUpdateEngine::join_parameters(std::span<const std::uint32_t> bounds, std::span<float> out) const {
    for (std::size_t d = 0; d < makers.size(); ++d) {
        const ElementSpan span = elements_of(bounds, d);
        std::ranges::copy(makers[d]->result<float>().subspan(span.first, span.count), out.begin() + span.first);
    }
    // Shares may reach over frozen parameters, which only the first one zeroes.
    for (std::uint32_t id = 0; id < desc.parameters.parameters().size(); ++id) {
        const ParameterDesc& parameter = desc.parameters.parameters()[id];
        if (parameter.perturbation != Perturbation::Frozen) continue;
        const std::size_t count = std::size_t{parameter.rows} * parameter.columns;
        std::ranges::fill(out.subspan(desc.parameters.offset(ParameterId{id}), count), 0.0F);
    }
}

void SharedUpdateEngine::join_pairs(const ShapedGeneration& shaped, const NoiseContext& when,
                                    std::span<const std::uint32_t> bounds, std::span<float> out) {
    static_assert(std::endian::native == std::endian::little, "sums come as two words, the low one first");
    sums.assign(desc.parameters.element_count(), 0);
    for (std::size_t d = 0; d < makers.size(); ++d) {
        if (bounds[d] == bounds[d + 1]) continue;
        const std::span<const std::int64_t> share = makers[d]->result<std::int64_t>();
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += share[i];
    }
    reference::es_update_gradient(desc, sums, shaped.summary, when, out);
}

Result<SharedUpdate> SharedUpdate::create(std::vector<UpdateDevice> devices, const ParameterTable& parameters,
                                          const EvolutionOptions& options, std::optional<UpdateSharing> sharing,
                                          std::vector<FailedShare>* failed) {
    YOLK_TRY_VOID(validate(options));
    if (devices.empty()) return bad_input("An update is to be shared by no devices; give at least one.");
    const auto absent =
        std::ranges::find_if(devices, [](const UpdateDevice& on) { return !on.device || !on.dispatcher; });
    if (absent != devices.end()) {
        return bad_input("Device {} of a shared update is given without its device or dispatcher; give both.",
                         absent - devices.begin());
    }
    const bool integers = is_integer_rule(options.fitness);
    if (sharing == UpdateSharing::Pairs && !integers) {
        return bad_input("The pairs of an update by {} are to be shared; its weights are floats, so share parameters.",
                         yolk::to_string(options.fitness));
    }
    auto engine = std::make_unique<SharedUpdateEngine>();
    engine->desc = {.parameters = parameters,
                    .population = options.population,
                    .rank = options.rank,
                    .weights = integers ? FitnessWeights::I8 : FitnessWeights::F32,
                    .antithetic = options.antithetic};
    engine->choice = choose_sharing({.parameters = parameters,
                                     .pairs = engine->pairs(),
                                     .rank = options.rank,
                                     .devices = devices.size(),
                                     .integer_weights = integers});
    if (sharing) engine->choice = {*sharing, fmt::format("The update is shared by {}, as asked.", to_string(*sharing))};
    engine->desc.output = engine->by_pairs() ? EsUpdateOutput::Sums : EsUpdateOutput::Gradient;
    engine->strips = UpdateStrips(parameters, options.rank);
    for (std::size_t d = 0; d < devices.size(); ++d) {
        const auto make = [&]() -> Result<void> {
            YOLK_TRY_VOID(probe_device(*devices[d].device, options.determinism));
            YOLK_TRY(std::unique_ptr<ShareMaker> maker, ShareMaker::create(devices[d], engine->desc));
            engine->makers.push_back(std::move(maker));
            return {};
        };
        if (Result<void> made = make(); !made)
            engine->failed.push_back({d, std::move(made).error().while_doing(share_of(d, devices[d]))});
    }
    if (failed != nullptr) *failed = engine->failed;
    if (!engine->failed.empty()) return engine->failed.front().error;
    engine->outcomes.resize(devices.size());
    engine->seconds.resize(devices.size());
    return SharedUpdate(std::move(engine));
}

Result<void> SharedUpdate::gradient(const ShapedGeneration& shaped, const NoiseContext& when,
                                    std::span<const double> rates, std::span<float> out, const OnEachDevice& on_each) {
    const EsUpdateDesc& desc = engine_->desc;
    engine_->failed.clear();
    YOLK_TRY_VOID(check_shaped(shaped, engine_->pairs(), desc.weights == FitnessWeights::I8));
    YOLK_TRY_VOID(check_rates(rates, engine_->makers.size()));
    if (out.size() != desc.parameters.element_count()) {
        return bad_input("There is room for {} values of a gradient of {} parameter elements; the two must be equal.",
                         out.size(), desc.parameters.element_count());
    }
    const std::vector<std::uint32_t> bounds = engine_->bounds(rates);
    engine_->run_shares(shaped, when, bounds, on_each);
    YOLK_TRY_VOID(engine_->first_failure());
    if (engine_->by_pairs())
        engine_->join_pairs(shaped, when, bounds, out);
    else
        engine_->join_parameters(bounds, out);
    engine_->followed.took(rates, engine_->seconds);
    return {};
}

UpdateSharing SharedUpdate::sharing() const noexcept { return engine_->choice.sharing; }
const std::string& SharedUpdate::reason() const noexcept { return engine_->choice.reason; }
std::size_t SharedUpdate::device_count() const noexcept { return engine_->makers.size(); }
std::span<const FailedShare> SharedUpdate::failed() const noexcept { return engine_->failed; }
std::span<const double> SharedUpdate::seconds() const noexcept { return engine_->seconds; }
std::span<const double> SharedUpdate::next_rates() const noexcept { return engine_->followed.next(); }

}  // namespace yolk::evolve
