// SPDX-License-Identifier: Apache-2.0
// Shaders of a user's own on devices: right ones, and some that are wrong in one configuration on purpose.
#include "yolk/autotune/user_kernel.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>

#include "yolk/autotune/recording.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/autotune/tune_user_kernel.hpp"
#include "yolk/core/json.hpp"
#include "yolk/shaders/kernel_compiler.hpp"
#include "yolk/shaders/module_interface.hpp"
#include "yolk/testing/device_test.hpp"

namespace yolk::autotune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kShader = R"(#version 460
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
constexpr const char* kReference = R"(#version 460
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
Json space_json() {
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

class user_kernel : public testing::DeviceTest {
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
YOLK_FOR_EACH_DEVICE(user_kernel);

TEST_P(user_kernel, wrong_configurations_are_quarantined_and_the_search_goes_on) {
    ASSERT_OK_AND_ASSIGN(const auto kernel, make(space_json()));
    const UserKernelSpace& counts = kernel->counts();
    EXPECT_EQ(counts.combinations, 16U);
    EXPECT_EQ(counts.against_constraints, 3U);
    EXPECT_EQ(counts.beyond_device, 3U);  // 4,096 invocations; of BROKEN nobody knows, it does not compile
    EXPECT_EQ(counts.legal, 10U);
    EXPECT_EQ(kernel->reference(), "the reference 'reference.comp'");
    EXPECT_THAT(kernel->unchecked_outputs(), IsEmpty());

    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome, tune(*kernel, {.tuner = {.strategy = "random", .budget = 20}}));
    EXPECT_EQ(outcome.measured, 10U);
    EXPECT_EQ(outcome.rejected, 7U);
    const TuningKey key = tuning_key(device().info(), kernel->space(device().info()));
    EXPECT_EQ(outcome.choice.key, key);
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(folder_ / "table.sqlite"));
    ASSERT_OK_AND_ASSIGN(const auto quarantined, file.quarantined());
    std::map<std::string, std::string> reasons;  // by mode
    for (const Quarantined& entry : quarantined) reasons[entry.configuration[1].second.text()] = entry.reason;
    ASSERT_THAT(quarantined, SizeIs(4));  // two workgroups each; what does not compile has not run
    EXPECT_THAT(reasons["WRONG"],
                AllOf(HasSubstr("1 of 1002 elements of 'b' are wrong; element 77"), HasSubstr("mode{")));
    EXPECT_THAT(reasons["OUTSIDE"], HasSubstr("written that the reference leaves alone"));
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key));
    const auto failed = std::ranges::find_if(
        samples, [](const TuningSample& s) { return s.configuration[1].second == KnobValue("BROKEN"); });
    ASSERT_NE(failed, samples.end());
    EXPECT_THAT(failed->reason, AllOf(HasSubstr("my.comp:13:"), HasSubstr("undefined_name")));

    // The winner as an engine reads it.
    const auto configuration = configuration_in(kernel->space(device().info()), outcome.choice.configuration);
    ASSERT_TRUE(configuration);
    const Json best = kernel->describe(*configuration);
    EXPECT_EQ(best["configuration"]["mode"], "RIGHT");
    EXPECT_EQ(best["defines"]["MODE"], "RIGHT");
    EXPECT_EQ(best["specialization"][0]["constant_id"], 0);
    EXPECT_EQ(best["specialization"][0]["type"], "u32");
    EXPECT_EQ(best["specialization"][0]["value"], best["configuration"]["wx"]);
    EXPECT_EQ(best["push_constants"], Json::array({1000}));
    EXPECT_EQ(best["dispatch"][0],
              (1000 + best["configuration"]["wx"].get<int>() - 1) / best["configuration"]["wx"].get<int>());
}

TEST_P(user_kernel, another_file_is_another_key_and_another_size_is_near) {
    ASSERT_OK_AND_ASSIGN(const auto first, make(space_json()));
    Json larger = space_json();
    larger["sizes"]["n"] = 1500;
    ASSERT_OK_AND_ASSIGN(const auto second, make(larger));
    write("reference.comp", std::string(kReference) + "// changed\n");
    ASSERT_OK_AND_ASSIGN(const auto third, make(space_json()));
    const auto shape = [this](const UserKernel& kernel) { return kernel.space(device().info()).shape(); };
    EXPECT_TRUE(tuning_distance(shape(*first), shape(*second)));
    EXPECT_FALSE(tuning_distance(shape(*first), shape(*third)));
}

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
TEST_P(user_kernel, what_touches_others_is_found_on_every_driver) {
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
TEST_P(user_kernel, workgroups_that_wait_for_others_keep_their_order) {
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

TEST_P(user_kernel, a_shader_that_asks_for_lengths_or_counts_sees_the_right_ones) {
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
TEST_P(user_kernel, what_ends_the_worker_is_quarantined_and_the_search_goes_on) {
    write("my.comp", R"(#version 460
layout(local_size_x = 16) in;
layout(binding = 0) buffer B { float b[]; };
layout(push_constant) uniform Push { uint far; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (MODE == 1 && i == 3) b[far] = 1.0;
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
        "push_constants": [{"type": "u32", "value": 1000000000}],
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
        EXPECT_THAT(first.reasons, ::testing::Contains(HasSubstr("signal 11")));
        // Kept: nothing of it runs again, and the same is chosen.
        options.again = true;
        ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome second,
                             tune_user_kernel(machine, *kernel, folder_ / "table.sqlite", options));
        ASSERT_TRUE(second.configuration);
        EXPECT_EQ(second.search->rejected, 0U);
    }
}

// A list of values that is reordered or extended is another space of the same kernel: what is in the table is by value.
TEST_P(user_kernel, choices_outlive_another_list_of_values) {
    Json space = space_json();
    space["parameters"]["factor"] = {{"values", {0.5, 1.0}}, {"constant_id", 3}};
    space["parameters"]["mode"]["values"] = {"RIGHT", "WRONG"};
    space["default"] = {{"wx", 64}};
    ASSERT_OK_AND_ASSIGN(const auto first, make(space));
    ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome, tune(*first, {.tuner = {.strategy = "random", .budget = 20}}));
    const StoredConfiguration chosen = outcome.choice.configuration;
    ASSERT_THAT(chosen, SizeIs(3));
    EXPECT_EQ(chosen[1].second, KnobValue("RIGHT"));
    EXPECT_TRUE(chosen[2].second == KnobValue(0.5) || chosen[2].second == KnobValue(1));

    space["parameters"]["mode"]["values"] = {"OUTSIDE", "WRONG", "RIGHT"};
    space["parameters"]["factor"]["values"] = {2.0, 1.0, 0.25, 0.5};
    ASSERT_OK_AND_ASSIGN(const auto second, make(space));
    const TuningSpace other = second->space(device().info());
    ASSERT_OK_AND_ASSIGN(const TuningFile file, TuningFile::open(folder_ / "table.sqlite"));
    ASSERT_OK_AND_ASSIGN(const auto choices, file.choices());
    const TuningKey key = tuning_key(device().info(), other);
    EXPECT_EQ(key, outcome.choice.key);
    const KnownChoices known = known_choices(choices, key, other);
    ASSERT_TRUE(known.exact);
    const auto found = configuration_in(other, known.exact->configuration);
    ASSERT_TRUE(found);
    EXPECT_EQ(second->describe(*found)["configuration"]["mode"], "RIGHT");
    EXPECT_EQ(second->describe(*found)["configuration"]["factor"], chosen[2].second.json());
    ASSERT_OK_AND_ASSIGN(const auto samples, file.samples(key));
    EXPECT_GT(std::ranges::count_if(
                  samples, [&](const auto& s) { return configuration_in(other, s.configuration).has_value(); }),
              4);

    // A value that is gone: the kernel is tuned again, and its new choice replaces the old one.
    const TuningSpace without("kernel", {{"wx", {16, 64, 128}}, {"mode{WRONG|OUTSIDE}", {0, 1}}, {"factor", {1, 2}}},
                              {}, other.shape());
    const KnownChoices gone = known_choices(choices, key, without);
    EXPECT_FALSE(gone.exact);
    ASSERT_TRUE(gone.outdated);
    EXPECT_THAT(misfit_text(without, gone.outdated->configuration),
                HasSubstr("its mode is RIGHT, and the values are WRONG, OUTSIDE now"));
}

TEST_P(user_kernel, tells_values_that_nobody_has_measured) {
    Json space = space_json();
    space["parameters"]["mode"]["values"] = {"RIGHT"};
    Device copy = device();
    ASSERT_OK_AND_ASSIGN(Dispatcher own_dispatcher, Dispatcher::create(copy));
    std::optional<Machine> machine(Machine{std::move(copy), std::move(own_dispatcher)});
    const auto tuned = [&](const Json& of) -> Result<TuneUserKernelOutcome> {
        YOLK_TRY(const auto kernel, make(of));
        return tune_user_kernel(machine, *kernel, folder_ / "table.sqlite", {.strategy = "exhaustive", .budget = 8});
    };
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome first, tuned(space));
    ASSERT_TRUE(first.search);
    EXPECT_THAT(first.untried, IsEmpty());
    space["parameters"]["wx"]["values"] = {128, 16, 64, 32};
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome second, tuned(space));
    EXPECT_FALSE(second.search);
    EXPECT_TRUE(second.configuration);
    EXPECT_EQ(second.choice.configuration, first.choice.configuration);
    EXPECT_THAT(second.untried, ElementsAre("wx = 32"));
    space["parameters"]["wx"]["values"] = {8, 32};
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome third, tuned(space));
    ASSERT_TRUE(third.search);
    ASSERT_TRUE(third.configuration);
    EXPECT_NE(third.choice.configuration, first.choice.configuration);
    ASSERT_OK_AND_ASSIGN(const TuneUserKernelOutcome fourth, tuned(space));
    EXPECT_FALSE(fourth.search);
    EXPECT_EQ(fourth.choice.configuration, third.choice.configuration);
}

TEST_P(user_kernel, can_be_held_against_golden_files_its_default_or_nothing) {
    Json space = space_json();
    space.erase("reference");
    space["default"] = {{"wx", 64}};
    {
        ASSERT_OK_AND_ASSIGN(const auto nothing, make(space));
        EXPECT_EQ(nothing->reference(), "");
        EXPECT_THAT(nothing->unchecked_outputs(), ElementsAre("b"));
        ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                             tune(*nothing, {.tuner = {.strategy = "exhaustive", .budget = 20}}));
        EXPECT_EQ(outcome.rejected, 3U);  // BROKEN; the others are the same each time
    }
    space["reference"] = "default";
    {
        ASSERT_OK_AND_ASSIGN(const auto by_default, make(space));
        EXPECT_THAT(by_default->reference(), HasSubstr("default"));
        ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                             tune(*by_default, {.tuner = {.strategy = "exhaustive", .budget = 20}}));
        EXPECT_EQ(outcome.rejected, 7U);
    }
    space.erase("reference");
    std::string golden(1002 * 4, '\0');
    write("golden.bin", golden);
    space["buffers"][1]["golden"] = "golden.bin";
    {
        ASSERT_OK_AND_ASSIGN(const auto by_file, make(space));
        EXPECT_EQ(by_file->reference(), "golden files");
        ASSERT_OK_AND_ASSIGN(const TuneLiveOutcome outcome,
                             tune(*by_file, {.tuner = {.strategy = "exhaustive", .budget = 20}}));
        EXPECT_EQ(outcome.rejected, outcome.measured);
        EXPECT_THAT(outcome.choice.configuration, IsEmpty());
    }
    write("golden.bin", "short");
    EXPECT_THAT(told(space), HasSubstr("'golden.bin' has 5 bytes; the buffer has 4008"));
}

TEST_P(user_kernel, shader_and_declaration_must_agree) {
    EXPECT_THAT(told("/buffers/0/binding", 1), HasSubstr("has 'A' at binding 0, for which no buffer is declared"));
    EXPECT_THAT(told("/buffers/0/type", "u32"), HasSubstr("'a' is declared as u32; the shader 'my.comp' has f32"));
    EXPECT_THAT(told("/buffers/2", Json::parse(R"({"name": "c", "binding": 7, "type": "f32", "elements": 1,
                                                    "role": "scratch"})")),
                HasSubstr("'c' is declared at binding 7, which the shader 'my.comp' does not have; it has 0, 2"));
    Json readonly = space_json();
    readonly["buffers"][0]["role"] = "in_out";
    EXPECT_THAT(told(readonly), HasSubstr("can only read binding 0"));
    EXPECT_THAT(told("/push_constants", Json::array()), HasSubstr("has 4 bytes of push constants; 0 are declared"));
    EXPECT_THAT(told("/push_constants/0/type", "f32"),
                HasSubstr("push_constants[0] is f32; the shader 'my.comp' has u32"));
    EXPECT_THAT(told("/push_constants/0/value", -1), HasSubstr("is -1, which is not a valid u32"));
    EXPECT_THAT(told("/parameters/wx/constant_id", 9), HasSubstr("no specialization constant 9; it has 0, 3"));
    EXPECT_THAT(told("/parameters/f", Json::parse(R"({"values": [true, false], "constant_id": 3})")),
                HasSubstr("not a legal value of the specialization constant 3"));
    EXPECT_THAT(told("/dispatch/0", "n - n"), HasSubstr("dispatches no workgroup"));
    EXPECT_THAT(told("/constraints", Json::array({"wx > 5000"})), HasSubstr("no configuration that is legal"));
    EXPECT_THAT(told("/default", Json{{"wx", 128}, {"mode", "WRONG"}}), HasSubstr("default configuration"));
    EXPECT_THAT(told("/sizes/n", std::int64_t{1} << 40), HasSubstr("a binding of"));
}

TEST_P(user_kernel, mistakes_in_shaders_are_told_by_their_lines) {
    EXPECT_THAT(told("/parameters/mode/values", Json::array({"BROKEN"})),
                AllOf(HasSubstr("'my.comp' does not compile:\n  my.comp:13:"), HasSubstr("undefined_name")));
    write("my.comp", "#version 460\n#include \"gone.h\"\nvoid main() {}\n");
    EXPECT_THAT(told(space_json()), AllOf(HasSubstr("my.comp:2"), HasSubstr("gone.h")));
    write("my.comp",
          "#version 460\nlayout(binding = 0) uniform sampler2D s;\nlayout(local_size_x = 1) in;\nvoid main() { "
          "vec4 v = texelFetch(s, ivec2(0), 0); }\n");
    EXPECT_THAT(told(space_json()), HasSubstr("not a single buffer"));
    write("my.comp", "");
    EXPECT_THAT(told(space_json()), HasSubstr("is empty"));
    write("my.comp", kShader);
    write("reference.comp", "#version 460\nvoid main() { x = 1; }\n");
    EXPECT_THAT(told(space_json()), HasSubstr("reference.comp:2:"));
    write("reference.comp",
          "#version 460\nlayout(binding = 0) buffer A { float a[]; };\nvoid main() { a[0] = 1.0; }\n");
    EXPECT_THAT(told(space_json()), HasSubstr("constant 5"));
    Json space = space_json();
    space["reference"].erase("constants");
    EXPECT_THAT(told(space), HasSubstr("The reference 'reference.comp' is wrong itself"));  // it changes an input
    write("reference.comp",
          "#version 460\nlayout(binding = 2) buffer B { float b[]; };\nvoid main() { b[0] += 1.0; }\n");
    EXPECT_THAT(told(space), HasSubstr("reads what it has not written"));
    write("reference.comp",
          "#version 460\nlayout(binding = 2) buffer B { float b[]; };\nvoid main() { if (b.length() == 0) b[0] = 1.0; "
          "}\n");
    EXPECT_THAT(told(space), HasSubstr("leaves all of 'b' unwritten"));
}

TEST_P(user_kernel, includes_lie_beside_the_shader) {
    write("my.comp", "#version 460\n#extension GL_GOOGLE_include_directive : require\n#include \"rest.glsl\"\n");
    write("rest.glsl", std::string(kShader).substr(std::string("#version 460\n").size()));
    ASSERT_OK_AND_ASSIGN(const auto kernel, make(space_json()));
    const auto variant = kernel->space(device().info()).shape().variant;
    write("rest.glsl", std::string(kShader).substr(std::string("#version 460\n").size()) + "// changed\n");
    ASSERT_OK_AND_ASSIGN(const auto changed, make(space_json()));
    EXPECT_NE(variant, changed->space(device().info()).shape().variant);
}

TEST_P(user_kernel, what_lies_elsewhere_is_not_read) {
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

TEST(module_interface, computes_workgroups_from_constants) {
    KernelSource source{.name = "x.comp",
                        .text = R"(#version 460
layout(local_size_x_id = 4, local_size_y_id = 5) in;
layout(constant_id = 6) const bool kStaged = true;
layout(constant_id = 7) const int kDepth = 3;
layout(std430, binding = 3) readonly buffer Values { vec4 values[]; };
layout(binding = 1) uniform Settings { uint settings[4]; };
layout(push_constant) uniform Push { uint n; float scale; int steps[2]; };
shared vec2 tile[kStaged ? (gl_WorkGroupSize.x + 2) * gl_WorkGroupSize.y << uint(kDepth - 1) : 1];
void main() { tile[0] = values[0].xy * scale; barrier(); })",
                        .includes = {}};
    const auto spirv = compile_kernel(source);
    ASSERT_TRUE(spirv) << spirv.error().message;
    const auto interface = read_interface(*spirv);
    ASSERT_TRUE(interface);
    ASSERT_THAT(interface->bindings, SizeIs(2));
    EXPECT_TRUE(interface->bindings[0].is_uniform);
    EXPECT_EQ(interface->bindings[0].element, ScalarType::U32);
    EXPECT_TRUE(interface->bindings[1].is_readonly);
    EXPECT_EQ(interface->bindings[1].element, ScalarType::F32);
    EXPECT_EQ(interface->push_bytes, 16U);
    ASSERT_THAT(interface->constants, SizeIs(4));
    EXPECT_EQ(interface->constants[2].type, ScalarType::Bool);
    EXPECT_EQ(interface->constants[3].name, "kDepth");
    const std::vector<SpecConstant> constants{{4, 32}, {5, 8}, {7, 2}};
    const auto use = interface->workgroup(constants);
    ASSERT_TRUE(use);
    EXPECT_THAT(use->size, ElementsAre(32U, 8U, 1U));
    EXPECT_EQ(use->shared_bytes, 34U * 8U * 2U * 8U);
    const std::vector<SpecConstant> plain{{4, 32}, {5, 8}, {6, 0}};
    EXPECT_EQ(interface->workgroup(plain)->shared_bytes, 8U);
}

}  // namespace
}  // namespace yolk::autotune
