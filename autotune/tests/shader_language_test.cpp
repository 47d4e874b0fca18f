// SPDX-License-Identifier: Apache-2.0
#include "shader_language.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "yolk/internal/core/file.hpp"

namespace yolk::autotune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string said_of(std::string_view text) {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("yolk_language_" + std::to_string(::getpid()));
    EXPECT_TRUE(write_file_atomically(path, text));
    const Result<void> glsl = check_is_glsl(path);
    std::filesystem::remove(path);
    if (glsl) return "GLSL";
    EXPECT_EQ(glsl.error().kind, ErrorKind::BadInput);
    EXPECT_THAT(glsl.error().message, HasSubstr(path.string()));
    return glsl.error().message;
}

TEST(shader_language, another_one_is_named_with_what_to_do) {
    EXPECT_THAT(said_of(std::string_view("\x03\x02\x23\x07\x00\x00\x01\x00", 8)),
                AllOf(HasSubstr("is SPIR-V;"), HasSubstr("spirv-cross")));
    EXPECT_THAT(said_of(std::string_view("\x07\x23\x02\x03\x00\x01", 6)), HasSubstr("is SPIR-V;"));
    EXPECT_THAT(said_of("; SPIR-V\n OpCapability Shader\n"), HasSubstr("is SPIR-V assembly;"));
    EXPECT_THAT(said_of("@compute @workgroup_size(64)\nfn main() {}\n"),
                AllOf(HasSubstr("is WGSL;"), HasSubstr("naga")));
    EXPECT_THAT(said_of("RWStructuredBuffer<float> b;\n[numthreads(64,1,1)] void main() {}\n"),
                AllOf(HasSubstr("is HLSL;"), HasSubstr("dxc")));
    EXPECT_THAT(said_of("#include <metal_stdlib>\nkernel void k() {}\n"), HasSubstr("is Metal;"));
    EXPECT_THAT(said_of("__kernel void k(__global float* a) {}\n"), HasSubstr("is OpenCL C;"));
    EXPECT_THAT(said_of("__global__ void k(float* a) {}\n"), HasSubstr("is CUDA;"));
}

TEST(shader_language, glsl_with_any_word_in_it_is_glsl) {
    EXPECT_EQ(said_of("#version 450\n// was @compute in WGSL, numthreads in HLSL\nlayout(local_size_x = 64) in;\n"),
              "GLSL");
    EXPECT_EQ(said_of("// __global__\n#include \"head.glsl\"\nlayout(local_size_x_id = 0) in;\n"), "GLSL");
    EXPECT_EQ(said_of("void main() {}\n"), "GLSL");
    EXPECT_TRUE(check_is_glsl("/nonexistent/shader.comp"));
}

}  // namespace
}  // namespace yolk::autotune
