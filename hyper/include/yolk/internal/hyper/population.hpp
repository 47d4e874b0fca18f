// SPDX-License-Identifier: Apache-2.0
// Candidates x examples: tensor equations in a few dispatches per stage with a population axis, perturbed weights never
// formed; host equations overlapped on a pool. On one device, or dealt out to several, with the same bits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/devices.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/owned.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/parameters.hpp"
#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

/// One example under the tracer: its graph and what every variable was.
struct TracedExample {
    Graph graph;
    std::vector<Value> values;         ///< by variable
    std::vector<std::string> notes{};  ///< reads past the tracer and what else was recorded, as sentences
    std::vector<std::string> cuts{};   ///< reads past the tracer of what depends on a parameter, as clauses
};

/// Equations that branches and loops of one graph may become (docs/adr/0028-loops-of-populations-are-unrolled.md).
inline constexpr std::uint32_t kMostUnrolled = 4096;
/// PopulationOptions::loop_block.
inline constexpr std::uint32_t kLoopBlock = 8;

struct PopulationOptions {
    /// Candidates x examples at once, at most; at least one candidate. 0: as many as have their intermediate values in
    /// what suits the device, 8 MiB of a processor and 512 MiB of a GPU.
    std::uint32_t max_batch_size = 0;
    std::uint64_t memory_budget_bytes =
        0;  ///< of device memory for intermediate values; 0: a quarter of what is left of the heap
    /// Other data may come later (PopulationEvaluator::set_examples): what depends on an input is not taken for the
    /// same in all examples because it happens to be now. Costs room, and a few shortcuts of the kernels.
    bool examples_change = false;
    /// Exact: the bits of the host and of every device. Fast: layers and products are fused multiply-adds where the
    /// device has them, and operands are not flushed, within the tolerance of matmul and perturbed_linear; devices may
    /// then differ in bits, so that a pool must be fast as well. Derivatives are always exact.
    Determinism determinism = Determinism::Exact;
    /// Branches and loops become equations of kernels, step by step, up to this number of them in a graph. One that
    /// would be more calls its bodies on the host for each candidate and example, and `fallbacks` says so. 0: all do.
    std::uint32_t most_unrolled = kMostUnrolled;
    /// Steps of a `while_loop` after which the device is asked whether a candidate goes on; it is asked again after
    /// twice as many, and so on. The steps behind the last one that a candidate takes are not computed. 0: it is never
    /// asked, and all steps up to the limit are computed. The values are the same.
    std::uint32_t loop_block = kLoopBlock;
    /// PopulationOutputs::plain in place of its values: for scores alone, where no caller looks at predictions.
    bool plain_outputs = false;
    /// PopulationOutputs::means in place of its values: for systems whose output is their reward, one element.
    bool mean_outputs = false;
    /// Equations that read each other and are elementwise, or work along the same rows, are one kernel, made for them.
    /// Small perturbed layers that follow each other are one kernel (yolk/perturbed_network.hpp). Products read
    /// operands that are moved where they were before. Otherwise each equation has a kernel of its own. The bits are
    /// the same.
    bool joined_kernels = true;
};

namespace population {

/// New data in a traced graph, without running the user's function. Inputs of the types that were traced, all of them.
/// Equations that depend on none of the groups in `varying` (not given: on no parameter) are evaluated again here, host
/// functions among them; the values of others are left as they were, and mean nothing. An evaluator that the example
/// was given to must be told by set_examples() before it evaluates again. Errors leave the example as it was: missing,
/// unknown or differing inputs, an id that is out of range, a trace that read values past the tracer, an equation's.
[[nodiscard]] Result<void> refresh(TracedExample& example, const std::map<std::string, Value>& inputs,
                                   std::optional<std::span<const std::string>> varying = std::nullopt);

}  // namespace population

/// Candidates as perturbations of one mean, by the rules of design.md section 4 ("Perturbation").
struct Perturbations {
    ParameterTable table;         ///< the optimized groups, in the set's order, in search coordinates
    std::span<const float> mean;  ///< [table.element_count()], search coordinates
    /// The mean on the device, fp32 [table.element_count()], where it is there already: kernels read it, and `mean`
    /// need hold no other rows than PopulationEvaluator::host_rows() and frozen ones.
    BufferView device_mean{};
    NoiseContext when{};
    std::uint32_t rank = 1;         ///< of matrices whose row of the table says none
    std::int32_t first_member = 0;  ///< -1: the mean itself
    std::uint32_t members = 0;      ///< 0 is legal
    bool antithetic = true;         ///< otherwise pair = member, side +
};

/// What each candidate has for itself beside its parameters, by groups of the set that are not optimized.
struct OwnValues {
    /// From the host, one value for each candidate.
    struct Given {
        std::string group;
        std::vector<Tensor> values;
    };
    /// A state: on the device, fp32 [candidates, elements of the group]. An evaluation reads it and writes the next one
    /// in its place. That is the graph's output behind the first: of the first group here output 1, and so on. It is
    /// copied there at the end. A scatter into a state that nothing else reads writes only its rows, at once. After an
    /// error a state may be half written. Each chunk's states begin at a multiple of kViewAlignment bytes. Kernels are
    /// bound to the buffers, which must outlive the evaluator.
    struct Carried {
        std::string group;
        BufferView values;
    };
    std::vector<Given> given{};
    std::vector<Carried> carried{};
};

/// A candidate given outright: natural values of some groups; the others keep the set's.
struct Candidate {
    std::vector<std::pair<std::string, Tensor>> values{};
};

struct PopulationCounts {
    std::uint64_t chunks = 0;
    std::uint64_t dispatches = 0;
    std::uint64_t submissions = 0;
    std::uint64_t host_calls = 0;
    std::uint64_t device_equations = 0;  ///< lowered, of all groups of examples
    std::uint64_t host_equations = 0;
};

/// How several devices made the outputs.
struct PooledEvaluation {
    evolve::PooledResult devices{};  ///< shares by worker; empty where one device made everything
    std::uint32_t evaluation = 0;    ///< evaluations over pools are numbered, ascending over the process
    std::string lost{};              ///< why devices were dropped so far (DevicePool::losses)
    /// An audit found a device that computed wrongly. These outputs are right, but what was evaluated from this number
    /// on may have been spoilt.
    std::optional<std::uint32_t> suspect_since{};
};

/// Tensors as kernels made them.
struct PlainOutputs {
    std::vector<Shape> shapes{};         ///< by example
    std::vector<std::uint64_t> first{};  ///< by example: where its tensor begins among a candidate's elements
    std::uint64_t each = 0;              ///< elements of a candidate
    std::vector<float> elements{};       ///< [candidates, each]

    [[nodiscard]] bool empty() const noexcept { return shapes.empty(); }
    [[nodiscard]] std::span<const float> of(std::uint32_t candidate) const {
        return std::span(elements).subspan(each * candidate, each);
    }
};

struct PopulationOutputs {
    std::uint32_t examples = 0;
    std::uint32_t candidates = 0;
    std::vector<Value> values{};  ///< [examples, candidates], candidate fastest; empty where `plain` is not
    /// With PopulationOptions::plain_outputs on one device, if kernels make all outputs and each is one tensor.
    PlainOutputs plain{};
    /// With PopulationOptions::mean_outputs: of each candidate the mean over examples, fp32, as `reduce` makes it
    /// (docs/kernels/reduce.md), with the same bits on every device and on the host. NaN of one that failed, or whose
    /// mean is not finite.
    std::vector<float> means{};
    /// By candidate: the first error of its host functions; empty where all went well. Its values are then meaningless.
    std::vector<std::optional<Error>> errors{};
    PopulationCounts counts{};
    PooledEvaluation pooled{};
};

/// Where the equations of a graph run, found once per structure.
enum class Placement { Data, Device, Host };  ///< Data: does not depend on what varies; computed once, in the trace
struct PlacedEquation {
    Placement placement = Placement::Data;
    std::string reason{};  ///< why on the host: "host function", "the ids are computed as fp32"
};
[[nodiscard]] Result<std::vector<PlacedEquation>> place(const Graph& graph,
                                                        std::span<const std::string> varying_groups);

/// Prepared for a set of examples; evaluates any number of populations. One thread at a time. Everything it is given
/// must outlive it. After an error it can be used again.
class PopulationEvaluator {
   public:
    struct Resources {
        /// Candidates are dealt out to all of several devices that are in use; with one left it is as with one device.
        evolve::Devices devices = evolve::Devices::none();
        HostPool* pool = nullptr;  ///< may be null with one device
    };
    /// Groups the examples by signature, plans every stage. Errors: no examples, one without an output, a group that
    /// the graphs name and the set lacks, no memory for a single candidate, no device left.
    [[nodiscard]] static Result<PopulationEvaluator> create(const Resources& resources,
                                                            std::span<const TracedExample> examples,
                                                            const ParameterSet& parameters,
                                                            const PopulationOptions& options);
    /// Errors: a table that is not the set's optimized groups, driver errors, over several devices a mean on one of
    /// them. Host functions' errors are per candidate. Of several devices those that fail are dropped, and the others
    /// evaluate their candidates.
    [[nodiscard]] Result<PopulationOutputs> evaluate(const Perturbations& candidates);
    /// The same of candidates that have values of their own. With a carried state one device evaluates one example, all
    /// by kernels, and gives out the graph's first output alone. Errors: another number of values, another shape or
    /// size, a group that is optimized or unknown, an equation on the host. Behind an error of the driver a state may
    /// be of either evaluation.
    [[nodiscard]] Result<PopulationOutputs> evaluate(const Perturbations& candidates, const OwnValues& own);
    /// Errors: unknown groups (lists the known), another shape, values outside the bounds.
    [[nodiscard]] Result<PopulationOutputs> evaluate(std::span<const Candidate> candidates);
    /// With PopulationOptions::mean_outputs: whether kernels make the means, and nothing that the host looks at says
    /// which candidates fail, so that evaluate_into() can be asked.
    [[nodiscard]] bool means_stay() const noexcept;
    /// The same as evaluate(), but means stay on the device: those of members, from the first on, go to `means`, fp32
    /// [members]. That of the mean (member -1), where it is among the candidates, is the one of PopulationOutputs.
    /// Errors: evaluate()'s; means do not stay; a view of another size.
    [[nodiscard]] Result<PopulationOutputs> evaluate_into(const Perturbations& candidates, const BufferView& means);
    /// For callers that deal candidates out themselves, as evolve does. These are the candidates, and each is evaluated
    /// `samples` times. The value is how many of them a worker takes at once. Errors: evaluate()'s.
    [[nodiscard]] Result<std::uint32_t> begin(const Perturbations& candidates, std::uint32_t samples = 1);
    /// Who evaluates in place of a worker: the exact twin, on the host.
    static constexpr std::size_t kTwin = SIZE_MAX;
    /// Evaluates some of the candidates that begin() was given. Each worker of the pool calls it on a thread of its
    /// own; without a pool the one device evaluates, and `worker` is not looked at. With audits a host function is
    /// called once for a candidate, an example and a sample; whoever asks again gets the same result.
    [[nodiscard]] Result<PopulationOutputs> evaluate_part(std::size_t worker, const evolve::MemberRange& part,
                                                          std::uint32_t sample = 0);
    /// Other examples in place of the first ones: as many, of the same structures (signature) in the same order.
    /// Nothing is planned again; each device's next evaluation begins with one copy of the data. Errors, which leave
    /// everything as it was: another number or structure, ids out of range, values that differ between examples where
    /// those of the first ones were the same (PopulationOptions::examples_change allows that of what depends on
    /// inputs).
    [[nodiscard]] Result<void> set_examples(std::span<const TracedExample> examples);
    [[nodiscard]] Result<void> set_examples(std::span<const TracedExample* const> examples);
    /// Candidates are dealt out to several devices.
    [[nodiscard]] bool is_pooled() const noexcept;
    /// Rows of search_space(parameters).table, ascending, that the host reads of a mean: structs of fields, whose
    /// natural values it forms, and what equations on the host are given.
    [[nodiscard]] std::span<const ParameterId> host_rows() const noexcept;
    /// Candidates that are evaluated at once, at most; over several devices of the first of them. Error: no device
    /// left.
    [[nodiscard]] Result<std::uint32_t> candidates_per_chunk() const;
    /// Sentences: what runs on the host, and why; which perturbed matrices are formed for each candidate.
    [[nodiscard]] std::vector<std::string> fallbacks() const;

   private:
    struct Impl;
    explicit PopulationEvaluator(Owned<Impl> impl) : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

/// The table of a set's optimized groups and their coordinates: what Perturbations and the update walk over.
struct SearchSpace {
    ParameterTable table;
    std::vector<float> mean;
};
[[nodiscard]] Result<SearchSpace> search_space(const ParameterSet& parameters);
[[nodiscard]] Result<ParameterTable> search_table(const ParameterSet& parameters);  ///< without the coordinates
/// Coordinates back into natural values of the optimized groups.
[[nodiscard]] Result<void> apply_coordinates(ParameterSet& parameters, std::span<const float> coordinates);

}  // namespace yolk::hyper
