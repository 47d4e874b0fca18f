// SPDX-License-Identifier: Apache-2.0
#include "task_kind.hpp"

#include <algorithm>

#include "environment_flag.hpp"
#include "learn_run.hpp"
#include "options.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/train/run_folder.hpp"

namespace yolk::cli {
namespace {

bool describes_run(const std::string& task) { return task.ends_with(".toml"); }

bool is_environment(const std::string& task) { return task.ends_with(".glsl") || find_environment(task).has_value(); }

bool is_data(const std::string& task) { return !is_environment(task) && tasks::is_data_source(task); }

}  // namespace

void add_data_flags(App& train, DataFlags& flags, const std::string& task, std::vector<std::string>& sets) {
    const Condition of_data{"goes with a data set, or a yolk.toml",
                            [&task] { return describes_run(task) || is_data(task); }};
    train.group(of_data, [&] {
        train.add_option("--label", flags.label, "Data: column or array of the labels (default: the last column)");
        train.add_option("--labels", flags.labels, "Data: a file of labels, beside a .npy or an IDX file")
            ->type_name("FILE");
        train.add_flag("--header,!--no-header", flags.header,
                       "Data: whether a CSV file begins with names (default: if its first line has no number)");
        train.add_option("--test", flags.test, "Data: what the result is judged by, a share of the rows or a file")
            ->type_name("SHARE|FILE")
            ->default_str("0.2, or the set's own");
        add_number(train, "--held-out", flags.held_out, "Data: share of the rows that chooses the best generation")
            ->default_str("0.1");
        add_number(train, "--held-out-every", flags.held_out_every, "Data: generations between two looks at them")
            ->default_str("10");
        add_number(train, "--batch", flags.batch, "Data: rows per generation, drawn by the seed; 0: all")
            ->default_str("256");
        train.add_flag("--balance", flags.balance, "Data: each class counts the same in the loss");
        train.add_flag("--standardize,!--no-standardize", flags.standardize,
                       "Data: inputs get mean 0 and variance 1 (the default), or stay as they are");
        train.add_option("--activation", flags.activation, "Data: relu, tanh, gelu or silu")->default_str("relu");
        train.add_option("--gradient", flags.gradient, "Data: by derivatives, to compare: adam, momentum or sgd");
        add_number(train, "--gradient-lr", flags.gradient_lr, "Data: learning rate of the derivatives")
            ->default_str("0.001");
        train
            .add_repeatable("--set", sets,
                            "A setting of yolk.toml for this run, such as search.lr=0.1; may be given more than once")
            ->type_name("KEY=VALUE");
    });
}

std::optional<Result<tasks::Configuration>> describe_run(const train::TrainOptions& given, const App& train,
                                                         const std::vector<std::string>& sets) {
    const std::string& task = given.task;
    if (!describes_run(task) && !is_data(task)) return std::nullopt;
    const auto described = [&]() -> Result<tasks::Configuration> {
        YOLK_TRY(const std::vector<tasks::Override> overrides, overrides_of(train, sets));
        tasks::Configuration configuration;
        if (describes_run(task)) {
            YOLK_TRY(configuration, tasks::read_configuration(task, overrides));
        } else {
            configuration.learn.source = task;
            YOLK_TRY_VOID(tasks::apply(configuration, overrides));
            YOLK_TRY_VOID(validate(configuration.learn));
        }
        configuration.learn.resume = given.resume;
        return configuration;
    };
    return described();
}

Result<train::TrainOptions> resolve_described(const tasks::Configuration& configuration,
                                              const train::TrainOptions& given) {
    train::TrainOptions options = configuration.train;
    YOLK_TRY(ChosenEnvironment chosen, choose_environment(configuration.environment));
    options.task = std::string(chosen.info.name);
    options.own_environment = std::move(chosen.own);
    options.network.widths = {chosen.info.observation_count};
    options.network.widths.insert(options.network.widths.end(), configuration.hidden.begin(),
                                  configuration.hidden.end());
    options.network.widths.push_back(chosen.info.action_count);
    options.resume = given.resume;
    options.audit = given.audit;
    if (options.generations == 0) return bad_input("The number of generations is 0; at least 1 is needed.");
    return options;
}

Result<void> keep_configuration(const tasks::Configuration& configuration) {
    if (configuration.train.out.empty()) return {};
    return write_file_atomically(train::configuration_path(configuration.train.out), to_toml(configuration));
}

}  // namespace yolk::cli
