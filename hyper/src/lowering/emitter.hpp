// SPDX-License-Identifier: Apache-2.0
// What lowering rules write to: steps over buffers that are placed in one arena when all of them are known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "placement.hpp"
#include "product_views.hpp"
#include "rearrangement.hpp"
#include "yolk/device.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/gather.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_network.hpp"
#include "yolk/row_program.hpp"

namespace yolk::hyper::population {

inline constexpr std::uint64_t kElementBytes = 4;
/// A drawn matrix is formed as the product of the identity, which takes rows^2 elements, with it.
inline constexpr std::uint32_t kMostFormedRows = 1024;
/// The most numbers in the table that converts words.
inline constexpr std::uint32_t kMostNumbers = 1U << 16U;

/// A buffer before it has a place.
struct BufferRef {
    enum class Home : std::uint8_t { None, Arena, Constants, Mean, State };
    Home home = Home::None;
    std::uint32_t index = 0;   ///< Arena: which; State: of which source
    std::uint64_t offset = 0;  ///< Constants, Mean
    std::uint64_t bytes = 0;
};

/// What is known only when a chunk is recorded.
struct Moment {
    NoiseContext when{};
    std::int32_t first_member = 0;
    friend bool operator==(const Moment& a, const Moment& b) noexcept {
        return a.when.seed == b.when.seed && a.when.generation == b.when.generation && a.when.time == b.when.time &&
               a.when.sigma == b.when.sigma && a.first_member == b.first_member;
    }
};
using Writer = std::function<void(Recorder&, const Moment&)>;
/// Plans and binds; the views are those of Step, in order.
using Bind = std::function<Result<Writer>(const Device&, std::span<const BufferView>, const BufferView& scratch)>;
/// Plans an operation and binds it; `views_of` says which of the step's views is which of the operation's.
template <class Desc, class ViewsOf>
[[nodiscard]] Bind bind_operation(const Desc& desc, ViewsOf views_of) {
    return [=](const Device& device, std::span<const BufferView> views, const BufferView& scratch) -> Result<Writer> {
        YOLK_TRY(const Plan<Desc> plan, Plan<Desc>::make(device, desc));
        const std::uint64_t bytes = plan.scratch().size_bytes;
        YOLK_TRY(Bound<Desc> bound, plan.bind(views_of(views), bytes == 0 ? BufferView{} : scratch.part(0, bytes)));
        return Writer([held = std::make_shared<Bound<Desc>>(std::move(bound))](Recorder& recorder,
                                                                               [[maybe_unused]] const Moment& moment) {
            if constexpr (requires { typename Desc::Call; }) {
                held->record(recorder, moment.when, moment.first_member);
            } else {
                held->record(recorder);
            }
        });
    };
}
/// x B, and x W^T where that is a product of its own of an x that all members share.
[[nodiscard]] std::uint64_t perturbed_linear_scratch(const PerturbedLinearDesc& desc);
/// Views: table, ids, out, status.
[[nodiscard]] Bind bind_gather(const GatherDesc& desc);
/// Most dimensions that a rearrangement may have when it is joined, the one of examples among them.
inline constexpr std::size_t kMostDimensions = 5;
/// Views: source [members, source_elements], out. Of a rearrangement that is joined.
[[nodiscard]] Bind bind_rearrange(std::uint32_t members, std::uint32_t source_elements,
                                  const Rearrangement& rearrangement);

struct Step {
    std::vector<BufferRef> views;  ///< those read, then those written
    std::size_t read = 0;
    BufferRef scratch{};
    Bind bind;
    Writer record{};
    bool barrier = false;  ///< before it: it touches what steps since the last barrier wrote, or writes what they read
};
/// Host values that a phase needs: of a source [members, elements], or of a variable [members, examples or 1,
/// elements].
struct Upload {
    BufferRef to;
    std::uint64_t staging = 0;
    std::int32_t source = -1;
    bool flush = false;  ///< elements below 2^-40 in size become 0
    std::uint32_t group = 0;
    VariableId variable{};
};
/// Device values that the host needs.
struct Download {
    BufferRef from;
    std::uint64_t readback = 0;
    std::uint32_t group = 0;
    VariableId variable{};
    bool output_only = false;  ///< the one output: no equation on the host reads it
    std::int64_t bound = 0;    ///< not 0: only for requirements, which whole numbers from 0 to bound - 1 meet
    std::size_t equation = 0;  ///< that makes it
};
/// Steps of a phase that may be left out (Skip).
struct StepSkip {
    std::size_t index = 0;  ///< among the phase's skips
    std::size_t first = 0, end = 0;
    BufferRef goes_on{};  ///< fp32 [members], not 0 of one that takes them; nowhere: examples have it as data
    std::vector<std::pair<BufferRef, BufferRef>> copies{};  ///< from, to: in place of the steps
};
struct DevicePhase {
    std::vector<Upload> uploads;
    std::vector<Step> steps;
    std::vector<Download> downloads;
    std::vector<StepSkip> skips;  ///< by their beginning, one before those within it
    std::uint64_t answer = 0;     ///< where the host reads StepSkip::goes_on
};

struct ArenaBuffer {
    std::uint64_t bytes = 0;
    std::uint32_t first = 0;  ///< event at which it is written
    std::uint32_t last = 0;   ///< last event that touches it
    std::uint64_t offset = 0;
};

/// Data of the examples as the kernels want it, made once per program, and again when the examples change.
struct Constants {
    /// Appends. The groups of examples must outlive it; what it refers to beside them it holds.
    using Fill = std::function<void(std::vector<std::uint32_t>&)>;
    /// What a piece is made of: an atom of the first `examples` of a group, or nothing of the examples.
    struct Origin {
        const ExampleGroup* group = nullptr;
        AtomPlace place{};
        std::uint32_t examples = 0;
    };
    struct Piece {
        BufferRef buffer;
        Fill fill;
        Origin origin;
        std::vector<Value> made_of{};  ///< the origin's values when it was filled
    };
    std::vector<std::uint32_t> words;
    std::map<std::string, Piece> known;

    std::vector<BufferRef> refilled;  ///< where `words` are newer than what was copied from them; each piece once

    /// The piece of that key, made if it is new.
    BufferRef add(const std::string& key, Fill fill, Origin origin);
    /// From the examples as they are now, the pieces whose values are others than before. Errors: a piece of another
    /// size.
    [[nodiscard]] Result<void> refill();
};

/// Equations that one kernel computes together, which is made at run time.
using ProgramDesc = std::variant<ElementwiseDesc, RowProgramDesc>;

/// All phases for one number of members.
struct Layout {
    std::vector<DevicePhase> phases;
    std::vector<ArenaBuffer> buffers;
    std::uint64_t arena_bytes = 0;
    std::uint64_t staging_bytes = 0;
    std::uint64_t readback_bytes = 0;
    std::uint64_t largest_bytes = 0;  ///< of one buffer, or of one that had all elements of a program's space
    BufferRef means{};                ///< fp32 [members], of outputs; nowhere: outputs are downloaded
    std::uint64_t means_readback = 0;
    std::vector<ProgramDesc> programs{};
    std::vector<PerturbedNetworkDesc> networks{};
};

/// [examples or 1, count, extent] rows, of which ids name one along the extent.
struct IdTables {
    bool per_example = false;
    std::uint32_t count = 1;
    std::uint32_t extent = 0;
};

class Emitter {
   public:
    struct Inputs {
        std::span<const ExampleGroup> groups;
        std::span<const PlacedGraph> placed;
        std::span<const ProductViews> products;
        std::span<const Source> sources;
        std::span<const std::uint64_t> mean_offsets;  ///< bytes, by source
        /// By variable of the only group: the source whose next state it is, if nothing but the equation that makes it
        /// reads that state; otherwise -1. Empty: no source is carried.
        std::span<const std::int32_t> next_states;
        std::uint32_t members = 0;
        bool antithetic = true;
        Determinism determinism = Determinism::Exact;
    };
    Emitter(const Inputs& inputs, Constants& constants);

    // The driver's side.
    void begin_phase();
    void begin_group(std::uint32_t group) { group_ = group; }
    void download(VariableId variable, bool output_only);
    /// For the requirements of a variable that the equation makes.
    void judge(VariableId variable, std::int64_t bound, std::size_t equation);
    /// Steps from here to the end_skip() that belongs to it may be left out. `goes_on`: a variable of this phase or an
    /// earlier one; null: data.
    void begin_skip(std::size_t index, const VariableId* goes_on);
    void end_skip(std::span<const std::pair<VariableId, VariableId>> results);
    void end_phase();
    /// The variable's buffer stays as it is until the end of all phases.
    [[nodiscard]] BufferRef keep(VariableId variable);
    /// Of each group's output, one element [members, examples or 1], the mean over all examples in their order.
    void mean_outputs(std::span<const VariableId> outputs);
    [[nodiscard]] Layout finish();

    // The rules' side.
    [[nodiscard]] std::uint32_t members() const { return inputs_.members; }
    [[nodiscard]] std::uint32_t examples(bool per_example) const { return per_example ? group().count() : 1; }
    [[nodiscard]] bool antithetic() const { return inputs_.antithetic; }
    [[nodiscard]] Determinism determinism() const { return inputs_.determinism; }
    [[nodiscard]] const Source& source(const Operand& operand) const {
        return inputs_.sources[static_cast<std::size_t>(operand.traits.source)];
    }
    [[nodiscard]] std::span<const Source> sources() const { return inputs_.sources; }
    [[nodiscard]] const Traits& traits(VariableId variable) const { return placed().variables[variable.value]; }
    [[nodiscard]] const ValueType& type(VariableId variable) const {
        return group().graph().variables[variable.value].type;
    }

    /// A new buffer for a result.
    [[nodiscard]] BufferRef result(VariableId variable);
    /// Whether the variable is the next state of the source, and may be written over it.
    [[nodiscard]] bool replaces(VariableId variable, std::int32_t source) const {
        return source >= 0 && !inputs_.next_states.empty() && inputs_.next_states[variable.value] == source;
    }
    /// The result lies where that state does.
    [[nodiscard]] BufferRef next_state(VariableId variable);
    /// The result is the same memory.
    void alias(VariableId variable, const BufferRef& buffer) { buffers_of_[group_][variable.value] = buffer; }
    [[nodiscard]] BufferRef temporary(std::uint64_t bytes);
    /// The values of a varying operand: [members, examples or 1, elements], fp32; what is uint32 is converted.
    [[nodiscard]] BufferRef varying(const Operand& operand);
    /// Likewise, as they are.
    [[nodiscard]] BufferRef raw(const Operand& operand);
    /// Of a variable that no kernel makes, or writes: where its elements lie. Null: in a buffer of its own.
    [[nodiscard]] const VariableView* read_in(VariableId variable) const {
        const auto& view = inputs_.products[group_].read[variable.value];
        return view ? &*view : nullptr;
    }
    [[nodiscard]] const VariableView* written_in(VariableId variable) const {
        const auto& view = inputs_.products[group_].written[variable.value];
        return view ? &*view : nullptr;
    }
    /// What an equation on the device has made.
    [[nodiscard]] BufferRef made(VariableId variable) const { return buffers_of_[group_][variable.value]; }
    /// A buffer for a part of a result, the same one for all parts.
    [[nodiscard]] BufferRef shared_result(VariableId variable) {
        const BufferRef known = made(variable);
        return known.home == BufferRef::Home::None ? result(variable) : known;
    }
    /// Of an operand of any kind [members, examples or 1, elements of shape], repeated by NumPy's rule.
    [[nodiscard]] BufferRef full(const Operand& operand, bool per_example, const Shape& shape);
    /// Data, for each example one behind the other (or one for all), repeated likewise.
    [[nodiscard]] BufferRef constant(const Operand& operand, bool per_example, const Shape& shape);
    /// Whole numbers as uint32, likewise.
    [[nodiscard]] BufferRef constant_words(const Operand& operand, bool per_example);
    /// Data ids into tables that lie one behind the other, `tables` for each example, or `tables` for all: of each
    /// example's table t, ids + t extent.
    [[nodiscard]] BufferRef constant_ids(const Operand& ids, const IdTables& tables);
    /// A table of rows: data, or given values. The elements that perturbed_embedding counts as zero are zero.
    [[nodiscard]] BufferRef table(const Operand& operand);
    /// The unperturbed weights of a source that the device draws.
    [[nodiscard]] BufferRef mean(const Operand& operand) const;

    /// Elements moved: from [members, examples or 1, ...] to [members, examples or 1, ...] of `to`, into `out`.
    void rearrange(const BufferRef& from, bool own_examples, const Rearrangement& to, bool per_example,
                   const BufferRef& out);
    /// Likewise, into a new buffer.
    [[nodiscard]] BufferRef rearranged_copy(const BufferRef& from, bool own_examples, const Rearrangement& to,
                                            bool per_example);
    void step(std::vector<BufferRef> reads, std::vector<BufferRef> writes, std::uint64_t scratch_bytes, Bind bind);
    /// A space may have more elements than what is read and written: kernels count them as they do a buffer's.
    void note_program(ProgramDesc desc, std::uint64_t elements) {
        layout_.largest_bytes = std::max(layout_.largest_bytes, kElementBytes * elements);
        layout_.programs.push_back(std::move(desc));
    }
    void note_network(PerturbedNetworkDesc desc) { layout_.networks.push_back(std::move(desc)); }

   private:
    [[nodiscard]] const ExampleGroup& group() const { return inputs_.groups[group_]; }
    [[nodiscard]] const PlacedGraph& placed() const { return inputs_.placed[group_]; }
    [[nodiscard]] BufferRef source_values(std::int32_t source);
    /// [members, out, in]: the sums of the mean and each candidate's noise, with the bits of Candidates::natural.
    [[nodiscard]] BufferRef formed_matrix(const Source& source, const BufferRef& mean);
    BufferRef upload(Upload upload);
    [[nodiscard]] BufferRef store(const std::string& key, Constants::Fill fill, Constants::Origin origin = {});
    [[nodiscard]] BufferRef repeated(std::uint32_t count, std::uint32_t each);
    [[nodiscard]] std::string key_of(const Operand& operand) const;
    void touch(const BufferRef& buffer);
    /// Made where somebody asked first: what asks behind the steps that may be left out has to make it again.
    void remember(BufferRef& known) {
        if (!open_skips_.empty()) made_in_skips_.push_back(&known);
    }

    struct OpenSkip {
        std::size_t place = 0;  // in the phase's skips
        std::uint32_t event = 0;
        std::size_t made = 0;  // of made_in_skips_, before it
    };
    Inputs inputs_;
    Constants& constants_;
    Layout layout_;
    std::uint32_t event_ = 0;
    std::uint32_t phase_begin_ = 0;
    std::uint32_t group_ = 0;
    std::vector<std::vector<BufferRef>> buffers_of_;  // by group and variable
    std::vector<std::vector<BufferRef>> numbers_of_;  // the same of words, as fp32
    std::vector<BufferRef> source_buffers_;
    std::vector<BufferRef> table_buffers_;  // the same, small elements flushed
    std::vector<OpenSkip> open_skips_;
    std::vector<BufferRef*> made_in_skips_;
};

/// Finds offsets: buffers that live at the same time do not overlap.
void place_in_arena(Layout& layout);

}  // namespace yolk::hyper::population
