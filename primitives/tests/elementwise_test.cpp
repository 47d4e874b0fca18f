// SPDX-License-Identifier: Apache-2.0
// Programs as one kernel: drawn ones, their layouts among them, have the bits of their twin, which goes step by step;
// kernels that are kept, damaged, or made by many at once. Values by hand are in elementwise_values_test.cpp.
#include "yolk/elementwise.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {
namespace {

using ProgramWords = std::vector<std::uint32_t>;

constexpr auto kOperations = static_cast<std::uint32_t>(enum_words(ElementwiseOperation{}).size());

/// Numbers below a bound, and words of special values, the same for the same seed.
class ProgramDraws {
   public:
    explicit ProgramDraws(std::uint32_t seed) : seed_(seed) {}
    std::uint32_t below(std::uint32_t bound) { return philox4x32({next_++, 7, 0, 0}, {seed_, 11})[0] % bound; }
    std::uint32_t word() {
        static constexpr std::array<std::uint32_t, 10> kSpecial{
            0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00001, 1, 0x0D800000, 0x42B00000};
        const std::uint32_t kind = below(8);
        if (kind == 0) return kSpecial[below(kSpecial.size())];
        const float size = kind < 6 ? 0x1p-22F : 0x1p-18F;
        return std::bit_cast<std::uint32_t>(static_cast<float>(below(1U << 24U)) * size - 2.0F);
    }

   private:
    std::uint32_t seed_;
    std::uint32_t next_ = 0;
};

ElementwiseDesc drawn_program(ProgramDraws& draws) {
    ElementwiseDesc desc;
    for (std::uint32_t d = 0, rank = 1 + draws.below(4); d < rank; ++d) desc.extents.push_back(1 + draws.below(7));
    const std::uint32_t all = (1U << desc.extents.size()) - 1;
    for (std::uint32_t i = 0, count = 1 + draws.below(5); i < count; ++i)
        desc.inputs.push_back(draws.below(2) == 0 ? all : draws.below(all + 1));
    for (std::uint32_t n = 0, count = draws.below(abi::elementwise::kMostNumbers + 1); n < count; ++n)
        desc.numbers.push_back(std::bit_cast<float>(draws.word()));
    for (std::uint32_t s = 0, count = 1 + draws.below(8); s < count; ++s) {
        ElementwiseStep step{static_cast<ElementwiseOperation>(draws.below(kOperations)), {}};
        const auto known = static_cast<std::uint32_t>(desc.inputs.size() + desc.numbers.size()) + s;
        // The one before is always read, so that no step is idle.
        for (std::uint32_t o = 0; o < operand_count(step.operation); ++o)
            step.operands.push_back(o == 0 ? known - 1 : draws.below(known));
        desc.steps.push_back(std::move(step));
    }
    return desc;
}

std::uint64_t elements_of(const ElementwiseDesc& desc, std::uint32_t dimensions) {
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < desc.extents.size(); ++d) count *= (dimensions >> d & 1U) != 0 ? desc.extents[d] : 1;
    return count;
}

ProgramWords by_twin(const ElementwiseDesc& desc, const std::vector<ProgramWords>& inputs) {
    ProgramWords out(elements_of(desc, ~0U));
    std::vector<reference::HostView> views(inputs.begin(), inputs.end());
    views.emplace_back(out);
    reference::twin_of(desc, reference::HostViews(views));
    return out;
}

class elementwise : public testing::DeviceTest {
   protected:
    Result<ProgramWords> run(const ElementwiseDesc& desc, const std::vector<ProgramWords>& inputs) {
        std::vector<Buffer> buffers;
        for (const ProgramWords& input : inputs) {
            YOLK_TRY(Buffer buffer, device().create_buffer({.size_bytes = 4 * input.size(), .label = "input"}));
            YOLK_TRY_VOID(dispatcher().upload(buffer, std::as_bytes(std::span(input))));
            buffers.push_back(std::move(buffer));
        }
        ProgramWords result(elements_of(desc, ~0U), 0xAAAAAAAA);
        YOLK_TRY(const Buffer out, device().create_buffer({.size_bytes = 4 * result.size(), .label = "out"}));
        YOLK_TRY_VOID(dispatcher().upload(out, std::as_bytes(std::span(result))));
        const std::vector<BufferView> views(buffers.begin(), buffers.end());
        YOLK_TRY(const ElementwisePlan plan, plan_elementwise(device(), desc));
        YOLK_TRY(const BoundElementwise bound, plan.bind({.inputs = views, .out = out}));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        YOLK_TRY(const auto point, dispatcher().submit(recorder));
        YOLK_TRY_VOID(dispatcher().wait(point));
        YOLK_TRY_VOID(dispatcher().download(out, std::as_writable_bytes(std::span(result))));
        return result;
    }
    void expect_twins_bits(const ElementwiseDesc& desc, ProgramDraws& draws) {
        std::vector<ProgramWords> inputs;
        for (const std::uint32_t dimensions : desc.inputs) {
            ProgramWords input(elements_of(desc, dimensions));
            std::ranges::generate(input, [&] { return draws.word(); });
            inputs.push_back(std::move(input));
        }
        ASSERT_OK_AND_ASSIGN(const ProgramWords got, run(desc, inputs));
        EXPECT_EQ(got, by_twin(desc, inputs)) << operation_of<ElementwiseDesc>().fields.text(desc);
    }
};
YOLK_FOR_EACH_DEVICE(elementwise);

TEST_P(elementwise, every_operation_has_the_bits_of_its_twin) {
    ProgramDraws draws(1);
    for (std::uint32_t number = 0; number < kOperations; ++number)
        expect_twins_bits(one_step(static_cast<ElementwiseOperation>(number), {997}), draws);
}

TEST_P(elementwise, drawn_programs_have_the_bits_of_their_steps) {
    for (std::uint32_t seed = 0; seed < 30; ++seed) {
        ProgramDraws draws(100 + seed);
        const ElementwiseDesc desc = drawn_program(draws);
        if (!has_few_runs(desc)) continue;
        expect_twins_bits(desc, draws);
        ElementwiseDesc quads = desc;
        quads.extents.back() *= 4;
        expect_twins_bits(quads, draws);
    }
}

TEST_P(elementwise, one_pipeline_serves_all_numbers) {
    ProgramDraws draws(6);
    ElementwiseDesc desc{
        .extents = {3, 8}, .inputs = {3}, .numbers = {2.0F}, .steps = {{ElementwiseOperation::Multiply, {0, 1}}}};
    expect_twins_bits(desc, draws);
    const std::uint64_t made = device().counts().pipelines_created;
    for (const float number : {-0.5F, 0.0F, 0x1p-101F}) {
        desc.numbers = {number};
        expect_twins_bits(desc, draws);
    }
    EXPECT_EQ(device().counts().pipelines_created, made);
}

TEST_P(elementwise, one_pipeline_serves_all_sizes) {
    ProgramDraws draws(2);
    const std::vector<ElementwiseStep> steps{{ElementwiseOperation::Add, {0, 1}}, {ElementwiseOperation::Tanh, {2}}};
    expect_twins_bits({.extents = {3, 5}, .inputs = {3, 2}, .steps = steps}, draws);
    const std::uint64_t made = device().counts().pipelines_created;
    for (const auto& extents : std::vector<std::vector<std::uint32_t>>{{1, 1}, {64, 3}, {1, 129}, {300, 77}})
        expect_twins_bits({.extents = extents, .inputs = {3, 2}, .steps = steps}, draws);
    EXPECT_EQ(device().counts().pipelines_created, made);
}

TEST_P(elementwise, every_configuration_gives_the_same_bits) {
    ProgramDraws draws(3);
    ElementwiseDesc desc{.extents = {9, 5, 28},
                         .inputs = {7, 5, 2},
                         .steps = {{ElementwiseOperation::Multiply, {0, 1}}, {ElementwiseOperation::Where, {2, 3, 0}}}};
    for (const std::uint32_t workgroup_size : {1U, 8U, 64U, 256U}) {
        for (const std::uint32_t loads : {1U, 2U, 8U}) {
            for (const std::uint32_t width : {1U, 4U}) {
                for (const std::uint32_t texels : {0U, 1U}) {
                    desc.config = ElementwiseConfig{workgroup_size, loads, width, texels};
                    expect_twins_bits(desc, draws);
                }
            }
        }
    }
}

TEST_P(elementwise, many_threads_make_a_kernel_once) {
    ASSERT_OK_AND_ASSIGN(const Device own, Device::create(testing::instance(), testing::device_index(device_name()),
                                                          {.pipeline_cache_folder = {}}));
    ASSERT_OK(probe(own));
    const std::uint64_t made_for_probes = own.counts().pipelines_created;
    const ElementwiseDesc desc{
        .extents = {31, 8},
        .inputs = {3, 1, 2},
        .steps = {{ElementwiseOperation::Multiply, {0, 1}}, {ElementwiseOperation::Maximum, {3, 2}}}};
    std::array<bool, 6> made{};
    std::vector<std::thread> threads;
    for (bool& is_made : made) threads.emplace_back([&] { is_made = plan_elementwise(own, desc).has_value(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(made, ::testing::Each(true));
    EXPECT_EQ(own.counts().pipelines_created, made_for_probes + 1);
}

// A kernel's code is made again by each process; what the driver made of it is kept in a file.
TEST_P(elementwise, a_damaged_file_of_kept_kernels_is_replaced) {
    const auto folder = std::filesystem::temp_directory_path() / ("yolk_programs_" + device_name());
    std::filesystem::remove_all(folder);
    const ElementwiseDesc desc{
        .extents = {5, 12},
        .inputs = {3, 2},
        .steps = {{ElementwiseOperation::Add, {0, 1}}, {ElementwiseOperation::Where, {0, 2, 1}}}};
    const auto kept_file = [&]() -> std::filesystem::path {  // beside what was found out about the device
        std::filesystem::path largest;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            if (!entry.is_regular_file()) continue;
            if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest)) largest = entry.path();
        }
        return largest;
    };
    const auto make_and_keep = [&]() -> Result<std::string> {
        ::testing::internal::CaptureStderr();
        const auto made = [&]() -> Result<void> {
            YOLK_TRY(const Device own, Device::create(testing::instance(), testing::device_index(device_name()),
                                                      {.pipeline_cache_folder = folder}));
            YOLK_TRY_VOID(plan_elementwise(own, desc));
            return own.save_pipeline_cache();
        }();
        const std::string notices = ::testing::internal::GetCapturedStderr();
        YOLK_TRY_VOID(made);
        return notices;
    };
    ASSERT_OK_AND_ASSIGN(const std::string first, make_and_keep());
    EXPECT_EQ(first, "");
    const std::filesystem::path file = kept_file();
    const auto size = std::filesystem::file_size(file);
    ASSERT_GT(size, 8U);
    {
        std::fstream damaged(file, std::ios::binary | std::ios::in | std::ios::out);
        damaged.seekp(static_cast<std::streamoff>(size / 2));
        damaged.put('\x5A').put('\xA5').put('\x5A');
    }
    ASSERT_OK_AND_ASSIGN(const std::string second, make_and_keep());
    EXPECT_THAT(second, ::testing::HasSubstr(file.string()));
    ASSERT_OK_AND_ASSIGN(const std::string third, make_and_keep());
    EXPECT_EQ(third, "");
    std::filesystem::remove_all(folder);
}

// Both make and keep the kernel in one folder; what is left serves a third process.
TEST_P(elementwise, two_processes_make_a_kernel_at_once) {
    constexpr const char* kFolder = "YOLK_TEST_PROGRAMS_FOLDER";
    const char* const given = std::getenv(kFolder);  // NOLINT(concurrency-mt-unsafe): one thread
    const auto folder = given != nullptr
                            ? std::filesystem::path(given)
                            : std::filesystem::temp_directory_path() / ("yolk_programs_of_two_" + device_name());
    const ElementwiseDesc desc{.extents = {7, 20},
                               .inputs = {3, 2},
                               .steps = {{ElementwiseOperation::Tanh, {0}}, {ElementwiseOperation::Add, {1, 2}}}};
    const auto make_and_keep = [&]() -> Result<void> {
        YOLK_TRY(const Device own, Device::create(testing::instance(), testing::device_index(device_name()),
                                                  {.pipeline_cache_folder = folder}));
        YOLK_TRY_VOID(plan_elementwise(own, desc));
        return own.save_pipeline_cache();
    };
    if (given != nullptr) {
        EXPECT_OK(make_and_keep());
        return;
    }
    std::filesystem::remove_all(folder);
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    // This process may be one of several that share the tests out.
    const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " + std::string(kFolder) + "='" +
                                folder.string() + "' '" + std::filesystem::read_symlink("/proc/self/exe").string() +
                                "' '--gtest_filter=" + test.test_suite_name() + "." + test.name() +
                                "' --gtest_output= 2>&1";
    const std::array<FILE*, 2> children{popen(command.c_str(), "r"), popen(command.c_str(), "r")};
    for (FILE* const child : children) {
        ASSERT_NE(child, nullptr);
        std::string output;
        for (int c = std::fgetc(child); c != EOF; c = std::fgetc(child)) output += static_cast<char>(c);
        EXPECT_EQ(pclose(child), 0) << output;
        EXPECT_THAT(output, ::testing::HasSubstr("[  PASSED  ] 1 test"));
    }
    ::testing::internal::CaptureStderr();
    EXPECT_OK(make_and_keep());
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "the file that both wrote is whole";
    ProgramDraws draws(4);
    expect_twins_bits(desc, draws);
    std::filesystem::remove_all(folder);
}

TEST_P(elementwise, text_and_back) {
    const auto& fields = operation_of<ElementwiseDesc>().fields;
    const std::string text = "extents=8-64 inputs=3,2 steps=add:0:1,where:2:0:1";
    ASSERT_OK_AND_ASSIGN(const ElementwiseDesc desc, fields.parse(text));
    EXPECT_EQ(fields.text(desc), text);
    EXPECT_TRUE(testing::expect_error(fields.parse("extents=8 inputs=1 steps=ad:0"), ErrorKind::BadInput, "steps"));
    ASSERT_OK_AND_ASSIGN(const ElementwiseDesc with_numbers,
                         fields.parse("extents=8 inputs=1 numbers=2 steps=add:0:1,multiply:3:2"));
    EXPECT_EQ(with_numbers.numbers, std::vector<float>(2, 1.0F));
    EXPECT_TRUE(testing::expect_error(fields.parse("extents=8 inputs=1 numbers=5 steps=copy:0"), ErrorKind::BadInput,
                                      "numbers"));
}

TEST_P(elementwise, bad_descriptions_are_refused) {
    const std::vector<ElementwiseStep> relu{{ElementwiseOperation::Relu, {0}}};
    const auto refused = [&](const ElementwiseDesc& desc, const char* what) {
        return testing::expect_error(plan_elementwise(device(), desc), ErrorKind::BadInput, what);
    };
    EXPECT_TRUE(refused({.extents = {}, .inputs = {0}, .steps = relu}, "0 dimensions"));
    EXPECT_TRUE(refused(one_step(ElementwiseOperation::Relu, std::vector(40, 1U)), "40 dimensions"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {}, .steps = relu}, "0 inputs"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {2}, .steps = relu}, "0x2"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = std::vector(16, 1U), .steps = relu}, "16 inputs"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {}}, "0 steps"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{ElementwiseOperation::Relu, {1}}}},
                        "value 1; the 1 inputs, the 0 numbers"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{ElementwiseOperation::Add, {0}}}},
                        "1 operands; add takes 2"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = {{ElementwiseOperation{30}, {0}}}}, "operation 30"));
    EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .numbers = {1, 2, 3, 4, 5}, .steps = relu}, "5 numbers"));
    for (const ElementwiseConfig& config :
         {ElementwiseConfig{.workgroup_size = 0}, ElementwiseConfig{.workgroup_size = 512},
          ElementwiseConfig{.loads_per_invocation = 0}, ElementwiseConfig{.loads_per_invocation = 16},
          ElementwiseConfig{.elements_per_load = 2}, ElementwiseConfig{.texel_inputs = 2}}) {
        EXPECT_TRUE(refused({.extents = {4}, .inputs = {1}, .steps = relu, .config = config}, "elementwise"));
    }
    EXPECT_TRUE(refused({.extents = {4, 3}, .inputs = {2, 3}, .steps = relu, .config = ElementwiseConfig{64, 1, 4}},
                        "elements_per_load of [elementwise]"));
    const std::vector<std::uint32_t> many{1, 2, 4, 8, 16, 32};
    EXPECT_TRUE(refused({.extents = {2, 2, 2, 2, 2, 2}, .inputs = many, .steps = relu}, "6 different ways"));
    EXPECT_TRUE(refused({.extents = {0xFFFFFFFF, 0xFFFFFFFF}, .inputs = {3}, .steps = relu}, "view of [elementwise]"));
}

}  // namespace
}  // namespace yolk
