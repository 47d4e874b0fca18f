// SPDX-License-Identifier: Apache-2.0
// Supervised learning without derivatives: a network of layers that learns a data set's labels by EGGROLL, or by
// derivatives to compare. It is a system of hyperfunctions (yolk/system.hpp), and its training a search over that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/data.hpp"
#include "yolk/devices.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/optimize.hpp"
#include "yolk/optimizer.hpp"
#include "yolk/result.hpp"

namespace yolk::tasks {

enum class Activation { Relu, Tanh, Gelu, Silu };
[[nodiscard]] std::string_view to_string(Activation activation) noexcept;
[[nodiscard]] Result<Activation> parse_activation(std::string_view word);

struct Network {
    std::vector<std::uint32_t> hidden{64};  ///< widths of the layers between inputs and classes; none: a linear model
    Activation activation = Activation::Relu;
};

/// What a network that learns a data set begins with, where other systems have evolve::kSystemDefaults.
[[nodiscard]] evolve::SystemEvolutionOptions learning_defaults();

struct LearnOptions {
    std::string source = "digits";           ///< read_data()'s
    std::shared_ptr<const DataSet> given{};  ///< rows in place of a source
    DataOptions data{};
    double held_out = 0.1;      ///< share of the rows by which the best generation is chosen; 0: the last one is kept
    double test = 0.2;          ///< share of the rows that the end result is judged by, where there is no test set
    std::string test_source{};  ///< a test set of its own; empty: the source's, or the share above
    bool standardize = true;    ///< inputs, by the mean and the variance of the training rows
    bool balance = false;       ///< each class counts the same in the loss, however many rows it has
    Network network{};
    /// Rows that each generation is evaluated on, drawn without replacement by the seed; 0: all.
    std::uint32_t batch = 256;
    std::uint32_t generations = 300;
    evolve::SystemEvolutionOptions evolution = learning_defaults();
    std::optional<hyper::GradientOptions> gradient{};  ///< by derivatives in place of EGGROLL
    std::uint32_t held_out_every = 10;                 ///< generations between two looks at the rows held out
    /// Folder: model.safetensors, metrics.jsonl, and of EGGROLL checkpoint.yolk and log.yolk; made if missing. A run
    /// that is there is set aside first, as train::TrainOptions::out says. Empty: nothing is written.
    std::filesystem::path out = "yolk-out";
    bool log = true;                       ///< log.yolk, from which any generation can be rebuilt
    std::uint32_t checkpoint_every = 100;  ///< generations; 0: at the end alone
    bool resume = false;                   ///< goes on from the checkpoint, with the same settings and data
    std::string configuration{};           ///< the text of yolk.toml, which is kept in the folder; empty: none is
};
/// The first setting outside its limits.
[[nodiscard]] Result<void> validate(const LearnOptions& options);

/// A network that has learned: everything that a prediction needs.
struct Model {
    std::string data{};                  ///< what it learned from, by name
    std::vector<std::uint32_t> shape{};  ///< of one row's inputs
    std::vector<std::string> columns{};  ///< names of the inputs, where there were any
    std::vector<std::string> classes{};  ///< the labels that it knows
    Network network{};
    Standardization standardization{};
    std::vector<std::vector<float>> parameters{};  ///< weight [out, in] and bias [out] of each layer in turn
    std::uint32_t generations = 0;
    std::uint64_t seed = 1;
};
/// A state file (docs/state_files.md). Errors: values that are not finite, or do not fit the network; Io.
[[nodiscard]] Result<void> save_model(const std::filesystem::path& path, const Model& model);
[[nodiscard]] Result<Model> load_model(const std::filesystem::path& path);

/// How well a model does on rows with labels.
struct ClassScore {
    std::string label{};
    std::uint64_t rows = 0, right = 0;
};
struct Score {
    std::uint64_t rows = 0, right = 0;
    double loss = 0.0;  ///< mean cross entropy in nats, each row counting the same
    std::vector<ClassScore> classes{};
    [[nodiscard]] double accuracy() const noexcept {
        return rows == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(rows);
    }
};
[[nodiscard]] Json to_json(const Score& score);

/// Probabilities [rows, classes] on the host, with the bits that a device has in exact mode up to the softmax. Errors:
/// rows of another shape, columns of other names.
[[nodiscard]] Result<std::vector<float>> predict(const Model& model, const DataSet& data);
/// Errors: predict's, labels that the model does not know.
[[nodiscard]] Result<Score> score(const Model& model, const DataSet& data);

/// On the rows that a run did not learn from; nothing where it has none.
struct Judgement {
    std::optional<Score> held_out{}, test{};
};
/// Of a model that these options led to: the rows are split as they were for it.
[[nodiscard]] Result<Judgement> judge(const Model& model, const LearnOptions& options);

struct LearnOutcome {
    Model model{};
    std::uint64_t training_rows = 0;
    Judgement judged{};  ///< of the parameters that were kept
    hyper::OptimizeOutcome search{};
    double seconds = 0.0;              ///< of the search
    std::filesystem::path file{};      ///< the saved model; empty where nothing was written
    std::filesystem::path previous{};  ///< where the run that was in the folder is now; empty where none was
};

/// After each generation; `unperturbed` and `held_out` are minus losses. False ends the search there, and what was
/// learned is kept.
using OnLearned = std::function<bool(const hyper::GenerationReport&)>;

/// Errors: read_data's, validate's, System::optimize's; a folder that cannot be written, told before the work.
/// Where the devices are those of one rank, all ranks learn together and rank 0 writes the files.
[[nodiscard]] Result<LearnOutcome> learn(const evolve::Devices& devices, const LearnOptions& options,
                                         const OnLearned& on_generation = {});

/// The model after any generation of a run by EGGROLL, from its log and the settings that it had. Nothing is evaluated.
struct ReplayedModel {
    Model model{};
    hyper::SearchReplay replay{};
};
[[nodiscard]] Result<ReplayedModel> replay_learning(const evolve::Devices& devices, const LearnOptions& options,
                                                    const std::filesystem::path& log,
                                                    std::optional<std::uint32_t> generation = {});
/// What a log of such a run calls its system.
inline constexpr std::string_view kLearnedSystem = "network";

}  // namespace yolk::tasks
