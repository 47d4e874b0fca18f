// SPDX-License-Identifier: Apache-2.0
// The problem of an operation: everything but inputs, the oracle and work follows from the operation's declaration
// (yolk/internal/primitives/operation.hpp) and its twin (yolk/twin.hpp).
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/twin.hpp"

namespace yolk::oracle {

using reference::HostViews;
using OracleValues = std::vector<Bounded>;

/// What an operation's formula gives where its numbers are Bounded: of each view that is written, in their order; none
/// of one that holds other things than fp32. `given`: the views that are read.
template <class Desc, class... Arguments>
[[nodiscard]] std::vector<OracleValues> bounds_of(const Desc& desc, const HostViews& given,
                                                  const Arguments&... arguments) {
    const std::vector<DescribedView> described = described_views(desc);
    std::vector<OracleValues> numbers(described.size());
    std::vector<ByteVector> others(described.size());
    std::vector<reference::HostView> views;
    for (std::size_t i = 0; i < described.size(); ++i) {
        const ViewShape& shape = described[i].shape;
        std::size_t count = shape.used ? 1 : 0;
        for (const NamedExtent& extent : shape.extents) count *= extent.value;
        const auto before = given.in<float>(i);
        const auto bytes = given.in<std::byte>(i);
        if (shape.dtype == DType::F32 || reference::kWordsAreNumbers<Desc>) {
            numbers[i].assign(before.begin(), before.end());
            numbers[i].resize(count);
            views.emplace_back(numbers[i]);
        } else {
            others[i].assign(bytes.begin(), bytes.end());
            others[i].resize(count * size_bytes(shape.dtype));
            views.emplace_back(others[i]);
        }
    }
    formula<Bounded>(desc, HostViews(views), arguments...);
    std::vector<OracleValues> written;
    for (std::size_t i = 0; i < described.size(); ++i) {
        if (described[i].role != ViewRole::Input) written.push_back(std::move(numbers[i]));
    }
    return written;
}

/// Views of a description in memory of the host, in the order of its declaration.
class HostMemory {
   public:
    explicit HostMemory(std::vector<ByteVector> bytes) : bytes_(std::move(bytes)), all_(bytes_.begin(), bytes_.end()) {}
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;
    HostMemory(HostMemory&&) noexcept = default;
    HostMemory& operator=(HostMemory&&) noexcept = default;
    ~HostMemory() = default;

    [[nodiscard]] HostViews views() const noexcept { return HostViews(all_); }
    template <class T>
    [[nodiscard]] std::span<const T> in(std::size_t view) const noexcept {
        return views().in<T>(view);
    }

   private:
    std::vector<ByteVector> bytes_;
    std::vector<reference::HostView> all_;
};

template <class Desc, class Call = typename yolk::detail::CallTypeOf<Desc>::Type>
class OperationProblem;

/// What it plans refers to it. A family derives from this, and gives contents(), oracle() and operations() or work().
/// `label`: what its name says besides the description, such as the kind of inputs; `arguments`: of each recording.
template <class Desc, class... Arguments>
class OperationProblem<Desc, void(Arguments...)> : public Problem {
   public:
    using Description = Desc;

    explicit OperationProblem(Desc desc, std::string label = {}, std::decay_t<Arguments>... arguments)
        : desc_(std::move(desc)), label_(std::move(label)), arguments_(std::move(arguments)...) {}

    [[nodiscard]] std::string name() const override {
        const Operation<Desc>& operation = operation_of<Desc>();
        return fmt::format("{} {}{}{}", operation.name, operation.fields.text(desc_), label_.empty() ? "" : ", ",
                           label_);
    }
    [[nodiscard]] TuningSpace space(const DeviceInfo& info) const override { return space_of(info, desc_).space(); }
    [[nodiscard]] Configuration default_configuration(const DeviceInfo& info) const override {
        return space_of(info, desc_).configuration(operation_of<Desc>().heuristic(info, desc_));
    }
    [[nodiscard]] ArithmeticUnit unit(const DeviceInfo& info, const Configuration& configuration) const override {
        const Operation<Desc>& operation = operation_of<Desc>();
        if (operation.unit == nullptr) return ArithmeticUnit::Fp32Lanes;
        return operation.unit(desc_, space_of(info, desc_).config(configuration));
    }
    [[nodiscard]] Result<std::unique_ptr<PlannedProblem>> plan(const Device& device,
                                                               const Configuration& configuration) const override {
        Desc desc = desc_;
        desc.config = space_of(device.info(), desc_).config(configuration);
        YOLK_TRY(Plan<Desc> plan, Plan<Desc>::make(device, desc));
        return planned(std::move(plan),
                       [this, desc](const Plan<Desc>& of, std::span<const BufferView> views,
                                    const BufferView& scratch) -> Result<PlannedProblem::Record> {
                           YOLK_TRY(Bound<Desc> bound, of.bind(views_of(desc, views), scratch));
                           return record_of(std::move(bound));
                       });
    }
    [[nodiscard]] std::vector<ProblemBuffer> buffers() const override {
        std::vector<ProblemBuffer> buffers;
        std::vector<ByteVector> contents = this->contents();
        auto next = contents.begin();
        for (DescribedView& view : described_views(desc_)) {
            ByteVector before = view.role == ViewRole::Output ? ByteVector{} : std::move(*next++);
            if (!view.shape.used) continue;
            buffers.push_back(
                {std::move(view.name), role_of(view.role), bytes_of<std::uint64_t>(view.shape), std::move(before)});
        }
        return buffers;
    }
    [[nodiscard]] BufferBytes buffer_bytes() const override {
        BufferBytes sum;
        for (const DescribedView& view : described_views(desc_)) {
            if (view.shape.used) sum.add(role_of(view.role), bytes_of<double>(view.shape));
        }
        return sum;
    }
    /// What the views hold is moved.
    [[nodiscard]] Work work() const override {
        const BufferBytes bytes = buffer_bytes();
        return {.operations = operations(), .bytes = bytes.read + bytes.written};
    }
    /// What the twin leaves in each view that is written, and what the oracle says of it.
    [[nodiscard]] std::vector<Expected> expected() const override {
        const std::vector<DescribedView> described = described_views(desc_);
        const HostMemory given = inputs();
        const HostMemory made = made_by_twin(described, given);
        std::vector<OracleValues> values = oracle(given.views(), made.views());
        std::vector<Expected> all;
        std::size_t written = 0;
        for (std::size_t i = 0; i < described.size(); ++i) {
            if (described[i].role == ViewRole::Input) continue;
            if (described[i].shape.used) {
                Expected& expected = all.emplace_back(Expected{.element = element(described[i].shape)});
                const auto words = made.in<std::uint32_t>(i);
                if (has_twin(written)) expected.twin.assign(words.begin(), words.end());
                if (written < values.size()) expected.oracle = std::move(values[written]);
                expected.kept = kept(written);
            }
            ++written;
        }
        return all;
    }

   protected:
    /// Of a run, where work() is not another.
    [[nodiscard]] virtual double operations() const { return 0.0; }
    /// How many a view has, which is no list.
    [[nodiscard]] std::size_t elements(std::size_t view) const {
        std::size_t count = 1;
        for (const NamedExtent& extent : operation_of<Desc>().views[view].shape(desc_).extents) count *= extent.value;
        return count;
    }
    /// Of each Input and InOut view, in their order; empty for one that is not used.
    [[nodiscard]] virtual std::vector<ByteVector> contents() const { return {}; }
    /// The elements of each view that is written, used or not, in their order; none at the end, or of one, where
    /// verify() does more than they can. `given`: contents(); `made`: what the twin has written, for what an oracle
    /// must be told of it, such as a status.
    [[nodiscard]] virtual std::vector<OracleValues> oracle(const HostViews& /*given*/,
                                                           const HostViews& /*made*/) const {
        return {};
    }
    /// Of the views that are written: whether the bits of this one are the twin's.
    [[nodiscard]] virtual bool has_twin(std::size_t /*written*/) const { return true; }
    /// Expected::kept of it.
    [[nodiscard]] virtual std::vector<bool> kept(std::size_t /*written*/) const { return {}; }
    /// What the oracle takes the elements of a view for.
    [[nodiscard]] virtual ElementType element(const ViewShape& shape) const {
        if (shape.dtype == DType::I32) return ElementType::I32;
        return shape.dtype == DType::F32 ? ElementType::F32 : ElementType::U32;
    }
    /// contents() by view; outputs are empty.
    [[nodiscard]] HostMemory inputs() const {
        std::vector<ByteVector> all;
        std::vector<ByteVector> contents = this->contents();
        auto next = contents.begin();
        for (const DescribedView& view : described_views(desc_))
            all.push_back(view.role == ViewRole::Output ? ByteVector{} : std::move(*next++));
        return HostMemory(std::move(all));
    }
    /// The views of the problem's buffers, in their order.
    [[nodiscard]] virtual typename Desc::Views views_of(const Desc& desc, std::span<const BufferView> views) const {
        typename Desc::Views all{};
        std::size_t next = 0;
        for (const ViewField<Desc>& view : operation_of<Desc>().views) {
            if (view.list != nullptr) {
                const std::size_t count = view.list_shapes(desc).size();
                all.*view.list = views.subspan(next, count);
                next += count;
            } else if (view.shape(desc).used) {
                all.*view.view = views[next++];
            }
        }
        return all;
    }
    /// What the twin leaves in the views that are written; inputs are empty.
    [[nodiscard]] HostMemory made_by_twin() const { return made_by_twin(described_views(desc_), inputs()); }
    [[nodiscard]] const Desc& desc() const noexcept { return desc_; }
    template <std::size_t kIndex>
    [[nodiscard]] const auto& argument() const noexcept {
        return std::get<kIndex>(arguments_);
    }

   private:
    [[nodiscard]] PlannedProblem::Record record_of(Bound<Desc> bound) const {
        return std::apply([&](const auto&... each) { return recorded(std::move(bound), plain(each)...); }, arguments_);
    }
    template <class T>
    [[nodiscard]] static const T& plain(const T& argument) noexcept {
        return argument;
    }
    template <class T>
    [[nodiscard]] static T plain(const OrDefault<T>& argument) noexcept {
        return argument.value;
    }
    [[nodiscard]] static BufferRole role_of(ViewRole role) noexcept {
        if (role == ViewRole::Input) return BufferRole::Input;
        return role == ViewRole::Output ? BufferRole::Output : BufferRole::InOut;
    }
    template <class Number>
    [[nodiscard]] static Number bytes_of(const ViewShape& shape) noexcept {
        auto bytes = static_cast<Number>(size_bytes(shape.dtype));
        for (const NamedExtent& extent : shape.extents) bytes *= static_cast<Number>(extent.value);
        return bytes;
    }
    /// By view; inputs are empty. What the twin does not write is no number that a kernel would.
    [[nodiscard]] HostMemory made_by_twin(const std::vector<DescribedView>& described, const HostMemory& given) const {
        constexpr auto kUnwritten = std::byte{0x5A};
        std::vector<ByteVector> bytes(described.size());
        for (std::size_t i = 0; i < described.size(); ++i) {
            const auto before = given.in<std::byte>(i);
            if (described[i].role == ViewRole::InOut) bytes[i].assign(before.begin(), before.end());
            if (described[i].role == ViewRole::Output && described[i].shape.used)
                bytes[i].assign(bytes_of<std::uint64_t>(described[i].shape), kUnwritten);
        }
        HostMemory made(std::move(bytes));
        if (!has_twin(0)) return made;
        std::vector<reference::HostView> views;
        for (std::size_t i = 0; i < described.size(); ++i)
            views.push_back(described[i].role == ViewRole::Input ? given.views()[i] : made.views()[i]);
        std::apply([&](const auto&... each) { reference::twin_of(desc_, HostViews(views), each...); }, arguments_);
        return made;
    }

    Desc desc_;
    std::string label_;
    std::tuple<std::decay_t<Arguments>...> arguments_;
};

/// A problem of a description alone: what a family draws where nothing else is said.
template <class P>
[[nodiscard]] std::unique_ptr<Problem> make_problem(const typename P::Description& desc) {
    return std::make_unique<P>(desc);
}
/// One for each description.
template <class P>
[[nodiscard]] Problems problems_of(std::span<const typename P::Description> descs) {
    Problems problems;
    for (const typename P::Description& desc : descs) problems.push_back(make_problem<P>(desc));
    return problems;
}
template <class P>
[[nodiscard]] Problems problems_of(std::initializer_list<typename P::Description> descs) {
    return problems_of<P>(std::span(descs.begin(), descs.size()));
}
/// The same, each with inputs of its own.
template <class P>
[[nodiscard]] Problems seeded_problems(std::span<const typename P::Description> descs, std::uint64_t seed) {
    Problems problems;
    for (const typename P::Description& desc : descs)
        problems.push_back(std::make_unique<P>(desc, seed + problems.size()));
    return problems;
}

/// A Family's way from text and keys to problems; `kMake` makes one of a description.
template <class Desc, std::unique_ptr<Problem> (*kMake)(const Desc&)>
[[nodiscard]] Result<std::unique_ptr<Problem>> problem_of(Result<Desc> desc) {
    if (!desc) return std::move(desc).error();
    if (operation_of<Desc>().check != nullptr) YOLK_TRY_VOID(operation_of<Desc>().check(*desc));
    return kMake(*desc);
}
template <class Desc, std::unique_ptr<Problem> (*kMake)(const Desc&)>
inline constexpr OperationText kOperationText{
    .parse = [](std::string_view fields) { return problem_of<Desc, kMake>(operation_of<Desc>().fields.parse(fields)); },
    .of_key = [](const TuningShape& key) { return problem_of<Desc, kMake>(operation_of<Desc>().fields.of_key(key)); },
    .fields = []() -> const FieldInfos& { return operation_of<Desc>().fields.infos(); },
};

}  // namespace yolk::oracle
