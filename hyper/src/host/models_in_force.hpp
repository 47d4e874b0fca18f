// SPDX-License-Identifier: Apache-2.0
// Which models answer the calls of a thread: a stack that tasks carry along.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "yolk/models.hpp"

namespace yolk::hyper {

/// One layer of the stack. Immutable; threads may share it.
struct ModelLayer {
    Models models;
    bool of_system = false;  ///< System::use's, which yields to explicit ones
    std::shared_ptr<const ModelLayer> beneath{};
    std::shared_ptr<void> caller{};  ///< CallerScope's
};
using ModelLayers = std::shared_ptr<const ModelLayer>;  ///< the innermost; null: none

[[nodiscard]] const ModelLayers& models_in_force() noexcept;

/// These are in force in this thread while it lives.
class ModelScope {
   public:
    explicit ModelScope(ModelLayers layers) noexcept;
    ~ModelScope();
    ModelScope(const ModelScope&) = delete;
    ModelScope& operator=(const ModelScope&) = delete;

   private:
    ModelLayers before_;
};

/// What is in force, with a system's models (null: none) beneath the caller's explicit ones, above what another system
/// around it uses.
[[nodiscard]] ModelLayers in_force_with(const std::shared_ptr<const Models>& of_system);

/// By the innermost layer that has a model for the tags. Errors: no such layer, saying how to give one.
[[nodiscard]] Result<chat::Answer> ask_models(std::span<const std::string> tags, const chat::Request& request,
                                              const std::stop_token& stop);

}  // namespace yolk::hyper
