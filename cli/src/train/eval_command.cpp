// SPDX-License-Identifier: Apache-2.0
#include "eval_command.hpp"

#include <memory>
#include <vector>

#include "last_run.hpp"
#include "learn_run.hpp"
#include "output.hpp"
#include "program_flags.hpp"
#include "select_device.hpp"
#include "yolk/json.hpp"
#include "yolk/train.hpp"

namespace yolk::cli {
namespace {

struct EvalFlags {
    std::string policy;
    std::string environment;
    ProgramFlags program;
    std::string devices;  ///< of --devices
    train::EvalOptions options;
    JudgeFlags judge;  ///< of a model that learned a data set
    CommonFlags common;
};

Result<int> run_eval(const EvalFlags& flags) {
    if (is_model(flags.policy)) {
        JudgeFlags judge = flags.judge;
        judge.common = flags.common;
        return run_judge(flags.policy, judge);
    }
    if (!flags.judge.data.empty()) return bad_input("--data has no effect here: it goes with the model of a data set.");
    if (flags.options.episodes == 0) return bad_input("--episodes is 0; at least 1 is needed.");
    train::EvalOptions options = flags.options;
    if (!flags.environment.empty()) {
        YOLK_TRY(options.own_environment, load_environment(flags.environment));
    }
    YOLK_TRY(const std::vector<Device> devices, open_devices(flags.devices, flags.common));
    if (!flags.program.command.empty()) {
        YOLK_TRY(options.host_environments, start_program(flags.program, flags.options.episodes, 1));
    }
    const RememberShapes remember(devices);
    YOLK_TRY(const train::EvalOutcome outcome, train::evaluate_policy(devices, flags.policy, options));
    if (flags.common.json) {
        Json json{{"policy", flags.policy},
                  {"task", outcome.task},
                  {"device", names_of(devices)},
                  {"driver", drivers_of(devices)},
                  {"seed", flags.options.seed},
                  {"episodes", outcome.episodes},
                  {"mean_return", outcome.mean_return},
                  {"deviation", outcome.deviation},
                  {"worst_return", outcome.worst_return},
                  {"best_return", outcome.best_return}};
        if (outcome.not_finite > 0) json["not_finite"] = outcome.not_finite;
        if (devices.size() > 1) json["depends_on_placement"] = outcome.depends_on_placement;
        print_json(json);
        return 0;
    }
    print_line("{} on {}: {} over {} episodes, seed {}", flags.policy, names_of(devices), outcome.task,
               outcome.episodes, flags.options.seed);
    print_line("mean return {:.2f}, deviation {:.2f}, worst {:.1f}, best {:.1f}", outcome.mean_return,
               outcome.deviation, outcome.worst_return, outcome.best_return);
    if (outcome.not_finite > 0)
        print_line("the returns of {} episodes are not finite; worst and best are of the others", outcome.not_finite);
    if (outcome.depends_on_placement)
        print_line("not all of these devices are exact: the last bits depend on which of them ran which episode");
    return 0;
}

}  // namespace

Command add_eval_command(App& app) {
    const auto flags = std::make_shared<EvalFlags>();
    App* command =
        app.add_subcommand("eval", "Run a saved policy and show its returns, or judge a model of a data set");
    command->add_option("policy", flags->policy, "A policy.safetensors or model.safetensors that train saved")
        ->required()
        ->type_name("POLICY");
    command->add_option("--env", flags->environment, "The environment's file, for a policy that was trained on one")
        ->type_name("FILE");
    const Option* const data =
        command->add_option("--data", flags->judge.data,
                            "Of a data set's model: the rows to judge it by (default: those that "
                            "its run kept back)");
    command->group(with(data), [&] {
        command->add_option("--label", flags->judge.options.label, "Column of the labels (default: the last)");
        command->add_option("--labels", flags->judge.options.labels, "A file of labels, of a .npy or an IDX file");
    });
    add_program_flags(*command, flags->program);
    add_number(*command, "--max-steps", flags->options.max_steps,
               "Steps of an episode at most, where the host steps it (default: the environment's own)")
        ->only(with(command->option("--program")));
    add_device_flag(*command, flags->common);
    add_devices_flag(*command, flags->devices);
    add_number(*command, "--episodes", flags->options.episodes, "Episodes")->default_str("100");
    add_number(*command, "--seed", flags->options.seed, "Seed of the episodes' starts")->default_str("1");
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_eval(*flags); }};
}

}  // namespace yolk::cli
