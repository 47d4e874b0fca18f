// SPDX-License-Identifier: Apache-2.0
#include "predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "output.hpp"
#include "yolk/json.hpp"
#include "yolk/learn.hpp"

namespace yolk::cli {
namespace {

struct PredictFlags {
    std::filesystem::path model;
    std::string data;
    CommonFlags common;
};

/// As a field of CSV.
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

Result<int> run_predict(const PredictFlags& flags) {
    YOLK_TRY(const tasks::Model model, tasks::load_model(flags.model));
    YOLK_TRY(tasks::DataSet data, tasks::read_data(flags.data, {.has_labels = false}));
    // Images that the data set had flat, and the other way round.
    if (data.width() == tasks::DataSet{.shape = model.shape}.width()) data.shape = model.shape;
    YOLK_TRY(const std::vector<float> probabilities, tasks::predict(model, data));
    const std::size_t classes = model.classes.size();
    if (!flags.common.json) print_line("label,probability");
    for (std::size_t row = 0; row < data.rows(); ++row) {
        const auto first = probabilities.begin() + static_cast<std::ptrdiff_t>(row * classes);
        const auto best = std::max_element(first, first + static_cast<std::ptrdiff_t>(classes));
        const std::string& label = model.classes[static_cast<std::size_t>(best - first)];
        if (flags.common.json) {
            Json each = Json::object();
            for (std::size_t i = 0; i < classes; ++i)
                each[model.classes[i]] = *(first + static_cast<std::ptrdiff_t>(i));
            print_json({{"row", row}, {"label", label}, {"probabilities", each}});
        } else {
            print_line("{},{:.4f}", csv_field(label), *best);
        }
    }
    return 0;
}

}  // namespace

Command add_predict_command(App& app) {
    const auto flags = std::make_shared<PredictFlags>();
    App* const command = app.add_subcommand("predict", "Labels for new rows, by a model that train saved, as CSV");
    command->add_option("model", flags->model, "A model.safetensors that train saved")->required()->type_name("MODEL");
    command
        ->add_option("data", flags->data, "Rows without labels: a .csv, .npy, .npz or IDX file, or a folder of images")
        ->required()
        ->type_name("DATA");
    command->add_flag("--json", flags->common.json, "JSON lines, with the probability of each label");
    return {command, [flags] { return run_predict(*flags); }};
}

}  // namespace yolk::cli
