// SPDX-License-Identifier: Apache-2.0
// What was measured live, in the formats of other tuners: RecordedSurface reads both again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

enum class RecordingFormat { KernelTuner, T4 };
/// T4 for names that end in .t4.json or .T4.json, else Kernel Tuner's cache.
[[nodiscard]] RecordingFormat recording_format(const std::filesystem::path& path);

/// Error (BadInput): a file lies there that is not a recording, which is not to be written over.
[[nodiscard]] Result<void> check_recording_place(const std::filesystem::path& path);
/// recording_text() to a file, which may hold an earlier recording. Errors: those of check_recording_place(), and Io.
[[nodiscard]] Result<void> write_recording(const std::filesystem::path& path, std::string_view text);

/// One entry per configuration, with the median of its samples; failed where one of them did. Configurations that are
/// not the space's are left out. `device` is a name for people.
/// Error (BadInput): a knob has a name that Kernel Tuner's format uses for what is measured.
[[nodiscard]] Result<std::string> recording_text(const TuningSpace& space, const std::vector<TuningSample>& samples,
                                                 const std::string& device, RecordingFormat format);

}  // namespace yolk::autotune
