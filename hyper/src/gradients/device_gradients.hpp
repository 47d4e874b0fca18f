// SPDX-License-Identifier: Apache-2.0
// Derivatives of a set of examples, as programs on the device: one per structure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_kfac.hpp"
#include "example_set.hpp"
#include "program.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {

/// Examples of one structure.
struct GradientExamples {
    TracedExample scored;  ///< of one of them (scored_example.hpp)
    /// Of each, with kExpectedInput.
    std::vector<std::map<std::string, Value>> inputs;
    /// For K-FAC: sampled_graph() of that one, where the metric has one.
    std::optional<Graph> sampled{};
};

/// Of the examples of one structure: GradientExamples::inputs.
using ExampleInputs = std::vector<std::map<std::string, Value>>;

/// What it is given must outlive it.
class DeviceGradients final : public Gradients {
   public:
    struct Parts {
        Dispatcher* dispatcher = nullptr;
        HostPool* pool = nullptr;
        const ParameterSet* parameters = nullptr;  ///< with those groups optimized that the table has
        const ParameterTable* table = nullptr;
        std::vector<GradientExamples> examples{};  ///< of the first step, by structure
        /// Makes those of a step, by structure: as many of each as in the first. Empty: all steps have the same.
        std::function<Result<std::vector<ExampleInputs>>(std::uint32_t step)> inputs_of_step{};
        std::function<void(const PopulationCounts&)> count{};  ///< told what each run cost
        std::uint64_t memory_budget_bytes = 0;                 ///< 0: a quarter of what is left of the heap
        bool joined_kernels = true;                            ///< PopulationOptions::joined_kernels
        std::optional<GradientOptions> kfac{};                 ///< with K-FAC
        SampleNoise sample_noise = SampleNoise::Normal;        ///< what its targets are drawn with
        std::uint64_t seed = 0;                                ///< of those
    };
    DeviceGradients(const DeviceGradients&) = delete;
    DeviceGradients& operator=(const DeviceGradients&) = delete;
    ~DeviceGradients() override;
    [[nodiscard]] static Result<std::unique_ptr<DeviceGradients>> create(Parts parts,
                                                                         std::span<const std::string> groups);

    [[nodiscard]] std::span<const std::string> groups() const noexcept override { return groups_; }
    [[nodiscard]] std::span<const std::string> refused() const noexcept override { return refused_; }
    [[nodiscard]] Result<double> evaluate(const BufferView& mean, std::span<const float> host,
                                          std::uint32_t step) override;
    [[nodiscard]] BufferView gradient() const noexcept override { return gradient_; }
    [[nodiscard]] Result<std::uint64_t> move_by_kfac(const BufferView& parameters, std::uint32_t step) override;
    /// Groups that K-FAC moves.
    [[nodiscard]] std::vector<std::string> layers() const;

   private:
    /// The derivatives over the examples of one structure.
    struct Stage {
        std::uint32_t size = 0;
        std::vector<TracedExample> stacked;        ///< one
        std::vector<std::string> groups;           ///< of outputs 1, 2, ...
        std::vector<CurvatureLayer> layers;        ///< what K-FAC moves
        std::optional<Shape> noise;                ///< of the input kNoiseInput
        ParameterSet parameters;                   ///< with those inputs as groups that are uploaded in each step
        std::map<std::string, std::size_t> given;  ///< such inputs, and their sources
        std::optional<population::ExampleSet> set;
        std::unique_ptr<population::Program> program;
        population::Question question;
    };
    explicit DeviceGradients(Parts parts) : parts_(std::move(parts)) {}
    [[nodiscard]] Result<void> find_groups(std::span<const GradientExamples> examples,
                                           std::span<const std::string> wanted);
    [[nodiscard]] Result<std::unique_ptr<Stage>> make_stage(const GradientExamples& examples, std::uint32_t count);
    /// With its inputs, as far as they can, uploaded in each step (`given`), or all of them data.
    [[nodiscard]] Result<std::unique_ptr<Stage>> plan_stage(const GradientExamples& examples, std::uint32_t count,
                                                            bool gives_inputs);
    /// Turns inputs of the graph into groups of the stage's parameters.
    [[nodiscard]] static Result<void> give_inputs(Stage& stage, Graph& graph);
    /// Further inputs and outputs of a stage's graph, for K-FAC.
    [[nodiscard]] Result<void> add_curvature(Stage& stage, const GradientExamples& examples, Graph& graph) const;
    [[nodiscard]] Result<std::map<std::string, Value>> inputs_of_stage(const Stage& stage,
                                                                       const GradientExamples& examples,
                                                                       std::uint32_t count, std::uint32_t step) const;
    [[nodiscard]] std::vector<DeviceKfac::Layer> layers_of(const Stage& stage) const;
    [[nodiscard]] Result<population::Question> ask(const Graph& graph, const ParameterSet& parameters) const;
    [[nodiscard]] Result<void> take_batch(std::uint32_t step);
    [[nodiscard]] Result<void> take_inputs(Stage& stage, std::map<std::string, Value> inputs) const;
    [[nodiscard]] Result<void> set_given_values(Stage& stage, std::span<const float> host) const;
    [[nodiscard]] Result<double> run(Stage& stage, const BufferView& mean);
    [[nodiscard]] Result<void> record_sum();

    Parts parts_;
    std::vector<std::string> groups_, refused_;
    std::vector<std::unique_ptr<Stage>> stages_;
    std::unique_ptr<DeviceKfac> kfac_;
    Buffer gradient_, part_;  ///< part_: of one stage of several
    BoundElementwise sum_;
    std::optional<Recorder> recorder_;      ///< of the sum over stages, the same in each step
    std::optional<Submission> submission_;  ///< of it
};

}  // namespace yolk::hyper
