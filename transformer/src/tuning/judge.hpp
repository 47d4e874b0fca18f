// SPDX-License-Identifier: Apache-2.0
// What points of a search come to, on texts that it did not learn from.
#pragma once

#include <span>
#include <vector>

#include "tuning_task.hpp"

namespace yolk::transformer {

/// A system of its own beside the search's. One thread at a time; the task must outlive it.
class Judge {
   public:
    /// Embeds the unrelated texts by the model as it is.
    [[nodiscard]] static Result<Judge> create(const TuningTask& task, const FinetuneOptions& options,
                                              const evolve::Devices& devices);

    [[nodiscard]] const Matrices& before() const noexcept { return before_; }
    [[nodiscard]] const hyper::ParameterSet& parameters() const noexcept { return system_.parameters(); }
    /// Update norm and drift of each.
    [[nodiscard]] Result<std::vector<FinetuneFigures>> look(std::span<const Matrices> points);
    /// And how they do in the test.
    [[nodiscard]] Result<std::vector<FinetuneFigures>> judge(std::span<const Matrices> points);

   private:
    Judge(const TuningTask& task, hyper::System system) : task_(&task), system_(std::move(system)) {}
    [[nodiscard]] Result<std::vector<double>> rewards(std::span<const Matrices> points,
                                                      std::span<const hyper::Example> examples,
                                                      const hyper::Metric& metric);

    const TuningTask* task_;
    hyper::System system_;
    hyper::PopulationOptions population_{};
    Matrices before_{};
    std::vector<hyper::Example> unrelated_{};  ///< expected are the vectors by the model as it is
};

}  // namespace yolk::transformer
