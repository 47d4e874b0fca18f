// SPDX-License-Identifier: Apache-2.0
// An operation is a value: `operation_of<SoftmaxDesc>()` declares the fields of its description, its views, its knobs
// and how its pipelines are made and recorded. Plans, keys of tuning tables, text, checks and the reference follow from
// it (docs/adr/0014-an-operation-is-a-value.md); this header has plans.
//
// A description names its types: `Config` (knobs), `Views`, `Params` (the ABI's), and where they differ from the
// defaults below `Call`, `Pipelines` and `Bindings`. It has `std::optional<Config> config`: unset, a plan takes what
// the device's tuning table knows, else the operation's heuristic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/core/dtype.hpp"
#include "yolk/internal/primitives/arithmetic_unit.hpp"
#include "yolk/internal/primitives/fields.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk {

enum class ViewRole {
    Input,   ///< read
    Output,  ///< written, every byte of it
    InOut,   ///< read and written
};

/// An extent of a view and the field, or the product of fields, that it is.
struct NamedExtent {
    std::string_view name;
    std::uint64_t value = 0;
};

/// What a view must hold, row-major, outermost extent first.
struct ViewShape {
    std::vector<NamedExtent> extents;
    DType dtype = DType::F32;
    bool used = true;                ///< false: this description has no such view; it is left empty
    bool uniform = false;            ///< bound as a uniform buffer; of a longer view the beginning is
    bool in_pieces = false;          ///< bound piece by piece, so that it may be longer than a binding
    std::optional<ViewRole> role{};  ///< where it depends on the description
};

/// A view of `Desc::Views`, or a list of them. Those of one dispatch are in the order of their bindings.
template <class Desc>
struct ViewField {
    std::string_view name;
    ViewRole role = ViewRole::Input;
    BufferView Desc::Views::*view = nullptr;
    ViewShape (*shape)(const Desc&) = nullptr;
    bool may_be_input = false;  ///< of an output: it may be an input of its size, the same range exactly
    /// Of a description cut into windows (BlockRule): the byte where the view of a window begins that starts at this
    /// block. Unset: where the block itself does.
    std::uint64_t (*window_begin)(const Desc&, std::uint32_t first_block) = nullptr;
    /// In place of `view` and `shape`: so many views, named "parts[0]" and so on.
    std::span<const BufferView> Desc::Views::*list = nullptr;
    std::vector<ViewShape> (*list_shapes)(const Desc&) = nullptr;
};

/// Blocks of which each has its own part of every view. Where the views pass the device's binding limit, a plan cuts
/// them into windows of blocks, one after the other with one scratch; a block's bits do not depend on its window.
template <class Desc>
struct BlockRule {
    std::uint32_t Desc::*count = nullptr;  ///< null: the operation has no blocks
    /// The most bytes per block of what no ViewShape tells: pieces of scratch, views with `window_begin`; none.
    std::uint64_t (*other_bytes)(const Desc&) = nullptr;
    /// Makes a description that of a window from this block on; `count` is set. Nothing else changes.
    void (*move)(Desc&, std::uint32_t first_block) = nullptr;
};

/// The last argument of a call, which may be left out and is then what T's own defaults say: the first member, the part
/// of a roll-out, the share of an update.
template <class T>
struct OrDefault {
    T value{};
};

namespace detail {

// What a description leaves out: a call without arguments, one pipeline with its binding.
template <class Desc>
struct CallTypeOf {
    using Type = void();
};
template <class Desc>
requires requires { typename Desc::Call; }
struct CallTypeOf<Desc> {
    using Type = typename Desc::Call;
};
template <class Desc>
struct PipelinesTypeOf {
    using Type = PipelineOf<typename Desc::Params>;
};
template <class Desc>
requires requires { typename Desc::Pipelines; }
struct PipelinesTypeOf<Desc> {
    using Type = typename Desc::Pipelines;
};
template <class Desc>
struct BindingsTypeOf {
    using Type = BindingOf<typename Desc::Params>;
};
template <class Desc>
requires requires { typename Desc::Bindings; }
struct BindingsTypeOf<Desc> {
    using Type = typename Desc::Bindings;
};

}  // namespace detail

/// The pipelines of a plan: PipelineOf<Desc::Params>, or Desc::Pipelines where it is more than one dispatch.
template <class Desc>
using PipelinesOf = typename detail::PipelinesTypeOf<Desc>::Type;
/// Of a bound plan: BindingOf<Desc::Params>, or Desc::Bindings.
template <class Desc>
using BindingsOf = typename detail::BindingsTypeOf<Desc>::Type;

/// `Call` is what changes from one recording to the next: Desc::Call, such as void(const NoiseStream&), or nothing.
template <class Desc, class Call = typename detail::CallTypeOf<Desc>::Type>
struct Operation;
template <class Desc, class Call = typename detail::CallTypeOf<Desc>::Type>
class Bound;
template <class Desc>
class Plan;

/// Everything that there is to say about an operation, once. What is not set has the default that its comment says.
template <class Desc, class... Arguments>
struct Operation<Desc, void(Arguments...)> {
    using Config = typename Desc::Config;

    std::string_view name;  ///< "softmax"; "[softmax]" is its label in messages; ends in a null
    Fields<Desc> fields;
    std::vector<ViewField<Desc>> views;
    std::string_view (*label)(const Desc&) = nullptr;  ///< in messages, where it depends on the description; `name`
    std::vector<Knob<Config>> (*knobs)(const DeviceInfo&, const Desc&) = nullptr;
    /// Which combinations of knobs there are; all of them.
    Result<void> (*legal)(const DeviceInfo&, const Desc&, const Config&) = nullptr;
    /// What the tuner takes for the same: the description with what its kernel does not look at as it begins; itself.
    Desc (*canonical)(Desc) = nullptr;
    /// What a plan takes where nothing was measured.
    Config (*heuristic)(const DeviceInfo&, const Desc&) = nullptr;
    /// What a configuration multiplies with; fp32 lanes.
    ArithmeticUnit (*unit)(const Desc&, const Config&) = nullptr;
    /// What a description may be, beyond the ranges of its fields and the sizes of its views; anything.
    Result<void> (*check)(const Desc&) = nullptr;
    /// A given configuration with what it leaves to the device filled in; itself.
    Config (*completed)(const DeviceInfo&, const Desc&) = nullptr;
    BlockRule<Desc> blocks{};
    bool scratch_in_pieces = false;  ///< scratch may be longer than a binding
    /// Whether there is nothing to do; where the result, the first view that is written, has no bytes.
    bool (*is_empty)(const Desc&) = nullptr;
    /// `config` is set, and there is something to do.
    Result<PipelinesOf<Desc>> (*build)(const Device&, const Desc&) = nullptr;
    MemoryNeeds (*scratch)(const Desc&, const PipelinesOf<Desc>&) = nullptr;  ///< none
    /// The views are checked; the used ones, each its binding.
    Result<BindingsOf<Desc>> (*bind)(const Device&, const Desc&, const PipelinesOf<Desc>&, const typename Desc::Views&,
                                     const BufferView& scratch) = nullptr;
    void (*record)(Recorder&, const BindingsOf<Desc>&, const Desc&, Arguments...) noexcept = nullptr;
};

/// The declaration, one per description; it lives as long as the process.
template <class Desc>
[[nodiscard]] const Operation<Desc>& operation_of();

/// A view of a description, whether it has a field of its own or is one of a list.
struct DescribedView {
    std::string name;
    ViewRole role = ViewRole::Input;
    ViewShape shape;
};

/// All of them, in the order of the declaration.
template <class Desc>
[[nodiscard]] std::vector<DescribedView> described_views(const Desc& desc) {
    std::vector<DescribedView> all;
    const auto add = [&](std::string name, ViewRole role, ViewShape shape) {
        role = shape.role.value_or(role);
        all.push_back({std::move(name), role, std::move(shape)});
    };
    for (const ViewField<Desc>& field : operation_of<Desc>().views) {
        if (field.list == nullptr) {
            add(std::string(field.name), field.role, field.shape(desc));
            continue;
        }
        std::size_t index = 0;
        for (ViewShape& shape : field.list_shapes(desc))
            add(std::string(field.name) + "[" + std::to_string(index++) + "]", field.role, std::move(shape));
    }
    return all;
}

/// Words that a window of blocks has written to an aligned piece of scratch, and where they belong.
struct WordCopy {
    BufferView from;
    BufferView to;
};

namespace detail {
template <class Desc>
struct BoundWindow;

/// What a bound plan holds, whatever it is called with.
template <class Desc>
class BoundState {
   protected:
    template <class... Arguments>
    void record_with(Recorder& recorder, const Arguments&... arguments) const noexcept {
        record_windows(recorder, arguments...);
        if (operation_ == nullptr) return;
        const ScopedLabel label(recorder, operation_->name);
        operation_->record(recorder, bindings_, desc_, arguments...);
    }

   private:
    template <class... Arguments>
    void record_windows(Recorder& recorder, const Arguments&... arguments) const noexcept {
        bool is_first = true;
        for (const BoundWindow<Desc>& window : windows_) {
            if (!std::exchange(is_first, false)) recorder.barrier(Barrier::ComputeToCompute);
            static_cast<const BoundState&>(window.bound).record_with(recorder, arguments...);
            if (window.copies.empty()) continue;
            recorder.barrier(Barrier::ComputeToTransfer);
            for (const WordCopy& copy : window.copies) recorder.copy(copy.from, copy.to);
            recorder.barrier(Barrier::TransferToCompute);
        }
    }

    friend class Plan<Desc>;
    const Operation<Desc>* operation_ = nullptr;  ///< null: there is nothing to do, or windows do it
    Desc desc_;
    BindingsOf<Desc> bindings_;
    std::vector<BoundWindow<Desc>> windows_;
};
}  // namespace detail

/// Immutable: threads may record it at the same time, each into its own recorder.
template <class Desc, class... Arguments>
class Bound<Desc, void(Arguments...)> : public detail::BoundState<Desc> {
   public:
    void record(Recorder& recorder, Arguments... arguments) const noexcept {
        this->record_with(recorder, arguments...);
    }
};
template <class Desc, class Last>
class Bound<Desc, void(OrDefault<Last>)> : public detail::BoundState<Desc> {
   public:
    void record(Recorder& recorder, Last last = Last{}) const noexcept {
        this->record_with(recorder, OrDefault<Last>{last});
    }
};
template <class Desc, class First, class Last>
class Bound<Desc, void(First, OrDefault<Last>)> : public detail::BoundState<Desc> {
   public:
    void record(Recorder& recorder, First first, Last last = Last{}) const noexcept {
        this->record_with(recorder, first, OrDefault<Last>{last});
    }
};

template <class Desc>
struct detail::BoundWindow {
    Bound<Desc> bound;
    std::vector<WordCopy> copies{};
};

struct BlockWindows;

/// Only such descriptions can have a BlockRule; for the others nothing of windows is compiled.
template <class Desc>
inline constexpr bool kHasBlocks = requires(const Desc& desc) {
    desc.blocks;
};

/// Immutable: threads may share it. The device must outlive it. Made by plan_<operation>(device, description).
template <class Desc>
class Plan {
   public:
    /// Errors: a configuration outside the operation's space, sizes that overflow or pass the device's binding limit,
    /// and what the operation's header says.
    [[nodiscard]] static Result<Plan> make(const Device& device, const Desc& desc);

    [[nodiscard]] MemoryNeeds scratch() const noexcept { return scratch_; }
    /// Errors: views too small, outside their buffers, unaligned, or sharing bytes with an output; likewise scratch.
    [[nodiscard]] Result<Bound<Desc>> bind(const typename Desc::Views& views, const BufferView& scratch = {}) const;
    /// As it was planned: with the configuration.
    [[nodiscard]] const Desc& desc() const noexcept { return desc_; }
    [[nodiscard]] const typename Desc::Config& config() const noexcept { return *desc_.config; }
    /// What its operation has built.
    [[nodiscard]] const PipelinesOf<Desc>& pipelines() const noexcept { return pipelines_; }

   private:
    [[nodiscard]] static Result<Plan> make_windows(const Device& device, const Desc& desc,
                                                   const BlockWindows& windows) requires kHasBlocks<Desc>;
    [[nodiscard]] Result<void> build();
    [[nodiscard]] std::uint64_t window_scratch_bytes() const noexcept;
    [[nodiscard]] Result<void> check(const typename Desc::Views& views, const BufferView& scratch) const;
    [[nodiscard]] std::uint64_t needed_bytes(std::size_t view, const ViewShape& shape) const;
    [[nodiscard]] Result<void> bind_whole(const typename Desc::Views& views, const BufferView& scratch,
                                          Bound<Desc>& bound) const;
    [[nodiscard]] Result<void> bind_window(std::uint32_t window, const typename Desc::Views& views,
                                           const BufferView& scratch,
                                           Bound<Desc>& bound) const requires kHasBlocks<Desc>;

    const Device* device_ = nullptr;
    Desc desc_;
    MemoryNeeds scratch_{};
    PipelinesOf<Desc> pipelines_{};
    bool is_empty_ = false;                ///< nothing is bound or recorded
    std::vector<Plan> windows_;            ///< of blocks, where there are several; then the rest is unused
    std::uint32_t blocks_per_window_ = 0;  ///< the last window may have fewer
};

/// plan_softmax and its like: functions that take a braced description.
template <class Desc>
struct Planner {
    [[nodiscard]] Result<Plan<Desc>> operator()(const Device& device, const Desc& desc) const {
        return Plan<Desc>::make(device, desc);
    }
};

/// The tuning space of a description on a device: knobs, what is legal, and the key.
template <class Desc>
[[nodiscard]] ConfigSpace<typename Desc::Config> space_of(const DeviceInfo& info, const Desc& desc) {
    const Operation<Desc>& operation = operation_of<Desc>();
    typename ConfigSpace<typename Desc::Config>::Legality legal;
    if (operation.legal != nullptr)
        legal = [info, desc, &operation](const auto& config) { return operation.legal(info, desc, config); };
    return {std::string(operation.name), operation.knobs(info, desc), std::move(legal),
            operation.fields.key(operation.canonical == nullptr ? desc : operation.canonical(desc))};
}

/// What a plan takes where nothing was measured.
template <class Desc>
[[nodiscard]] typename Desc::Config heuristic_of(const DeviceInfo& info, const Desc& desc) {
    return operation_of<Desc>().heuristic(info, desc);
}

}  // namespace yolk
