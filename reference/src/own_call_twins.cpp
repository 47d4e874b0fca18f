// SPDX-License-Identifier: Apache-2.0
// The twins whose headers have a call of their own, as all others are called.
#include "format_floats.hpp"
#include "out_of_range.hpp"
#include "twin_source.hpp"
#include "yolk/primitives/convert.hpp"
#include "yolk/primitives/cross_entropy.hpp"
#include "yolk/primitives/gru_step.hpp"
#include "yolk/primitives/transpose.hpp"
#include "yolk/reference/convert.hpp"
#include "yolk/reference/cross_entropy.hpp"
#include "yolk/reference/gru_step.hpp"
#include "yolk/reference/transpose.hpp"

namespace yolk::reference {
namespace {

std::vector<float> floats_of(const HostView& view) { return {view.in<float>().begin(), view.in<float>().end()}; }

}  // namespace

void run_twin(const ConvertDesc& desc, const HostViews& views) {
    const FormatFloats in(views[0], desc.from);
    const std::span<const float> values = in.values().first(desc.count);
    if (desc.to == FloatFormat::F32) return copy_wanted<float>(values, views.out<float>(1));
    copy_wanted<std::uint32_t>(narrow_twin(desc.to, values), views.out<std::uint32_t>(1));
}
template struct Twin<ConvertDesc>;

void run_twin(const CrossEntropyDesc& desc, const HostViews& views) {
    const auto targets = views.in<std::uint32_t>(1);
    const CrossEntropyInputs inputs{.logits = floats_of(views[0]), .targets = {targets.begin(), targets.end()}};
    copy_wanted<float>(cross_entropy_twin(desc, inputs), views.out<float>(2));
    for (std::uint32_t& count : views.out<std::uint32_t>(3)) count += cross_entropy_bad_targets(desc, inputs);
}
template struct Twin<CrossEntropyDesc>;

void run_twin(const GruStepDesc& desc, const HostViews& views, GruStepHalf half) {
    const GruStepOutputs made = gru_step_twin(desc, {.gate_input = floats_of(views[0]),
                                                     .gate_bias = floats_of(views[1]),
                                                     .candidate_input = floats_of(views[2]),
                                                     .candidate_bias = floats_of(views[3]),
                                                     .state = floats_of(views[4])});
    if (half == GruStepHalf::Update) return copy_wanted<float>(made.next_state, views.out<float>(7));
    copy_wanted<float>(made.gate, views.out<float>(5));
    copy_wanted<float>(made.gated_state, views.out<float>(6));
}
template struct Twin<GruStepDesc>;

void run_twin(const TransposeDesc& desc, const HostViews& views) {
    copy_wanted<std::uint32_t>(transpose_twin(desc, views.in<std::uint32_t>(0)), views.out<std::uint32_t>(1));
}
template struct Twin<TransposeDesc>;

}  // namespace yolk::reference
