// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_run.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include "yolk/es_update.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/noise.hpp"
#include "yolk/perturbed_embedding.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"

namespace yolk::evolve {
namespace {

constexpr std::int32_t kFromTheMean = -1;

class ParityRun {
   public:
    ParityRun(const Device& device, Dispatcher& dispatcher, const ParityCase& item, ParameterTable table)
        : device_(device), dispatcher_(dispatcher), item_(item), table_(std::move(table)) {}

    Result<std::vector<ParityQuantity>> run() {
        YOLK_TRY_VOID(add_noise());
        YOLK_TRY_VOID(add_products());
        YOLK_TRY_VOID(add_embedding());
        YOLK_TRY_VOID(add_vectors());
        for (const FitnessRule rule : {FitnessRule::ZScore, FitnessRule::GroupZScore, FitnessRule::PairDifference}) {
            YOLK_TRY(const ShapedGeneration shaped, add_generations(rule, OptimizerRule::Sgd));
            YOLK_TRY_VOID(add_fitness(rule, shaped));
            YOLK_TRY_VOID(add_gradient(rule, shaped));
            if (rule != FitnessRule::GroupZScore) YOLK_TRY_VOID(add_generations(rule, OptimizerRule::Adam));
        }
        return std::move(quantities_);
    }

   private:
    template <class T>
    void add(std::string name, const std::vector<T>& values) {
        quantities_.push_back({.name = std::move(name), .values = {values.begin(), values.end()}});
    }

    template <class T>
    Result<Buffer> upload(const std::vector<T>& values) const {
        YOLK_TRY(Buffer buffer, device_.create_buffer({.size_bytes = sizeof(T) * values.size(), .label = "parity"}));
        YOLK_TRY_VOID(dispatcher_.upload(buffer, std::as_bytes(std::span(values))));
        return buffer;
    }

    template <class T>
    Result<std::vector<T>> download(const Buffer& buffer) const {
        std::vector<T> values(buffer.size_bytes() / sizeof(T));
        YOLK_TRY_VOID(dispatcher_.download(buffer, std::as_writable_bytes(std::span(values))));
        return values;
    }

    /// Binds, records with these arguments, and waits.
    template <class Desc, class... Arguments>
    Result<void> run_plan(const Plan<Desc>& plan, const typename Desc::Views& views, const Arguments&... arguments) {
        const std::uint64_t scratch_bytes = std::max<std::uint64_t>(4, plan.scratch().size_bytes);
        YOLK_TRY(const Buffer scratch, device_.create_buffer({.size_bytes = scratch_bytes, .label = "parity scratch"}));
        YOLK_TRY(const Bound<Desc> bound, plan.bind(views, scratch));
        YOLK_TRY(Recorder recorder, Recorder::create(device_));
        recorder.begin();
        bound.record(recorder, arguments...);
        return dispatcher_.run(recorder);
    }

    [[nodiscard]] std::uint32_t members() const { return item_.settings.population + 1; }
    [[nodiscard]] std::uint32_t rows() const { return static_cast<std::uint32_t>(item_.inputs.ids.size()); }
    [[nodiscard]] NoiseContext generation(std::uint32_t number) const {
        return {.seed = item_.settings.seed, .generation = number, .time = number, .sigma = item_.settings.sigma};
    }
    [[nodiscard]] NoiseContext last_generation() const { return generation(item_.settings.generations - 1); }

    [[nodiscard]] std::vector<float> values_of(ParameterId id) const {
        const ParameterDesc& parameter = table_.parameters()[id.value];
        const float* first = item_.inputs.parameters.data() + table_.offset(id);
        return {first, first + std::size_t{parameter.rows} * parameter.columns};
    }

    Result<void> add_stream(const std::string& name, ParameterId id, Domain domain, std::uint32_t count) {
        const NoiseDesc desc{.element_count = count, .pair_count = item_.settings.population / 2};
        YOLK_TRY(const NoisePlan plan, plan_noise(device_, desc));
        YOLK_TRY(const Buffer out, upload(std::vector<std::int32_t>(std::size_t{count} * desc.pair_count)));
        std::vector<std::int32_t> all;
        for (std::uint32_t time = 0; time < item_.settings.generations; ++time) {
            const NoiseStream stream{
                .seed = item_.settings.seed, .parameter = id.value, .domain = domain, .pair = 0, .time = time};
            YOLK_TRY_VOID(run_plan(plan, {.out = out}, stream));
            YOLK_TRY(const std::vector<std::int32_t> part, download<std::int32_t>(out));
            all.insert(all.end(), part.begin(), part.end());
        }
        add("noise " + name, all);
        return {};
    }

    Result<void> add_noise() {
        const ParitySizes& sizes = item_.sizes;
        const std::uint32_t rank = item_.settings.rank;
        YOLK_TRY_VOID(add_stream("linear A", kParityLinear, Domain::A, sizes.out * rank));
        YOLK_TRY_VOID(add_stream("linear B", kParityLinear, Domain::B, sizes.in * rank));
        YOLK_TRY_VOID(add_stream("embedding A", kParityEmbedding, Domain::A, sizes.vocabulary * rank));
        YOLK_TRY_VOID(add_stream("embedding B", kParityEmbedding, Domain::B, sizes.width * rank));
        return add_stream("vector V", kParityVector, Domain::Vector, sizes.vector);
    }

    Result<void> add_product(bool transposed) {
        PerturbedLinearDesc desc{.members = members(),
                                 .rows = rows(),
                                 .in = item_.sizes.in,
                                 .out = item_.sizes.out,
                                 .rank = item_.settings.rank,
                                 .parameter = kParityLinear,
                                 .shared_input = true,
                                 .transposed = transposed};
        YOLK_TRY(const PerturbedLinearPlan plan, plan_perturbed_linear(device_, desc));
        YOLK_TRY(const Buffer weights, upload(values_of(kParityLinear)));
        YOLK_TRY(const Buffer input, upload(transposed ? item_.inputs.x_transposed : item_.inputs.x));
        const std::size_t columns = transposed ? desc.in : desc.out;
        YOLK_TRY(const Buffer output, upload(std::vector<float>(columns * desc.members * desc.rows)));
        YOLK_TRY_VOID(
            run_plan(plan, {.weights = weights, .input = input, .output = output}, last_generation(), kFromTheMean));
        YOLK_TRY(const std::vector<float> values, download<float>(output));
        add(transposed ? "transposed product" : "product", values);
        return {};
    }

    Result<void> add_products() {
        YOLK_TRY_VOID(add_product(false));
        return add_product(true);
    }

    Result<void> add_embedding() {
        const PerturbedEmbeddingDesc desc{.members = members(),
                                          .rows = rows(),
                                          .table_rows = item_.sizes.vocabulary,
                                          .columns = item_.sizes.width,
                                          .rank = item_.settings.rank,
                                          .parameter = kParityEmbedding,
                                          .shared_ids = true};
        YOLK_TRY(const PerturbedEmbeddingPlan plan, plan_perturbed_embedding(device_, desc));
        YOLK_TRY(const Buffer weights, upload(values_of(kParityEmbedding)));
        YOLK_TRY(const Buffer ids, upload(item_.inputs.ids));
        YOLK_TRY(const Buffer output, upload(std::vector<float>(std::size_t{desc.members} * desc.rows * desc.columns)));
        YOLK_TRY(const Buffer status, upload(std::vector<std::uint32_t>(1)));
        YOLK_TRY_VOID(run_plan(plan, {.weights = weights, .ids = ids, .output = output, .status = status},
                               last_generation(), kFromTheMean));
        YOLK_TRY(const std::vector<float> values, download<float>(output));
        add("embedding", values);
        return {};
    }

    Result<void> add_vector(const char* name, ParameterId id, bool frozen) {
        const PerturbedVectorDesc desc{.members = members(),
                                       .element_count = table_.parameters()[id.value].rows,
                                       .parameter = id,
                                       .frozen = frozen};
        YOLK_TRY(const PerturbedVectorPlan plan, plan_perturbed_vector(device_, desc));
        YOLK_TRY(const Buffer vector, upload(values_of(id)));
        YOLK_TRY(const Buffer output, upload(std::vector<float>(std::size_t{desc.members} * desc.element_count)));
        YOLK_TRY_VOID(run_plan(plan, {.vector = vector, .output = output}, last_generation(), kFromTheMean));
        YOLK_TRY(const std::vector<float> values, download<float>(output));
        add(name, values);
        return {};
    }

    Result<void> add_vectors() {
        YOLK_TRY_VOID(add_vector("vector", kParityVector, false));
        return add_vector("frozen vector", kParityFrozen, true);
    }

    [[nodiscard]] EvolutionOptions options(FitnessRule rule, OptimizerRule optimizer) const {
        const ParitySettings& settings = item_.settings;
        EvolutionOptions options{.population = settings.population,
                                 .rank = settings.rank,
                                 .sigma = settings.sigma,
                                 .learning_rate = settings.learning_rate,
                                 .fitness = rule,
                                 .group_size = rule == FitnessRule::GroupZScore ? settings.group_size : 0,
                                 .optimizer = optimizer,
                                 .beta1 = settings.beta1,
                                 .beta2 = settings.beta2,
                                 .seed = settings.seed};
        if (!is_integer_rule(rule)) options.determinism = Determinism::Fast;
        return options;
    }

    /// Runs the generations, and gives back what the first one's scores came to.
    Result<ShapedGeneration> add_generations(FitnessRule rule, OptimizerRule optimizer) {
        EvolutionParts parts;
        parts.parameters = table_;
        parts.initial = item_.inputs.parameters;
        parts.keep_weights = true;
        YOLK_TRY(std::unique_ptr<HostScoresEvaluator> scores,
                 host_scores_evaluator(device_, item_.settings.population));
        std::ranges::copy(item_.inputs.scores, scores->returns().begin());
        parts.evaluator = std::move(scores);
        YOLK_TRY(Evolution run, Evolution::create(device_, dispatcher_, std::move(parts), options(rule, optimizer)));
        ShapedGeneration first;
        std::vector<float> after;
        for (std::uint32_t number = 0; number < item_.settings.generations; ++number) {
            YOLK_TRY_VOID(run.step());
            after.insert(after.end(), run.parameters().begin(), run.parameters().end());
            if (number > 0) continue;
            YOLK_TRY(first, run.shaped());
        }
        add(fmt::format("{} {}", to_string(optimizer), to_string(rule)), after);
        return first;
    }

    /// Weights in units of the z-score: int8 ones times their coefficient, which is exact in double.
    Result<void> add_fitness(FitnessRule rule, const ShapedGeneration& shaped) {
        const std::string name(to_string(rule));
        if (!is_integer_rule(rule)) {
            add("fitness " + name, shaped.float_weights);
            return {};
        }
        const auto coefficient = static_cast<double>(shaped.summary.coefficient);
        std::vector<double> weights;
        for (const std::int8_t weight : shaped.integer_weights) weights.push_back(coefficient * weight);
        add("fitness " + name, weights);
        add("int8 " + name, shaped.integer_weights);
        add("coefficient " + name, std::vector<float>{shaped.summary.coefficient});
        return {};
    }

    Result<void> add_gradient(FitnessRule rule, const ShapedGeneration& shaped) {
        const EsUpdateDesc desc{.parameters = table_,
                                .population = item_.settings.population,
                                .rank = item_.settings.rank,
                                .weights = is_integer_rule(rule) ? FitnessWeights::I8 : FitnessWeights::F32};
        std::vector<std::int8_t> integers = shaped.integer_weights;
        integers.resize((integers.size() + 3) / 4 * 4);  // whole words
        YOLK_TRY(const EsUpdatePlan plan, plan_es_update(device_, desc));
        YOLK_TRY(const Buffer weights, is_integer_rule(rule) ? upload(integers) : upload(shaped.float_weights));
        YOLK_TRY(const Buffer summary, upload(std::vector<abi::fitness::Summary>{shaped.summary}));
        YOLK_TRY(const Buffer out, upload(std::vector<float>(table_.element_count())));
        YOLK_TRY_VOID(run_plan(plan, {.weights = weights, .summary = summary, .gradient = out}, generation(0)));
        YOLK_TRY(const std::vector<float> values, download<float>(out));
        add(fmt::format("gradient {}", to_string(rule)), values);
        return {};
    }

    const Device& device_;
    Dispatcher& dispatcher_;
    const ParityCase& item_;
    ParameterTable table_;
    std::vector<ParityQuantity> quantities_;
};

}  // namespace

Result<std::vector<ParityQuantity>> run_parity_case(const Device& device, Dispatcher& dispatcher,
                                                    const ParityCase& item) {
    YOLK_TRY(ParameterTable table, parity_table(item.sizes));
    return ParityRun(device, dispatcher, item, std::move(table)).run();
}

}  // namespace yolk::evolve
