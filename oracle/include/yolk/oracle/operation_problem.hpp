// SPDX-License-Identifier: Apache-2.0
// The problem of an operation: everything but inputs, expectations and work follows from the operation's declaration
// (yolk/primitives/operation.hpp).
#pragma once

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/operation.hpp"

namespace yolk::oracle {

template <class Desc, class Call = typename yolk::detail::CallTypeOf<Desc>::Type>
class OperationProblem;

/// What it plans refers to it. A family derives from this, and gives contents(), expected() and work(). `label`: what
/// its name says besides the description, such as the kind of inputs; `arguments`: of each recording.
template <class Desc, class... Arguments>
class OperationProblem<Desc, void(Arguments...)> : public Problem {
   public:
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
            std::uint64_t bytes = size_bytes(view.shape.dtype);
            for (const NamedExtent& extent : view.shape.extents) bytes *= extent.value;
            buffers.push_back({std::move(view.name), role_of(view.role), bytes, std::move(before)});
        }
        return buffers;
    }
    [[nodiscard]] BufferBytes buffer_bytes() const override {
        BufferBytes sum;
        for (const DescribedView& view : described_views(desc_)) {
            if (!view.shape.used) continue;
            auto bytes = static_cast<double>(size_bytes(view.shape.dtype));
            for (const NamedExtent& extent : view.shape.extents) bytes *= static_cast<double>(extent.value);
            sum.add(role_of(view.role), bytes);
        }
        return sum;
    }

   protected:
    /// Of each Input and InOut view, in their order; empty for one that is not used.
    [[nodiscard]] virtual std::vector<ByteVector> contents() const { return {}; }
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
    Desc desc_;
    std::string label_;
    std::tuple<std::decay_t<Arguments>...> arguments_;
};

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
