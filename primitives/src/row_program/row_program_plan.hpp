// SPDX-License-Identifier: Apache-2.0
// What row_program shares with the operations that are programs of rows by another name.
#pragma once

#include <span>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/primitives/fields.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/row_program.hpp"

namespace yolk {

/// extents=8-64 row=1 inputs=3,2 steps=sum:0,multiply:1:2
[[nodiscard]] std::vector<Field<RowProgramDesc>> row_program_fields();

/// `label`: "[softmax]", in messages. `config` is set, and there is something to do.
[[nodiscard]] Result<PipelinesOf<RowProgramDesc>> build_row_program(const Device& device, const RowProgramDesc& desc,
                                                                    const char* label);
[[nodiscard]] Result<RowProgramDispatch> bind_row_program(const Device& device, const RowProgramDesc& desc,
                                                          const PipelinesOf<RowProgramDesc>& pipeline,
                                                          std::span<const BufferView> inputs, const BufferView& out);
template <class Desc>
void record_row_program(Recorder& recorder, const RowProgramDispatch& dispatch, const Desc& /*desc*/) noexcept {
    recorder.dispatch(dispatch.binding, dispatch.params, dispatch.grid);
}

}  // namespace yolk
