// SPDX-License-Identifier: Apache-2.0
#include "device_gradients.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "candidates.hpp"
#include "device_evaluator.hpp"
#include "gradient_graph.hpp"
#include "program_run.hpp"
#include "refresh.hpp"
#include "valid_graph.hpp"
#include "yolk/elementwise.hpp"

namespace yolk::hyper {
namespace {

using population::Program;
using population::Question;
using population::Source;
using population::SourceKind;

/// Weights; of a hyperfunction's fields a candidate may be anywhere in the bounds, and steps have no gradient.
std::vector<std::string> weight_groups(const ParameterSet& parameters) {
    std::vector<std::string> names;
    for (const ParameterGroup& group : parameters.groups()) {
        const bool is_weight = group.spec.fields.empty() && !group.values.values().empty();
        if (group.spec.optimize && is_weight) names.push_back(group.spec.name);
    }
    return names;
}

std::uint32_t count_of(std::span<const GradientExamples> examples) {
    std::size_t count = 0;
    for (const GradientExamples& each : examples) count += each.inputs.size();
    return static_cast<std::uint32_t>(count);
}

}  // namespace

Result<std::unique_ptr<DeviceGradients>> DeviceGradients::create(Parts given, std::span<const std::string> wanted) {
    std::unique_ptr<DeviceGradients> made(new DeviceGradients(std::move(given)));
    const Parts& parts = made->parts_;
    const Device& device = parts.dispatcher->device();
    const std::span<const GradientExamples> examples = parts.examples;
    YOLK_TRY_VOID(made->find_groups(examples, wanted));
    if (parts.kfac && examples.size() != 1) {
        return bad_input(
            "K-FAC averages covariances over examples of one structure; these have {}. Take another rule, or let the "
            "function make the same equations for all examples.",
            examples.size());
    }
    for (const GradientExamples& each : examples) {
        YOLK_TRY(std::unique_ptr<Stage> stage, made->make_stage(each, count_of(examples)));
        made->stages_.push_back(std::move(stage));
    }
    if (parts.kfac) {
        YOLK_TRY(made->kfac_, DeviceKfac::create(*parts.dispatcher, *made->stages_.front()->program,
                                                 made->layers_of(*made->stages_.front()), *parts.table, *parts.kfac));
    }
    const std::uint64_t bytes = parts.table->size_bytes();
    YOLK_TRY(made->gradient_, device.create_buffer({.size_bytes = bytes, .label = "gradient"}));
    if (made->stages_.size() > 1) {
        YOLK_TRY(made->part_, device.create_buffer({.size_bytes = bytes, .label = "gradient of a structure"}));
        YOLK_TRY(const ElementwisePlan plan,
                 plan_elementwise(device, one_step(ElementwiseOperation::Add, {parts.table->element_count()})));
        const std::array<BufferView, 2> summed{made->gradient_, made->part_};
        YOLK_TRY(made->sum_, plan.bind({.inputs = summed, .out = made->gradient_}));
    }
    return made;
}

DeviceGradients::~DeviceGradients() {
    if (submission_) (void)parts_.dispatcher->wait(*submission_).has_value();
}

Result<void> DeviceGradients::find_groups(std::span<const GradientExamples> examples,
                                          std::span<const std::string> wanted) {
    const std::vector<std::string> weights = weight_groups(*parts_.parameters);
    for (const std::string& name : wanted) {
        if (names_one(weights, name)) continue;
        return bad_input(
            "'{}' is to be trained by derivatives; that goes for optimized hyperfunctions whose parameters are "
            "weights: "
            "{}.",
            name, weights.empty() ? "there are none" : fmt::format("{}", fmt::join(weights, ", ")));
    }
    std::vector<std::string> good = wanted.empty() ? weights : std::vector<std::string>(wanted.begin(), wanted.end());
    for (const GradientExamples& each : examples) {
        std::vector<std::string> refused;
        const std::vector<std::string> here = differentiable_groups(each.scored.graph, good, &refused);
        if (!wanted.empty() && !refused.empty()) return bad_input("{}", refused.front());
        std::erase_if(good, [&](const std::string& name) {
            const auto& used = each.scored.graph.parameters;
            return !names_one(here, name) && std::ranges::find(used, name, &GraphParameter::group) != used.end();
        });
        for (std::string& why : refused) {
            if (!names_one(refused_, why)) refused_.push_back(std::move(why));
        }
    }
    if (good.empty()) {
        return bad_input("Nothing can be trained by derivatives{}", refused_.empty()
                                                                        ? ": no optimized hyperfunction has weights."
                                                                        : fmt::format(". {}", refused_.front()));
    }
    groups_ = std::move(good);
    return {};
}

/// All parameters are sources, so that what depends on one is never taken from a trace.
Result<Question> DeviceGradients::ask(const Graph& graph, const ParameterSet& parameters) const {
    Question question;
    for (const GraphParameter& used : graph.parameters) {
        const ParameterGroup* group = parameters.find(used.group);
        if (group == nullptr) return bad_input("The set has no parameter group '{}'.", used.group);
        Source source{.spec = group->spec, .kind = SourceKind::Given};
        const auto rows = parts_.table->parameters();
        const auto row = std::ranges::find(rows, used.group, &ParameterDesc::name);
        if (row != rows.end()) {
            source.id = ParameterId(static_cast<std::uint32_t>(row - rows.begin()));
            source.offset = parts_.table->offset(source.id);
            source.count = row->rows * row->columns;
            if (source.spec.fields.empty()) source.kind = SourceKind::Mean;
        }
        question.sources.push_back(std::move(source));
        question.values.emplace_back();
        if (question.sources.back().kind == SourceKind::Given) question.values.back().push_back(group->value());
    }
    question.perturbations = {.table = *parts_.table, .mean = {}, .first_member = -1, .members = 1};
    return question;
}

Result<std::unique_ptr<DeviceGradients::Stage>> DeviceGradients::make_stage(const GradientExamples& examples,
                                                                            std::uint32_t count) {
    // What the host would compute of new inputs, it would compute and upload in every step: one-hot targets of 1,024
    // bytes are a mebibyte. K-FAC reads data of layers on the host.
    if (parts_.inputs_of_step && !parts_.kfac) {
        YOLK_TRY(auto stage, plan_stage(examples, count, true));
        if (stage->program->equations(Placement::Host) == 0) return stage;
    }
    return plan_stage(examples, count, false);
}

Result<void> DeviceGradients::give_inputs(Stage& stage, Graph& graph) {
    for (const std::string& name : givable_inputs(graph)) {
        const auto input = std::ranges::find(graph.inputs, name, &std::pair<std::string, VariableId>::first);
        YOLK_TRY(const std::uint64_t count, graph.variables[input->second.value].type.shape.element_count());
        const std::string group = "input\n" + name;  // no hyperfunction has a line break in its name
        YOLK_TRY_VOID(stage.parameters.add({.name = group, .shape = {count}}, Tensor::filled({count}, 0.0F)));
        stage.given.emplace(name, graph.parameters.size());  // ask() makes a source of each parameter
        graph.parameters.push_back({.variable = input->second, .group = group});
        graph.inputs.erase(input);
    }
    return {};
}

Result<std::unique_ptr<DeviceGradients::Stage>> DeviceGradients::plan_stage(const GradientExamples& examples,
                                                                            std::uint32_t count, bool gives_inputs) {
    auto stage = std::make_unique<Stage>();
    stage->parameters = *parts_.parameters;
    const Graph& scored = examples.scored.graph;
    stage->size = static_cast<std::uint32_t>(examples.inputs.size());
    YOLK_TRY(Graph graph, gradient_graph(scored, stage->size, groups_));
    for (const GraphParameter& parameter : scored.parameters) {
        if (names_one(groups_, parameter.group)) stage->groups.push_back(parameter.group);
    }
    if (parts_.kfac) YOLK_TRY_VOID(add_curvature(*stage, examples, graph));
    if (gives_inputs) YOLK_TRY_VOID(give_inputs(*stage, graph));
    TracedExample& stacked = stage->stacked.emplace_back();
    stacked.graph = std::move(graph);
    stacked.values.resize(stacked.graph.variables.size());
    YOLK_TRY(auto inputs, inputs_of_stage(*stage, examples, count, 0));
    std::erase_if(inputs, [&](const auto& input) { return stage->given.contains(input.first); });
    YOLK_TRY_VOID(population::refresh_valid(stacked, inputs));
    YOLK_TRY(stage->set, population::ExampleSet::create(stage->stacked, stage->parameters,
                                                        parts_.inputs_of_step || stage->noise.has_value()));
    YOLK_TRY(stage->question, ask(stacked.graph, stage->parameters));
    const std::uint64_t budget = parts_.memory_budget_bytes > 0
                                     ? parts_.memory_budget_bytes
                                     : population::quarter_of_the_heap(parts_.dispatcher->device());
    YOLK_TRY(stage->program, Program::create(parts_.dispatcher, stage->set->groups(), stage->question.sources,
                                             {.members_per_chunk = 1,
                                              .budget_bytes = budget,
                                              .keep_outputs = true,
                                              .repeats = true,
                                              .joined_kernels = parts_.joined_kernels}));
    if (!stage->program->host_rows().empty()) {
        return bad_input("Derivatives are made on the device, but weights are read on the host there: {}",
                         fmt::join(stage->program->fallbacks(), " "));
    }
    return stage;
}

Result<void> DeviceGradients::add_curvature(Stage& stage, const GradientExamples& examples, Graph& graph) const {
    constexpr std::uint32_t kMost = 1024;  // rows and columns of evolve::KfacLayer
    const Graph& sampled = examples.sampled ? *examples.sampled : examples.scored.graph;
    std::vector<std::string> matrices;
    for (const ParameterDesc& row : parts_.table->parameters()) {
        if (names_one(groups_, row.name) && row.rows <= kMost && row.columns <= kMost) matrices.push_back(row.name);
    }
    YOLK_TRY(CurvatureGraph made, curvature_graph(graph, sampled, stage.size, matrices));
    if (made.layers.empty()) {
        return bad_input(
            "K-FAC has nothing to train: it takes matrices of at most {} rows and columns that one linear() multiplies "
            "by and nothing else reads.",
            kMost);
    }
    graph = std::move(made.graph);
    stage.layers = std::move(made.layers);
    for (const auto& [name, id] : graph.inputs) {
        if (name == kNoiseInput) stage.noise = graph.variables[id.value].type.shape;
    }
    return {};
}

/// Of the stacked graph, which the stage has by now.
Result<std::map<std::string, Value>> DeviceGradients::inputs_of_stage(const Stage& stage,
                                                                      const GradientExamples& examples,
                                                                      std::uint32_t count, std::uint32_t step) const {
    YOLK_TRY(auto inputs, stacked_inputs(examples.scored.graph, examples.inputs, stage.size, count));
    if (stage.noise)
        inputs.insert_or_assign(kNoiseInput, sample_noise(parts_.sample_noise, *stage.noise, parts_.seed, step));
    const Graph& graph = stage.stacked.front().graph;
    for (const auto& [name, id] : graph.inputs) {
        if (name.starts_with(kProbeInput)) inputs.emplace(name, blank_of(graph.variables[id.value].type));
    }
    return inputs;
}

std::vector<DeviceKfac::Layer> DeviceGradients::layers_of(const Stage& stage) const {
    std::vector<DeviceKfac::Layer> layers;
    const TracedExample& stacked = stage.stacked.front();
    const std::vector<bool> varies = dependents_of(stacked.graph);
    for (const CurvatureLayer& of : stage.layers) {
        const auto group = std::ranges::find(stage.groups, of.group) - stage.groups.begin();
        const auto rows = parts_.table->parameters();
        const auto row = std::ranges::find(rows, of.group, &ParameterDesc::name);
        DeviceKfac::Layer layer{
            .of = of,
            .gradient = static_cast<std::size_t>(group) + 1,
            .first = parts_.table->offset(ParameterId(static_cast<std::uint32_t>(row - rows.begin())))};
        const Atom& inputs = stacked.graph.outputs[of.inputs];
        if (const auto* id = std::get_if<VariableId>(&inputs); id == nullptr) {
            layer.data = *std::get<Value>(inputs).tensor();
        } else if (!varies[id->value]) {
            layer.data = *stacked.values[id->value].tensor();
        }
        layers.push_back(std::move(layer));
    }
    return layers;
}

std::vector<std::string> DeviceGradients::layers() const {
    std::vector<std::string> names;
    for (const std::unique_ptr<Stage>& stage : stages_) {
        for (const CurvatureLayer& layer : stage->layers) names.push_back(layer.group);
    }
    return names;
}

Result<std::uint64_t> DeviceGradients::move_by_kfac(const BufferView& parameters, std::uint32_t step) {
    return kfac_ ? kfac_->step(parameters, step) : Result<std::uint64_t>(std::uint64_t{0});
}

Result<void> DeviceGradients::take_inputs(Stage& stage, std::map<std::string, Value> inputs) const {
    for (const auto& [name, source] : stage.given)
        stage.question.values[source].front() = inputs.extract(name).mapped();
    TracedExample& stacked = stage.stacked.front();
    const bool all_given = std::ranges::all_of(stacked.graph.inputs, [&](const auto& input) {
        return inputs.at(input.first) == stacked.values[input.second.value];
    });
    if (all_given) return {};
    YOLK_TRY_VOID(population::refresh_changed(stacked, inputs));
    const TracedExample* const now = &stacked;
    YOLK_TRY_VOID(stage.set->replace(std::span(&now, 1)));
    return stage.program->take_examples();
}

Result<void> DeviceGradients::take_batch(std::uint32_t step) {
    std::vector<GradientExamples>& examples = parts_.examples;
    if (parts_.inputs_of_step) {
        YOLK_TRY(std::vector<ExampleInputs> inputs, parts_.inputs_of_step(step));
        for (std::size_t s = 0; s < examples.size(); ++s) examples[s].inputs = std::move(inputs[s]);
    }
    const std::uint32_t count = count_of(examples);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
        YOLK_TRY(auto inputs, inputs_of_stage(*stages_[s], examples[s], count, step));
        YOLK_TRY_VOID(take_inputs(*stages_[s], std::move(inputs)));
    }
    if (kfac_ && parts_.inputs_of_step) return kfac_->take_data(layers_of(*stages_.front()));
    return {};
}

Result<void> DeviceGradients::set_given_values(Stage& stage, std::span<const float> host) const {
    for (std::size_t s = 0; s < stage.question.sources.size(); ++s) {
        const Source& source = stage.question.sources[s];
        if (source.kind != SourceKind::Given || source.count == 0) continue;
        YOLK_TRY(stage.question.values[s].front(),
                 population::natural_tensor(source.spec, host.subspan(source.offset, source.count)));
    }
    return {};
}

Result<double> DeviceGradients::run(Stage& stage, const BufferView& mean) {
    stage.question.perturbations.device_mean = mean;
    population::Candidates candidates(stage.question, {.count = 1});
    population::Run run(parts_.dispatcher, parts_.pool, *stage.program, candidates, 1);
    YOLK_TRY(const PopulationOutputs outputs, run.all());
    if (parts_.count) parts_.count(outputs.counts);
    if (outputs.errors.front()) return *outputs.errors.front();
    return outputs.values.front().as_number();
}

/// What it copies from and to stays where it is.
Result<void> DeviceGradients::record_sum() {
    YOLK_TRY(recorder_, Recorder::create(parts_.dispatcher->device(), {.label = "gradient"}));
    recorder_->begin();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
        const BufferView to = s == 0 ? BufferView(gradient_) : BufferView(part_);
        recorder_->barrier(Barrier::ComputeToTransfer);
        recorder_->barrier(Barrier::TransferToTransfer);
        recorder_->fill(to, 0);
        recorder_->barrier(Barrier::TransferToTransfer);
        YOLK_TRY(const population::ChunkPlan* const plan, stages_[s]->program->chunk_plan(1));
        for (std::size_t i = 0; i < stages_[s]->groups.size(); ++i) {
            YOLK_TRY(const std::optional<BufferView> from, stages_[s]->program->kept_output(*plan, 0, i + 1));
            if (!from) continue;  // it is zero
            if (std::ranges::find(stages_[s]->layers, stages_[s]->groups[i], &CurvatureLayer::group) !=
                stages_[s]->layers.end())
                continue;
            const auto rows = parts_.table->parameters();
            const auto row = std::ranges::find(rows, stages_[s]->groups[i], &ParameterDesc::name);
            const ParameterId id(static_cast<std::uint32_t>(row - rows.begin()));
            recorder_->copy(*from, to.part(std::uint64_t{4} * parts_.table->offset(id), from->size_bytes));
        }
        recorder_->barrier(Barrier::TransferToCompute);
        if (s > 0) sum_.record(*recorder_);
    }
    // Whoever copies the gradient comes after.
    recorder_->barrier(Barrier::ComputeToTransfer);
    recorder_->barrier(Barrier::TransferToTransfer);
    return {};
}

Result<double> DeviceGradients::evaluate(const BufferView& mean, std::span<const float> host, std::uint32_t step) {
    if (parts_.inputs_of_step || (kfac_ && stages_.front()->noise)) YOLK_TRY_VOID(take_batch(step));
    double reward = 0.0;
    for (const std::unique_ptr<Stage>& stage : stages_) {
        YOLK_TRY_VOID(set_given_values(*stage, host));
        YOLK_TRY(const double part, run(*stage, mean));
        reward += part;
    }
    if (!recorder_) YOLK_TRY_VOID(record_sum());
    if (submission_) YOLK_TRY_VOID(parts_.dispatcher->wait(*submission_));  // long ended: the rewards came after it
    YOLK_TRY(submission_, parts_.dispatcher->submit(*recorder_));
    return reward;
}

}  // namespace yolk::hyper
