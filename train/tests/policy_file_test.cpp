// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/train/policy_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "temporary_folder.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/safetensors.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Policy example_policy() {
    Policy policy{.task = "cartpole",
                  .network = {.widths = {4, 3, 2}},
                  .generations = 7,
                  .seed = 0xFFFFFFFFFFFFFFFFU,
                  .parameters = {}};
    for (int i = 0; i < 4 * 3 + 3 + 3 * 2 + 2; ++i) policy.parameters.push_back(0.25F * static_cast<float>(i) - 1.0F);
    return policy;
}

class policy_file : public ::testing::Test {
   protected:
    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "p.safetensors"; }
    /// Loads the example_policy after a change to its tensors or metadata.
    [[nodiscard]] Result<Policy> load_changed(const std::function<void(TensorFile&)>& change) const {
        YOLK_TRY_VOID(save_policy(path(), example_policy()));
        YOLK_TRY(const std::vector<std::byte> bytes, read_file(path(), 1U << 20U));
        YOLK_TRY(TensorFile file, decode_safetensors(bytes, "'x'"));
        change(file);
        YOLK_TRY(const std::vector<std::byte> changed, encode_safetensors(file));
        YOLK_TRY_VOID(write_file_atomically(path(), changed));
        return load_policy(path());
    }
    [[nodiscard]] Result<Policy> load_with(const std::string& key, const std::string& value) const {
        return load_changed([&](TensorFile& file) {
            for (auto& [name, text] : file.metadata) {
                if (name == key) text = value;
            }
        });
    }
    TemporaryFolder folder_;
};

TEST_F(policy_file, round_trip) {
    const Policy policy = example_policy();
    ASSERT_OK(save_policy(path(), policy));
    ASSERT_OK_AND_ASSIGN(const Policy read, load_policy(path()));
    EXPECT_EQ(read.task, policy.task);
    EXPECT_EQ(read.network.widths, policy.network.widths);
    EXPECT_EQ(read.generations, policy.generations);
    EXPECT_EQ(read.seed, policy.seed);
    EXPECT_EQ(read.parameters, policy.parameters);
}
TEST_F(policy_file, save_refuses_what_cannot_be_run) {
    write_text(path(), "old");
    Policy policy = example_policy();
    policy.parameters[14] = kNan;
    EXPECT_TRUE(expect_error(save_policy(path(), policy), ErrorKind::BadInput, "layer0.bias"));
    policy = example_policy();
    policy.parameters.pop_back();
    EXPECT_TRUE(expect_error(save_policy(path(), policy), ErrorKind::BadInput, "22 values"));
    policy.parameters.resize(24);
    EXPECT_TRUE(expect_error(save_policy(path(), policy), ErrorKind::BadInput, "24 values"));
    EXPECT_EQ(text_of(path()), "old");
}
TEST_F(policy_file, missing_file_is_an_io_error) {
    EXPECT_TRUE(expect_error(load_policy(path()), ErrorKind::Io, "p.safetensors"));
}
TEST_F(policy_file, foreign_safetensors_are_refused) {
    EXPECT_TRUE(expect_error(load_changed([](TensorFile& file) { file.metadata.clear(); }), ErrorKind::BadInput,
                             "does not say its format"));
    EXPECT_TRUE(expect_error(load_with("format", "pt"), ErrorKind::BadInput, "'pt'"));
}
TEST_F(policy_file, unknown_task_is_refused) {
    EXPECT_TRUE(expect_error(load_with("task", "chess"), ErrorKind::BadInput, "chess"));
}
TEST_F(policy_file, bad_networks_are_refused) {
    for (const char* bad : {"", "4", "4,", "4,x,2", "4,-3,2", "4,3.5,2", "4,3,2,2,2,2", "4,0,2", "4,257,2", "5,3,2",
                            "4,3,3", "4,99999999999,2", " 4,3,2", "4,3,2,4,3,2,4,3,2"}) {
        EXPECT_EQ(load_with("network", bad).error().kind, ErrorKind::BadInput) << bad;
    }
    EXPECT_TRUE(expect_error(load_with("network", "4,8,2"), ErrorKind::BadInput, "shape [3, 4]"));
    EXPECT_TRUE(expect_error(load_with("network", "4,3,3,2"), ErrorKind::BadInput, "layer1.weight"));
    EXPECT_TRUE(expect_error(load_with("network", "4,2"), ErrorKind::BadInput, "layer0.weight"));
}
TEST_F(policy_file, a_recurrent_layer_is_of_the_network) {
    Policy policy = example_policy();
    policy.network.recurrent = 2;  // two of [2, 4 + 2] and [2], and layer0.weight [3, 2]
    policy.parameters.resize(2 * (2 * 6 + 2) + 3 * 2 + 3 + 3 * 2 + 2, 0.5F);
    ASSERT_OK(save_policy(path(), policy));
    ASSERT_OK_AND_ASSIGN(const Policy read, load_policy(path()));
    EXPECT_EQ(read.network.widths, policy.network.widths);
    EXPECT_EQ(read.network.recurrent, 2U);
    EXPECT_EQ(read.parameters, policy.parameters);
    policy.parameters.pop_back();
    EXPECT_TRUE(expect_error(save_policy(path(), policy), ErrorKind::BadInput, "network [4,2r,3,2]"));
}
// Its network says what it has not, or leaves out what it has.
TEST_F(policy_file, contradictions_about_a_recurrent_layer_are_refused) {
    EXPECT_TRUE(
        expect_error(load_with("network", "4,2r,3,2"), ErrorKind::BadInput, "no tensor 'recurrent.gate.weight'"));
    const auto with_gate = [](TensorFile& file) {
        file.tensors.push_back({"recurrent.gate.weight", {2, 6}, std::vector<float>(12)});
    };
    EXPECT_TRUE(expect_error(load_changed(with_gate), ErrorKind::BadInput, "5 tensors; its network has 4"));
    EXPECT_TRUE(expect_error(load_changed([&](TensorFile& file) {
                                 with_gate(file);
                                 for (auto& [name, text] : file.metadata) {
                                     if (name == "network") text = "4,3r,3,2";
                                 }
                             }),
                             ErrorKind::BadInput, "'recurrent.gate.weight' of"));
    EXPECT_TRUE(expect_error(load_with("network", "4,3,2r,2"), ErrorKind::BadInput, "'network'"));
    EXPECT_TRUE(expect_error(load_with("network", "4,257r,3,2"), ErrorKind::BadInput, "257 recurrent units"));
}
TEST_F(policy_file, bad_numbers_are_refused) {
    EXPECT_TRUE(expect_error(load_with("seed", "18446744073709551616"), ErrorKind::BadInput, "seed"));
    EXPECT_TRUE(expect_error(load_with("generations", "4294967296"), ErrorKind::BadInput, "'generations'"));
    EXPECT_TRUE(expect_error(load_with("generations", ""), ErrorKind::BadInput, "'generations'"));
}
TEST_F(policy_file, weights_that_are_not_finite_are_refused_by_name) {
    for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
        EXPECT_TRUE(expect_error(load_changed([&](TensorFile& file) { file.tensors[2].values[1] = bad; }),
                                 ErrorKind::BadInput, "'layer1.weight'"));
    }
}
TEST_F(policy_file, other_tensors_are_refused) {
    EXPECT_TRUE(expect_error(load_changed([](TensorFile& file) { file.tensors.pop_back(); }), ErrorKind::BadInput,
                             "no tensor 'layer1.bias'"));
    EXPECT_TRUE(expect_error(load_changed([](TensorFile& file) {
                                 file.tensors.push_back({"more", {1}, {1}});
                             }),
                             ErrorKind::BadInput, "5 tensors"));
    EXPECT_TRUE(expect_error(load_changed([](TensorFile& file) {
                                 file.tensors[1].shape = {3, 1};
                             }),
                             ErrorKind::BadInput, "shape [3, 1]"));
}
// What versions before checksums wrote, and what other programs write: its format says that there is none.
TEST_F(policy_file, older_files_and_those_of_others_are_read) {
    ASSERT_OK(save_policy(path(), example_policy()));
    std::string text = text_of(path());
    text.replace(text.find("yolk_checksum"), 4, "none");
    write_text(path(), text);
    EXPECT_TRUE(expect_error(load_policy(path()), ErrorKind::BadInput, "has no checksum"));
    text.replace(text.find("yolk-policy-2"), 13, "yolk-policy-1");
    write_text(path(), text);
    ASSERT_OK_AND_ASSIGN(const Policy read, load_policy(path()));
    EXPECT_EQ(read.parameters, example_policy().parameters);
}

}  // namespace
}  // namespace yolk::train
