// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layers.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::tasks {
namespace {

/// At once on the host.
constexpr std::size_t kScoredRows = 1024;

Result<void> check_rows(const Model& model, const DataSet& data) {
    if (data.shape != model.shape) {
        return bad_input("'{}' has rows of [{}] inputs; the model, which learned {}, takes [{}].", data.name,
                         fmt::join(data.shape, ", "), shown(model.data), fmt::join(model.shape, ", "));
    }
    if (data.columns.empty() || model.columns.empty() || data.columns == model.columns) return {};
    const auto other = std::ranges::mismatch(data.columns, model.columns).in1 - data.columns.begin();
    return bad_input("'{}' has the inputs in other columns: column {} is '{}', and the model has learned '{}' there.",
                     data.name, other, shown(data.columns[static_cast<std::size_t>(other)]),
                     shown(model.columns[static_cast<std::size_t>(other)]));
}

/// Log-probabilities in place of the logits of a row.
void normalize(std::span<float> row) {
    const double largest = *std::ranges::max_element(row);
    double sum = 0.0;
    for (const float logit : row) sum += std::exp(double{logit} - largest);
    for (float& logit : row) logit = static_cast<float>(double{logit} - largest - std::log(sum));
}

/// Log-probabilities [rows, classes].
Result<std::vector<float>> log_probabilities(const Model& model, const DataSet& data) {
    YOLK_TRY_VOID(check_rows(model, data));
    YOLK_TRY(hyper::System system, tuned_system_of(model));
    const std::size_t classes = model.classes.size();
    std::vector<float> all;
    all.reserve(data.rows() * classes);
    for (std::size_t first = 0; first < data.rows(); first += kScoredRows) {
        std::vector<std::uint32_t> rows(std::min(kScoredRows, data.rows() - first));
        std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(first));
        YOLK_TRY(hyper::Tensor x,
                 hyper::Tensor::create({rows.size(), data.width()}, standardized(data, rows, model.standardization)));
        YOLK_TRY(const hyper::Value logits, system.call({{"x", std::move(x)}}));
        const std::span<const float> values = logits.tensor()->values();
        all.insert(all.end(), values.begin(), values.end());
    }
    for (std::size_t row = 0; row < data.rows(); ++row) normalize(std::span(all).subspan(row * classes, classes));
    return all;
}

}  // namespace

Result<std::vector<float>> predict(const Model& model, const DataSet& data) {
    YOLK_TRY(std::vector<float> probabilities, log_probabilities(model, data));
    for (float& each : probabilities) each = std::exp(each);
    return probabilities;
}

Result<Score> score(const Model& model, const DataSet& data) {
    YOLK_TRY(const std::vector<std::uint32_t> ids, ids_of_labels(data, model.classes));
    YOLK_TRY(const std::vector<float> logs, log_probabilities(model, data));
    const std::size_t classes = model.classes.size();
    Score score{.rows = data.rows()};
    for (const std::string& label : model.classes) score.classes.push_back({.label = label});
    for (std::size_t row = 0; row < data.rows(); ++row) {
        const auto of_row = std::span(logs).subspan(row * classes, classes);
        const bool right = std::ranges::max_element(of_row) - of_row.begin() == static_cast<std::ptrdiff_t>(ids[row]);
        ClassScore& of_class = score.classes[ids[row]];
        ++of_class.rows;
        of_class.right += right ? 1 : 0;
        score.right += right ? 1 : 0;
        score.loss -= double{of_row[ids[row]]};
    }
    score.loss /= static_cast<double>(std::max<std::uint64_t>(1, score.rows));
    return score;
}

Json to_json(const Score& score) {
    Json json{{"rows", score.rows}, {"right", score.right}, {"accuracy", score.accuracy()}, {"loss", score.loss}};
    json["classes"] = Json::object();
    for (const ClassScore& each : score.classes)
        json["classes"][each.label] = {{"rows", each.rows}, {"right", each.right}};
    return json;
}

}  // namespace yolk::tasks
