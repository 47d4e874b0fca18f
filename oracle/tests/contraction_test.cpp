// SPDX-License-Identifier: Apache-2.0
// That no driver is given an instruction which it might contract where results are exact: the SPIR-V as it goes to
// vkCreateShaderModule, specialized and unrolled, of every family's cases with drawn configurations and with those that
// GPUs take by default: of each run of primitives.every_family, whose specialized modules it takes. NVIDIA's compiler
// fuses every multiply and add without NoContraction and no CPU driver does any, so that nothing else in this suite
// would fail. Nothing is compiled by a driver here.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "allowed_instructions.hpp"
#include "family_runs.hpp"
#include "gpu_defaults.hpp"
#include "yolk/environment.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/runtime/pipeline_report.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/default_constants.hpp"
#include "yolk/internal/shaders/exactness.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::oracle {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A device whose pipelines leave their code and are, once it has been probed, not compiled.
Result<Device> open_to_read(const std::string& name) {
    YOLK_TRY(Device device, Device::create(testing::instance(), testing::device_index(name),
                                           {.pipeline_cache_folder = testing::kernels_folder(),
                                            .pipeline_capture = PipelineCapture::Code}));
    YOLK_TRY_VOID(probe(device));
    device.leave_out_pipelines([](std::uint64_t) { return true; });
    return device;
}

/// One line for each instruction that is neither exact nor allowed. What is undefined is looked for in modules as they
/// are written: inlining takes the functions' names, by which it is allowed, and makes more paths than can be followed.
std::vector<std::string> violations(const PipelineReport& report) {
    const auto found = find_inexact(with_default_constants(report.code, report.constants), !report.specialized);
    if (!found) return {found.error().message};
    std::vector<std::string> lines;
    for (const InexactInstruction& one : *found) {
        if (!is_allowed(report.kernel, one)) lines.push_back(to_string(one));
    }
    return lines;
}

/// Whether a float is added to a constant zero, or subtracted from one. Drivers leave the addition out (lavapipe 22.3
/// does, and so does RADV's code). If the other operand is -0, the result is -0 and should be +0.
bool adds_to_zero(std::span<const std::uint32_t> spirv) {
    constexpr std::size_t kHeaderWords = 5;
    constexpr std::uint32_t kTypeFloat = 22, kConstant = 43, kComposite = 44, kNull = 46, kAdd = 129, kSubtract = 131;
    constexpr std::uint32_t kSign = 0x80000000U;
    std::set<std::uint32_t> floats, zeros;
    for (std::size_t at = kHeaderWords; at < spirv.size(); at += spirv[at] >> 16U) {
        const auto words = spirv.subspan(at, spirv[at] >> 16U);
        const auto is_zero = [&](std::uint32_t id) { return zeros.contains(id); };
        const std::uint32_t opcode = words[0] & 0xFFFFU;
        if (opcode == kTypeFloat) floats.insert(words[1]);
        if (opcode == kConstant && floats.contains(words[1]) && (words[3] & ~kSign) == 0) zeros.insert(words[2]);
        if (opcode == kNull || (opcode == kComposite && std::ranges::all_of(words.subspan(3), is_zero)))
            zeros.insert(words[2]);
        if ((opcode == kAdd || opcode == kSubtract) && is_zero(words[3])) return true;
        if (opcode == kAdd && is_zero(words[4])) return true;
    }
    return false;
}

/// Reads the code of what is not tolerant, and counts it. `of`: for messages.
std::size_t expect_exact(const std::vector<PipelineReport>& reports, const std::string& of) {
    std::size_t exact = 0;
    for (const PipelineReport& report : reports) {
        if (report.tolerant) continue;
        ++exact;
        EXPECT_THAT(violations(report), IsEmpty()) << report.kernel << " of " << of;
        EXPECT_FALSE(adds_to_zero(report.code)) << report.kernel << " of " << of;
    }
    return exact;
}

bool has_tolerant(const std::vector<PipelineReport>& reports) {
    return std::ranges::any_of(reports, &PipelineReport::tolerant);
}

/// Whether some output is compared within a tolerance only.
bool expects_a_tolerance(const Problem& problem) {
    const std::vector<Expected> all = problem.expected();
    return std::ranges::any_of(all, [](const Expected& one) { return one.twin.empty(); });
}

TEST(addition_to_zero, is_seen) {
    const auto module_with = [](std::uint32_t opcode, std::uint32_t left, std::uint32_t right) {
        constexpr std::uint32_t kFloat = 1, kMinusZero = 2, kOne = 3;
        return std::vector<std::uint32_t>{0x07230203,
                                          0x10500,
                                          0,
                                          9,
                                          0,  // header
                                          3U << 16U | 22U,
                                          kFloat,
                                          32,
                                          4U << 16U | 43U,
                                          kFloat,
                                          kMinusZero,
                                          0x80000000U,
                                          4U << 16U | 43U,
                                          kFloat,
                                          kOne,
                                          0x3F800000U,
                                          5U << 16U | opcode,
                                          kFloat,
                                          8,
                                          left,
                                          right};
    };
    constexpr std::uint32_t kAdd = 129, kSubtract = 131, kMultiply = 133;
    EXPECT_TRUE(adds_to_zero(module_with(kAdd, 2, 3)));
    EXPECT_TRUE(adds_to_zero(module_with(kAdd, 3, 2)));
    EXPECT_TRUE(adds_to_zero(module_with(kSubtract, 2, 3)));
    EXPECT_FALSE(adds_to_zero(module_with(kSubtract, 3, 2))) << "x - 0 is x";
    EXPECT_FALSE(adds_to_zero(module_with(kAdd, 3, 3)));
    EXPECT_FALSE(adds_to_zero(module_with(kMultiply, 2, 3)));
}

using FamilyOnDevice = std::tuple<const Family*, std::string>;
class no_contraction : public ::testing::TestWithParam<FamilyOnDevice> {};
INSTANTIATE_TEST_SUITE_P(, no_contraction,
                         ::testing::Combine(::testing::ValuesIn(families()), ::testing::ValuesIn(testing::devices())),
                         [](const ::testing::TestParamInfo<FamilyOnDevice>& which) {
                             return std::get<0>(which.param)->name + ("_" + std::get<1>(which.param));
                         });

// A problem that is compared with an exact twin must not have a kernel of class T either: such a kernel's code is not
// read, so that a wrong TOLERANT in shaders/kernels.cmake would hide it.
TEST_P(no_contraction, in_what_a_driver_is_given) {
    const auto& [family, driver] = GetParam();
    ASSERT_OK_AND_ASSIGN(const Device device, open_to_read(driver));
    EXPECT_GT(expect_exact(device.take_pipeline_reports(), "the probes"), 0U);
    const std::uint64_t made_for_probes = device.counts().pipelines_created;
    const std::vector<std::string> drivers = testing::devices();
    const auto position = static_cast<std::uint64_t>(std::ranges::find(drivers, driver) - drivers.begin());
    // As primitives/tests/family_matches.hpp has it.
    const CheckContext context{.device = device,
                               .dispatcher = testing::shared_device(driver).dispatcher,
                               .seed = 1 + position,
                               .configurations = 8,
                               .gpus_part = static_cast<std::uint32_t>(position) + 1,
                               .gpus_parts = static_cast<std::uint32_t>(drivers.size())};
    const Problems problems = family->cases(context.seed);
    std::size_t read = 0;
    // A problem reports a pipeline only if none before it has made it. Where no problem may take a kernel of class T,
    // the first report tells; elsewhere each problem makes all of its own.
    const bool each_its_own = std::string_view(family->exactness).find('T') != std::string_view::npos;
    TemporaryPipelines pipelines;
    const Problem* of_pipelines = nullptr;
    std::map<std::size_t, std::string> tolerant;  ///< problems that have a kernel of class T, and one's name
    for (const Batch& batch : choose_batches(device.info(), context, *family, problems, shapes_of_gpus(*family))) {
        const Problem& problem = *problems[batch.problem];
        if (each_its_own && &problem != of_pipelines) {
            pipelines = {};
            ASSERT_OK_AND_ASSIGN(pipelines, TemporaryPipelines::begin(device));
            of_pipelines = &problem;
        }
        for (const Configuration& configuration : batch.configurations) {
            ASSERT_OK(problem.plan(device, configuration)) << problem.name();
            const std::vector<PipelineReport> reports = device.take_pipeline_reports();
            read += expect_exact(
                reports, fmt::format("{}, {}", problem.name(), problem.space(device.info()).text(configuration)));
            if (const auto one = std::ranges::find_if(reports, &PipelineReport::tolerant); one != reports.end())
                tolerant[batch.problem] = one->kernel;
        }
    }
    EXPECT_GT(read, 0U);
    for (const auto& [index, kernel] : tolerant)
        EXPECT_TRUE(expects_a_tolerance(*problems[index]))
            << problems[index]->name() << " is exact, and takes " << kernel;
    EXPECT_EQ(device.counts().pipelines_created, made_for_probes);
    RecordProperty("modules", static_cast<int>(read));
}

class contraction : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(contraction);

/// The words without one decoration.
std::vector<std::uint32_t> without_decoration(std::span<const std::uint32_t> spirv, std::uint32_t decoration) {
    constexpr std::size_t kHeaderWords = 5;
    constexpr std::uint32_t kDecorate = 3U << 16U | 71U;
    std::vector<std::uint32_t> words(spirv.begin(), spirv.begin() + kHeaderWords);
    for (std::size_t at = kHeaderWords; at < spirv.size(); at += spirv[at] >> 16U) {
        const auto one = spirv.subspan(at, spirv[at] >> 16U);
        if (one[0] != kDecorate || one[2] != decoration) words.insert(words.end(), one.begin(), one.end());
    }
    return words;
}

TEST_P(contraction, is_found_in_what_a_driver_is_given) {
    constexpr std::uint32_t kNoContraction = 42;
    ASSERT_OK_AND_ASSIGN(const Device device, open_to_read(device_name()));
    static_cast<void>(device.take_pipeline_reports());
    const auto undecorated = without_decoration(kernels::kRowProgramByGroup.spirv, kNoContraction);
    KernelModule rows = kernels::kRowProgramByGroup;
    rows.spirv = undecorated;
    ASSERT_OK(device.pipeline(rows, {}));
    KernelModule fused = kernels::kMatmulDirectFast;  // unrolled: the driver is given other code
    fused.tolerant = false;
    ASSERT_OK(device.pipeline(fused, {}));
    const std::vector<PipelineReport> reports = device.take_pipeline_reports();
    ASSERT_THAT(reports, SizeIs(2));
    if (reports[0].specialized)
        EXPECT_THAT(violations(reports[0]), IsEmpty());  // specialize() decorates whatever it writes
    else
        EXPECT_THAT(violations(reports[0]), Contains(HasSubstr("not declared exact_float")));
    EXPECT_THAT(violations(reports[1]), Contains(HasSubstr("built-in function")));
    EXPECT_NE(reports[1].code, std::vector(fused.spirv.begin(), fused.spirv.end()));
}

// Environments compiled at run time, inside the roll-out, in each of its forms.
TEST_P(contraction, of_environments_from_files_is_not_left_to_drivers) {
    ASSERT_OK_AND_ASSIGN(const Device device, open_to_read(device_name()));
    static_cast<void>(device.take_pipeline_reports());
    for (const char* file : {YOLK_ENVIRONMENTS_FOLDER "/cartpole.glsl", YOLK_ENVIRONMENTS_FOLDER "/acrobot.glsl",
                             YOLK_ENVIRONMENTS_FOLDER "/pendulum.glsl"}) {
        ASSERT_OK_AND_ASSIGN(const auto environment, load_environment(file));
        const EnvironmentInfo& info = environment->info();
        const PolicyNetwork network{.widths = {info.observation_count, 8, info.action_count}};
        ASSERT_OK_AND_ASSIGN(const ParameterTable table, ParameterTable::create(network.parameters()));
        for (const RolloutConfig& form : {RolloutConfig{.unrolled = 0, .private_parameters = 0, .packed = 0},
                                          RolloutConfig{.unrolled = 1, .private_parameters = 0, .packed = 0},
                                          RolloutConfig{.unrolled = 1, .private_parameters = 0, .packed = 1}}) {
            RolloutDesc desc{
                .own_environment = environment, .network = network, .parameters = table, .members = 4, .config = form};
            ASSERT_OK(plan_rollout(device, desc)) << file;
            const std::vector<PipelineReport> exact = device.take_pipeline_reports();
            EXPECT_GT(expect_exact(exact, file), 0U);
            EXPECT_FALSE(has_tolerant(exact)) << file;
            desc.determinism = Determinism::Fast;
            ASSERT_OK(plan_rollout(device, desc)) << file;
            EXPECT_TRUE(has_tolerant(device.take_pipeline_reports())) << file;
        }
    }
}

}  // namespace
}  // namespace yolk::oracle
