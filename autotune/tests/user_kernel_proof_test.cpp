// SPDX-License-Identifier: Apache-2.0
// What the proof of a user's kernel sees on every driver, and what a kernel cannot take down.
#include "user_kernel_fixture.hpp"
#include "yolk/internal/runtime/buffer.hpp"

namespace yolk::autotune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class user_kernel_proof : public UserKernelTest {};
YOLK_FOR_EACH_DEVICE(user_kernel_proof);

/// Rows of 13 elements in 24 workgroups; each mode but RIGHT breaks a promise in another way.
constexpr const char* kRows = R"(#version 460
layout(local_size_x = 13) in;
layout(binding = 0) buffer B { float b[]; };
#define RIGHT 0
#define NEXT_ROW 1
#define ROW_BEFORE 2
#define READS_NEXT 3
#define FAR_BEHIND 4
void main() {
    const uint row = gl_WorkGroupID.x, i = gl_LocalInvocationID.x;
    float value = float(row * 13 + i);
    if (MODE == READS_NEXT && i < 3 && row < 23) value += b[(row + 1) * 13] == float((row + 1) * 13) ? 0.0 : 1.0;
    if (MODE == NEXT_ROW && i < 3 && row < 23) b[(row + 1) * 13 + i] = -1.0;
    if (MODE == ROW_BEFORE && i < 3 && row > 0) b[(row - 1) * 13 + i] = -1.0;
    if (MODE == FAR_BEHIND && row == 23 && i == 12) b[row * 13 + i + 5000] = -1.0;
    barrier();
    b[row * 13 + i] = value;
}
)";

// Stores past a buffer lie inside what is bound, and rows that touch other rows meet them in both orders: on every
// driver, whether it drops what is stored past a binding, and in whatever order it takes workgroups.
TEST_P(user_kernel_proof, what_touches_others_is_found_on_every_driver) {
    write("my.comp", kRows);
    write("reference.comp",
          "#version 460\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B { float b[]; };\nvoid main() { "
          "b[gl_WorkGroupID.x] = float(gl_WorkGroupID.x); }\n");
    Json space = Json::parse(R"json({
        "parameters": {"mode": {"values": ["RIGHT", "NEXT_ROW", "ROW_BEFORE", "READS_NEXT", "FAR_BEHIND"],
                                "define": "MODE"}},
        "sizes": {"rows": 24},
        "buffers": [{"name": "b", "binding": 0, "type": "f32", "elements": "rows * 13", "role": "output"}],
        "dispatch": ["rows"],
        "reference": {"shader": "reference.comp", "dispatch": ["rows * 13"]}})json");
    ASSERT_OK_AND_ASSIGN(const auto kernel, make(space));
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                         tune(*kernel, {.tuner = {.strategy = "exhaustive", .budget = 8}}));
    EXPECT_EQ(outcome.measured, 5U);
    EXPECT_EQ(outcome.rejected, 4U);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(folder_ / "table.sqlite"));
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file.quarantined());
    std::map<std::string, std::string> reasons;
    for (const Quarantined& entry : quarantined) reasons[entry.configuration[0].second.text()] = entry.reason;
    EXPECT_THAT(reasons, SizeIs(4));
    EXPECT_THAT(reasons["FAR_BEHIND"], HasSubstr("1 words outside b were overwritten"));
    EXPECT_THAT(reasons["NEXT_ROW"], HasSubstr("elements of 'b' are wrong"));
    EXPECT_THAT(reasons["ROW_BEFORE"], HasSubstr("elements of 'b' are wrong"));
    EXPECT_THAT(reasons["READS_NEXT"], HasSubstr("elements of 'b' are wrong"));
}

// Parts from the last to the first would wait for ever for the first.
TEST_P(user_kernel_proof, workgroups_that_wait_for_others_keep_their_order) {
    Json space = space_json();
    space["parameters"]["mode"]["values"] = {"RIGHT"};
    const auto runs_backwards = [&]() -> Result<bool> {
        YOLK_TRY(const auto kernel, make(space));
        YOLK_TRY(const auto plan, kernel->plan(device(), kernel->default_configuration(device().info())));
        YOLK_TRY(const Buffer a, device().create_buffer({.size_bytes = 4000, .label = "a"}));
        YOLK_TRY(const Buffer b, device().create_buffer({.size_bytes = 4008, .label = "b"}));
        YOLK_TRY(const Buffer scratch, device().create_buffer({.size_bytes = kViewAlignment, .label = "scratch"}));
        const std::vector<BufferView> views{a, b};
        const auto record = plan->bind_backwards(views, scratch);
        if (record && !*record) return record->error();
        return record.has_value();
    };
    ASSERT_OK_AND_ASSIGN(const bool by_itself, runs_backwards());
    EXPECT_TRUE(by_itself);
    space["workgroups_wait"] = true;
    ASSERT_OK_AND_ASSIGN(const bool when_they_wait, runs_backwards());
    EXPECT_FALSE(when_they_wait);
    space["workgroups_wait"] = 1;
    EXPECT_THAT(told(space), HasSubstr("workgroups_wait"));
}

TEST_P(user_kernel_proof, a_shader_that_asks_for_lengths_or_counts_sees_the_right_ones) {
    write(
        "my.comp",
        "#version 460\nlayout(local_size_x_id = 0) in;\nlayout(binding = 0) buffer B { float b[]; };\nvoid main() {\n  "
        "for (uint i = gl_GlobalInvocationID.x; i < b.length(); i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) b[i] = "
        "float(i);\n}\n");
    write("reference.comp",
          "#version 460\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B { float b[]; };\nvoid main() { "
          "b[gl_WorkGroupID.x] = float(gl_WorkGroupID.x); }\n");
    Json space = Json::parse(R"json({
        "parameters": {"wx": {"values": [1, 8, 16], "constant_id": 0}},
        "sizes": {"n": 1001},
        "buffers": [{"name": "b", "binding": 0, "type": "f32", "elements": "n", "role": "output"}],
        "dispatch": [3],
        "reference": {"shader": "reference.comp", "dispatch": ["n"]}})json");
    ASSERT_OK_AND_ASSIGN(const auto kernel, make(space));
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                         tune(*kernel, {.tuner = {.strategy = "exhaustive", .budget = 8}}));
    EXPECT_EQ(outcome.measured, 3U);
    EXPECT_EQ(outcome.rejected, 0U);
}

/// What ends a process that runs it, or one that compiles it, is a reason like any other.
TEST_P(user_kernel_proof, what_ends_the_worker_is_quarantined_and_the_search_goes_on) {
    write("my.comp", R"(#version 460
layout(local_size_x = 16) in;
layout(binding = 0) buffer B { float b[]; };
layout(push_constant) uniform Push { uint far; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (MODE == 1 && i == 3) {  // one of them lies where nothing is mapped
        for (uint k = 1; k < 4000; ++k) b[k * far] = 1.0;
    }
#if MODE == 3
    float big[268435456];
    big[i * 1000000] = 1.0;
    b[i] = big[far];
#endif
    b[i] = float(i);
}
)");
    Json space = Json::parse(R"json({
        "parameters": {"mode": {"values": [1, 0, 3, 4, 5], "define": "MODE"}},
        "default": {"mode": 1},
        "buffers": [{"name": "b", "binding": 0, "type": "f32", "elements": 64, "role": "output"}],
        "push_constants": [{"type": "u32", "value": 1000000}],
        "dispatch": [4],
        "reference": {"shader": "reference.comp", "dispatch": [4]}})json");
    write(
        "reference.comp",
        "#version 460\nlayout(local_size_x = 16) in;\nlayout(binding = 0) buffer B { float b[]; "
        "};\nlayout(push_constant) "
        "uniform Push { uint far; };\nvoid main() { b[gl_GlobalInvocationID.x] = float(gl_GlobalInvocationID.x); }\n");
    space["reference"]["push_constants"] = space["push_constants"];
    write("space.json", space.dump());
    Device copy = device();
    ASSERT_OK_AND_ASSIGN(Dispatcher own_dispatcher, Dispatcher::create(copy));
    std::optional<Machine> machine(Machine{std::move(copy), std::move(own_dispatcher)});
    ASSERT_OK_AND_ASSIGN(const auto kernel, UserKernel::create_to_tune(machine->device, machine->dispatcher,
                                                                       folder_ / "my.comp", folder_ / "space.json"));
    TuneUserKernelOptions options{.strategy = "exhaustive", .budget = 8};
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome first,
                         tune_user_kernel(machine, *kernel, folder_ / "table.sqlite", options));
    ASSERT_TRUE(first.search);
    ASSERT_TRUE(first.configuration);
    EXPECT_NE(kernel->describe(*first.configuration)["configuration"]["mode"], 3);
    // lavapipe drops a store so far behind; SwiftShader ends with it.
    const std::string driver = device().info().driver_name;
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(folder_ / "table.sqlite"));
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file.quarantined());
    if (driver.find("SwiftShader") != std::string::npos) {
        EXPECT_NE(kernel->describe(*first.configuration)["configuration"]["mode"], 1);
        ASSERT_THAT(quarantined, SizeIs(1));
        EXPECT_THAT(quarantined.front().reason, HasSubstr("The worker that ran it was ended by signal 11"));
        EXPECT_THAT(first.reasons, Contains(HasSubstr("signal 11")));
        // Kept: nothing of it runs again, and the same is chosen.
        options.again = true;
        ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome second,
                             tune_user_kernel(machine, *kernel, folder_ / "table.sqlite", options));
        ASSERT_TRUE(second.configuration);
        EXPECT_EQ(second.search->rejected, 0U);
    }
}

TEST_P(user_kernel_proof, what_lies_elsewhere_is_not_read) {
    const std::filesystem::path other = folder_.string() + "-other";
    std::filesystem::create_directories(other);
    std::ofstream(other / "secret.comp") << "the secret of another folder";
    write("my.comp", "#version 460\n#include \"" + (other / "secret.comp").string() + "\"\nvoid main() {}\n");
    EXPECT_THAT(told(space_json()),
                AllOf(HasSubstr("my.comp:2:"), HasSubstr("is outside of"), Not(HasSubstr("the secret"))));
    write("my.comp", kShader);
    Json space = space_json();
    for (const std::filesystem::path& name : {other / "secret.comp", ".." / other.filename() / "secret.comp"}) {
        space["reference"]["shader"] = name.string();
        EXPECT_THAT(told(space), AllOf(HasSubstr("'space.json' names the shader"), HasSubstr("is outside of"),
                                       HasSubstr("--include"), Not(HasSubstr("syntax"))));
    }
    // Given as a folder to include from, it is read.
    const std::vector<std::filesystem::path> folders{other};
    const auto read = UserKernel::create(device(), dispatcher(), folder_ / "my.comp", folder_ / "space.json", folders);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, AllOf(HasSubstr("secret.comp"), HasSubstr("does not compile")));
    std::filesystem::remove_all(other);
}

}  // namespace
}  // namespace yolk::autotune
