// SPDX-License-Identifier: Apache-2.0
#include "product_views.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "graph_queries.hpp"
#include "lowering_rules.hpp"

namespace yolk::hyper::population {
namespace {

/// A run of rows, and one of columns; the elements of one of them are neighbours.
std::optional<MatrixLayout> matrix_of(std::uint64_t offset, const StridedRuns& all_rows,
                                      const StridedRuns& all_columns) {
    if (all_rows.size() > 1 || all_columns.size() > 1) return {};
    const StridedRun rows = all_rows.empty() ? StridedRun() : all_rows.front();
    const StridedRun columns = all_columns.empty() ? StridedRun() : all_columns.front();
    const bool transposed = columns.extent > 1 && columns.stride != 1;
    const auto [stored, length] = transposed ? std::pair(columns, rows) : std::pair(rows, columns);
    if (length.extent > 1 && length.stride != 1) return {};
    const std::uint64_t stride = stored.extent > 1 ? stored.stride : length.extent;
    if (stride < length.extent || std::max(offset, stride) >= kDense) return {};
    return MatrixLayout{.transposed = transposed,
                        .offset = static_cast<std::uint32_t>(offset),
                        .stride = static_cast<std::uint32_t>(stride)};
}

/// All dimensions but the last `kept`, after `outer`.
StridedRuns leading_runs(StridedRuns outer, const StridedView& view, std::size_t kept) {
    for (std::size_t k = 0; k + kept < view.dimensions.size(); ++k)
        outer.insert(outer.end(), view.dimensions[k].begin(), view.dimensions[k].end());
    return joined(outer);
}

/// The last two dimensions are a matrix. Of all matrices, those of `outer` and of the dimensions before, each `inner`
/// lie in one stride, and the groups in another.
std::optional<MatrixLayout> batch_of(const StridedView& view, const StridedRun& outer, std::uint64_t inner) {
    const std::size_t rank = view.dimensions.size();
    StridedRuns groups = leading_runs({outer}, view, 2);
    StridedRun within;
    if (inner > 1) {
        if (groups.empty() || groups.back().extent % inner != 0) return {};
        within = {inner, groups.back().stride};
        groups.back() = {groups.back().extent / inner, groups.back().stride * inner};
        groups = joined(groups);
    }
    const std::uint64_t apart = groups.empty() ? outer.stride : groups.front().stride;
    if (groups.size() > 1 || std::max(apart, within.stride) >= kDense) return {};
    std::optional<MatrixLayout> layout =
        matrix_of(view.offset, joined(view.dimensions[rank - 2]), joined(view.dimensions[rank - 1]));
    if (!layout) return {};
    layout->batch_stride = static_cast<std::uint32_t>(apart);
    if (inner > 1) layout->inner_stride = static_cast<std::uint32_t>(within.stride);
    return layout;
}

std::optional<MatrixLayout> rows_layout(const ProductEquation& product, const VariableView& view) {
    if (!product.is_tall()) return batch_of(view.view, product.all_of(view), product.inner);
    StridedRuns outer;
    std::uint64_t each = view.elements;
    if (product.per_example) {
        outer.push_back({product.examples, each});
        each *= product.examples;
    }
    if (!product.b.traits.varies) outer.insert(outer.begin(), StridedRun{product.members, each});
    if (each >= kDense) return {};
    std::optional<MatrixLayout> layout =
        matrix_of(view.view.offset, leading_runs(outer, view.view, 1), joined(view.view.dimensions.back()));
    if (layout) layout->batch_stride = static_cast<std::uint32_t>(each);
    return layout;
}

}  // namespace

bool ProductEquation::is_tall() const {
    const Shape& shape = b.type.shape;
    return !b.traits.per_example && element_count(b.type) == shape[shape.rank() - 2] * shape[shape.rank() - 1];
}

std::uint64_t ProductEquation::leading() const {
    std::uint64_t count = 1;
    for (std::size_t i = 0; i + 2 < out.rank(); ++i) count *= out[i];
    return count;
}

std::array<std::uint64_t, 2> ProductEquation::inner_choices() const {
    return {leading(), out.rank() < 3 ? 1 : out[out.rank() - 3]};
}

StridedRun ProductEquation::all_of(const VariableView& view) const {
    return {std::uint64_t{members} * (per_example ? examples : 1), view.elements};
}

std::optional<MatrixLayout> operand_layout(const ProductEquation& product, std::size_t operand,
                                           const VariableView& view) {
    const Operand& of = operand == 0 ? product.a : product.b;
    if (product.is_tall() && operand == 1) return batch_of(view.view, {product.members, view.elements}, 1);
    const Shape& shape = of.type.shape;
    const bool is_repeated =
        of.traits.per_example != product.per_example ||
        element_count(of.type) != product.leading() * shape[shape.rank() - 2] * shape[shape.rank() - 1];
    if (is_repeated) return {};
    return operand == 0 ? rows_layout(product, view) : batch_of(view.view, product.all_of(view), product.inner);
}

std::optional<MatrixLayout> out_layout(const ProductEquation& product, const VariableView& view) {
    const std::optional<MatrixLayout> layout = rows_layout(product, view);
    if (layout && layout->transposed && product.is_tall()) return {};
    return layout;
}

namespace {

struct Writes {
    const VariableView& view;
    bool operator()(const ProductEquation& made) const { return out_layout(made, view).has_value(); }
};

class ProductFinder {
   public:
    explicit ProductFinder(const ProductQuestion& question)
        : question_(question),
          graph_(question.graph),
          readers_(readers_of(graph_)),
          settled_(graph_.equations.size(), 0) {
        found_.read.resize(graph_.variables.size());
        found_.written.resize(graph_.variables.size());
        found_.is_idle.assign(graph_.equations.size(), false);
    }

    [[nodiscard]] ProductViews find() {
        for (std::size_t i = 0; i < graph_.equations.size(); ++i) {
            if (is_product(i)) find_written(i);
        }
        for (std::size_t i = 0; i < graph_.equations.size(); ++i) {
            if (graph_.equations[i].operation->name == "concat") find_whole(i);
        }
        const std::vector<std::optional<VariableView>> views = views_of_moves();
        for (std::size_t i = graph_.equations.size(); i-- > 0;) {
            if (!is_move(i) || found_.is_idle[i]) continue;
            const std::vector<VariableId>& results = graph_.equations[i].results;
            std::vector<std::uint64_t> settled = settled_;
            if (!std::ranges::all_of(results,
                                     [&](VariableId id) { return is_read_in_place(i, id, views[id.value], settled); }))
                continue;
            settled_ = std::move(settled);
            found_.is_idle[i] = true;
            for (const VariableId id : results) found_.read[id.value] = views[id.value];
        }
        return std::move(found_);
    }

   private:
    [[nodiscard]] const Traits& traits(VariableId id) const { return question_.placed.variables[id.value]; }
    [[nodiscard]] const ValueType& type(VariableId id) const { return graph_.variables[id.value].type; }
    [[nodiscard]] bool runs_apart(std::size_t i) const {
        return question_.placed.equations[i].placement == Placement::Device && !question_.joined[i];
    }
    [[nodiscard]] std::vector<Operand> operands(std::size_t i) const {
        return operands_of(graph_, question_.placed, i, question_.is_uniform);
    }
    [[nodiscard]] bool is_product(std::size_t i) const {
        return runs_apart(i) && graph_.equations[i].operation->name == "matmul" &&
               !is_drawn_matrix(operands(i)[1], question_.sources);
    }
    /// Of floats that a kernel makes, of all examples or for each of them, as before.
    [[nodiscard]] bool is_move(std::size_t i) const {
        constexpr std::array<std::string_view, 4> kMoves{"permute", "reshape", "slice", "split"};
        const Equation& equation = graph_.equations[i];
        if (!runs_apart(i) || std::ranges::find(kMoves, equation.operation->name) == kMoves.end()) return false;
        const auto* from = std::get_if<VariableId>(&equation.operands[0]);
        if (from == nullptr || !traits(*from).on_device || traits(*from).words) return false;
        return std::ranges::all_of(equation.results, [&](VariableId id) {
            return traits(id).per_example == traits(*from).per_example && element_count(type(id)) > 0;
        });
    }
    [[nodiscard]] std::vector<Shape> result_shapes(std::size_t i) const {
        std::vector<Shape> shapes;
        for (const VariableId id : graph_.equations[i].results) shapes.push_back(type(id).shape);
        return shapes;
    }
    /// `of` holds the operands.
    [[nodiscard]] ProductEquation product(std::size_t i, const std::vector<Operand>& of) const {
        const VariableId out = graph_.equations[i].results[0];
        constexpr std::uint32_t kSeveral = 2;  // however many: layouts must be right for any number of members
        return {.a = of[0],
                .b = of[1],
                .out = type(out).shape,
                .per_example = traits(out).per_example,
                .members = kSeveral,
                .examples = question_.examples};
    }

    /// A product's result where moves that nothing else reads would have put it.
    struct Followed {
        std::size_t product = 0;
        VariableView written;
        std::vector<std::size_t> moves;
    };
    void write_there(Followed found) {
        const std::vector<Operand> of = operands(found.product);
        settled_[found.product] = product(found.product, of).with_inner(Writes{found.written}).value().inner;
        found_.written[graph_.equations[found.product].results[0].value] = std::move(found.written);
        for (const std::size_t i : found.moves) found_.is_idle[i] = true;
    }
    /// Follows equations of which each is the only one that reads what the one before gives.
    void find_written(std::size_t i) {
        const std::vector<Operand> of = operands(i);
        const ProductEquation made = product(i, of);
        VariableId at = graph_.equations[i].results[0];
        if (element_count(type(at)) == 0) return;
        StridedView view = dense_view(made.out);
        std::vector<std::size_t> moves;
        std::optional<Followed> last;
        while (const std::optional<std::size_t> reader = only_reader(i, at)) {
            const Equation& equation = graph_.equations[*reader];
            if (equation.operation->name == "concat") follow_part(*reader, i, made, {.in = at, .view = view}, moves);
            if (equation.operation->name != "permute" && equation.operation->name != "reshape") break;
            const auto next = is_move(*reader) ? moved(equation, view, result_shapes(*reader)) : std::nullopt;
            if (!next) break;
            view = next->front();
            at = equation.results[0];
            moves.push_back(*reader);
            if (equation.operation->name == "reshape") continue;  // it moves nothing by itself
            if (auto written = written_in(made, at, view, dense_view(type(at).shape)))
                last = Followed{.product = i, .written = *std::move(written), .moves = moves};
        }
        if (last) write_there(*std::move(last));
    }
    [[nodiscard]] std::optional<std::size_t> only_reader(std::size_t maker, VariableId id) const {
        if (question_.taken[id.value] || readers_[id.value].size() != 1) return {};
        const std::size_t reader = readers_[id.value].front();
        if (question_.places[reader] != question_.places[maker] || !runs_apart(reader)) return {};
        return reader;
    }
    [[nodiscard]] std::optional<VariableView> written_in(const ProductEquation& made, VariableId to,
                                                         const StridedView& view, const StridedView& in) const {
        const std::optional<StridedView> lies = inverse(view, made.out, in);
        if (!lies) return {};
        VariableView written{.in = to, .elements = element_count(type(to)), .view = *lies};
        if (!made.with_inner(Writes{written})) return {};
        return written;
    }
    /// `part`: a concat's operand, and the product's elements in it.
    void follow_part(std::size_t concat, std::size_t i, const ProductEquation& made, const VariableView& part,
                     const std::vector<std::size_t>& moves) {
        const Equation& equation = graph_.equations[concat];
        const VariableId whole = equation.results[0];
        const auto along = dimension_of(equation, type(whole).shape);
        if (!along || traits(whole).per_example != made.per_example) return;
        std::uint64_t start = 0;
        for (const Atom& atom : equation.operands) {
            const auto* id = std::get_if<VariableId>(&atom);
            if (id == nullptr) return;
            const std::uint64_t extent = type(*id).shape[*along];
            if (*id == part.in) {
                const StridedView in = part_of(type(whole).shape, *along, start, extent);
                if (auto written = written_in(made, whole, part.view, in))
                    parts_[concat].push_back({.product = i, .written = *std::move(written), .moves = moves});
                return;
            }
            start += extent;
        }
    }
    /// All parts are written by products, or none.
    void find_whole(std::size_t concat) {
        if (parts_[concat].size() != graph_.equations[concat].operands.size()) return;
        for (Followed& part : parts_[concat]) write_there(std::move(part));
        found_.is_idle[concat] = true;
    }

    /// By variable, among the elements of one that no move makes.
    [[nodiscard]] std::vector<std::optional<VariableView>> views_of_moves() const {
        std::vector<std::optional<VariableView>> views(graph_.variables.size());
        for (std::size_t i = 0; i < graph_.equations.size(); ++i) {
            if (!is_move(i) || found_.is_idle[i]) continue;
            const Equation& equation = graph_.equations[i];
            const auto from = std::get<VariableId>(equation.operands[0]);
            const VariableView whole = views[from.value].value_or(
                VariableView{.in = from, .elements = element_count(type(from)), .view = dense_view(type(from).shape)});
            auto all = moved(equation, whole.view, result_shapes(i));
            for (std::size_t r = 0; all && r < equation.results.size(); ++r)
                views[equation.results[r].value] = {whole.in, whole.elements, std::move((*all)[r])};
        }
        return views;
    }
    /// Whether nothing reads the variable but products that take it where it lies, and moves that move nothing.
    [[nodiscard]] bool is_read_in_place(std::size_t maker, VariableId id, const std::optional<VariableView>& view,
                                        std::vector<std::uint64_t>& settled) const {
        if (!view || question_.taken[id.value] || readers_[id.value].empty()) return false;
        return std::ranges::all_of(readers_[id.value], [&](std::size_t reader) {
            if (question_.places[reader] != question_.places[maker]) return false;
            if (is_move(reader)) return bool{found_.is_idle[reader]};
            return is_product(reader) && takes(reader, id, *view, settled[reader]);
        });
    }
    /// `settled`: the product's inner matrices; 0 before anything has settled them.
    [[nodiscard]] bool takes(std::size_t reader, VariableId id, const VariableView& view,
                             std::uint64_t& settled) const {
        const std::vector<Operand> of = operands(reader);
        const auto chosen = product(reader, of).with_inner([&](const ProductEquation& reads) {
            if (settled != 0 && reads.inner != settled) return false;
            for (std::size_t k = 0; k < of.size(); ++k) {
                if (of[k].variable != nullptr && *of[k].variable == id && !operand_layout(reads, k, view)) return false;
            }
            return true;
        });
        if (chosen) settled = chosen->inner;
        return chosen.has_value();
    }

    const ProductQuestion& question_;
    const Graph& graph_;
    std::vector<std::vector<std::size_t>> readers_;       // by variable, once for each time that they read it
    std::map<std::size_t, std::vector<Followed>> parts_;  // by concat
    std::vector<std::uint64_t> settled_;                  // by equation: a product's inner matrices; 0: any choice
    ProductViews found_;
};

}  // namespace

ProductViews find_product_views(const ProductQuestion& question) { return ProductFinder(question).find(); }

}  // namespace yolk::hyper::population
