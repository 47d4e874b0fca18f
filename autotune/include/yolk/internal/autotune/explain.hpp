// SPDX-License-Identifier: Apache-2.0
// A shape that somebody asks the tuning table about, and what each source of an answer says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// A shape of one of Yolk's families on a device.
struct ShapeQuestion {
    TuningSpace space;
    TuningKey key;
    Configuration heuristic;  ///< what an untuned plan takes
};
/// Whether a text means kernels of the user's own: "kernel", or "kernel " and more. No plan of Yolk's asks for them.
[[nodiscard]] bool is_user_kernel(std::string_view text) noexcept;
/// `text` as oracle::make_named_problem reads it; the device is probed. Errors (BadInput): no such shape; a kernel of
/// the user's own.
[[nodiscard]] Result<ShapeQuestion> shape_question(const Device& device, std::string_view text);

/// One source, in words.
struct SourceAnswer {
    std::string source;
    std::string says;
    bool answers = false;  ///< the plan takes this one
};
/// Every source in the order in which a plan asks them; the last ones only say what tuning would try or what was passed
/// over. Errors: those of the file.
[[nodiscard]] Result<std::vector<SourceAnswer>> explain(const ShapeQuestion& question, const TuningFile& file);

}  // namespace yolk::autotune
