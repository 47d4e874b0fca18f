// SPDX-License-Identifier: Apache-2.0
// A user's kernel in a folder of the test's own: right, and wrong in one configuration each on purpose.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/tune_kernel.hpp"

namespace yolk::autotune {

inline constexpr const char* kShader = R"(#version 460
layout(local_size_x_id = 0) in;
layout(constant_id = 3) const float kFactor = 1.0;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 2) buffer B { float b[]; };
layout(push_constant) uniform Sizes { uint n; };
#define RIGHT 0
#define WRONG 1
#define BROKEN 2
#define OUTSIDE 3
shared float shared_words[gl_WorkGroupSize.x];
#if MODE == BROKEN
float f() { return undefined_name; }
#endif
void main() {
    const uint i = gl_GlobalInvocationID.x;
    shared_words[gl_LocalInvocationID.x] = 0.0;
    if (i >= n) return;
    b[i] = 2.0 * a[i] + float(i) + shared_words[gl_LocalInvocationID.x];
    if (MODE == WRONG && i == 77) b[i] += 1.0;
    if (MODE == OUTSIDE && i == 0) b[n + 1] = 1.0;
}
)";
inline constexpr const char* kReference = R"(#version 460
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 2) buffer B { float b[]; };
layout(constant_id = 5) const float kTwo = 1.0;
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < a.length()) b[i] = fma(kTwo, a[i], float(i));
}
)";

/// 1,000 elements in a buffer of 1,002, so that something stays unwritten.
inline Json space_json() {
    return Json::parse(R"json({
        "parameters": {"wx": {"values": [16, 64, 128, 4096], "constant_id": 0},
                       "mode": {"values": ["RIGHT", "WRONG", "BROKEN", "OUTSIDE"], "define": "MODE"}},
        "constraints": ["wx != 128 || mode == 'RIGHT'"],
        "sizes": {"n": 1000},
        "buffers": [{"name": "a", "binding": 0, "type": "f32", "elements": "n", "role": "input",
                     "content": {"uniform": [-1, 1]}},
                    {"name": "b", "binding": 2, "type": "f32", "elements": "n + 2", "role": "output"}],
        "push_constants": [{"type": "u32", "value": "n"}],
        "dispatch": ["ceil_div(n, wx)"],
        "reference": {
            "shader": "reference.comp", "dispatch": ["ceil_div(n, 64)"], "constants": {"5": 2}}})json");
}

class UserKernelTest : public testing::DeviceTest {
   protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("yolk-own-" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        write("my.comp", kShader);
        write("reference.comp", kReference);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
    [[nodiscard]] Result<std::unique_ptr<UserKernel>> make(const Json& space) const {
        write("space.json", space.dump());
        return UserKernel::create(device(), dispatcher(), folder_ / "my.comp", folder_ / "space.json");
    }
    [[nodiscard]] std::string told(const Json& space) const {
        const auto kernel = make(space);
        return kernel ? "nothing" : kernel.error().message;
    }
    /// What is said of a space with one thing changed.
    [[nodiscard]] std::string told(const char* pointer, const Json& value) const {
        Json json = space_json();
        json["parameters"]["mode"]["values"] = {"RIGHT", "WRONG"};  // fewer shaders to compile
        json[Json::json_pointer(pointer)] = value;
        return told(json);
    }
    [[nodiscard]] Result<TuneLiveOutcome> tune(const UserKernel& kernel, const TuneLiveOptions& options) const {
        YOLK_TRY(const TuningFile file, TuningFile::open(folder_ / "table.sqlite"));
        YOLK_TRY(RunJournal journal, RunJournal::create(journal_folder(file.path())));
        return tune_live(device(), dispatcher(), kernel, file, journal, options);
    }
    std::filesystem::path folder_;
};

}  // namespace yolk::autotune
