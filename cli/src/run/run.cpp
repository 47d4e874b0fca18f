// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/cli/run.hpp"

#include <array>

#include "bench_command.hpp"
#include "bytes_command.hpp"
#include "check_command.hpp"
#include "command_line.hpp"
#include "devices_command.hpp"
#include "embed_command.hpp"
#include "eval_command.hpp"
#include "finetune_command.hpp"
#include "generate_command.hpp"
#include "init_command.hpp"
#include "inspect_command.hpp"
#include "plot_command.hpp"
#include "predict_command.hpp"
#include "replay_command.hpp"
#include "report_command.hpp"
#include "system_command.hpp"
#include "train_command.hpp"
#include "tune_command.hpp"

namespace yolk::cli {

int run(int argc, const char* const* argv) {
    App app("Yolk trains systems without backpropagation on any Vulkan device.", "yolk");
    prepare(app);
    const std::array<Command, 17> commands{
        add_train_command(app),   add_eval_command(app),  add_replay_command(app),   add_devices_command(app),
        add_inspect_command(app), add_check_command(app), add_bench_command(app),    add_tune_command(app),
        add_system_command(app),  add_plot_command(app),  add_predict_command(app),  add_init_command(app),
        add_sample_command(app),  add_embed_command(app), add_generate_command(app), add_finetune_command(app),
        add_report_command(app)};
    return parse_and_run(app, argc, argv, commands);
}

}  // namespace yolk::cli
