// SPDX-License-Identifier: Apache-2.0
#include "yolk/context.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "table_folder.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/variable.hpp"
#include "yolk/noise.hpp"
#include "yolk/reduce.hpp"

namespace yolk {
namespace {

using ::testing::Each;
using ::yolk::testing::device_index;
using ::yolk::testing::expect_error;
using ::yolk::testing::Variable;

constexpr std::uint32_t kContextValues = 1000;
const ElementwiseDesc& context_doubling() {
    static const ElementwiseDesc kDesc{.extents = {kContextValues},
                                       .inputs = {1},
                                       .numbers = {2.0F},
                                       .steps = {{ElementwiseOperation::Multiply, {0, 1}}}};
    return kDesc;
}

/// Of the device `context`'s plans choose by default, and another one that its space allows.
struct ContextConfigurations {
    Configuration heuristic, other;
};
ContextConfigurations context_configurations(const Device& device) {
    const auto space = space_of(device.usable_info(), context_doubling());
    ContextConfigurations found{.heuristic = space.configuration(operation_of<ElementwiseDesc>().heuristic(
                                    device.usable_info(), context_doubling())),
                                .other = {}};
    for (const Configuration& configuration : space.space().all()) {
        if (configuration != found.heuristic) found.other = configuration;
    }
    return found;
}

Result<Configuration> context_planned(const Context& context) {
    YOLK_TRY(const ElementwisePlan plan, plan_elementwise(context.device(), context_doubling()));
    return space_of(context.device().usable_info(), context_doubling()).configuration(plan.config());
}

/// Caches and tables of the test's own, on the validated instance.
class context : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string index() const { return std::to_string(device_index(device_name())); }
    [[nodiscard]] std::filesystem::path table() const { return folder_ / "table.sqlite"; }
    [[nodiscard]] Result<Context> open(ContextOptions options = {}) const {
        if (options.device.empty()) options.device = index();
        return Context::create(::yolk::testing::instance(), options);
    }
    [[nodiscard]] Result<void> write_table(const Configuration& configuration) const {
        const TuningSpace space = space_of(device().usable_info(), context_doubling()).space();
        YOLK_TRY(const TuningFile file, TuningFile::open(table()));
        YOLK_TRY_VOID(file.put({.key = tuning_key(device().info(), space),
                                .configuration = stored_configuration(space, configuration),
                                .milliseconds = 1.0,
                                .heuristic_milliseconds = 2.0},
                               std::nullopt));
        return {};
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }

    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("yolk-context-" + std::to_string(::getpid()) + "-" + GetParam());
    const Variable cache_{"YOLK_CACHE", folder_.c_str()};
    const Variable table_{"YOLK_TABLE", nullptr};
    const Variable device_{"YOLK_DEVICE", nullptr};
};
YOLK_FOR_EACH_DEVICE(context);

TEST_P(context, uploads_runs_and_downloads) {
    for (const MemoryPolicy policy : {MemoryPolicy::Automatic, MemoryPolicy::ForceDiscrete}) {
        ASSERT_OK_AND_ASSIGN(const Context opened, open({.memory_policy = policy}));
        std::vector<float> values(kContextValues);
        std::iota(values.begin(), values.end(), 0.0F);
        ASSERT_OK_AND_ASSIGN(const Buffer in, opened.upload(values, "in"));
        ASSERT_OK_AND_ASSIGN(const Buffer out, opened.allocate<float>(kContextValues, "out"));
        ASSERT_OK_AND_ASSIGN(const Buffer sum, opened.allocate<float>(1, "sum"));
        ASSERT_OK_AND_ASSIGN(const ElementwisePlan twice, plan_elementwise(opened.device(), context_doubling()));
        ASSERT_OK_AND_ASSIGN(const BoundElementwise doubled,
                             twice.bind({.inputs = std::array<BufferView, 1>{in}, .out = out}));
        ASSERT_OK_AND_ASSIGN(const ReducePlan adds,
                             plan_reduce(opened.device(), {.outer = 1, .columns = kContextValues}));
        ASSERT_OK_AND_ASSIGN(const Buffer scratch, opened.scratch(adds.scratch()));
        ASSERT_OK_AND_ASSIGN(const BoundReduce added, adds.bind({.in = out, .out = sum}, scratch));
        ASSERT_OK(opened.run(doubled, added));
        ASSERT_OK_AND_ASSIGN(const std::vector<float> total, opened.download<float>(sum));
        EXPECT_EQ(total, std::vector<float>{999000.0F}) << "the second work sees what the first wrote";
        ASSERT_OK_AND_ASSIGN(const std::vector<float> part, opened.download<float>({out, 4, 8}));
        EXPECT_EQ(part, (std::vector<float>{2.0F, 4.0F}));

        ASSERT_OK(opened.upload(in, std::array{5.0F, 6.0F}));
        ASSERT_OK(opened.run(doubled));
        ASSERT_OK_AND_ASSIGN(const std::vector<float> again, opened.download<float>({out, 0, 12}));
        EXPECT_EQ(again, (std::vector<float>{10.0F, 12.0F, 4.0F}));
    }
}

TEST_P(context, runs_functions_that_record) {
    ASSERT_OK_AND_ASSIGN(const Context opened, open());
    ASSERT_OK_AND_ASSIGN(const NoisePlan plan, plan_noise(opened.device(), {.element_count = 8, .pair_count = 1}));
    ASSERT_OK_AND_ASSIGN(const Buffer out, opened.allocate<std::int32_t>(8, "noise"));
    ASSERT_OK_AND_ASSIGN(const Buffer copy, opened.allocate<std::int32_t>(8, "copy"));
    ASSERT_OK_AND_ASSIGN(const BoundNoise noise, plan.bind({.out = out}, {}));
    const auto draw = [&](Recorder& recorder) {
        noise.record(recorder, {.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7});
    };
    ASSERT_OK(opened.run(draw, [&](Recorder& recorder) { recorder.copy(out, copy); }));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::int32_t> values, opened.download<std::int32_t>(copy));
    EXPECT_EQ(values, (std::vector<std::int32_t>{-8, 13, 2, -6, 13, -15, -9, 6}));
}

TEST_P(context, plans_take_what_the_table_says_unless_tuning_is_off) {
    const ContextConfigurations configurations = context_configurations(device());
    ASSERT_OK(write_table(configurations.other));
    const auto expect_planned = [&](const ContextOptions& options, const Configuration& expected, const char* what) {
        ASSERT_OK_AND_ASSIGN(const Context opened, open(options));
        ASSERT_OK_AND_ASSIGN(const Configuration configuration, context_planned(opened));
        EXPECT_EQ(configuration, expected) << what;
    };
    expect_planned({}, configurations.heuristic, "no table in the default place");
    expect_planned({.tuning_table = table()}, configurations.other, "the option's");
    const Variable named("YOLK_TABLE", table().c_str());
    expect_planned({}, configurations.other, "the variable's");
    expect_planned({.tuning = false}, configurations.heuristic, "tuning is off");
    expect_planned({.tuning_table = folder_ / "missing"}, configurations.heuristic, "a table that is not there");
    const Variable elsewhere("YOLK_TABLE", nullptr);
    std::filesystem::rename(table(), folder_ / "tuning.sqlite");
    expect_planned({}, configurations.other, "the cache folder's");
}

TEST_P(context, keeps_compiled_kernels_in_the_cache_folder) {
    const auto open_and_plan = [&](const ContextOptions& options) {
        ASSERT_OK_AND_ASSIGN(const Context opened, open(options));
        EXPECT_OK(context_planned(opened));
    };
    open_and_plan({.pipeline_cache = false});
    EXPECT_EQ(files(), 0U);
    open_and_plan({});
    EXPECT_GE(files(), 1U);  // two where the driver is given specialized modules
    open_and_plan({.cache_folder = folder_ / "own"});
    EXPECT_TRUE(std::filesystem::exists(folder_ / "own"));
}

TEST_P(context, is_opened_as_the_commands_open_it) {
    ASSERT_OK_AND_ASSIGN(const Context opened, open());
    EXPECT_EQ(opened.device().info().name, device().info().name);
    EXPECT_TRUE(opened.device().findings().probed);
    EXPECT_EQ(&opened.dispatcher().device().info(), &opened.device().info());
    EXPECT_EQ(opened.instance().devices().size(), ::yolk::testing::instance().devices().size());

    const Variable wanted("YOLK_DEVICE", index().c_str());
    ASSERT_OK_AND_ASSIGN(const Context by_variable, Context::create());
    EXPECT_EQ(by_variable.device().info().name, device().info().name);
    const Variable nobody("YOLK_DEVICE", "nobody");
    EXPECT_TRUE(expect_error(Context::create(), ErrorKind::BadInput,
                             "choosing the device that $YOLK_DEVICE names: There is no device 'nobody'"));
    EXPECT_OK(Context::create({.device = index()}));
}

TEST_P(context, copies_share_a_device_that_outlives_the_first) {
    std::optional<Context> copy;
    Buffer buffer;
    const Device* address = nullptr;
    {
        ASSERT_OK_AND_ASSIGN(Context opened, open());
        address = &opened.device();
        copy = opened;
        ASSERT_OK_AND_ASSIGN(buffer, opened.upload(std::array{1, 2, 3}));
        const Context moved = std::move(opened);
        EXPECT_EQ(&moved.device(), address);
    }
    EXPECT_EQ(&copy->device(), address);
    ASSERT_OK_AND_ASSIGN(const std::vector<int> values, copy->download<int>(buffer));
    EXPECT_EQ(values, (std::vector<int>{1, 2, 3}));
    copy.reset();  // the buffer goes last: it shares the VkDevice
}

TEST_P(context, may_be_used_by_several_threads) {
    ASSERT_OK_AND_ASSIGN(const Context opened, open());
    std::array<Result<std::vector<float>>, 4> results{bad_input(""), bad_input(""), bad_input(""), bad_input("")};
    const auto work = [&opened](float value) -> Result<std::vector<float>> {
        YOLK_TRY(const Buffer in, opened.upload(std::vector<float>(kContextValues, value), "in"));
        YOLK_TRY(const Buffer out, opened.allocate<float>(kContextValues, "out"));
        YOLK_TRY(const ElementwisePlan plan, plan_elementwise(opened.device(), context_doubling()));
        YOLK_TRY(const BoundElementwise bound, plan.bind({.inputs = std::array<BufferView, 1>{in}, .out = out}));
        for (int round = 0; round < 5; ++round) YOLK_TRY_VOID(opened.run(bound));
        return opened.download<float>(out);
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < results.size(); ++t)
            threads.emplace_back([&, t] { results[t] = work(static_cast<float>(t)); });
    }
    for (std::size_t t = 0; t < results.size(); ++t) {
        ASSERT_OK(results[t]);
        EXPECT_THAT(*results[t], Each(2.0F * static_cast<float>(t)));
    }
}

TEST_P(context, bad_input_is_refused_in_words) {
    EXPECT_TRUE(expect_error(open({.device = "nobody"}), ErrorKind::BadInput, "There is no device 'nobody'. Give an"));
    EXPECT_TRUE(expect_error(open({.tuning = false, .tuning_table = "a.sqlite"}), ErrorKind::BadInput,
                             "the tuning table 'a.sqlite' while tuning is off"));
    EXPECT_TRUE(expect_error(open({.pipeline_cache = false, .cache_folder = "a"}), ErrorKind::BadInput,
                             "in 'a' while the pipeline cache is off"));
    std::ofstream(table()) << "#!/bin/sh\n# somebody's script, which is no database of ours\n";
    EXPECT_TRUE(expect_error(open({.tuning_table = table()}), ErrorKind::BadInput, table().string()));
    const Variable elsewhere("YOLK_TABLE", table().c_str());
    EXPECT_TRUE(expect_error(open(), ErrorKind::BadInput, table().string()));
    EXPECT_OK(open({.tuning = false})) << "it is not looked at";
    ASSERT_OK_AND_ASSIGN(const Context opened, open({.tuning = false, .label = "mine"}));
    EXPECT_TRUE(expect_error(opened.upload(std::vector<float>(), "empty"), ErrorKind::BadInput,
                             "The buffer [empty] was asked for with 0 bytes"));
    EXPECT_TRUE(expect_error(opened.allocate<float>(UINT64_MAX / 2, "endless"), ErrorKind::BadInput,
                             "The buffer [endless] was asked for with"));
    EXPECT_TRUE(expect_error(opened.allocate<float>(UINT64_MAX / 8, "huge"), ErrorKind::Unsupported, "[huge]"));

    ASSERT_OK_AND_ASSIGN(const Buffer six, opened.allocate<std::uint16_t>(3, "six bytes"));
    EXPECT_TRUE(expect_error(opened.download<float>(six), ErrorKind::BadInput,
                             "Cannot download 6 bytes as values of 4 bytes: 2 are left over"));
    EXPECT_TRUE(expect_error(opened.download<std::byte>({six, 4, 4}), ErrorKind::BadInput,
                             "the view to download: 4 bytes at offset 4 reach past the end of the buffer [six bytes]"));
    EXPECT_TRUE(expect_error(opened.upload(six, std::array{1, 2}), ErrorKind::BadInput, "the buffer [six bytes]"));
    ASSERT_OK_AND_ASSIGN(const std::vector<float> nothing, opened.download<float>({}));
    EXPECT_TRUE(nothing.empty());
    ASSERT_OK_AND_ASSIGN(const Buffer no_scratch, opened.scratch({}));
    EXPECT_TRUE(BufferView(no_scratch).empty());

    const auto too_long = [&](Recorder& recorder) { recorder.fill({six, 0, 8}, 0); };
    EXPECT_TRUE(expect_error(opened.run(too_long), ErrorKind::BadInput, "past the end of the buffer [six bytes]"));
    EXPECT_TRUE(expect_error(opened.run([](Recorder& recorder) { recorder.end_label(); }), ErrorKind::BadInput,
                             "the recorder [mine]"));
}

TEST(context_drivers, without_any_the_error_says_what_to_install) {
    const Variable none("VK_ICD_FILENAMES", "/nonexistent/driver.json");
    const Variable any("YOLK_DEVICE", nullptr);
    EXPECT_TRUE(expect_error(Context::create(), ErrorKind::Unsupported, "mesa-vulkan-drivers on Debian"));
}

}  // namespace
}  // namespace yolk
