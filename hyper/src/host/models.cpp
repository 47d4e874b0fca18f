// SPDX-License-Identifier: Apache-2.0
#include "yolk/models.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "caught.hpp"
#include "models_in_force.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"

namespace yolk::hyper {
namespace {

ModelLayers& layers_slot() noexcept {
    thread_local ModelLayers slot;
    return slot;
}

std::string quoted_tags(std::span<const std::string> tags) {
    if (tags.empty()) return "without tags";
    return fmt::format("with the {} '{}'", tags.size() == 1 ? "tag" : "tags", fmt::join(tags, "', '"));
}

/// A sum of doubles depends on their order; one of these does not.
constexpr double kCostUnits = 1e12;

}  // namespace

struct Models::Shared {
    mutable std::mutex mutex{};
    Model otherwise{};
    std::map<std::string, Model, std::less<>> by_tag{};
    ModelCounts counts{};
    std::int64_t cost = 0;  ///< in 1 / kCostUnits

    [[nodiscard]] Model route(std::span<const std::string> tags) const {
        const std::lock_guard lock(mutex);
        for (std::size_t i = tags.size(); i-- > 0;) {
            const auto found = by_tag.find(tags[i]);
            if (found != by_tag.end() && found->second) return found->second;
        }
        return otherwise;
    }
    void count(const Result<chat::Answer>& answer) {
        const std::lock_guard lock(mutex);
        ++counts.calls;
        if (!answer) {
            ++counts.failed;
            return;
        }
        if (answer->from_cache) ++counts.from_cache;
        counts.prompt_tokens += answer->usage.prompt_tokens;
        counts.completion_tokens += answer->usage.completion_tokens;
        if (std::isfinite(answer->cost)) cost += std::llround(answer->cost * kCostUnits);
    }
};

Models::Models() : shared_(std::make_shared<Shared>()) {}

Models& Models::otherwise(Model model) {
    const std::lock_guard lock(shared_->mutex);
    shared_->otherwise = std::move(model);
    return *this;
}

Models& Models::on_tag(std::string tag, Model model) {
    const std::lock_guard lock(shared_->mutex);
    shared_->by_tag.insert_or_assign(std::move(tag), std::move(model));
    return *this;
}

bool Models::answers(std::span<const std::string> tags) const { return shared_->route(tags) != nullptr; }

Result<chat::Answer> Models::call(std::span<const std::string> tags, const chat::Request& request,
                                  const std::stop_token& stop) const {
    const Model model = shared_->route(tags);
    if (!model) {
        return bad_input("No model answers calls {}; give one by on_tag() or otherwise().", quoted_tags(tags));
    }
    auto answer = caught([] { return "The model"; }, [&] { return model(request, stop); });
    shared_->count(answer);
    return answer;
}

ModelCounts Models::counts() const {
    const std::lock_guard lock(shared_->mutex);
    ModelCounts counts = shared_->counts;
    counts.cost = static_cast<double>(shared_->cost) / kCostUnits;
    return counts;
}

const ModelLayers& models_in_force() noexcept { return layers_slot(); }

ModelScope::ModelScope(ModelLayers layers) noexcept : before_(std::exchange(layers_slot(), std::move(layers))) {}
ModelScope::~ModelScope() { layers_slot() = std::move(before_); }

UseModels::UseModels(Models models) {
    ModelLayers& slot = layers_slot();
    slot = std::make_shared<const ModelLayer>(ModelLayer{.models = std::move(models), .beneath = std::move(slot)});
}
UseModels::~UseModels() {
    ModelLayers& slot = layers_slot();
    if (slot != nullptr) slot = ModelLayers(slot->beneath);
}

CallerScope::CallerScope(std::shared_ptr<void> caller) {
    ModelLayers& slot = layers_slot();
    slot = std::make_shared<const ModelLayer>(
        ModelLayer{.models = {}, .beneath = std::move(slot), .caller = std::move(caller)});
}
CallerScope::~CallerScope() {
    ModelLayers& slot = layers_slot();
    if (slot != nullptr) slot = ModelLayers(slot->beneath);
}

std::shared_ptr<void> caller_in_force() {
    for (const ModelLayer* layer = models_in_force().get(); layer != nullptr; layer = layer->beneath.get()) {
        if (layer->caller != nullptr) return layer->caller;
    }
    return nullptr;
}

ModelLayers in_force_with(const std::shared_ptr<const Models>& of_system) {
    const auto put = [&](const auto& self, const ModelLayers& layers) -> ModelLayers {
        if (layers == nullptr || layers->of_system)
            return std::make_shared<const ModelLayer>(
                ModelLayer{.models = *of_system, .of_system = true, .beneath = layers});
        return std::make_shared<const ModelLayer>(
            ModelLayer{.models = layers->models, .beneath = self(self, layers->beneath), .caller = layers->caller});
    };
    return of_system == nullptr ? models_in_force() : put(put, models_in_force());
}

Result<chat::Answer> ask_models(std::span<const std::string> tags, const chat::Request& request,
                                const std::stop_token& stop) {
    for (const ModelLayer* layer = models_in_force().get(); layer != nullptr; layer = layer->beneath.get()) {
        if (layer->models.answers(tags)) return layer->models.call(tags, request, stop);
    }
    return bad_input(
        "No model is in force for calls {}: put one in force by UseModels(Models().otherwise(model_of(client))), or "
        "give it to the system by use().",
        quoted_tags(tags));
}

}  // namespace yolk::hyper
