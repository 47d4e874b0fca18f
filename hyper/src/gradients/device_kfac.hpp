// SPDX-License-Identifier: Apache-2.0
// K-FAC over the layers of a program of derivatives, on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "curvature_graph.hpp"
#include "program.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/kfac.hpp"
#include "yolk/optimize.hpp"
#include "yolk/optimizer.hpp"

namespace yolk::hyper {

/// Noise of a step, of this shape; seed and step alone decide.
[[nodiscard]] Tensor sample_noise(SampleNoise kind, const Shape& shape, std::uint64_t seed, std::uint32_t step);

/// What it is given must outlive it. One thread at a time.
class DeviceKfac {
   public:
    struct Layer {
        CurvatureLayer of{};
        std::size_t gradient = 0;      ///< among the program's outputs
        std::uint32_t first = 0;       ///< its place in the search table, in elements
        std::optional<Tensor> data{};  ///< its inputs, where they are data
    };
    [[nodiscard]] static Result<std::unique_ptr<DeviceKfac>> create(Dispatcher& dispatcher,
                                                                    population::Program& program,
                                                                    std::span<const Layer> layers,
                                                                    const ParameterTable& table,
                                                                    const GradientOptions& options);
    /// The data that goes into the layers has changed. Blocks.
    [[nodiscard]] Result<void> take_data(std::span<const Layer> layers);
    /// After a run of the program. Samples that are not finite are left out of the covariances. The value: how many
    /// parameters were left as they were, since they would not have been finite. Waits. Errors: a covariance without an
    /// inverse.
    [[nodiscard]] Result<std::uint64_t> step(const BufferView& parameters, std::uint32_t step);

   private:
    /// Of a layer, beside what the program keeps.
    struct Own {
        Buffer inputs, step;
    };
    DeviceKfac() = default;
    [[nodiscard]] Result<void> bind(population::Program& program, std::span<const Layer> layers, float decay);
    [[nodiscard]] Result<void> check_statuses();

    Dispatcher* dispatcher_ = nullptr;
    GradientOptions options_;
    std::vector<Layer> layers_;
    std::vector<Own> own_;
    Buffer state_, statuses_, scratch_;
    Buffer skipped_;  ///< elements that the last step left as they were
    Buffer moves_;    ///< packed as the search table is
    evolve::BoundKfac kfac_;
    OptimizerPlan update_;
    std::optional<Recorder> recorder_;
    bool is_first_ = true;
    bool took_first_ = false;  ///< the last step took its covariances for the averages
};

}  // namespace yolk::hyper
