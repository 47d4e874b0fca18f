// SPDX-License-Identifier: Apache-2.0
#include "yolk/configuration.hpp"

#include <gtest/gtest.h>

#include "keys.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::tasks {
namespace {

using ::yolk::testing::expect_error;

Result<Configuration> parse(const std::string& text, std::vector<Override> overrides = {}) {
    return parse_configuration(text, "'y.toml'", overrides);
}
void expect_refused(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* const part : parts) EXPECT_TRUE(expect_error(parse(text), ErrorKind::BadInput, part)) << text;
}

// toml++ asserts here where it is built with assertions.
TEST(configuration_file, a_table_without_a_name_is_refused) {
    for (const char* text : {"version = 1\n[:]\n", "version = 1\n[[=", "version = 1\n[data.:]\n", "[{}]"})
        expect_refused(text, {"'y.toml', line "});
}

// toml++ 3.3 has undefined behaviour at such characters, but in comments and strings.
TEST(configuration_file, characters_beyond_ascii_stand_in_comments_and_strings) {
    ASSERT_OK_AND_ASSIGN(const Configuration read,
                         parse("\xEF\xBB\xBF# gr\xC3\xB6\xC3\x9F"
                               "e\nversion = 1\n[data]\nsource = \"a\\\"\xC3\xA9.csv\"  # \xE2\x82\xAC\n"
                               "test = '\xC3\xA4\\'\n"));
    EXPECT_EQ(read.learn.source, "a\"\xC3\xA9.csv");
    for (const char* text : {"version = 1\ngr\xC3\xB6\xC3\x9F"
                             "e = 1\n",
                             "version = 1\n[d\xC3\xA4ta]\n", "version = 1 \xE2\xB1\x8E\n",
                             "version = 1\n\xF0\x9F\x90\xA3", "x = \"\"\"a \\\n  \xC3\xBC\"\"\"\n"})
        expect_refused(text, {"'y.toml', line ", "in quotes"});
    ASSERT_OK_AND_ASSIGN(const Configuration set,
                         parse("version = 1\n[data]\n", {{"source", "\xC3\xA9.csv", "--set"}}));
    EXPECT_EQ(set.learn.source, "\xC3\xA9.csv");
}

TEST(configuration_file, data_and_environment) {
    ASSERT_OK_AND_ASSIGN(const Configuration data,
                         parse("version = 1\n[data]\nsource = \"a.csv\"\ntest = \"b.csv\"\nheader = true\n[network]\n"
                               "hidden = [8, 4]\nconv = [\"8x3p1\", \"max2\"]\nactivation = \"tanh\"\n[search]\nlr = "
                               "1\noptimizer = \"momentum\"\n"
                               "freeze = [\"layer0.bias\"]\n"));
    EXPECT_EQ(data.kind, RunKind::Data);
    EXPECT_EQ(data.learn.test_source, "b.csv");
    EXPECT_EQ(data.learn.data.header, true);
    EXPECT_EQ(data.learn.network.hidden, (std::vector<std::uint32_t>{8, 4}));
    ASSERT_EQ(data.learn.network.image_layers.size(), 2U);
    EXPECT_EQ(data.learn.network.image_layers[0], (ImageLayer{.channels = 8, .padding = 1}));
    EXPECT_EQ(to_string(data.learn.network.image_layers[1]), "max2");
    EXPECT_EQ(data.learn.network.activation, Activation::Tanh);
    EXPECT_EQ(data.learn.evolution.learning_rate, 1.0F);
    EXPECT_EQ(data.learn.evolution.optimizer, OptimizerRule::Momentum);
    EXPECT_EQ(data.learn.evolution.freeze, std::vector<std::string>{"layer0.bias"});
    ASSERT_OK_AND_ASSIGN(
        const Configuration environment,
        parse("version = 1\n[environment]\nepisodes = 2\n[network]\nhidden = []\n[search]\nseed = 7\n"));
    EXPECT_EQ(environment.train.evolution.episodes, 2U);
    EXPECT_EQ(environment.train.evolution.seed, 7U);
    EXPECT_EQ(environment.train.evolution.population, 4096U) << "the defaults of its kind";
    EXPECT_TRUE(environment.hidden.empty());
}

TEST(configuration_file, is_written_as_it_is_read) {
    for (const RunKind kind : {RunKind::Data, RunKind::Environment}) {
        Configuration configuration{.kind = kind};
        configuration.learn.source = "a \"b\"\\c.csv";
        configuration.learn.data.header = false;
        configuration.learn.network.image_layers = {{.channels = 8, .stride = 2}, {.channels = 3, .size = 1}};
        configuration.learn.gradient = hyper::GradientOptions{.rule = OptimizerRule::Sgd, .learning_rate = 0.1F};
        configuration.learn.evolution.sigma = configuration.train.evolution.sigma = 0.3F;
        const std::string text = to_toml(configuration);
        ASSERT_OK_AND_ASSIGN(const Configuration again, parse(text));
        EXPECT_EQ(to_toml(again), text);
        for (const SettingKey& key : setting_keys()) {
            if (key.kind && *key.kind != kind) continue;
            EXPECT_NE(text.find("\n" + std::string(key.name) + " = "), std::string::npos) << key.name;
        }
    }
}

TEST(configuration_file, overrides) {
    const std::string text = "version = 1\n[data]\nsource = \"digits\"\n";
    ASSERT_OK_AND_ASSIGN(const Configuration set, parse(text, {{"search.lr", "0.5", "--set"},
                                                               {"hidden", "8,4", "--hidden"},
                                                               {"conv", "8x3,max2", "--conv"},
                                                               {"source", "my file.csv", "--set"},
                                                               {"gradient_lr", "0.25", "--gradient-lr"},
                                                               {"gradient", "adam", "--gradient"},
                                                               {"balance", "true", "--balance"}}));
    EXPECT_EQ(set.learn.evolution.learning_rate, 0.5F);
    EXPECT_EQ(set.learn.network.hidden, (std::vector<std::uint32_t>{8, 4}));
    EXPECT_EQ(set.learn.network.image_layers.size(), 2U);
    EXPECT_EQ(set.learn.source, "my file.csv");
    EXPECT_EQ(set.learn.gradient->learning_rate, 0.25F);
    EXPECT_TRUE(set.learn.balance);
    EXPECT_TRUE(expect_error(parse(text, {{"search.lt", "1", "--set search.lt=1"}}), ErrorKind::BadInput,
                             "--set search.lt=1: there is no setting 'search.lt'. Did you mean 'lr'?"));
    EXPECT_TRUE(expect_error(parse(text, {{"episodes", "1", "--episodes"}}), ErrorKind::BadInput,
                             "--episodes: 'environment.episodes' is of runs over an environment"));
    EXPECT_TRUE(expect_error(parse(text, {{"batch", "many", "--batch"}}), ErrorKind::BadInput,
                             "a whole number is needed, not a text"));
}

TEST(configuration_file, bad_ones_have_a_line) {
    expect_refused("[data]\n", {"`version = 1` is missing"});
    expect_refused("version = 2\n[data]\n", {"'y.toml', line 1", "version 2; this Yolk reads version 1"});
    expect_refused("version = \"1\"\n[data]\n", {"line 1"});
    expect_refused("version = 1\n", {"neither [data] nor [environment]"});
    expect_refused("version = 1\n[data]\n[environment]\n", {"[data] and [environment]"});
    expect_refused("version = 1\n[data]\nsource = \n", {"'y.toml', line 3", "no TOML"});
    expect_refused("version = 1\n[data]\nsorce = \"a\"\n",
                   {"line 3: 'sorce' is no key of [data]. Did you mean 'source'?"});
    expect_refused("version = 1\n[data]\n[serch]\n",
                   {"line 3: there is no table or key 'serch'. Did you mean 'search'?"});
    expect_refused("version = 1\n[data]\nsource = 7\n", {"line 3: 'data.source': a text is needed, not an integer"});
    expect_refused("version = 1\n[data]\n\n[search]\npopulation = -2\n",
                   {"line 5: 'search.population': -2 is outside the range"});
    expect_refused("version = 1\n[data]\n[search]\npopulation = 2.5\n",
                   {"line 4", "a whole number is needed, not a number"});
    expect_refused("version = 1\n[data]\n[search]\nfitness = \"best\"\n", {"line 4: 'search.fitness'", "best"});
    expect_refused("version = 1\n[data]\n[search]\nsigma = 1979-05-27\n", {"line 4", "date"});
    expect_refused("version = 1\n[data]\nepisodes = 1\n", {"line 3: 'episodes' is no key of [data]"});
    expect_refused("version = 1\n[environment]\n[search]\nbatch = 1\n",
                   {"line 4: 'search.batch' is of runs over a data set"});
    expect_refused("version = 1\n[data]\n[search]\nsigma = -1\n", {"'y.toml'", "Sigma is -1"});
    expect_refused("version = 1\n[data]\n[network]\nhidden = [1, \"a\"]\n",
                   {"line 4: 'network.hidden': 'a' is no whole number"});
    expect_refused("version = 1\n[data]\n[network]\nconv = [\"8x3\", \"8y3\"]\n",
                   {"'y.toml', line 4: 'network.conv': '8y3' is no layer over images"});
    expect_refused("version = 1\n[data]\n[network]\nconv = \"8x3s0\"\n", {"'y.toml'", "'8x3s0'", "stride of 0"});
    expect_refused("version = 1\n[environment]\n[network]\nconv = \"8x3\"\n",
                   {"line 4: 'network.conv' is of runs over a data set"});
    expect_refused("version = 1\nsearch = 3\n[data]\n", {"line 2: 'search' must be a table"});
}

}  // namespace
}  // namespace yolk::tasks
