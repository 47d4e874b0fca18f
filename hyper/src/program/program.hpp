// SPDX-License-Identifier: Apache-2.0
// Everything about an evaluation that outlives it: placement, phases, data on the device, and the plans for each number
// of candidates that was asked for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emitter.hpp"
#include "equation_groups.hpp"
#include "fusion.hpp"
#include "placement.hpp"
#include "yolk/dispatcher.hpp"

namespace yolk::hyper::population {

struct EquationRef {
    std::uint32_t group = 0;
    std::size_t equation = 0;
};
/// An equation (requirement.hpp) that the host judges by what the device made.
struct Required {
    EquationRef equation;
    std::optional<VariableId> variable{};  ///< made on the device for no one else; otherwise the host has it
};
/// A group's Skip whose equations are all of one phase of the device.
struct PhaseSkip {
    std::uint32_t group = 0;
    Skip skip;           ///< without results that are data
    bool asked = false;  ///< the device has `goes_on`; otherwise the examples do
};
/// Equations that run one after the other on the device, or independent ones on the host.
struct Phase {
    bool device = false;
    std::vector<EquationRef> equations;
    std::size_t device_index = 0;  ///< among the device's phases
    std::vector<PhaseSkip> skips{};
};

/// Buffers and bound steps for one number of members.
struct ChunkPlan {
    std::uint32_t members = 0;
    std::vector<std::vector<BufferRef>> kept{};  ///< by group and output; of Options::keep_outputs
    Buffer arena;                                // before what is bound to it
    Layout layout;
    std::vector<BufferView> states{};  ///< what its steps are bound to: by source, empty of those that are not carried
    /// What the host writes while the device works on another chunk: two, by turns.
    struct Slot {
        Buffer staging, readback;
        std::optional<Recorder> recorder;
        /// Where the last of the chunk's means go on the device; those before them go to the readback.
        BufferView means_to;
        /// Options::repeats: what the recorder holds, if it can be submitted again.
        struct Recorded {
            const Phase* phase = nullptr;
            BufferView mean;
            Moment moment;
        };
        std::optional<Recorded> recorded{};
    };
    std::array<Slot, 2> slots;
};

/// Of a phase that is recorded part by part: its loops end where the device's answers say.
struct Progress {
    std::size_t step = 0;              ///< the next one
    std::size_t skip = 0;              ///< of DevicePhase::skips, the next one
    std::optional<bool> answer{};      ///< to what the last part asked: whether a candidate goes on
    std::vector<std::size_t> taken{};  ///< of DevicePhase::skips: left out
};

/// Equations of a group of examples that one kernel computes together.
struct Elements {
    std::vector<EquationGroup> groups{};
    std::vector<std::int32_t> of{};  ///< by equation: the group; -1: none
};

class Program {
   public:
    struct Options {
        std::uint32_t members_per_chunk = 0;  ///< at most; 0: as many as suit the device
        std::uint64_t budget_bytes = 0;
        bool antithetic = true;
        Determinism determinism = Determinism::Exact;
        std::uint32_t kept_plans = 4;  ///< for so many numbers of candidates, the latest
        /// Outputs behind the first stay on the device: of one candidate kept_output() finds them; of any number they
        /// are the next states of sources that are carried.
        bool keep_outputs = false;
        bool plain_outputs = false;
        bool mean_outputs = false;
        /// Runs are at a mean on the device that outlives the program: one that does the same as the last submits its
        /// recording again.
        bool repeats = false;
        /// PopulationOptions::joined_kernels; without it nothing is read where it lies, either.
        bool joined_kernels = false;
    };
    /// `groups` must outlive it. Without a dispatcher everything runs on the host. Errors: no memory for one candidate;
    /// an equation that runs on a device, and no dispatcher.
    [[nodiscard]] static Result<std::unique_ptr<Program>> create(Dispatcher* dispatcher,
                                                                 std::span<const ExampleGroup> groups,
                                                                 std::vector<Source> sources, const Options& options);

    [[nodiscard]] std::span<const Source> sources() const noexcept { return sources_; }
    [[nodiscard]] std::span<const ExampleGroup> groups() const noexcept { return groups_; }
    [[nodiscard]] std::span<const Phase> phases() const noexcept { return phases_; }
    [[nodiscard]] const PlacedGraph& placed(std::uint32_t group) const { return placed_[group]; }
    [[nodiscard]] std::uint32_t members_per_chunk() const noexcept { return options_.members_per_chunk; }
    /// Made on first use; a few are kept. Other states than those of the last time are bound anew: then nothing of the
    /// plan may be running.
    [[nodiscard]] Result<ChunkPlan*> chunk_plan(std::uint32_t members, std::vector<BufferView> states = {});
    /// The examples have been replaced: the next recording copies their data. Errors: the driver's, no memory.
    [[nodiscard]] Result<void> take_examples();
    /// Mean values into their staging; the next recording copies them.
    [[nodiscard]] Result<void> stage_mean(std::span<const float> mean);
    /// The same from the device, packed as the table is: the next recording copies the rows that are drawn there.
    [[nodiscard]] Result<void> take_mean(const BufferView& mean);
    /// Where output `index` of a group, from 1, is after a run; nothing where it is data. Errors: it is made on the
    /// host.
    [[nodiscard]] Result<std::optional<BufferView>> kept_output(const ChunkPlan& plan, std::uint32_t group,
                                                                std::size_t index) const;
    /// PopulationEvaluator::host_rows().
    [[nodiscard]] std::vector<ParameterId> host_rows();
    /// Uploads of a phase, its steps, its downloads; or a part of it. Whether that ends with a question: the next part
    /// is recorded when Progress::answer says what came out.
    [[nodiscard]] bool record(ChunkPlan& plan, ChunkPlan::Slot& slot, const Phase& phase, const Moment& moment,
                              Progress& progress);
    /// What the device answered, when the part has finished.
    [[nodiscard]] Result<bool> answer(const ChunkPlan& plan, const ChunkPlan::Slot& slot, const Phase& phase) const;
    /// It is for requirements of steps that were left out, which meet them.
    [[nodiscard]] bool is_left_out(const ChunkPlan& plan, const Phase& phase, const Progress& progress,
                                   const Download& download) const;
    [[nodiscard]] std::span<const Required> required() const noexcept { return required_; }
    /// No equation that varies runs on the host.
    [[nodiscard]] bool is_device_only() const noexcept { return phases_.size() == 1 && phases_[0].device; }
    /// And they make the only group's outputs behind the first.
    [[nodiscard]] bool makes_states() const;
    /// What a candidate gives is the graph's first output alone: the only one, or others are kept on the device.
    [[nodiscard]] bool hands_out_one(const Graph& graph) const;
    /// The group's one output goes from the device to the caller; no equation on the host reads it.
    [[nodiscard]] bool output_is_direct(std::uint32_t group) const;
    /// Options::plain_outputs, and every group's output is direct.
    [[nodiscard]] bool outputs_are_plain() const;
    /// Options::mean_outputs, and kernels make the means: nothing runs on the host.
    [[nodiscard]] bool makes_means() const;
    /// And no requirement's values come to the host.
    [[nodiscard]] bool means_stay() const { return makes_means() && required_.empty(); }
    [[nodiscard]] std::vector<std::string> fallbacks() const;
    /// Of all groups of examples.
    [[nodiscard]] std::uint64_t equations(Placement placement) const;

   private:
    Program(Dispatcher* dispatcher, std::span<const ExampleGroup> groups, std::vector<Source> sources,
            const Options& options);
    void find_phases();
    [[nodiscard]] Result<void> check_dispatcher() const;
    void find_skips();
    void find_required();
    void find_elements(bool joined);
    void find_products();
    /// What decides which equations of a group go together.
    struct Togetherness {
        /// By equation: those of one number are of one phase, and of the same steps that may be left out.
        std::vector<std::size_t> places;
        std::vector<bool> taken;  ///< by variable: something else than an equation on the device takes it
    };
    [[nodiscard]] Togetherness togetherness(std::uint32_t group) const;
    /// A driver that refuses a kernel of several operations gets theirs one by one. For the first plan, since others
    /// are bound to the constants.
    [[nodiscard]] Result<void> try_elements(ChunkPlan& plan);
    [[nodiscard]] PlacedExamples placed_examples(std::uint32_t group) const;
    /// Of the requirements of the variable the least bound; 0 where it has none.
    [[nodiscard]] std::int64_t bound_of(std::uint32_t group, VariableId variable) const;
    void lay_out_mean();
    [[nodiscard]] Layout emit(std::uint32_t members, ChunkPlan* plan = nullptr);
    void emit_equations(Emitter& emitter, const Phase& phase);
    void emit_downloads(Emitter& emitter, const Phase& phase);
    void keep_outputs(Emitter& emitter, ChunkPlan* plan) const;
    void emit_means(Emitter& emitter) const;
    void record_means(const ChunkPlan& plan, ChunkPlan::Slot& slot) const;
    /// Those that no kernel has put in their places.
    void record_states(const ChunkPlan& plan, ChunkPlan::Slot& slot) const;
    [[nodiscard]] bool fits(const Layout& layout, std::uint64_t bytes) const;
    [[nodiscard]] std::uint32_t most_that_fit(std::uint32_t most, std::uint64_t bytes);
    [[nodiscard]] Result<void> choose_chunk();
    /// Chunks of states are parts of one view, each of which must begin where a kernel can read it.
    [[nodiscard]] Result<void> align_chunk();
    /// Emitter::Inputs::next_states.
    [[nodiscard]] std::vector<std::int32_t> next_states() const;
    [[nodiscard]] Result<void> bind_states(ChunkPlan& plan, std::vector<BufferView> states);
    [[nodiscard]] Result<void> check_states(const ChunkPlan& plan) const;
    [[nodiscard]] Result<void> create_shared_buffers();
    /// Those of a plan, and what its steps are bound to.
    [[nodiscard]] Result<void> create_buffers(ChunkPlan& plan);
    /// Options::repeats, and nothing has changed since the slot's last recording.
    [[nodiscard]] bool is_recorded(const ChunkPlan::Slot& slot, const Phase& phase, const Moment& moment) const;
    void record_mean(Recorder& recorder) noexcept;
    void begin_phase(const ChunkPlan& plan, ChunkPlan::Slot& slot, const DevicePhase& phase) noexcept;
    void end_phase(const ChunkPlan& plan, ChunkPlan::Slot& slot, const Phase& phase, const Progress& progress) const;
    [[nodiscard]] bool goes_on_by_data(const PhaseSkip& skip) const;
    /// Past the steps.
    void leave_out(const ChunkPlan& plan, Recorder& recorder, const DevicePhase& phase, Progress& progress) const;
    [[nodiscard]] bool is_handed_out(const Graph& graph, VariableId variable) const;
    [[nodiscard]] bool is_read_on_host(std::size_t source) const;
    /// Names of drawn matrices that an equation on the device takes whole.
    [[nodiscard]] std::vector<std::string> formed_in(std::size_t group, std::size_t equation) const;
    [[nodiscard]] Result<void> bind(ChunkPlan& plan);
    [[nodiscard]] BufferView view_of(const ChunkPlan& plan, const BufferRef& ref) const;

    Dispatcher* dispatcher_;  ///< null: no phase is of a device
    std::span<const ExampleGroup> groups_;
    std::vector<Source> sources_;
    std::vector<PlacedGraph> placed_;
    std::vector<std::vector<bool>> read_on_host_;  // by group and variable: by an equation
    std::vector<std::vector<Fused>> fused_;        // by group and equation
    std::vector<Elements> elements_;               // by group
    std::vector<ProductViews> products_;           // by group
    std::vector<Phase> phases_;
    std::vector<Required> required_;
    Constants constants_;
    Buffer constants_buffer_, mean_buffer_, mean_staging_, examples_staging_;
    std::vector<std::uint64_t> mean_offsets_;
    std::uint64_t mean_bytes_ = 0;
    bool mean_dirty_ = false;
    bool examples_dirty_ = false;  ///< the next recording copies what was refilled
    BufferView device_mean_;       ///< where the next recording copies the mean from; empty: from its staging
    Options options_;              ///< members_per_chunk: as many as fit
    std::vector<std::unique_ptr<ChunkPlan>> plans_;  // the latest last
};

}  // namespace yolk::hyper::population
