// SPDX-License-Identifier: Apache-2.0
// Where a system's populations run: in a context of its own, a given one, or on an engine's dispatcher.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "yolk/context.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/variable.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;
using ::yolk::testing::Variable;

class system_context : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        ASSERT_OK(write_table());
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// In the default place: any entry will do.
    [[nodiscard]] Result<void> write_table() const {
        const TuningSpace space = space_of(device().usable_info(), one_step(ElementwiseOperation::Copy, {64})).space();
        YOLK_TRY(const TuningFile file, TuningFile::open(folder_ / "tuning.sqlite"));
        YOLK_TRY_VOID(file.put({.key = tuning_key(device().info(), space),
                                .configuration = stored_configuration(space, space.all().front())},
                               std::nullopt));
        return {};
    }
    [[nodiscard]] bool has_pipelines() const {
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            if (!entry.path().filename().string().starts_with("tuning.sqlite")) return true;
        }
        return false;
    }
    [[nodiscard]] static System doubles() {
        const auto twice = hyperfunction("twice", MatrixWeight{.out = 1, .in = 1},
                                         [](const Traced& w, const Traced& x) { return linear(w, x); });
        return {"doubles", [=](const Inputs& in) { return twice(in["x"]); }};
    }
    /// Of candidates whose answer to 1 is theirs.
    [[nodiscard]] static Result<std::vector<double>> rewards(System& system) {
        const std::vector<Example> examples{{{{"x", Tensor::vector({1.0F})}}, Tensor::vector({2.0F})}};
        std::vector<Candidate> candidates;
        for (const float value : {1.0F, 2.0F}) candidates.push_back({{{"twice", *Tensor::create({1, 1}, {value})}}});
        YOLK_TRY(const auto population, system.evaluate_population(candidates, examples, numeric_distance()));
        return population.rewards;
    }

    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("yolk-system-" + std::to_string(::getpid()) + "-" + GetParam());
    const std::string index_ = std::to_string(::yolk::testing::device_index(GetParam()));
    const Variable cache_{"YOLK_CACHE", folder_.c_str()};
    const Variable table_{"YOLK_TABLE", nullptr};
    const Variable device_{"YOLK_DEVICE", index_.c_str()};
};
YOLK_FOR_EACH_DEVICE(system_context);

TEST_P(system_context, of_its_own_is_tuned_and_keeps_compiled_kernels) {
    {
        System system = doubles();
        ASSERT_OK_AND_ASSIGN(const std::vector<double> found, rewards(system));
        EXPECT_EQ(found[1], 0.0);
        EXPECT_LT(found[0], 0.0);
        ASSERT_OK_AND_ASSIGN(const Dispatcher* const opened, system.dispatcher());
        EXPECT_EQ(opened->device().info().name, device().info().name);
        ASSERT_NE(opened->device().tuning_table(), nullptr);
        EXPECT_EQ(opened->device().tuning_table()->entries().size(), 1U);
    }
    EXPECT_TRUE(has_pipelines());
}

TEST_P(system_context, that_is_given_is_kept_and_may_be_untuned) {
    System system = doubles();
    {
        ASSERT_OK_AND_ASSIGN(const Context context, Context::create({.tuning = false, .pipeline_cache = false}));
        system.use(context);
        ASSERT_OK_AND_ASSIGN(const Dispatcher* const used, system.dispatcher());
        EXPECT_EQ(used, &context.dispatcher());
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<double> found, rewards(system));
    EXPECT_EQ(found[1], 0.0);
    ASSERT_OK_AND_ASSIGN(const Dispatcher* const used, system.dispatcher());
    EXPECT_EQ(used->device().tuning_table(), nullptr);
    EXPECT_FALSE(has_pipelines());
    system.use(dispatcher());  // an engine's
    ASSERT_OK_AND_ASSIGN(const std::vector<double> again, rewards(system));
    EXPECT_EQ(again, found);
}

TEST_P(system_context, that_cannot_be_opened_is_an_error_with_the_systems_name) {
    const Variable nobody("YOLK_DEVICE", "nobody");
    System system = doubles();
    EXPECT_TRUE(expect_error(system.dispatcher(), ErrorKind::BadInput, "opening a device for system 'doubles'"));
}

}  // namespace
}  // namespace yolk::hyper
