// SPDX-License-Identifier: Apache-2.0
// What row_program shares with the operations that are programs of rows by another name.
#pragma once

#include <span>
#include <vector>

#include "row_plan.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/primitives/fields.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/row_program.hpp"

namespace yolk {

/// extents=8-64 row=1 inputs=3,2 steps=sum:0,multiply:1:2
[[nodiscard]] std::vector<Field<RowProgramDesc>> row_program_fields();

/// An error if a program cannot have the configuration.
[[nodiscard]] Result<void> check_row_program_config(const DeviceInfo& info, const RowProgramDesc& desc,
                                                    const RowConfig& config);
/// heuristic_row_config. An invocation with a row of its own takes four elements at once where a row has a multiple of
/// four side by side, and on lavapipe it reads texel buffers.
[[nodiscard]] RowConfig row_program_heuristic(const DeviceInfo& info, const RowProgramDesc& desc);

/// `label`: "[softmax]", in messages. `config` is set, and there is something to do.
[[nodiscard]] Result<PipelinesOf<RowProgramDesc>> build_row_program(const Device& device, const RowProgramDesc& desc,
                                                                    const char* label);
[[nodiscard]] Result<RowProgramDispatch> bind_row_program(const Device& device, const RowProgramDesc& desc,
                                                          const PipelinesOf<RowProgramDesc>& pipeline,
                                                          std::span<const BufferView> inputs, const BufferView& out);
// For operations that are programs of rows by another name and have a row_program_of() (row_steps.hpp).
template <class Desc>
std::vector<Knob<RowConfig>> knobs_by_program(const DeviceInfo& /*info*/, const Desc& /*desc*/) {
    return row_knobs(true);
}
template <class Desc>
Result<void> legal_by_program(const DeviceInfo& info, const Desc& desc, const RowConfig& config) {
    return check_row_program_config(info, row_program_of(desc), config);
}
template <class Desc>
RowConfig heuristic_by_program(const DeviceInfo& info, const Desc& desc) {
    return row_program_heuristic(info, row_program_of(desc));
}
template <class Desc>
void record_row_program(Recorder& recorder, const RowProgramDispatch& dispatch, const Desc& /*desc*/) noexcept {
    recorder.dispatch(dispatch.binding, dispatch.params, dispatch.grid);
}

}  // namespace yolk
