// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>
#include <utility>

#include "yolk/block_inverse.hpp"
#include "yolk/concat.hpp"
#include "yolk/convert.hpp"
#include "yolk/covariance.hpp"
#include "yolk/cumulative_sum.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/es_update.hpp"
#include "yolk/fitness.hpp"
#include "yolk/gather.hpp"
#include "yolk/inverse_sqrt.hpp"
#include "yolk/matmul.hpp"
#include "yolk/matmul_i8.hpp"
#include "yolk/noise.hpp"
#include "yolk/normalize.hpp"
#include "yolk/optimizer.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/rearrange.hpp"
#include "yolk/reduce.hpp"
#include "yolk/scatter.hpp"
#include "yolk/softmax.hpp"

namespace yolk::python {
namespace {

template <class Desc>
void record_bound(const Bound<Desc>& bound, Recorder& recorder, const When& when) noexcept {
    if constexpr (requires { bound.record(recorder); }) {
        bound.record(recorder);
    } else if constexpr (requires { bound.record(recorder, when.stream); }) {
        bound.record(recorder, when.stream);
    } else if constexpr (std::is_same_v<Desc, OptimizerDesc>) {
        bound.record(recorder, when.learning_rate, when.step);
    } else {
        const NoiseContext noise{
            .seed = when.stream.seed, .generation = when.generation, .time = when.stream.time, .sigma = when.sigma};
        if constexpr (std::is_same_v<Desc, EsUpdateDesc>) {
            bound.record(recorder, noise, EsUpdateShare{});
        } else {
            bound.record(recorder, noise, when.first_member);
        }
    }
}

template <class Desc>
class PlannedKernel final : public Kernel {
   public:
    explicit PlannedKernel(Plan<Desc> plan) : plan_(std::move(plan)), views_(described_views(plan_.desc())) {}

    [[nodiscard]] const std::vector<DescribedView>& views() const noexcept override { return views_; }
    [[nodiscard]] MemoryNeeds scratch() const noexcept override { return plan_.scratch(); }
    [[nodiscard]] Result<std::shared_ptr<const void>> record(Recorder& recorder, std::span<const BufferView> given,
                                                             const BufferView& scratch,
                                                             const When& when) const override {
        typename Desc::Views views{};
        std::size_t next = 0;
        for (const ViewField<Desc>& field : operation_of<Desc>().views) {
            if (field.list == nullptr) {
                views.*field.view = given[next++];
                continue;
            }
            const std::size_t count = field.list_shapes(plan_.desc()).size();
            views.*field.list = given.subspan(next, count);
            next += count;
        }
        YOLK_TRY(Bound<Desc> bound, plan_.bind(views, scratch));
        auto kept = std::make_shared<Bound<Desc>>(std::move(bound));
        record_bound<Desc>(*kept, recorder, when);
        return std::shared_ptr<const void>(std::move(kept));
    }

   private:
    Plan<Desc> plan_;
    std::vector<DescribedView> views_;
};

template <class Desc>
using Setters = std::map<std::string_view, void (*)(Desc&, double)>;

template <class Desc>
Result<std::shared_ptr<const Kernel>> planned(const Device& device, const Desc& desc) {
    YOLK_TRY(Plan<Desc> plan, Plan<Desc>::make(device, desc));
    return std::shared_ptr<const Kernel>(std::make_shared<PlannedKernel<Desc>>(std::move(plan)));
}

template <class Desc>
Result<std::shared_ptr<const Kernel>> make(const Device& device, std::string_view fields, const Numbers& numbers,
                                           const Setters<Desc>& setters) {
    YOLK_TRY(Desc desc, operation_of<Desc>().fields.parse(fields));
    for (const auto& [name, value] : numbers) {
        const auto setter = setters.find(name);
        if (setter == setters.end()) return bad_input("{} has no number '{}'.", operation_of<Desc>().name, name);
        setter->second(desc, value);
    }
    return planned(device, desc);
}

using Maker = Result<std::shared_ptr<const Kernel>> (*)(const Device&, std::string_view, const Numbers&);

template <class Desc>
Result<std::shared_ptr<const Kernel>> plain(const Device& device, std::string_view fields, const Numbers& numbers) {
    return make<Desc>(device, fields, numbers, {});
}

template <auto kMember>
void set(auto& desc, double value) {
    using Type = std::remove_cvref_t<decltype(desc.*kMember)>;
    if constexpr (std::is_same_v<Type, ParameterId>) {
        desc.*kMember = ParameterId{static_cast<std::uint32_t>(value)};
    } else {
        desc.*kMember = static_cast<Type>(value);
    }
}

Result<std::shared_ptr<const Kernel>> matmul(const Device& device, std::string_view fields, const Numbers& numbers) {
    using Desc = MatmulDesc;
    return make<Desc>(
        device, fields, numbers,
        {{"bias", &set<&Desc::has_bias>},
         {"activation",
          [](Desc& desc, double value) { desc.activation = static_cast<Activation>(static_cast<int>(value)); }},
         {"shared_a", [](Desc& desc, double /*value*/) { desc.a.batch_stride = 0; }},
         {"shared_b", [](Desc& desc, double /*value*/) { desc.b.batch_stride = 0; }}});
}

Result<std::shared_ptr<const Kernel>> matmul_i8(const Device& device, std::string_view fields, const Numbers& numbers) {
    using Desc = MatmulI8Desc;
    return make<Desc>(device, fields, numbers,
                      {{"shared_a", [](Desc& desc, double /*value*/) { desc.a.batch_stride = 0; }},
                       {"shared_b", [](Desc& desc, double /*value*/) { desc.b.batch_stride = 0; }}});
}

Result<std::shared_ptr<const Kernel>> normalize(const Device& device, std::string_view fields, const Numbers& numbers) {
    return make<NormalizeDesc>(device, fields, numbers, {{"epsilon", &set<&NormalizeDesc::epsilon>}});
}

template <std::size_t kIndex>
void set_number(ElementwiseDesc& desc, double value) {
    if (kIndex < desc.numbers.size()) desc.numbers[kIndex] = static_cast<float>(value);
}

Result<std::shared_ptr<const Kernel>> elementwise(const Device& device, std::string_view fields,
                                                  const Numbers& numbers) {
    using Desc = ElementwiseDesc;
    return make<Desc>(device, fields, numbers, {{"number0", &set_number<0>}, {"number1", &set_number<1>}});
}

Result<std::shared_ptr<const Kernel>> rearrange(const Device& device, std::string_view fields, const Numbers& numbers) {
    return make<RearrangeDesc>(device, fields, numbers, {{"fill", &set<&RearrangeDesc::fill>}});
}

Result<std::shared_ptr<const Kernel>> block_inverse(const Device& device, std::string_view fields,
                                                    const Numbers& numbers) {
    using Desc = BlockInverseDesc;
    return make<Desc>(device, fields, numbers,
                      {{"damping", &set<&Desc::damping>}, {"damping_per_block", &set<&Desc::damping_per_block>}});
}

Result<std::shared_ptr<const Kernel>> inverse_sqrt(const Device& device, std::string_view fields,
                                                   const Numbers& numbers) {
    using Desc = InverseSqrtDesc;
    return make<Desc>(device, fields, numbers,
                      {{"damping", &set<&Desc::damping>}, {"tolerance", &set<&Desc::tolerance>}});
}

Result<std::shared_ptr<const Kernel>> covariance(const Device& device, std::string_view fields,
                                                 const Numbers& numbers) {
    return make<CovarianceDesc>(device, fields, numbers, {{"damping", &set<&CovarianceDesc::damping>}});
}

template <class Desc>
Result<std::shared_ptr<const Kernel>> perturbed(const Device& device, std::string_view fields, const Numbers& numbers) {
    return make<Desc>(device, fields, numbers, {{"parameter", &set<&Desc::parameter>}});
}

Result<std::shared_ptr<const Kernel>> optimizer(const Device& device, std::string_view fields, const Numbers& numbers) {
    using Desc = OptimizerDesc;
    return make<Desc>(
        device, fields, numbers,
        {{"beta1", &set<&Desc::beta1>}, {"beta2", &set<&Desc::beta2>}, {"epsilon", &set<&Desc::epsilon>}});
}

/// "4x3,7".
Result<ParameterTable> table_of(std::string_view text) {
    std::vector<ParameterDesc> parameters;
    while (!text.empty()) {
        const std::string_view shape = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), shape.size() + 1));
        const std::size_t times = shape.find('x');
        ParameterDesc parameter{.name = std::to_string(parameters.size())};
        bool is_read = detail::parse_number(shape.substr(0, times), parameter.rows);
        if (times == std::string_view::npos) {
            parameter.perturbation = Perturbation::Vector;
        } else {
            is_read = is_read && detail::parse_number(shape.substr(times + 1), parameter.columns);
        }
        if (!is_read) return bad_input("'{}' is no shape; [rows, columns] or [size] is needed.", shape);
        parameters.push_back(std::move(parameter));
    }
    return ParameterTable::create(std::move(parameters));
}

Result<std::shared_ptr<const Kernel>> es_update(const Device& device, std::string_view fields,
                                                const Numbers& /*numbers*/) {
    constexpr std::string_view kTable = "table=";
    if (!fields.starts_with(kTable)) return bad_input("es_update needs its shapes first: table=4x3,7.");
    fields.remove_prefix(kTable.size());
    const std::string_view shapes = fields.substr(0, fields.find(' '));
    fields.remove_prefix(std::min(fields.size(), shapes.size() + 1));
    YOLK_TRY(EsUpdateDesc desc, operation_of<EsUpdateDesc>().fields.parse(fields));
    YOLK_TRY(desc.parameters, table_of(shapes));
    return planned(device, desc);
}

const std::map<std::string_view, Maker>& makers() {
    static const std::map<std::string_view, Maker> kMakers{
        {"block_inverse", &block_inverse},
        {"concat", &plain<ConcatDesc>},
        {"convert", &plain<ConvertDesc>},
        {"covariance", &covariance},
        {"cumulative_sum", &plain<CumulativeSumDesc>},
        {"elementwise", &elementwise},
        {"es_update", &es_update},
        {"fitness", &plain<FitnessDesc>},
        {"gather", &plain<GatherDesc>},
        {"inverse_sqrt", &inverse_sqrt},
        {"matmul", &matmul},
        {"matmul_i8", &matmul_i8},
        {"noise", &plain<NoiseDesc>},
        {"normalize", &normalize},
        {"optimizer", &optimizer},
        {"perturbed_linear", &perturbed<PerturbedLinearDesc>},
        {"perturbed_vector", &perturbed<PerturbedVectorDesc>},
        {"rearrange", &rearrange},
        {"reduce", &plain<ReduceDesc>},
        {"scatter", &plain<ScatterDesc>},
        {"softmax", &plain<SoftmaxDesc>},
    };
    return kMakers;
}

}  // namespace

Result<std::shared_ptr<const Kernel>> plan_kernel(const Device& device, std::string_view operation,
                                                  std::string_view fields, const Numbers& numbers) {
    const auto maker = makers().find(operation);
    if (maker == makers().end()) return bad_input("There is no operation '{}'.", operation);
    return maker->second(device, fields, numbers);
}

}  // namespace yolk::python
