// SPDX-License-Identifier: Apache-2.0
// Runs of finetune() over the small random BERT: the same bits on both drivers, after an interruption and by replay.
#include "yolk/finetune.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "models.hpp"
#include "yolk/encoder.hpp"

namespace yolk::transformer {
namespace {

using ::yolk::testing::expect_error;

/// Each query is some of its document's words.
std::vector<RelevantPair> small_pairs() {
    return {
        {"the cat", "the cat sat on the mat"},           {"train models", "play to train a fast model able to play"},
        {"gpu kernels", "a vector kernel on a gpu"},     {"evolution", "evolution strategies evolution strategies"},
        {"fast playing", "playing fast on the mat"},     {"unable", "un able able un"},
        {"vector", "a vector model on the gpu is fast"}, {"a mat", "mat mat mat sat"},
        {"strategies", "strategies train kernels"},      {"sat", "the model sat, the kernel sat"},
        {"model kernel", "kernel of the model"},         {"cat", "cat, evolution and gpu"}};
}

class TuningFolder {
   public:
    TuningFolder() { std::filesystem::create_directories(folder_); }
    ~TuningFolder() { std::filesystem::remove_all(folder_); }
    TuningFolder(const TuningFolder&) = delete;
    TuningFolder& operator=(const TuningFolder&) = delete;
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

   private:
    static inline int made_ = 0;
    const std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                          ("yolk-tuned-" + std::to_string(::getpid()) + "-" + std::to_string(++made_));
};

FinetuneOptions small_tuning(const std::filesystem::path& out) {
    FinetuneOptions options;
    options.given = small_pairs();
    options.held_out = 0.2;
    options.test = 0.2;
    options.batch = 4;
    options.query_tokens = 8;
    options.document_tokens = 16;
    options.generations = 4;
    options.held_out_every = 2;
    options.checkpoint_every = 1;
    options.adapter_rank = 4;
    options.out = out;
    options.evolution.population = 8;
    options.evolution.sigma = 0.05F;
    options.evolution.learning_rate = 0.02F;
    options.evolution.seed = 3;
    options.evolution.determinism = Determinism::Exact;
    return options;
}
std::filesystem::path bert() { return models_folder() / "bert"; }

/// Embeddings of a few texts.
std::vector<float> vectors_by(const std::filesystem::path& model, Dispatcher& dispatcher,
                              const std::filesystem::path& adapter = {}) {
    auto encoder = Encoder::open(model, dispatcher, {.determinism = Determinism::Exact, .adapter = adapter});
    EXPECT_OK(encoder);
    const std::vector<std::string> texts{"the cat sat", "a vector kernel"};
    auto vectors = encoder ? encoder->embed(texts) : Result<std::vector<float>>(encoder.error());
    EXPECT_OK(vectors);
    return vectors.value_or(std::vector<float>());
}
double furthest(std::span<const float> a, std::span<const float> b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
    return largest;
}

class finetuning : public ::yolk::testing::DeviceTest {
   protected:
    TuningFolder folder_;
};
YOLK_FOR_EACH_DEVICE(finetuning);

TEST_P(finetuning, finds_matrices_that_rank_better) {
    FinetuneOptions options = small_tuning({});
    options.held_out = 0.0;
    options.test = 0.0;
    options.batch = 0;
    options.generations = 12;
    options.evolution.population = 16;
    std::vector<hyper::GenerationReport> reports;
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome outcome,
                         finetune(bert(), dispatcher(), options, [&](const hyper::GenerationReport& report) {
                             reports.push_back(report);
                             return true;
                         }));
    EXPECT_EQ(outcome.training_pairs, 12U);
    EXPECT_EQ(outcome.search.cost.numbers, 4U * 24 * 24) << "query and value of two layers";
    EXPECT_EQ(outcome.search.fallbacks, std::vector<std::string>{}) << "all of it runs on the device";
    EXPECT_GT(outcome.search.best_reward, outcome.search.start_reward + 0.02);
    EXPECT_GT(outcome.after.update_norm, 0.0);
    EXPECT_GT(outcome.after.drift, 0.0);
    EXPECT_EQ(outcome.before.update_norm, 0.0);
    EXPECT_NEAR(outcome.before.drift, 0.0, 1e-12) << "the model as it is has moved nowhere";
    EXPECT_FALSE(outcome.after.test);
    EXPECT_TRUE(reports[0].looked.empty()) << "nothing is held out";
}

TEST_P(finetuning, is_saved_resumed_and_replayed) {
    const FinetuneOptions options = small_tuning(folder_ / "whole");
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome whole, finetune(bert(), dispatcher(), options));
    EXPECT_EQ(whole.training_pairs + whole.held_out_pairs + whole.test_pairs, 12U);
    EXPECT_EQ(whole.held_out_pairs, 3U);
    ASSERT_TRUE(whole.before.test && whole.after.test && whole.adapted.test);
    EXPECT_EQ(whole.search.history[0].looked.at("update_norm"), 0.0);
    EXPECT_GT(whole.search.history[2].looked.at("update_norm"), 0.0);
    EXPECT_GT(whole.search.history[2].looked.at("drift"), 0.0);
    for (const char* const name :
         {"adapter_config.json", "adapter_model.safetensors", "metrics.jsonl", "checkpoint.yolk", "log.yolk"})
        EXPECT_TRUE(std::filesystem::exists(folder_ / "whole" / name)) << name;

    FinetuneOptions half = small_tuning(folder_ / "half");
    half.generations = 2;
    ASSERT_OK(finetune(bert(), dispatcher(), half));
    half.generations = 4;
    half.resume = true;
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome resumed, finetune(bert(), dispatcher(), half));
    EXPECT_EQ(resumed.search.resumed_from, 2U);
    EXPECT_EQ(resumed.search.state_hash, whole.search.state_hash);

    ASSERT_OK_AND_ASSIGN(
        const ReplayedAdapter replayed,
        replay_finetuning(evolve::Devices::none(), folder_ / "whole" / "log.yolk", 4, folder_ / "again"));
    EXPECT_EQ(replayed.replay.generations_in_log, 4U);
    EXPECT_GT(replayed.update_norm, 0.0);
    EXPECT_GT(furthest(vectors_by(bert(), dispatcher()), vectors_by(bert(), dispatcher(), folder_ / "again")), 1e-4);
    ASSERT_OK_AND_ASSIGN(const ReplayedAdapter first,
                         replay_finetuning(evolve::Devices::none(), folder_ / "whole" / "log.yolk", 0));
    EXPECT_EQ(first.update_norm, 0.0);
}

// Without held-out queries the last generation is kept, which is the one that the log ends with.
TEST_P(finetuning, a_replay_gives_the_adapter_that_was_saved) {
    FinetuneOptions options = small_tuning(folder_ / "run");
    options.held_out = 0.0;
    options.merged = folder_ / "merged";
    options.adapter_rank = 24;
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome outcome, finetune(bert(), dispatcher(), options));
    EXPECT_LT(outcome.residual, 1e-5) << "factors of the full width leave nothing out";
    ASSERT_OK_AND_ASSIGN(
        const ReplayedAdapter replayed,
        replay_finetuning(evolve::Devices::none(), folder_ / "run" / "log.yolk", {}, folder_ / "again"));
    EXPECT_EQ(replayed.update_norm, outcome.after.update_norm);
    const std::vector<float> saved = vectors_by(bert(), dispatcher(), folder_ / "run");
    EXPECT_EQ(saved, vectors_by(bert(), dispatcher(), folder_ / "again"));
    EXPECT_GT(furthest(saved, vectors_by(bert(), dispatcher())), 1e-4);
    // The merged model has the change itself, the adapter what fp32 factors make of it.
    EXPECT_LT(furthest(saved, vectors_by(folder_ / "merged", dispatcher())), 1e-5);
    ASSERT_OK_AND_ASSIGN(const Encoder opened, Encoder::open(folder_ / "merged", dispatcher()));
    EXPECT_TRUE(opened.left_out().empty());
}

TEST_P(finetuning, a_small_rank_leaves_something_out) {
    FinetuneOptions options = small_tuning(folder_ / "run");
    options.adapter_rank = 1;
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome outcome, finetune(bert(), dispatcher(), options));
    EXPECT_GT(outcome.residual, 0.1);
    EXPECT_LT(outcome.residual, 1.0);
    EXPECT_LT(outcome.adapted.update_norm, outcome.after.update_norm) << "a projection is shorter";
    EXPECT_GT(outcome.adapted.update_norm, 0.0);
}

TEST(finetuning_on_devices, same_bits_on_each_and_on_both) {
    FinetuneOptions options = small_tuning({});
    options.test = 0.0;
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome first, finetune(bert(), testing::first_device().dispatcher, options));
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome other, finetune(bert(), testing::other_device().dispatcher, options));
    const std::vector<Device> devices{testing::first_device().device, testing::other_device().device};
    ASSERT_OK_AND_ASSIGN(const evolve::DevicePool pool,
                         evolve::DevicePool::create(devices, {.determinism = Determinism::Exact}));
    ASSERT_OK_AND_ASSIGN(const FinetuneOutcome both, finetune(bert(), evolve::Devices(pool), options));
    EXPECT_EQ(first.search.state_hash, other.search.state_hash);
    EXPECT_EQ(first.search.state_hash, both.search.state_hash);
    EXPECT_EQ(first.after.drift, other.after.drift);
    EXPECT_EQ(both.search.history[2].looked, first.search.history[2].looked);
}

TEST(finetuning_options, bad_ones) {
    const auto refused = [](const FinetuneOptions& options, const char* part) {
        EXPECT_TRUE(expect_error(finetune(bert(), evolve::Devices::none(), options), ErrorKind::BadInput, part));
    };
    const auto with = [](const std::function<void(FinetuneOptions&)>& change) {
        FinetuneOptions options = small_tuning({});
        change(options);
        return options;
    };
    refused(with([](auto& o) { o.given.clear(); }), "give one of the two");
    refused(with([](auto& o) { o.given.resize(1); }), "1 query and 1 document");
    refused(with([](auto& o) { o.given.resize(3); }), "each part needs at least 2");
    refused(with([](auto& o) { o.held_out = 0.9; }), "together below 1");
    refused(with([](auto& o) { o.held_out = NAN; }), "together below 1");
    refused(with([](auto& o) { o.batch = 1; }), "at least 2");
    refused(with([](auto& o) { o.batch = 100; }), "to have 100 pairs");
    refused(with([](auto& o) { o.adapter_rank = 0; }), "at least 1");
    refused(with([](auto& o) { o.adapter_rank = 25; }), "24 x 24; it must be from 1 to 24");
    refused(with([](auto& o) { o.generations = 0; }), "generations is 0");
    refused(with([](auto& o) { o.resume = true; }), "no output folder");
    refused(with([](auto& o) { o.query_tokens = 2; }), "at most 2 tokens");
    refused(with([](auto& o) { o.evolution.freeze = {"nothing"}; }), "nothing");
    refused(with([](auto& o) {
                for (RelevantPair& pair : o.given) pair.grade = 0.0;
            }),
            "no relevant document");
    refused(with([](auto& o) { o.given[0].query = "\xFF"; }), "UTF-8");
    refused(with([](auto& o) { o.unrelated = {"\xFF"}; }), "unrelated texts");
    EXPECT_TRUE(expect_error(finetune(models_folder() / "none", evolve::Devices::none(), small_tuning({})),
                             ErrorKind::BadInput, "is no folder"));
    const CopiedModel decoder;
    decoder.change_json("config.json", [](Json& json) { json["model_type"] = "llama"; });
    EXPECT_TRUE(expect_error(finetune(decoder.folder(), evolve::Devices::none(), small_tuning({})),
                             ErrorKind::Unsupported, "\"llama\"; encoders of type"));
}

class adapters : public ::testing::Test {
   protected:
    void SetUp() override {
        FinetuneOptions options = small_tuning(folder_ / "adapter");
        options.generations = 1;
        options.held_out = 0.0;  // what the generation made is kept, whatever it is worth
        ASSERT_OK(finetune(bert(), testing::first_device().dispatcher, options));
    }
    [[nodiscard]] Result<Encoder> open(const std::filesystem::path& model = bert()) const {
        return Encoder::open(model, testing::first_device().dispatcher, {.adapter = folder_ / "adapter"});
    }
    void change_adapter(const std::function<void(TensorFile&)>& change) const {
        const std::filesystem::path path = folder_ / "adapter" / "adapter_model.safetensors";
        ASSERT_OK_AND_ASSIGN(const auto bytes, read_file(path, std::size_t{1} << 24U));
        ASSERT_OK_AND_ASSIGN(TensorFile file, decode_safetensors(bytes, "the adapter"));
        change(file);
        ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> changed, encode_safetensors(file));
        ASSERT_OK(write_file_atomically(path, std::span<const std::byte>(changed)));
    }
    void change_config(const std::function<void(Json&)>& change) const {
        const std::filesystem::path path = folder_ / "adapter" / "adapter_config.json";
        Json json = stored_json(path);
        change(json);
        ASSERT_OK(write_file_atomically(path, std::string_view(json.dump())));
    }
    TuningFolder folder_;
};

TEST_F(adapters, are_in_pefts_form) {
    const Json config = stored_json(folder_ / "adapter" / "adapter_config.json");
    EXPECT_EQ(config.at("peft_type"), "LORA");
    EXPECT_EQ(config.at("r"), 4);
    EXPECT_EQ(config.at("lora_alpha"), 4) << "the factors are added as they are";
    EXPECT_EQ(config.at("target_modules"), Json({"query", "value"}));
    change_adapter([](const TensorFile& file) {
        ASSERT_EQ(file.tensors.size(), 2U * 2 * 2);
        const StoredTensor* const a =
            find_tensor(file.tensors, "base_model.model.encoder.layer.1.attention.self.value.lora_A.weight");
        const StoredTensor* const b =
            find_tensor(file.tensors, "base_model.model.encoder.layer.1.attention.self.value.lora_B.weight");
        ASSERT_TRUE(a != nullptr && b != nullptr);
        EXPECT_THAT(a->shape, ::testing::ElementsAre(4, 24));
        EXPECT_THAT(b->shape, ::testing::ElementsAre(24, 4));
    });
}

TEST_F(adapters, scale_and_prefix_are_read) {
    Dispatcher& dispatcher = testing::first_device().dispatcher;
    const std::vector<float> as_saved = vectors_by(bert(), dispatcher, folder_ / "adapter");
    // Twice the factor B and half the scale are the same sum; peft's names have "bert." where the model has.
    change_adapter([](TensorFile& file) {
        for (StoredTensor& tensor : file.tensors) {
            if (tensor.name.ends_with("lora_B.weight")) {
                for (float& value : tensor.values) value *= 2.0F;
            }
            tensor.name.insert(std::string("base_model.model.").size(), "bert.");
        }
    });
    change_config([](Json& config) { config["lora_alpha"] = 2; });
    EXPECT_EQ(as_saved, vectors_by(bert(), dispatcher, folder_ / "adapter"));
    change_config([](Json& config) { config["use_rslora"] = true; });  // 2 / sqrt(4) in place of 2 / 4
    EXPECT_GT(furthest(as_saved, vectors_by(bert(), dispatcher, folder_ / "adapter")), 1e-4);
}

TEST_F(adapters, of_another_model_or_kind_are_refused) {
    const CopiedModel other;
    other.change_tensors([](std::vector<StoredTensor>& tensors) {
        for (StoredTensor& tensor : tensors) {
            if (tensor.name == "encoder.layer.0.attention.self.query.weight") tensor.values[0] += 1.0F;
        }
    });
    EXPECT_TRUE(expect_error(open(other.folder()), ErrorKind::BadInput,
                             "made for other weights: it is the adapter of "
                             "another model, '"));
    change_adapter([](TensorFile& file) {
        file.metadata.clear();  // of another program, which says nothing about the weights
    });
    EXPECT_OK(open(other.folder()));
    change_config([](Json& config) { config["use_dora"] = true; });
    EXPECT_TRUE(expect_error(open(), ErrorKind::Unsupported, "'use_dora'"));
    change_config([](Json& config) { config["use_dora"] = false, config["r"] = 0; });
    EXPECT_TRUE(expect_error(open(), ErrorKind::BadInput, "'r' in"));
    change_config([](Json& config) { config["r"] = 4, config["peft_type"] = "IA3"; });
    EXPECT_TRUE(expect_error(open(), ErrorKind::Unsupported, "of the kind LORA"));
}

TEST_F(adapters, that_do_not_fit_are_refused) {
    const auto changed = [&](const std::function<void(TensorFile&)>& change, const char* part,
                             ErrorKind kind = ErrorKind::BadInput) {
        const std::filesystem::path path = folder_ / "adapter" / "adapter_model.safetensors";
        ASSERT_OK_AND_ASSIGN(const auto bytes, read_file(path, std::size_t{1} << 24U));
        change_adapter(change);
        EXPECT_TRUE(expect_error(open(), kind, part));
        ASSERT_OK(write_file_atomically(path, std::span<const std::byte>(bytes)));
    };
    changed([](TensorFile& file) { file.tensors.pop_back(); }, "only one factor");
    changed([](TensorFile& file) { file.tensors.clear(); }, "no tensor");
    changed([](TensorFile& file) { file.tensors[0].name = "something"; }, "which is no factor", ErrorKind::Unsupported);
    changed(
        [](TensorFile& file) {
            file.tensors[0].name = "base_model.model.encoder.layer.7.attention.self.query.lora_A.weight";
        },
        "for a matrix 'encoder.layer.7.attention.self.query.weight', which the model has not");
    changed([](TensorFile& file) { file.tensors[0].shape = {8, 12}; }, "is [8, 12], and the matrix [24, 24]");
    changed(
        [](TensorFile& file) {
            file.tensors[1].shape = {24, 2};
            file.tensors[1].values.resize(48);
        },
        "a rank of 2; its other factor has 4");
    changed([](TensorFile& file) { file.tensors[0].values[3] = INFINITY; }, "not finite");
}

}  // namespace
}  // namespace yolk::transformer
